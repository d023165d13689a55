"""Extremes of ranges: the least or greatest of the points in each, all at once.

A sparse table has, for every place and every power of two, the extreme of so many points from there
on; two of these cover any range.
"""

from __future__ import annotations

import numpy as np

from penstock.vocabulary.batches import Ints

NONE = -1


def range_extremes(
    points: tuple[Ints, Ints, Ints], ranges: tuple[Ints, Ints, Ints], greatest: bool
) -> Ints:
    """Give, for each range, the number of the point that is its extreme; NONE if it has no point.

    Points are partitions, places and values, ranges partitions, first and last places.

    >>> points = (np.array([0, 0, 0, 1]), np.array([20, 50, 70, 50]), np.array([3, 5, 6, 1]))
    >>> ranges = (np.array([0, 0, 0, 2]), np.array([25, 60, 71, 0]), np.array([60, 90, 99, 99]))
    >>> range_extremes(points, ranges, greatest=False).tolist()
    [1, 2, -1, -1]
    """
    partitions, places, values = points
    found = np.full(len(ranges[0]), NONE, dtype=np.int64)
    if not len(places):
        return found
    # Places become small numbers, so that partition and place fit one number that is searched for.
    known = np.unique(places)
    size = len(known) + 1
    order = np.lexsort((places, partitions))
    keys = partitions[order] * size + np.searchsorted(known, places[order])
    codes, first, last = ranges
    start = np.searchsorted(keys, codes * size + np.searchsorted(known, first))
    end = np.searchsorted(keys, codes * size + np.searchsorted(known, last, side="right"))
    own = values[order]
    own = ~own if greatest else own
    level = np.arange(len(own))
    lengths = end - start
    power = 0
    while True:
        asked = np.flatnonzero((lengths >= 1 << power) & (lengths < 2 << power))
        left, right = level[start[asked]], level[end[asked] - (1 << power)]
        found[asked] = order[np.where(own[left] <= own[right], left, right)]
        step = 1 << power
        power += 1
        if len(level) <= step:
            return found
        left, right = level[:-step], level[step:]
        level = np.where(own[left] <= own[right], left, right)
