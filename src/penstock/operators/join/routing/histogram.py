"""Statistics of queries and data: how many ranges hold a value, how many rows a key has.

Bounds follow the ranges' own ends, so a column of any unit is covered; they are chosen anew when
ends fall outside. A float's key is its bit pattern: buckets of equal width in keys, not in values.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.routes import UNIT, bucket_of, ranges_tally
from penstock.vocabulary.batches import Floats, Ints

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
TRIM = 0.005
"""The share of ends at either side that may lie far away: one stray end widens no bucket."""
SAMPLE = 20_000


class IntervalHistogram:
    """How many ranges hold a value: buckets of equal width, read in one step.

    A range adds 1 to a bucket that it covers and a share to one that it covers in part. Adding
    and deleting are exact inverses. An update costs the same for a wide range as for a narrow one.

    >>> histogram = IntervalHistogram(0, 99, buckets=10)
    >>> histogram.change(np.array([[0, 99], [0, 49]]), 1)
    >>> histogram.counts().tolist()
    [0.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    """

    def __init__(self, low: int, high: int, buckets: int = 100) -> None:
        self.low, self.high, self.buckets = low, high, buckets
        self.scale = buckets / float(high - low + 1)
        self._marks = np.zeros(buckets + 2, dtype=np.int64)
        self._parts = np.zeros(buckets + 2, dtype=np.int64)
        self._outside = 0
        self._ranges = 0

    def change(self, ranges: Ints, sign: int) -> None:
        """Add ranges (low, high) with sign 1, or delete ranges that were added with -1."""
        outside = ranges_tally(
            ranges, sign, self.low, self.high, self.scale, self._marks, self._parts
        )
        self._outside += sign * outside
        self._ranges += sign * len(ranges)

    @property
    def outside(self) -> float:
        """The share of the ranges' ends that lie outside the bounds."""
        return self._outside / max(2 * self._ranges, 1)

    def counts(self) -> Floats:
        """Give every bucket's count; the first and the last are those outside."""
        counts: Floats = (self._parts + np.cumsum(self._marks)) / UNIT
        return counts

    def bucket(self, key: int) -> int:
        """Give the place of a key's bucket in `counts`."""
        return bucket_of(key, self.low, self.high, self.scale, self.buckets)


def bounds(ranges: Ints) -> tuple[int, int]:
    """Choose the domain: from the lowest to the highest closed end, but none that lies far away.

    Far away is more than the span of nearly all ends beyond these.
    """
    ends = ranges[:: max(len(ranges) // SAMPLE, 1)].ravel()
    ends = np.sort(ends[(ends != LOWEST) & (ends != HIGHEST)])
    if len(ends) == 0:
        return 0, 0
    trimmed = int(len(ends) * TRIM)
    low, high = int(ends[trimmed]), int(ends[len(ends) - 1 - trimmed])
    span = high - low
    return max(int(ends[0]), low - span), min(int(ends[-1]), high + span)
