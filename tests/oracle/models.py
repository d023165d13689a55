"""Model queries as anybody would write them: every stage is asked for its values at instants.

A stage gives, for some instants, the values of every key (NaN where it has none), and the instants
where its functions may break. Windows integrate between the breaks, and look at many instants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.algebra.models import (
    ModelCondition,
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelMap,
    ModelSource,
    ModelWindow,
    Polynomial,
)

Floats = npt.NDArray[np.float64]
Values = dict[tuple[int, ...], Floats]
"""Of each key, (instants, attributes)."""
Cell = tuple[float, float, float]
"""A begin, an end, and from when on the value before is held: NaN where there is a function."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
DENSE = 120
GRID = 0.05
HALVINGS = 30
TINY = 1e-7


@dataclass(frozen=True)
class Span:
    """A model of a key, in seconds of the whole stream."""

    key: tuple[int, ...]
    origin: float
    begin: float
    end: float
    models: tuple[tuple[float, ...], ...]


Function = Sequence[Span]
"""All that holds of one source in the end."""


def valued(polynomial: Polynomial, values: Floats) -> Floats:
    """Give a polynomial's values, from those of the attributes."""
    total = np.zeros(len(values))
    for term in polynomial.terms:
        factors = [column for column, power in zip(values.T, term.powers, strict=True)
                   for _ in range(power)]  # fmt: skip
        total = total + prod(factors, start=np.full(len(values), term.factor))
    return np.asarray(np.where(np.isnan(values).any(axis=1), np.nan, total))


def holds(condition: ModelCondition, values: Floats) -> npt.NDArray[np.bool_]:
    """Say at which instants a condition holds."""
    match condition.kind:
        case "comparison":
            found = valued(condition.polynomial, values)
            compare = {
                "<": np.less, "<=": np.less_equal, "=": np.equal, "<>": np.not_equal,
                ">=": np.greater_equal, ">": np.greater,
            }[condition.comparator]  # fmt: skip
            return np.asarray(compare(found, 0.0))
        case "not":
            return ~holds(condition.term, values)
        case "and":
            terms = [holds(term, values) for term in condition.terms]
            return np.asarray(np.all(terms, axis=0)) if terms else np.ones(len(values), bool)
        case _:
            return np.asarray(np.any([holds(term, values) for term in condition.terms], axis=0))


