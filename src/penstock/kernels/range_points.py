"""Points of subscriptions: which ranges [x1, x2] of a partition lie in a rectangle.

The points of a partition lie at starts[g] : starts[g + 1] for the partition directory[g], in the
order of a balanced k-d tree without any pointers: of a run of more than LEAF points, the one in the
middle has none after it with a lesser x1 and none before it with a greater one; of the runs before
and behind it the same holds for x2, and so on in turn. A rectangle among M points is found in the
time of its points and the square root of M. A point that was dropped has the slot GONE.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Flags, Ints, Rows
from penstock.kernels.compilation import inlined, tight

LEAF = 16
GONE = -1
STACK = 3 * 64
"""Numbers that a walk remembers: three of a run, for every level of all points there can be."""


class RangePoints(NamedTuple):
    """Points as their arrays."""

    directory: Ints
    starts: Ints
    x1s: Ints
    x2s: Ints
    slots: Rows


class RangeRectangles(NamedTuple):
    """Points with outer_l <= x1 <= inner_l and inner_r <= x2 <= outer_r, by rectangle."""

    partitions: Ints
    outer_l: Ints
    inner_l: Ints
    inner_r: Ints
    outer_r: Ints


@tight
def points_swap(points: RangePoints, i: int, j: int) -> None:
    """Exchange two points."""
    x1s, x2s, slots = points.x1s, points.x2s, points.slots
    x1s[i], x1s[j] = x1s[j], x1s[i]
    x2s[i], x2s[j] = x2s[j], x2s[i]
    slots[i], slots[j] = slots[j], slots[i]


@tight
def points_halve(points: RangePoints, low: int, high: int, by_last: bool) -> None:
    """Bring the middle of a run to its place by x1 or x2, what is less before, greater behind."""
    keys = points.x2s if by_last else points.x1s
    middle = (low + high) >> 1
    while high - low > 1:
        a, b, c = keys[low], keys[(low + high) >> 1], keys[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high - 1
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                points_swap(points, i, j)
                i += 1
                j -= 1
        if middle <= j:
            high = j + 1
        elif middle >= i:
            low = i
        else:
            return


@tight
def points_build(points: RangePoints, stack: Ints) -> None:
    """Bring the points of every partition into the order of its tree."""
    for group in range(len(points.directory)):
        stack[0], stack[1], stack[2] = points.starts[group], points.starts[group + 1], 0
        top = 1
        while top > 0:
            top -= 1
            low, high, by_last = stack[3 * top], stack[3 * top + 1], stack[3 * top + 2]
            while high - low > LEAF:
                points_halve(points, low, high, by_last == 1)
                middle = (low + high) >> 1
                by_last = 1 - by_last
                stack[3 * top], stack[3 * top + 1], stack[3 * top + 2] = middle + 1, high, by_last
                top += 1
                high = middle


@inlined
def point_in(points: RangePoints, at: int, rectangles: RangeRectangles, k: int) -> bool:
    """Say whether a point lies in a rectangle, and was not dropped."""
    return bool(
        rectangles.outer_l[k] <= points.x1s[at] <= rectangles.inner_l[k]
        and rectangles.inner_r[k] <= points.x2s[at] <= rectangles.outer_r[k]
        and points.slots[at] != GONE
    )


@tight
def rectangle_find(
    points: RangePoints, rectangles: RangeRectangles, k: int, stack: Ints, found: Rows, count: int,
    found_max: int,
) -> int:  # fmt: skip
    """Write the slots in a rectangle behind the `count` that are found, up to `found_max`.

    Returns
    -------
    int
        How many are found now; if that is `found_max`, there may be more.
    """
    partition = rectangles.partitions[k]
    outer_l, inner_l = rectangles.outer_l[k], rectangles.inner_l[k]
    inner_r, outer_r = rectangles.inner_r[k], rectangles.outer_r[k]
    group = np.searchsorted(points.directory, partition)
    if group == len(points.directory) or points.directory[group] != partition:
        return count
    stack[0], stack[1], stack[2] = points.starts[group], points.starts[group + 1], 0
    top = 1
    while top > 0:
        top -= 1
        low, high, by_last = stack[3 * top], stack[3 * top + 1], stack[3 * top + 2]
        while high - low > LEAF:
            middle = (low + high) >> 1
            if by_last == 1:
                key, least, greatest = points.x2s[middle], inner_r, outer_r
            else:
                key, least, greatest = points.x1s[middle], outer_l, inner_l
            by_last = 1 - by_last
            if least > key:
                low = middle + 1
                continue
            if greatest >= key:
                if point_in(points, middle, rectangles, k):
                    if count == found_max:
                        return count
                    found[count] = points.slots[middle]
                    count += 1
                stack[3 * top], stack[3 * top + 1], stack[3 * top + 2] = middle + 1, high, by_last
                top += 1
            high = middle
        for at in range(low, high):
            if point_in(points, at, rectangles, k):
                if count == found_max:
                    return count
                found[count] = points.slots[at]
                count += 1
    return count


@tight
def rectangles_find(
    points: RangePoints, rectangles: RangeRectangles, first: int, count: int, stack: Ints,
    found: Rows, found_in: Ints, progress: Ints,
) -> bool:  # fmt: skip
    """Write the slots in the rectangles from `first` on behind those found, with the rectangle.

    `progress` gets the first rectangle that is not done, and how many are found.

    Returns
    -------
    bool
        Whether all are done: if not, there was no room, and there must be one cell more.
    """
    for k in range(first, len(rectangles.partitions)):
        progress[0], progress[1] = k, count
        end = rectangle_find(points, rectangles, k, stack, found, count, len(found))
        if end == len(found):
            return False
        found_in[count:end] = k
        count = end
    progress[0], progress[1] = len(rectangles.partitions), count
    return True


@tight
def rectangles_meet(
    points: RangePoints, rectangles: RangeRectangles, stack: Ints, found: Rows, meets: Flags
) -> None:
    """Mark the rectangles that hold any point; `found` has room for one."""
    for k in range(len(rectangles.partitions)):
        if not meets[k]:
            meets[k] = rectangle_find(points, rectangles, k, stack, found, 0, 1) > 0
