"""Statistics: what the running joins tell of rates, selectivities and costs, kept in the home.

Counts of micro-batches add up, older ones ever less. What they prove becomes a measured figure;
measured figures outlive the run. `span_us` of a group is event time: rates are per second of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.algebra.multi_joins import MultiJoinStep
from penstock.algebra.trees import JoinPlan, Tree, inputs_of, joins_of
from penstock.storage.editions import write_edition
from penstock.storage.files import read_json
from penstock.storage.seals import unsealed
from penstock.vocabulary.codec import OMITTED, Node
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figures import Key, Place, Tally, place_of
from penstock.vocabulary.forgetting import keep_named
from penstock.vocabulary.shared_figures import (
    ACTUAL_COST,
    ARRIVED,
    ASKED,
    BROUGHT,
    DROPPED,
    MADE,
    PASSED,
    ROWS,
    SPAN,
    STORED,
    of_inputs,
)

DECAY = 0.97
"""What a batch's counts are worth one batch later."""
ROWS_MIN = 20.0
"""Fewer rows prove no rate and no share."""
EXPECTED_MIN = 10.0
"""A join that should have made fewer rows by now says nothing when it made none."""
WAYS_APART, WAYS_DEVIATIONS = 1.5, 4.0
"""Two ways differ whose shares are so many times each other's, and so many deviations apart."""
COSTED_ROWS_MIN = 500
"""In smaller batches the way into the operator takes longer than the rows."""
FACTOR_RANGE = (0.1, 10.0)
MICRO = 1e-6
NANO = 1e-9


@dataclass(slots=True, kw_only=True)
class Figures(Node):
    """What was measured of one group; input and join numbers are those of its step.

    `joins` holds, by the set of a join, how likely two parts of it match: by which predicates its
    inputs meet is for the model to say. `ways` holds, by the set of a join of two inputs, the
    shares that rows of either meet when they come. `cost_factor` is actual by
    predicted processor time.
    """

    selections: dict[str, float] = field(default_factory=dict)
    joins: dict[str, float] = field(default_factory=dict)
    sides: dict[str, int] = field(default_factory=dict)
    ways: dict[str, list[float]] = field(default_factory=dict, metadata=OMITTED)
    cost_factor: float | None = None
    kept: float | None = None