class DensePlan:
    """A plan over the final functions of its sources, from left to right."""

    def __init__(self, plan: Any, functions: Sequence[Function], until: float) -> None:
        self.plan = plan
        self.until = until
        left = list(functions)
        self.functions: dict[int, Function] = {}
        self._known: dict[int, Floats] = {}
        self._number(plan, left)

    def _number(self, node: Any, left: list[Function]) -> None:
        if isinstance(node, ModelSource):
            self.functions[id(node)] = left.pop(0)
        elif isinstance(node, ModelJoin):
            self._number(node.left, left)
            self._number(node.right, left)
        else:
            self._number(node.input, left)

    def values(self, at: Floats, node: Any = None) -> Values:
        """Give the values of a stage, the last one unless it is said, at some instants."""
        node = node or self.plan
        match node:
            case ModelSource():
                found: Values = {}
                for span in self.functions[id(node)]:
                    own = found.setdefault(span.key, np.full((len(at), len(span.models)), np.nan))
                    inside = (span.begin <= at) & (at < span.end)
                    for place, model in enumerate(span.models):
                        own[inside, place] = np.polyval(model[::-1], at[inside] - span.origin)
                return found
            case ModelFilter():
                found = self.values(at, node.input)
                for own in found.values():
                    own[~holds(node.condition, own)] = np.nan
                return found
            case ModelJoin():
                return self._joined(node, at)
            case ModelMap():
                return {
                    tuple(key[column] for column in node.key): _mapped(node, own)
                    for key, own in self.values(at, node.input).items()
                }
            case ModelEnvelope():
                return self._together(node, at)
            case _:
                return self._windowed(node, at)

    def breaks(self, node: Any = None) -> Floats:
        """Give the instants where functions of a stage may break, turn or end."""
        node = node or self.plan
        if id(node) not in self._known:
            self._known[id(node)] = self._breaks(node)
        return self._known[id(node)]

    def _breaks(self, node: Any) -> Floats:
        match node:
            case ModelSource():
                spans = self.functions[id(node)]
                own = [span.begin for span in spans] + [span.end for span in spans]
            case ModelJoin():
                own = [*self.breaks(node.left), *self.breaks(node.right)]
            case ModelWindow():
                own = list(self.breaks(node.input))
                own += [each + node.size_us * 1e-6 for each in own]
            case _:
                own = list(self.breaks(node.input))
        return np.unique([0.0, self.until, *own, *self._found(node)])

    def _found(self, node: Any) -> list[float]:
        """Find where a stage's values begin, end or jump between the points of a grid."""
        if isinstance(node, ModelSource | ModelWindow):
            return []
        grid = np.arange(GRID / 3, self.until, GRID)
        jumps = [
            (key, place)
            for key, own in self.values(grid, node).items()
            for place in np.flatnonzero(np.abs(np.diff(_plain(own))) > 1e5)
        ]
        keys, places = [key for key, _ in jumps], np.array([place for _, place in jumps], int)
        low, high = grid[places], grid[places + 1]
        # All jumps of all keys are halved together.
        for _ in range(HALVINGS if jumps else 0):
            middle = 0.5 * (low + high)
            values = self.values(np.concatenate([low, middle, high]), node)
            every = {key: _plain(values[key]).reshape(3, -1) for key in set(keys)}
            one, two, three = np.array([every[key][:, i] for i, key in enumerate(keys)]).T
            first = np.abs(two - one) > np.abs(three - two)
            low, high = np.where(first, low, middle), np.where(first, middle, high)
        return list(high)

    def _joined(self, node: ModelJoin, at: Floats) -> Values:
        right = self.values(at, node.right)
        found = {}
        for one, ours in self.values(at, node.left).items():
            for two, theirs in right.items():
                if any(one[a] != two[b] for a, b in node.equal):
                    continue
                if any(one[a] == two[b] for a, b in node.unequal):
                    continue
                both = np.concatenate([ours, theirs], axis=1)
                both[np.isnan(both).any(axis=1)] = np.nan
                both[~holds(node.condition, both)] = np.nan
                found[one + two] = both
        return found

    def _together(self, node: ModelEnvelope | ModelWindow, at: Floats) -> Values:
        """Give the function of every group at every instant, before any window."""
        groups: dict[tuple[int, ...], list[Floats]] = {}
        for key, own in self.values(at, node.input).items():
            group = tuple(key[column] for column in node.group)
            groups.setdefault(group, []).append(own[:, node.attribute])
        found = {}
        for group, members in groups.items():
            stack = np.array(members)
            there = ~np.isnan(stack)
            low = np.where(there, stack, np.inf).min(axis=0)
            high = np.where(there, stack, -np.inf).max(axis=0)
            total = np.where(there, stack, 0.0).sum(axis=0)
            count = np.maximum(there.sum(axis=0), 1)
            value = {"min": low, "max": high, "sum": total, "avg": total / count}[node.function]
            found[group] = np.where(there.any(axis=0), value, np.nan)[:, np.newaxis]
        return found

    def _windowed(self, node: ModelWindow, at: Floats) -> Values:
        size = node.size_us * 1e-6
        breaks = self.breaks(node.input)
        breaks = breaks[np.concatenate(([True], np.diff(breaks) > TINY))]
        middles = 0.5 * (breaks[1:] + breaks[:-1])
        found = {}
        for group, own in self._together(node, middles).items():
            there = ~np.isnan(own[:, 0])
            cells = _filled(node.gap, breaks, there, size)
            found[group] = self._windows(node, group, cells, at)[:, np.newaxis]
        return found

    def _windows(
        self, node: ModelWindow, group: tuple[int, ...], cells: list[Cell], at: Floats
    ) -> Floats:
        """Give the aggregates of the windows that end at some instants; all are asked at once."""
        size = node.size_us * 1e-6
        windows = [_inside(cells, end - size, end) for end in at]
        pieces = [piece for window in windows for piece in window]
        if not pieces:
            return np.full(len(at), np.nan)
        asked = np.concatenate([_instants(piece) for piece in pieces])
        values = self._together(node, asked)[group][:, 0].reshape(len(pieces), -1)
        held = np.array([not np.isnan(piece[2]) for piece in pieces])
        if node.gap != "hold":
            values[held] = 0.0
        found, begin = [], 0
        for window in windows:
            own = values[begin : begin + len(window)]
            begin += len(window)
            if not window:
                found.append(np.nan)
                continue
            total = sum(0.5 * (last - first) * float(WEIGHTS @ each[: len(NODES)])
                        for (first, last, _), each in zip(window, own, strict=True))  # fmt: skip
            dense = own[:, len(NODES) :]
            sums = {"sum": total, "avg": total / size, "min": dense.min(), "max": dense.max()}
            found.append(float(sums[node.function]))
        return np.array(found)


def _plain(values: Floats) -> Floats:
    """Give the first attribute, with a number that is far from all others where there is none."""
    return np.nan_to_num(values[:, 0], nan=1e6)


def _inside(cells: list[Cell], begin: float, end: float) -> list[Cell]:
    """Give the parts of cells that lie in a window; none if they leave a gap."""
    own = [c for c in cells if c[1] > begin + TINY and c[0] < end - TINY]
    if not own or own[0][0] > begin + TINY or own[-1][1] < end - TINY:
        return []
    if any(two[0] - one[1] > TINY for one, two in pairwise(own)):
        return []
    return [(max(first, begin), min(last, end), held) for first, last, held in own]


def _instants(piece: Cell) -> Floats:
    """Give the instants at which a piece is integrated, and looked at for its extremes."""
    first, last, held = piece
    if not np.isnan(held):
        return np.full(len(NODES) + DENSE, held - 1e-9)
    nodes = 0.5 * (first + last) + 0.5 * (last - first) * NODES
    return np.concatenate([nodes, np.linspace(first + 1e-9, last - 1e-9, DENSE)])


def _mapped(node: ModelMap, values: Floats) -> Floats:
    columns = []
    for each in node.attributes:
        own = valued(each.polynomial, values)
        with np.errstate(divide="ignore", invalid="ignore"):
            if each.function == "sqrt":
                own = np.sqrt(own)
            elif each.function == "abs":
                own = np.abs(own)
            elif each.function == "ratio":
                assert each.divisor is not None
                own = own / valued(each.divisor, values)
        columns.append(own)
    return np.array(columns).T


def _filled(gap: str, breaks: Floats, there: npt.NDArray[np.bool_], size: float) -> list[Cell]:
    """Give the cells in which there is a function, and the gaps that are filled."""
    cells: list[Cell] = []
    for begin, end, is_there in zip(breaks[:-1], breaks[1:], there, strict=True):
        if not is_there:
            continue
        if gap != "fail" and cells and TINY < begin - cells[-1][1] < size:
            cells.append((cells[-1][1], begin, cells[-1][1]))
        cells.append((begin, end, np.nan))
    return cells
