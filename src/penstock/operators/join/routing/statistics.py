"""Statistics that the router reads: who is scattered, how many ranges hold a value, sizes."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from penstock.operators.join.routing.costs import Sizes
from penstock.operators.join.routing.histogram import IntervalHistogram, bounds
from penstock.vocabulary.batches import Flags, Ints, Rows

OUTSIDE_MAX = 0.1
"""The share of ends, beyond the usual ones, that may fall outside before bounds are chosen anew."""


class QueryRectangles(Protocol):
    """What is asked of the queries: the ranges (low, high) of each slot, and who is there."""

    a: Ints
    c: Ints
    here: Flags
    count: int


class Hotspots(Protocol):
    """What is asked of the tracker of hotspots."""

    @property
    def group_of(self) -> Rows:
        """The hot group of each slot, or -1."""

    @property
    def sizes(self) -> Rows:
        """Members by group."""

    def live(self) -> Rows:
        """The hot groups."""


class RoutingStatistics:
    """Two histograms with common buckets: of all ranges, of those of scattered queries.

    Who is scattered is the tracker's to say; it is asked when statistics are brought up to date.
    """

    def __init__(self, rectangles: QueryRectangles, buckets: int) -> None:
        self.accepted = IntervalHistogram(0, 0, buckets)
        self.scattered = IntervalHistogram(0, 0, buckets)
        self._rectangles = rectangles
        self._is_scattered = np.zeros(0, dtype=np.bool_)
        self._usual_outside = 0.0
        self._bounded = 0

    def add(self, slots: Rows) -> None:
        """Take queries whose ranges have come."""
        self._tally(self.accepted, slots, 1)

    def drop(self, slots: Rows) -> None:
        """Forget queries whose ranges are about to go."""
        self._tally(self.accepted, slots, -1)
        # Those that came since the last refresh may lie beyond what is known.
        slots = slots[slots < len(self._is_scattered)]
        slots = slots[self._is_scattered[slots]]
        self._tally(self.scattered, slots, -1)
        self._is_scattered[slots] = False

    def refresh(self, hotspots: Hotspots) -> None:
        """Bring the statistics of the scattered up to date; choose new bounds if ends drifted."""
        if self._drifted():
            self._rebound()
        now = self._rectangles.here.copy()
        known = min(len(now), len(hotspots.group_of))
        now[:known] &= hotspots.group_of[:known] < 0
        was = np.zeros_like(now)
        was[: len(self._is_scattered)] = self._is_scattered
        self._tally(self.scattered, np.flatnonzero(was & ~now), -1)
        self._tally(self.scattered, np.flatnonzero(now & ~was), 1)
        self._is_scattered = now

    def sizes(self, rows: int, hotspots: Hotspots) -> Sizes:
        """Give the sizes that costs depend on."""
        hot = hotspots.sizes[hotspots.live()].astype(np.float64)
        queries = self._rectangles.count
        return Sizes(
            rows=rows,
            queries=queries,
            scattered=queries - int(hot.sum()),
            groups=len(hot),
            roots=float(np.sqrt(hot).sum()),
        )

    def _drifted(self) -> bool:
        """Say whether the bounds are those of other queries than are here now."""
        grown = not self._bounded <= 2 * self._rectangles.count <= 4 * self._bounded
        return grown or self.accepted.outside > self._usual_outside + OUTSIDE_MAX

    def _rebound(self) -> None:
        """Choose bounds from the ranges' own ends and count everybody again."""
        slots = np.flatnonzero(self._rectangles.here)
        low, high = bounds(self._rectangles.a[slots])
        self.accepted = IntervalHistogram(low, high, self.accepted.buckets)
        self.scattered = IntervalHistogram(low, high, self.accepted.buckets)
        self._tally(self.accepted, slots, 1)
        self._is_scattered[:] = False
        self._usual_outside = self.accepted.outside
        self._bounded = len(slots)

    def _tally(self, histogram: IntervalHistogram, slots: npt.NDArray[Any], sign: int) -> None:
        histogram.change(self._rectangles.a[slots], sign)
