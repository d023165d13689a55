"""The bands of queries, by width: which of them a model may come into.

A band comes in question whose lower end is at most its width below what a segment reaches. Bands
of one partition whose widths are alike are a run with one such width, so a wide band among narrow
ones widens nobody's search. Bands without a lower end are sought by their upper one.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.band_slices import BandRuns, bands_slice
from penstock.models.segments import Segments
from penstock.vocabulary.batches import Flags, Floats, Ints, Rows

LEVELS_MAX = 16
"""Widths from the greatest down that have levels of their own, each four times the next."""
NEVER, BELOW = -2, -1
"""The levels of bands that nothing comes into, and of those without a lower end."""


class AskedBands:
    """Bands, each of a partition."""

    def __init__(self) -> None:
        none, empty = np.zeros(1, np.int64), np.empty(0)
        self._runs = BandRuns(empty, none, none, empty, empty)
        self._runs_max = 0

    def put(self, slots: Rows, partition: Ints, low: Floats, high: Floats) -> Ints:
        """Take bands, instead of all others; give the order in which `near` counts them."""
        level = _levels(low, high)
        ends = np.where(level == BELOW, high, low)
        order: Ints = np.lexsort((slots, ends, level, partition))
        level, partition = level[order], partition[order]
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = (partition[1:] != partition[:-1]) | (level[1:] != level[:-1])
        places = np.flatnonzero(first)
        levels = level[places]
        width = np.where(level < 0, 0.0, high[order]) - np.where(level < 0, 0.0, low[order])
        below = np.maximum.reduceat(width, places) if len(order) else width
        below = np.where(levels == NEVER, -np.inf, np.maximum(below, 0.0))
        above = np.where(levels == BELOW, np.inf, np.where(levels == NEVER, -np.inf, 0.0))
        count = int(partition.max(initial=-1)) + 1
        parts = np.searchsorted(partition[places], np.arange(count + 1)).astype(np.int64)
        begins = np.append(places, len(order)).astype(np.int64)
        ends = np.where(level == NEVER, 0.0, ends[order])
        self._runs = BandRuns(ends, begins, parts, below, above)
        self._runs_max = int(np.diff(parts).max(initial=0))
        return order

    def near(self, partition: Ints, model: Floats, segments: Segments) -> tuple[Ints, Ints]:
        """Give the bands that segments may come into: the segment, and the band's place.

        A partition below zero has none.
        """
        beyond = np.maximum(np.abs(segments.low), np.abs(segments.high))
        reach = np.zeros(len(model))
        for power in range(model.shape[1] - 1, 0, -1):
            reach = (reach + np.abs(model[:, power])) * beyond
        # Rounding may take a value a little further.
        reach += 1e-9 * (np.abs(model[:, 0]) + reach)
        first, last = np.empty((2, len(model), self._runs_max), np.int64)
        bands_slice(
            self._runs, np.ascontiguousarray(partition, np.int64), model[:, 0] - reach,
            model[:, 0] + reach, first, last,
        )  # fmt: skip
        sizes = (last - first).reshape(-1)
        index = np.repeat(np.repeat(np.arange(len(model)), self._runs_max), sizes)
        before = np.repeat(np.cumsum(sizes) - sizes, sizes)
        return index, np.arange(len(index)) - before + np.repeat(first.reshape(-1), sizes)


def _levels(low: Floats, high: Floats) -> Ints:
    """Give the level of each band: those of one level have widths within four times, or small ones.

    >>> _levels(np.array([0.0, 0.0, 0.0, -np.inf, np.nan]), np.array([1.0, 1.5, 99.0, 5.0, 1.0]))
    array([12, 12, 15, -1, -2])
    """
    with np.errstate(invalid="ignore"):
        width = high - low
    is_long: Flags = (width > 0.0) & (width < np.inf)
    own = np.frexp(np.where(is_long, width, 1.0))[1].astype(np.int64) // 2
    top = int(own[is_long].max(initial=np.iinfo(np.int32).min))
    level = np.where(is_long, np.maximum(own - top + LEVELS_MAX - 1, 0), 0)
    level[width == np.inf] = LEVELS_MAX
    level[low == -np.inf] = BELOW
    level[np.isnan(low) | np.isnan(high)] = NEVER
    return level
