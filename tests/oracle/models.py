"""Model queries as anybody would write them: every stage is asked for its values at instants.

A stage gives, for some instants, the values of every key (NaN where it has none), and the instants
where its functions may break. Windows integrate between the breaks, and look at many instants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
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

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
GRID = 0.05
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
        total = total + term.factor * np.prod(values ** np.array(term.powers), axis=1)
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
        found = []
        grid = np.arange(GRID / 3, self.until, GRID)
        for key in self.values(grid, node):
            for jump in self._jumps(node, key, grid):
                low, high = jump
                for _ in range(40):
                    middle = 0.5 * (low + high)
                    one, two, three = self.values(np.array([low, middle, high]), node)[key][:, 0]
                    first = abs(np.nan_to_num(two, nan=1e6) - np.nan_to_num(one, nan=1e6))
                    second = abs(np.nan_to_num(three, nan=1e6) - np.nan_to_num(two, nan=1e6))
                    low, high = (low, middle) if first > second else (middle, high)
                found.append(high)
        return found

    def _jumps(self, node: Any, key: tuple[int, ...], grid: Floats) -> list[tuple[float, float]]:
        own = np.nan_to_num(self.values(grid, node)[key][:, 0], nan=1e6)
        places = np.flatnonzero(np.abs(np.diff(own)) > 1e5)
        return [(grid[place], grid[place + 1]) for place in places]

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
            values = np.full((len(at), 1), np.nan)
            for place, instant in enumerate(at):
                values[place, 0] = self._window(node, group, cells, instant - size, instant)
            found[group] = values
        return found

    def _window(
        self, node: ModelWindow, group: tuple[int, ...], cells: list[tuple[float, float, float]],
        begin: float, end: float,
    ) -> float:  # fmt: skip
        """Give one window's aggregate; a cell has a begin, an end, and where its value is held."""
        own = [c for c in cells if c[1] > begin + TINY and c[0] < end - TINY]
        if not own or own[0][0] > begin + TINY or own[-1][1] < end - TINY:
            return float("nan")
        if any(two[0] - one[1] > TINY for one, two in pairwise(own)):
            return float("nan")
        total, low, high = 0.0, np.inf, -np.inf
        for cell in own:
            first, last, held = max(cell[0], begin), min(cell[1], end), cell[2]
            if np.isnan(held):
                nodes = 0.5 * (first + last) + 0.5 * (last - first) * NODES
                dense = np.linspace(first + 1e-9, last - 1e-9, 120)
                found = self._together(node, np.concatenate([nodes, dense]))[group][:, 0]
            else:
                value = 0.0
                if node.gap == "hold":
                    value = self._together(node, np.array([held - 1e-9]))[group][0, 0]
                found = np.full(132, value)
            total += 0.5 * (last - first) * float(WEIGHTS @ found[:12])
            low, high = min(low, found[12:].min()), max(high, found[12:].max())
        sums = {"sum": total, "avg": total / (end - begin), "min": low, "max": high}
        return float(sums[node.function])


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


def _filled(
    gap: str, breaks: Floats, there: npt.NDArray[np.bool_], size: float
) -> list[tuple[float, float, float]]:
    """Give the cells in which there is a function, and the gaps that are filled."""
    cells: list[tuple[float, float, float]] = []
    for begin, end, is_there in zip(breaks[:-1], breaks[1:], there, strict=True):
        if not is_there:
            continue
        if gap != "fail" and cells and TINY < begin - cells[-1][1] < size:
            cells.append((cells[-1][1], begin, cells[-1][1]))
        cells.append((begin, end, np.nan))
    return cells
