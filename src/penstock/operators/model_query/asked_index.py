"""The index of queries: whose keys and numbers segments satisfy, and when they do.

Queries with equal keys are a partition. One comparison, that in which queries differ most, is
answered by an index of the numbers in a partition, which finds what is satisfied and passes over
the rest. Where there are several, all of them are solved for what is left, each pair by itself, so
that who else asks makes no difference. Two that keep one polynomial between two numbers are a
*band*: those come in question whose ends are near what the segment reaches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.algebra.models import (
    ModelComparison,
    ModelConjunction,
    ModelQueryStep,
    Monomial,
    Polynomial,
)
from penstock.models.conditions import ConditionSolver, PolynomialMap
from penstock.models.crossings import Crossings
from penstock.models.segments import Segments
from penstock.operators.model_query.asked_bands import AskedBands
from penstock.vocabulary.batches import Flags, Floats, Ints, Rows

ABOVE, BELOW = frozenset({">", ">="}), frozenset({"<", "<="})
NOBODY = -1
"""The partition of keys that no query asks for."""


@dataclass(frozen=True, slots=True)
class SolvedPieces:
    """When segments satisfy queries: the slot, the number of the segment, and from when to when."""

    slot: Rows
    index: Ints
    low: Floats
    high: Floats

    def take(self, places: np.ndarray) -> SolvedPieces:
        """Give some of them."""
        return SolvedPieces(
            self.slot[places], self.index[places], self.low[places], self.high[places]
        )


class AskedIndex:
    """Queries by what each asks: keys as codes, and numbers to compare polynomials with."""

    def __init__(self, step: ModelQueryStep) -> None:
        asked = step.asked
        self._places = asked.key
        self._comparisons = asked.comparisons
        polynomials = [each.polynomial for each in asked.comparisons]
        self._map = PolynomialMap(polynomials, len(step.attributes))
        self._all = _solver(asked.comparisons) if len(polynomials) > 1 else None
        self._band = _band(asked.comparisons)
        self._bands = AskedBands()
        self._first = 0
        self._ranks: list[tuple[Ints, Ints]] = []
        self._slots: Rows = np.empty(0, dtype=np.int32)
        self._begins: Ints = np.zeros(1, dtype=np.int64)
        self._numbers: Floats = np.empty((0, len(polynomials)))
        self._crossings = Crossings()
        self.solved = 0
        """Pairs of a query and a segment that were solved, since this was last set."""

    def put(self, slots: Rows, keys: Ints, numbers: Floats) -> None:
        """Take queries, instead of all others: `keys` and `numbers` have a row for each."""
        self._ranks = []
        partition = np.zeros(len(slots), dtype=np.int64)
        for place in range(len(self._places)):
            values, own = np.unique(keys[:, place], return_inverse=True)
            pairs, partition = np.unique(partition * max(len(values), 1) + own, return_inverse=True)
            self._ranks.append((values, pairs))
        if self._band is not None:
            low, high = (numbers[:, place] for place in self._band)
            order = self._bands.put(slots, partition, low, high)
        else:
            order = np.lexsort((slots, partition))
        self._slots, self._numbers = slots[order], np.ascontiguousarray(numbers[order])
        partition = partition[order]
        count = int(partition.max(initial=-1)) + 1
        self._begins = np.searchsorted(partition, np.arange(count + 1))
        if self._comparisons and self._band is None:
            distinct = [len(np.unique(own)) for own in self._numbers.T]
            self._first = int(np.argmax(distinct))
            first = np.ascontiguousarray(self._numbers[:, self._first])
            self._crossings = Crossings(partition, first, np.arange(len(slots)))

    def pieces(self, segments: Segments) -> SolvedPieces:
        """Give all pieces of segments that satisfy queries, segment by segment."""
        partition = self._partitions(segments.key)
        if not self._comparisons:
            index, at = self._everybody(partition)
            return SolvedPieces(self._slots[at], index, segments.low[index], segments.high[index])
        models = self._map.models(segments.coefficients)
        if self._band is not None:
            index, at = self._bands.near(partition, models[:, self._band[0]], segments)
            return self._solved(models, segments, index, at)
        found = self._crossings.find(
            partition, np.ascontiguousarray(models[:, self._first]), segments.low, segments.high,
            self._comparisons[self._first].comparator,
        )  # fmt: skip
        index, at, low, high = found.index, found.position, found.low, found.high
        self.solved += len(index)
        if self._all is not None:
            once = np.ones(len(index), dtype=np.bool_)
            once[1:] = (index[1:] != index[:-1]) | (at[1:] != at[:-1])
            return self._solved(models, segments, index[once], at[once])
        return SolvedPieces(self._slots[at], index, low, high)

    def _solved(
        self, models: Floats, segments: Segments, index: Ints, at: Ints
    ) -> SolvedPieces:  # fmt: skip
        """Solve all comparisons of pairs of a segment and a query."""
        assert self._all is not None
        self.solved += len(index)
        left, low, high = self._all.solve(
            models[index], segments.low[index], segments.high[index], self._numbers[at]
        )
        index, at = index[left], at[left]
        return SolvedPieces(self._slots[at], index, low, high)

    def _partitions(self, keys: Ints) -> Ints:
        """Give the partition of each segment."""
        partition = np.zeros(len(keys), dtype=np.int64)
        known: Flags = np.full(len(keys), len(self._slots) > 0)
        for place, (values, pairs) in zip(self._places, self._ranks, strict=True):
            own, there = _found(values, keys[:, place])
            partition, paired = _found(pairs, partition * max(len(values), 1) + own)
            known &= there & paired
        return np.where(known, partition, NOBODY)

    def _everybody(self, partition: Ints) -> tuple[Ints, Ints]:
        """Give all queries of each segment's partition: the segment, and the query's place."""
        known = partition != NOBODY
        begin = np.where(known, self._begins[np.where(known, partition, 0)], 0)
        end = np.where(known, np.append(self._begins, 0)[np.where(known, partition, 0) + 1], 0)
        sizes = end - begin
        index = np.repeat(np.arange(len(partition)), sizes)
        before = np.repeat(np.cumsum(sizes) - sizes, sizes)
        return index, np.arange(len(index)) - before + np.repeat(begin, sizes)


def _band(comparisons: tuple[ModelComparison, ...]) -> tuple[int, int] | None:
    """Give which two of all comparisons keep a polynomial above a number and below another."""
    if len(comparisons) != 2:
        return None
    one, other = comparisons
    if one.polynomial != other.polynomial or one.squared != other.squared:
        return None
    if one.comparator in ABOVE and other.comparator in BELOW:
        return 0, 1
    return (1, 0) if one.comparator in BELOW and other.comparator in ABOVE else None


def _solver(comparisons: tuple[ModelComparison, ...]) -> ConditionSolver:
    """Give what solves several comparisons together, each of a model of its own."""
    count = len(comparisons)
    names = [f"n{place}" for place in range(count)]
    terms = tuple(
        ModelComparison(
            polynomial=_only(place, count), comparator=each.comparator, parameter=names[place]
        )
        for place, each in enumerate(comparisons)
    )
    return ConditionSolver(ModelConjunction(terms=terms), count, names)


def _only(place: int, count: int) -> Polynomial:
    """Give the polynomial that is one attribute among several."""
    powers = tuple(int(own == place) for own in range(count))
    return Polynomial(terms=(Monomial(factor=1.0, powers=powers),))


def _found(values: Ints, wanted: Ints) -> tuple[Ints, Flags]:
    """Give the place of values among sorted ones, and which are there."""
    if len(values) == 0:
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    at = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    there: Flags = values[at] == wanted
    return at, there