@dataclass(slots=True)
class Sums:
    """Counts of a group in this run, older batches weighing less."""

    batches: int = 0
    span_s: float = 0.0
    counts: dict[Place, float] = field(default_factory=dict)
    exposure: dict[int, float] = field(default_factory=dict)
    """By the set of a join, its inputs' combinations that became complete."""
    ways_met: dict[tuple[int, int], float] = field(default_factory=dict)
    """By the set of two inputs and one of them, the combinations that its rows completed."""
    rows: dict[int, float] = field(default_factory=dict)
    costed: dict[str, float] = field(default_factory=dict)
    """Processor seconds, event seconds and rows of batches that are large enough to judge by."""
    plan: JoinPlan | None = None

    def count(self, key: Key) -> float:
        """Give a count of this run; older batches weigh less."""
        return self.counts.get(place_of(key), 0.0)

    def add(self, step: MultiJoinStep, plan: JoinPlan, told: Tally) -> None:
        """Take what a batch met and what stands after it."""
        span_s = told[SPAN] * MICRO
        if self.batches == 1 and span_s:
            # The first batch's rows came over a longer time than the order has moved by.
            self.forget()
        if plan != self.plan:
            self.plan, self.exposure, self.ways_met = plan, {}, {}
            made = (MADE, BROUGHT)
            self.counts = {place: c for place, c in self.counts.items() if place[0] not in made}
        self.batches += span_s > 0
        self.span_s = self.span_s * DECAY + span_s
        self.counts = {place: c * DECAY for place, c in self.counts.items()}
        for figure, labels, count in told.of_kind("counter"):
            self.counts[figure, labels] = self.counts.get((figure, labels), 0.0) + count
        active = self._active(step, plan, told)
        for join in joins_of(plan.tree):
            new = _exposure(join.mask, step, active, told)
            self.exposure[join.mask] = self.exposure.get(join.mask, 0.0) * DECAY + new
            if join.mask.bit_count() == 2:
                for number in inputs_of(join.mask):
                    own = _completed(number, join.mask, step, active, told)
                    known = self.ways_met.get((join.mask, number), 0.0)
                    self.ways_met[join.mask, number] = known * DECAY + own
        # The first batch of a run also loads what the others find in memory.
        if told.total(ARRIVED) >= COSTED_ROWS_MIN and span_s and self.batches > 1:
            spent_s = told[ACTUAL_COST] * NANO
            for name, value in (("spent_s", spent_s), ("span_s", span_s)):
                self.costed[name] = self.costed.get(name, 0.0) * DECAY + value

    def forget(self) -> None:
        """Begin anew, but for what stands."""
        self.span_s = 0.0
        self.counts, self.exposure, self.ways_met, self.costed = {}, {}, {}, {}

    def _active(self, step: MultiJoinStep, plan: JoinPlan, told: Tally) -> dict[int, float]:
        """Give the rows that a row of the batch met in each window, on average."""
        active = {}
        for number, each in enumerate(step.inputs):
            after = float(told[ROWS, number])
            before, self.rows[number] = self.rows.get(number, 0.0), after
            stored = told[STORED, number]
            if each.window is None:
                active[number] = after
            elif stored <= after:
                active[number] = (before + after) / 2
            elif each.window.kind == "range":
                # Filled and emptied within the batch: its end is a sample, its rate is not.
                active[number] = stored * min(each.window.size / max(told[SPAN], 1), 1.0)
            else:
                gone = told[DROPPED, number] if plan.boxes == "faithful" else 0
                counted = told[ARRIVED, number] - gone
                active[number] = each.window.size * min(stored / max(counted, stored), 1.0)
        return active

    def rate(self, number: int) -> float | None:
        """Give an input's rows per second of event time, if enough came to say."""
        rows = self.count((ARRIVED, number))
        return rows / self.span_s if rows >= ROWS_MIN and self.span_s else None

    def share(self, number: int, part: str) -> float | None:
        """Give the share of an input's rows that passed a part of its selection, if enough came."""
        asked = self.count((ASKED, number, part))
        if asked < ROWS_MIN:
            return None
        return min(self.count((PASSED, number, part)) / asked, 1.0)

    def passed(self, number: int) -> float | None:
        """Give the share of an input's rows that its drop box let through."""
        rows = self.count((ARRIVED, number))
        return 1 - self.count((DROPPED, number)) / rows if rows else None

    def per_second(self, key: Key) -> float | None:
        """Give a count per second of event time."""
        return self.count(key) / self.span_s if self.span_s else None

    def joined(self, plan: JoinPlan, expected: Mapping[int, float]) -> dict[int, float]:
        """Give, for each join of the tree, the share of its inputs' combinations that it made.

        `expected` is what the planner thought: a join that should have made next to nothing by
        now is left out.
        """
        found = {}
        for join in joins_of(plan.tree):
            made = self.count((MADE, of_inputs(join.mask)))
            met = self.exposure.get(join.mask, 0.0)
            if met and (made >= EXPECTED_MIN or met * expected[join.mask] >= EXPECTED_MIN):
                found[join.mask] = min(max(made, 0.5) / met, 1.0)
        return found

    def ways(self, plan: JoinPlan) -> dict[int, list[float]]:
        """Give, for each join of two inputs, the shares of the other's window that rows meet.

        Of the first input's rows, then of the second's: the same where they are not clearly apart.
        Left out is what too few rows say anything of.
        """
        found = {}
        for join in joins_of(plan.tree):
            if join.mask.bit_count() != 2:
                continue
            inputs, name = inputs_of(join.mask), of_inputs(join.mask)
            made = [self.count((BROUGHT, name, number)) for number in inputs]
            met = [self.ways_met.get((join.mask, number), 0.0) for number in inputs]
            share = sum(made) / sum(met) if all(met) else 0.0
            if min(met) * share >= EXPECTED_MIN:
                apart = are_apart(made, met)
                found[join.mask] = [
                    min(max(own, 0.5) / seen if apart else share, 1.0)
                    for own, seen in zip(made, met, strict=True)
                ]
        return found

    @property
    def utilisation(self) -> float | None:
        """Processor time by event time, over batches that are large enough to judge by."""
        span_s = self.costed.get("span_s", 0.0)
        return self.costed["spent_s"] / span_s if span_s else None


