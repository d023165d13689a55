"""Thinned costs: what one plan takes and gives as a function of what its drop boxes let pass.

The same figures as costing the thinned model, in closed form: a set S of inputs holds
W_S * prod(x) rows, the product over those of its inputs whose windows shrink, and its rate is that
times the sum of its inputs' turnovers, with their leanings, in which the shares of the others
stand. A search for shares asks for them thousands of times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.planning.costs import CostLibrary, is_composite
from penstock.planning.model import JoinModel
from penstock.planning.plan_costs import Costing, JoinFigures, looked_up, predicates_between
from penstock.vocabulary.batches import Floats

LN_2 = float(np.log(2.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThinnedCosts:
    """The costs of one plan behind drop boxes; `shrink` are the inputs whose windows shrink.

    A line of `sides` is what comes from one side of a join: the rows that it keeps, and those that
    it meets (`met`), with coefficients of what a row takes for being kept and for meeting. `own`
    and `met` have a line for each, and a place for every input: 1 if its share shrinks the window.
    """

    shrink: frozenset[int]
    sides: Floats
    own: Floats
    met: Floats
    renewals: Floats
    """Turnovers, with their leanings, of the inputs that renew a side's own rows."""
    flows: Floats
    """Costs by the rate of a set's rows alone, in processors with nothing dropped."""
    flow_sets: Floats
    flow_renewals: Floats
    """As shares of the whole set's."""
    linear: Floats
    """1 for every input whose share stands in a sum, 0 for one whose windows shrink."""
    fixed: float
    values: Floats
    """What the rows of every input give with nothing dropped (v)."""
    weights: Floats

    @classmethod
    def of(
        cls, model: JoinModel, full: Costing, library: CostLibrary, shrink: Sequence[int]
    ) -> ThinnedCosts:
        """Read the costs off a plan's costing with nothing dropped."""
        count = len(model.inputs)
        linear = np.array([0.0 if k in shrink else 1.0 for k in range(count)])
        turnovers = np.array([0.0 if each.is_table else each.turnover for each in model.inputs])
        lines, masks = [], []
        for join in full.joins:
            lines += _lines(model, join, library)
            masks += [(join.left_mask, join.right_mask), (join.right_mask, join.left_mask)]
        flows = [(model.everything, full.emit_cpu)]
        flows += [
            (
                1 << leaf.input,
                leaf.selections_cpu
                + leaf.arriving
                * (library.arrive_s + library.arrive_byte_s * model.inputs[leaf.input].row_bytes),
            )
            for leaf in full.leaves
        ]
        flows += [(join.mask, join.selections_cpu) for join in full.joins]
        flows = [(mask, cpu) for mask, cpu in flows if cpu > 0.0]
        own = _members([mask for mask, _ in masks], count)
        flow_sets = _members([mask for mask, _ in flows], count)
        renewals, flow_renewals = own * turnovers, flow_sets * turnovers
        for mask, number, times in model.leanings:
            renewals[[mask & each == mask for each, _ in masks], number] *= times
            flow_renewals[[mask & each == mask for each, _ in flows], number] *= times
        return cls(
            shrink=frozenset(shrink),
            sides=np.array(lines).reshape(-1, COLUMNS),
            own=own * (1.0 - linear),
            met=_members([mask for _, mask in masks], count) * (1.0 - linear),
            renewals=renewals,
            flows=np.array([cpu for _, cpu in flows]),
            flow_sets=flow_sets * (1.0 - linear),
            flow_renewals=flow_renewals / flow_renewals.sum(axis=1, keepdims=True),
            linear=linear,
            fixed=full.fixed_cpu,
            values=full.v,
            weights=np.array([each.weight for each in model.inputs]),
        )

    def cpu(self, passes: npt.ArrayLike) -> float:
        """Give what the plan takes behind these boxes, in processors."""
        x = np.asarray(passes, dtype=np.float64)
        summed = np.where(self.linear, x, 1.0)
        own, met = _product(self.own, x), _product(self.met, x)
        rows, others = self.sides[:, OWN_ROWS] * own, self.sides[:, MET_ROWS] * met
        each = self._row_s(rows, others)
        total = self.fixed + float((each * rows) @ (self.renewals @ summed))
        return total + float(
            (self.flows * _product(self.flow_sets, x)) @ (self.flow_renewals @ summed)
        )

    def _row_s(self, rows: Floats, others: Floats) -> Floats:
        """What a row takes that is kept among `rows` and meets `others`."""
        s = self.sides
        logs = s[:, KEEP_LOG] * np.log1p(rows) + s[:, MEET_LOG] * np.log1p(others)
        found: Floats = s[:, EACH] + logs + s[:, MEET_ROW] * others
        return found

    def output(self, passes: npt.ArrayLike) -> float:
        """Give the results per second."""
        return self._through(passes, self.values)

    def worth(self, passes: npt.ArrayLike) -> float:
        """Give the results per second, each by the weight of the input that completed it."""
        return self._through(passes, self.values * self.weights)

    def _through(self, passes: npt.ArrayLike, values: Floats) -> float:
        x = np.asarray(passes, dtype=np.float64)
        return float(
            np.where(self.linear, 1.0, x).prod() * (values @ np.where(self.linear, x, 1.0))
        )

    def gains(self, passes: npt.ArrayLike) -> Floats:
        """Give by which power of each share the worth grows, near these."""
        x = np.asarray(passes, dtype=np.float64)
        parts = self.values * self.weights * np.where(self.linear, x, 1.0)
        found: Floats = np.where(self.linear, parts / max(parts.sum(), 1e-300), 1.0)
        return found

    def terms(self, passes: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Write every cost as a product of powers of the shares, near these: factors and powers."""
        x = np.asarray(passes, dtype=np.float64)
        summed = np.where(self.linear, x, 1.0)
        own, met = _product(self.own, x), _product(self.met, x)
        rows, others = self.sides[:, OWN_ROWS] * own, self.sides[:, MET_ROWS] * met
        each, s = self._row_s(rows, others), self.sides
        least = np.maximum(each, 1e-300)
        kept_power = s[:, KEEP_LOG] * rows / (1.0 + rows) / least
        met_power = (s[:, MEET_LOG] / (1.0 + others) + s[:, MEET_ROW]) * others / least
        costs = np.concatenate(
            (
                each * rows * (self.renewals @ summed),
                self.flows * _product(self.flow_sets, x) * (self.flow_renewals @ summed),
            )
        )
        powers = np.concatenate(
            (
                (1.0 + kept_power[:, None]) * self.own
                + met_power[:, None] * self.met
                + self._summands(self.renewals, summed),
                self.flow_sets + self._summands(self.flow_renewals, summed),
            )
        )
        some = costs > 0.0
        logs = np.log(np.maximum(x, 1e-300))
        return costs[some] * np.exp(-powers[some] @ logs), powers[some]

    def _summands(self, renewals: Floats, summed: Floats) -> Floats:
        """By which power of each share a sum grows in which it stands."""
        parts = renewals * summed
        totals = np.maximum(parts.sum(axis=1, keepdims=True), 1e-300)
        found: Floats = parts * self.linear / totals
        return found


OWN_ROWS, MET_ROWS, EACH, KEEP_LOG, MEET_LOG, MEET_ROW, COLUMNS = range(7)


def _lines(model: JoinModel, join: JoinFigures, library: CostLibrary) -> list[list[float]]:
    """Give the coefficients of a join's two sides."""
    f = looked_up(model, join.left_mask, join.right_mask)
    left, right = library.costs(join.left_index), library.costs(join.right_index)
    windows = (join.left_window, join.right_window)
    asked = predicates_between(model, join.left_mask, join.right_mask)
    masks = (join.left_mask, join.right_mask)
    beside = [library.beside(mask, asked, 0.0) for mask in masks]
    each_row = [
        index.probe_composite_s if is_composite(mask) else 0.0
        for index, mask in zip((left, right), masks, strict=True)
    ]
    each_match = [
        library.beside(mask, asked, 1.0) - library.beside(mask, asked, 0.0) for mask in masks
    ]
    return [
        [
            rows,
            met_rows,
            more + met.probe_s + own.insert_s + own.invalidate_s,
            (own.insert_log_s + own.invalidate_log_s) / LN_2,
            met.probe_log_s / LN_2,
            met.probe_row_s + of_row + (met.probe_match_s + of_match) * f,
        ]
        for own, met, more, of_row, of_match, rows, met_rows in (
            (left, right, beside[1], each_row[1], each_match[1], *windows),
            (right, left, beside[0], each_row[0], each_match[0], *windows[::-1]),
        )
    ]


def _members(masks: Sequence[int], count: int) -> Floats:
    """Write sets as lines of ones and zeros."""
    found = [[float(mask >> k & 1) for k in range(count)] for mask in masks]
    return np.array(found).reshape(-1, count)


def _product(members: Floats, x: Floats) -> Floats:
    found: Floats = np.where(members, x, 1.0).prod(axis=1)
    return found
