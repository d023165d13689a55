"""Thresholds of very many queries: which are crossed by a model, and when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.algebra.models import Comparator
from penstock.kernels.root_grids import root_room
from penstock.kernels.threshold_crossings import thresholds_cross
from penstock.models.conditions import ALLOWS, floats
from penstock.vocabulary.batches import Flags, Floats, Ints

PAIRS_MIN = 1024
PAIRS_MAX = 1 << 20
"""How many pairs are found at once, at least and at most."""


@dataclass(frozen=True, slots=True)
class Crossed:
    """Pairs of a segment and a threshold, with when the comparison holds; by segment."""

    index: Ints
    """The number of the segment."""
    position: Ints
    """The position of the query whose threshold it is."""
    low: Floats
    high: Floats
    whole: Flags
    """Whether it holds in all of the segment's range."""


class Crossings:
    """Thresholds, each of a query and a partition, sorted in their partitions.

    What is found for a threshold does not depend on the others. Thresholds that are no number are
    never satisfied. Entries that come or go are sorted in with the next search.

    >>> crossings = Crossings([0, 0, 7], [110.0, 125.0, 110.0], [10, 11, 12])
    >>> price = np.zeros((1, 9))
    >>> price[0, :2] = 100.0, 2.0
    >>> found = crossings.find([0], price, np.zeros(1), np.full(1, 10.0), "<")
    >>> found.position.tolist(), found.high.tolist(), found.whole.tolist()
    ([10, 11], [5.0, 10.0], [False, True])
    """

    def __init__(
        self,
        partition: Ints | list[int] | None = None,
        threshold: Floats | list[float] | None = None,
        position: Ints | list[int] | None = None,
    ) -> None:
        self._partition = np.array([] if partition is None else partition, np.int64)
        self._threshold = np.array([] if threshold is None else threshold, np.float64)
        self._position = np.array([] if position is None else position, np.int64)
        self._is_sorted = False
        self._codes = self._starts = np.empty(0, np.int64)
        self._sorted_thresholds = np.empty(0)
        self._sorted_positions = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._position)

    def add(self, partition: Ints, threshold: Floats, position: Ints) -> None:
        """Add entries, whose positions no other entry has."""
        self._partition = np.concatenate([self._partition, partition])
        self._threshold = np.concatenate([self._threshold, threshold])
        self._position = np.concatenate([self._position, position])
        self._is_sorted = False

    def drop(self, position: Ints) -> None:
        """Drop the entries of some positions."""
        kept = ~np.isin(self._position, position)
        self._partition = self._partition[kept]
        self._threshold = self._threshold[kept]
        self._position = self._position[kept]
        self._is_sorted = False

    def find(
        self,
        partition: Ints | list[int],
        coefficients: Floats,
        low: Floats,
        high: Floats,
        comparator: Comparator,
    ) -> Crossed:
        """Give all pairs of a segment and a threshold with `model comparator threshold`, and when.

        `coefficients` are (n, WIDTH): one model for each segment. A segment meets the thresholds of
        its partition. Pairs come by segment, then by threshold, then by time.
        """
        self._sort()
        total, width = coefficients.shape
        partition = np.ascontiguousarray(partition, np.int64)
        coefficients, low, high = floats(coefficients), floats(low), floats(high)
        wide = width + 3
        room = (
            np.empty(wide), np.empty(wide), np.empty(wide, np.int8), root_room(wide),
            np.empty(wide),
        )  # fmt: skip
        state = np.array([0, -1])
        size = min(max(PAIRS_MIN, 2 * total), PAIRS_MAX)
        parts: list[tuple[Ints, Ints, Floats, Floats, Flags]] = []
        while state[0] < total or not parts:
            made = (
                np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size),
                np.empty(size), np.empty(size, np.bool_),
            )  # fmt: skip
            count = thresholds_cross(
                self._codes, self._starts, self._sorted_thresholds, partition, coefficients,
                low, high, ALLOWS[comparator], *room, state, *made,
            )  # fmt: skip
            index, entry, lows, highs, whole = made
            parts.append((index[:count], entry[:count], lows[:count], highs[:count], whole[:count]))
            size = min(2 * size, PAIRS_MAX)
        index, entry, lows, highs, whole = (
            parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        )
        return Crossed(index, self._sorted_positions[entry], lows, highs, whole)

    def _sort(self) -> None:
        if self._is_sorted:
            return
        order = np.lexsort((self._position, self._threshold, self._partition))
        order = order[~np.isnan(self._threshold[order])]
        self._sorted_thresholds = self._threshold[order]
        self._sorted_positions = self._position[order]
        self._codes, starts = np.unique(self._partition[order], return_index=True)
        self._starts = np.append(starts, len(order)).astype(np.int64)
        self._is_sorted = True