def _exposure(mask: int, step: MultiJoinStep, active: Mapping[int, float], told: Tally) -> float:
    """Count the combinations of a set's inputs that became complete in a batch, matching or not."""
    return sum(_completed(number, mask, step, active, told) for number in inputs_of(mask))


def _completed(
    number: int, mask: int, step: MultiJoinStep, active: Mapping[int, float], told: Tally
) -> float:
    """Count the combinations of a set's inputs that rows of one of them completed in a batch."""
    if step.inputs[number].window is None:
        return 0.0
    others = 1.0
    for other in inputs_of(mask):
        others *= active[other] if other != number else 1.0
    return told[STORED, number] * others


def are_apart(made: Sequence[float], met: Sequence[float]) -> bool:
    """Say whether rows of two inputs meet clearly different shares when they come.

    `made` are the pairs that each input's rows completed, `met` those that they could have.

    >>> are_apart([0, 80], [1000, 1000]), are_apart([45, 55], [1000, 1000])
    (True, False)
    """
    total, all_met = sum(made), sum(met)
    expected = [total * each / all_met for each in met]
    deviation = math.sqrt(expected[0] * expected[1] / total)
    low, high = sorted(own / each for own, each in zip(made, met, strict=True))
    return high > WAYS_APART * low and abs(made[0] - expected[0]) > WAYS_DEVIATIONS * deviation


def sides_of(tree: Tree) -> dict[int, int]:
    """Give the left part of every join, by the join's set."""
    return {join.mask: join.left.mask for join in joins_of(tree)}


class Statistics:
    """Measured figures of a home: of relations, and of groups of multi-way joins."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rates: dict[str, float] = {}
        self.rows: dict[str, float] = {}
        self.groups: dict[str, Figures] = {}
        self.filters: dict[str, dict[str, float]] = {}
        """Of groups of filters: `row_s`, what a row takes, and `rate`, rows per second."""
        if path.exists():
            try:
                self._read(unsealed(read_json(path), self.to_json()))
            except (ValueError, KeyError, TypeError, AttributeError):
                raise PenstockError(
                    "ENG-038",
                    f"The statistics in {path} cannot be read.",
                    "Remove the file: everything in it is measured anew.",
                ) from None

    def _read(self, data: dict[str, Any]) -> None:
        self.rates, self.rows = dict(data["rates"]), dict(data["rows"])
        self.filters = dict(data.get("filters", {}))
        groups = data["groups"].items()
        self.groups = {name: Figures.from_json(each) for name, each in groups}

    def group(self, name: str) -> Figures:
        """Give what was measured of a group."""
        return self.groups.get(name) or Figures()

    def forget_others(self, groups: Collection[str]) -> None:
        """Forget what was measured of groups that are not named: they stand no more."""
        keep_named(self.groups, groups)
        keep_named(self.filters, groups)

    def save(self) -> None:
        """Keep everything for the next start."""
        write_edition(self._path, self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Give all figures."""
        groups = {name: each.to_json() for name, each in self.groups.items()}
        return {
            "rates": self.rates, "rows": self.rows, "groups": groups, "filters": self.filters
        }  # fmt: skip
