"""Cells: the members of stabbing groups, laid out so that a probe reads almost only hits.

The members of a group all contain its point on the probed side. The arriving side is cut into
cells, and a cell lists the members whose ranges there meet it, twice: by low end on the probed
side, and by high end, falling. The members that a value left of the point meets are a prefix of the
first list, those that a value right of it meets a prefix of the second. The number of cells is such
that all lists together have about SPREAD entries per member; then most of a prefix are hits.

In `Cells`, group g has cells [first[g], first[g] + many[g]); `bound` is a cell's least key. Cell k
has entries [start[k], start[k] + size[k]) of `box` (cl, ch, al, ah) and `slot` (first list) and of
`high` and `place` (second list). `high` holds ~ch, so that both lists ascend; `place` says where in
the cell's first list the entry is. `hulls` are the groups' extreme keys (al, ah, cl, ch).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Ints, Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.runs import bound_high

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
CELL_MIN = 4
"""A group gets at most one cell for so many members."""


class Cells(NamedTuple):
    """Groups in the order of their points, their cells, and the cells' entries."""

    points: Ints
    hulls: Ints
    first: Ints
    many: Rows
    bound: Ints
    start: Ints
    size: Rows
    box: Ints
    slot: Rows
    high: Ints
    place: Rows


@kernel
def cells_cut(
    member_start: Ints, ends: Rows, lows: Ints, highs: Ints, spread: float,
    group_cells: Ints, bounds: Ints,
) -> int:  # fmt: skip
    """Cut each group's arriving side into cells with equally many ends of members; count them.

    Group g's members are [member_start[g], member_start[g + 1]); `ends` sorts their low and high
    ends by (group, key): e is the low end of member e, or the high end of member e - n.
    """
    n = len(lows)
    total = 0
    for g in range(len(member_start) - 1):
        first, size = 2 * member_start[g], member_start[g + 1] - member_start[g]
        covered = 0.0
        for i in range(first, first + 2 * size):
            covered += float(i - first) if ends[i] >= n else -float(i - first)
        most = max(1, size // CELL_MIN)
        cells = most
        if covered > 0.0:
            cells = min(most, max(1, int((spread - 1.0) * 2.0 * size * size / covered)))
        bounds[total] = LOWEST
        count = 1
        for cell in range(1, cells):
            end = ends[first + cell * 2 * size // cells]
            key = lows[end] if end < n else highs[end - n]
            if end >= n and key < HIGHEST:
                key += 1
            if key > bounds[total + count - 1]:
                bounds[total + count] = key
                count += 1
        group_cells[g] = count
        total += count
    return total


@kernel
def cells_count(
    groups: Rows, lows: Ints, highs: Ints, cell_first: Ints, bounds: Ints,
    from_cell: Rows, to_cell: Rows, sizes: Ints,
) -> int:  # fmt: skip
    """Find each member's first and last cell, count each cell's members, and all entries."""
    total = 0
    for i in range(len(groups)):
        first, last = cell_first[groups[i]], cell_first[groups[i] + 1]
        begin = bound_high(bounds, first, last, lows[i]) - 1
        end = bound_high(bounds, begin, last, highs[i]) - 1
        from_cell[i] = begin
        to_cell[i] = end
        total += end - begin + 1
        for cell in range(begin, end + 1):
            sizes[cell] += 1
    return total


@kernel
def cells_fill(
    by_low: Rows, by_high: Rows, slots: Rows, ranges_a: Ints, ranges_c: Ints,
    from_cell: Rows, to_cell: Rows, cell_start: Ints,
    box: Ints, slot: Rows, high: Ints, place: Rows,
) -> None:  # fmt: skip
    """Write all entries: members in order of their low ends, then in order of their high ends."""
    n = len(slots)
    cursor = cell_start[:-1].copy()
    offset = np.empty(n, dtype=np.int64)
    total = 0
    for i in range(n):
        offset[i] = total
        total += to_cell[i] - from_cell[i] + 1
    rank = np.empty(total, dtype=np.int32)
    for j in range(n):
        i = by_low[j]
        for cell in range(from_cell[i], to_cell[i] + 1):
            at = cursor[cell]
            cursor[cell] = at + 1
            box[at, 0] = ranges_c[i, 0]
            box[at, 1] = ranges_c[i, 1]
            box[at, 2] = ranges_a[i, 0]
            box[at, 3] = ranges_a[i, 1]
            slot[at] = slots[i]
            rank[offset[i] + cell - from_cell[i]] = at - cell_start[cell]
    cursor[:] = cell_start[:-1]
    for j in range(n):
        i = by_high[j]
        for cell in range(from_cell[i], to_cell[i] + 1):
            at = cursor[cell]
            cursor[cell] = at + 1
            high[at] = ~ranges_c[i, 1]
            place[at] = rank[offset[i] + cell - from_cell[i]]


@kernel
def groups_bound(member_start: Ints, ranges_a: Ints, ranges_c: Ints, hull: Ints) -> None:
    """Give each group's hull: least and greatest key of its members on either side."""
    for g in range(len(member_start) - 1):
        first = member_start[g]
        for side in range(2):
            hull[g, 2 * side] = HIGHEST
            hull[g, 2 * side + 1] = LOWEST
        for i in range(first, member_start[g + 1]):
            hull[g, 0] = min(hull[g, 0], ranges_a[i, 0])
            hull[g, 1] = max(hull[g, 1], ranges_a[i, 1])
            hull[g, 2] = min(hull[g, 2], ranges_c[i, 0])
            hull[g, 3] = max(hull[g, 3], ranges_c[i, 1])
