"""Tuples in a plane: the least value in boxes of two attributes, and what boxes add up to.

Tuples are points of `range_points`, x being their first number and z the second, so that a box is a
rectangle of these: outer_l and inner_l are its ends in x, inner_r and outer_r those in z. `ys` has
their values; `lows` has, at the middle of every run of more than LEAF points, the least value of
the run's points that were not dropped. A box looks only into runs that may have less than it has
found.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.compilation import inlined, tight
from penstock.kernels.range_points import (
    GONE,
    LEAF,
    RangePoints,
    RangeRectangles,
    point_in,
)
from penstock.kernels.range_searches import HIGHEST

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@inlined
def run_least(points: RangePoints, ys: Ints, lows: Ints, low: int, high: int) -> int:
    """Give the least value of a run, by the `lows` of its middle if it is a long one."""
    if high - low > LEAF:
        return int(lows[(low + high) >> 1])
    least = HIGHEST
    for at in range(low, high):
        if points.slots[at] != GONE and ys[at] < least:
            least = ys[at]
    return least


@tight
def point_sum_up(points: RangePoints, ys: Ints, lows: Ints, at: int, stack: Ints) -> None:
    """Compute anew what the runs around a point have as their least value."""
    group = np.searchsorted(points.starts, at, side="right") - 1
    low, high, top = points.starts[group], points.starts[group + 1], 0
    while high - low > LEAF:
        stack[2 * top], stack[2 * top + 1] = low, high
        top += 1
        middle = (low + high) >> 1
        if at == middle:
            break
        if at < middle:
            high = middle
        else:
            low = middle + 1
    while top > 0:
        top -= 1
        low, high = stack[2 * top], stack[2 * top + 1]
        middle = (low + high) >> 1
        least = run_least(points, ys, lows, low, middle)
        least = min(least, run_least(points, ys, lows, middle + 1, high))
        if points.slots[middle] != GONE:
            least = min(least, ys[middle])
        lows[middle] = least


@tight
def points_sum_up(points: RangePoints, ys: Ints, lows: Ints) -> None:
    """Write the least value of every run."""
    lows[:] = HIGHEST
    for group in range(len(points.directory)):
        for at in range(points.starts[group], points.starts[group + 1]):
            if points.slots[at] == GONE:
                continue
            low, high, value = points.starts[group], points.starts[group + 1], ys[at]
            while high - low > LEAF:
                middle = (low + high) >> 1
                lows[middle] = min(lows[middle], value)
                if at == middle:
                    break
                if at < middle:
                    high = middle
                else:
                    low = middle + 1


@tight
def points_lose(points: RangePoints, ys: Ints, lows: Ints, gone: Ints, stack: Ints) -> None:
    """Compute anew the runs around points that were dropped."""
    for k in range(len(gone)):
        point_sum_up(points, ys, lows, gone[k], stack)


@tight
def boxes_least(
    points: RangePoints, ys: Ints, lows: Ints, boxes: RangeRectangles, stack: Ints, least: Ints,
    found: Flags,
) -> None:  # fmt: skip
    """Lower `least` to the least value in every box, unless what is there is `found` and lower."""
    for k in range(len(boxes.partitions)):
        group = np.searchsorted(points.directory, boxes.partitions[k])
        if group == len(points.directory) or points.directory[group] != boxes.partitions[k]:
            continue
        best, has = least[k], found[k]
        stack[0], stack[1], stack[2] = points.starts[group], points.starts[group + 1], 0
        top = 1
        while top > 0:
            top -= 1
            low, high, by_last = stack[3 * top], stack[3 * top + 1], stack[3 * top + 2]
            while high - low > LEAF:
                middle = (low + high) >> 1
                if has and lows[middle] >= best:
                    high = low
                    break
                if by_last == 1:
                    key, first, last = points.x2s[middle], boxes.inner_r[k], boxes.outer_r[k]
                else:
                    key, first, last = points.x1s[middle], boxes.outer_l[k], boxes.inner_l[k]
                by_last = 1 - by_last
                if first > key:
                    low = middle + 1
                    continue
                if last >= key:
                    if (not has or ys[middle] < best) and point_in(points, middle, boxes, k):
                        best, has = ys[middle], True
                    stack[3 * top], stack[3 * top + 1] = middle + 1, high
                    stack[3 * top + 2] = by_last
                    top += 1
                high = middle
            for at in range(low, high):
                if (not has or ys[at] < best) and point_in(points, at, boxes, k):
                    best, has = ys[at], True
        least[k], found[k] = best, has


@tight
def boxes_add_up(
    ranks: Ints, weights: Ints, events: Ints, places: Ints, firsts: Ints, lasts: Ints, tree: Ints,
    sums: Ints,
) -> None:  # fmt: skip
    """Add up weights by ranges of places and of ranks, sweeping over the places once.

    There are two `places` of each box, its begin before its end, and `events` has their numbers in
    the order of places. A box takes the ranks from its first up to before its last. `tree` has a
    cell more than there are ranks, all zero: sums of weights by rank, as a Fenwick tree.
    """
    boxes = len(firsts)
    done = 0
    for event in events:
        while done < places[event]:
            cell = ranks[done] + 1
            while cell < len(tree):
                tree[cell] += weights[done]
                cell += cell & -cell
            done += 1
        box = event % boxes
        found, cell = 0, lasts[box]
        while cell > 0:
            found += tree[cell]
            cell &= cell - 1
        cell = firsts[box]
        while cell > 0:
            found -= tree[cell]
            cell &= cell - 1
        sums[box] += found if event >= boxes else -found
