"""Probing stabbing groups: the rows nearest to a group's point decide who is affected.

Of a tuple's run only two values matter to a group with point p: the largest that is not above p,
and the smallest above it. Members that contain neither contain no value of the run.

A batch is sorted by code and key. Tuples of one code share the two values of every group (`walk`);
groups that these values can affect become items, ordered by group, and each item's tuples read the
group's cells (`scan`), so that a group's memory is used for the whole batch before the next one's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.kernels.arrays import Bytes, Flags, Ints, Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.group_cells import Cells
from penstock.kernels.runs import RunIndex, bound_high
from penstock.kernels.stabs import bound_gallop

LEFT, RIGHT = 1, 2
"""Sides of a group's point that an item probes."""
SMALL = 32
"""In cells with at most so many entries, trying them all is quicker than two searches."""
DESCENTS, PROBES, VISITED, FOUND, STATE = 2, 3, 4, 5, 6
"""Where `state` counts neighbour searches, lists probed, entries looked at, pairs; its length."""


class Items(NamedTuple):
    """What a walk found: a group, its tuples [first, last), the values next to its point, sides."""

    group: Rows
    first: Rows
    last: Rows
    left: Ints
    right: Ints
    sides: Bytes


@kernel
def groups_walk(
    state: Ints, last: int, codes: Rows, keys: Ints, runs: RunIndex, cells: Cells, items: Items
) -> int:
    """Write an item for every (code, group) that may be affected, until the items are full.

    `state[0]` is the tuple to begin with; the kernel leaves there where to continue.
    """
    values, points, hulls = runs.value, cells.points, cells.hulls
    groups = len(points)
    count = 0
    i = state[0]
    while i < last and count + groups <= len(items.group):
        code = codes[i]
        first = i
        smallest = largest = keys[i]
        while i < last and codes[i] == code:
            smallest = min(smallest, keys[i])
            largest = max(largest, keys[i])
            i += 1
        begin = int(runs.start[code])
        end = begin + int(runs.length[code])
        at = begin
        state[DESCENTS] += groups
        for g in range(groups):
            point = points[g]
            if at < end and values[at] <= point:
                at = bound_gallop(values, begin, end, at, point)
            sides = 0
            if at > begin and hulls[g, 2] <= values[at - 1]:
                sides = LEFT
            # A value on the point itself is in all members: the left probe finds them all.
            exact = at > begin and values[at - 1] == point
            if at < end and values[at] <= hulls[g, 3] and not exact:
                sides |= RIGHT
            if sides > 0 and hulls[g, 0] <= largest and smallest <= hulls[g, 1]:
                items.group[count] = g
                items.first[count] = first
                items.last[count] = i
                items.left[count] = values[at - 1] if at > begin else 0
                items.right[count] = values[at] if at < end else 0
                items.sides[count] = sides
                count += 1
    state[0] = i
    return count


@kernel
def items_order(item_group: Rows, count: int, groups: int) -> Any:
    """Give the order of items by group."""
    cursor = np.zeros(groups + 1, dtype=np.int32)
    for i in range(count):
        cursor[item_group[i] + 1] += 1
    for g in range(groups):
        cursor[g + 1] += cursor[g]
    order = np.empty(count, dtype=np.int32)
    for i in range(count):
        order[cursor[item_group[i]]] = i
        cursor[item_group[i]] += 1
    return order


@kernel
def lows_bound(box: Ints, first: int, stop: int, key: int) -> int:
    """Find the first entry in [first, stop) whose low end on the probed side is above `key`."""
    low, high = first, stop
    while low < high:
        middle = (low + high) >> 1
        if box[middle, 0] <= key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def cell_try(
    key: int, row: int, first: int, size: int, left: int, right: int, sides: int, cells: Cells,
    writes: bool, count: int, out_tuples: Rows, out_slots: Rows,
) -> int:  # fmt: skip
    """Write the pairs of one tuple and one small cell, by trying all its entries."""
    box, slot = cells.box, cells.slot
    goes_left, goes_right = np.uint64(sides & LEFT), np.uint64((sides & RIGHT) >> 1)
    at = np.uint64(count)
    for i in range(np.uint64(first), np.uint64(first + size)):
        if writes:
            out_tuples[at] = row
            out_slots[at] = slot[i]
        met = goes_left & np.uint64(box[i, 0] <= left) | goes_right & np.uint64(box[i, 1] >= right)
        at += met & np.uint64(box[i, 2] <= key) & np.uint64(key <= box[i, 3])
    return int(np.int64(at))


@kernel
def cell_emit(
    key: int, row: int, first: int, size: int, left: int, right: int, q_right: int, cells: Cells,
    writes: bool, count: int, out_tuples: Rows, out_slots: Rows,
) -> int:  # fmt: skip
    """Write the pairs of one tuple and one large cell; without buffers only count.

    `left` entries of the first list and `right` of the second are candidates; if the first list has
    fewer others than that, these are tried instead of the second list.
    """
    box, slot, place = cells.box, cells.slot, cells.place
    at = np.uint64(count)
    if writes:
        for i in range(np.uint64(first), np.uint64(first + left)):
            out_tuples[at] = row
            out_slots[at] = slot[i]
            at += np.uint64(box[i, 2] <= key) & np.uint64(key <= box[i, 3])
    else:
        for i in range(np.uint64(first), np.uint64(first + left)):
            at += np.uint64(box[i, 2] <= key) & np.uint64(key <= box[i, 3])
    if size - left <= right:
        for i in range(np.uint64(first + left), np.uint64(first + size)):
            if writes:
                out_tuples[at] = row
                out_slots[at] = slot[i]
            holds = np.uint64(box[i, 2] <= key) & np.uint64(key <= box[i, 3])
            at += holds & np.uint64(box[i, 1] >= q_right)
        return int(np.int64(at))
    for j in range(first, first + right):
        # What stands in the left prefix has been written.
        if place[j] >= left:
            k = np.uint64(first + place[j])
            if box[k, 2] <= key <= box[k, 3]:
                if writes:
                    out_tuples[at] = row
                    out_slots[at] = slot[k]
                at += np.uint64(1)
    return int(np.int64(at))


@kernel
def groups_scan(
    state: Ints, order: Rows, items: Items, keys: Ints, rows: Rows, cells: Cells,
    out_tuples: Rows, out_slots: Rows,
) -> int:  # fmt: skip
    """Write (tuple, slot) of all affected queries of the items, until buffers are full.

    `state` is (item, tuple, ...): where to begin; the kernel leaves there where to continue. All is
    done when state[0] is the number of items. Buffers hold at least two cells; without buffers,
    pairs are counted only.
    """
    bound = cells.bound
    capacity = len(out_slots)
    writes = capacity > 0
    count = 0
    resume = state[1]
    for step in range(state[0], len(order)):
        item = order[step]
        group, sides = items.group[item], items.sides[item]
        begin = cells.first[group]
        end = begin + cells.many[group]
        cell = begin - 1
        q_left, q_right = items.left[item], items.right[item]
        left = right = first = size = 0
        for i in range(max(resume, np.int64(items.first[item])), items.last[item]):
            key = keys[i]
            if cell < begin or key < bound[cell] or (cell + 1 < end and key >= bound[cell + 1]):
                cell = bound_high(bound, begin, end, key) - 1
                first, size = cells.start[cell], int(cells.size[cell])
                left, right = size, 0
                if size > SMALL:
                    left = 0
                    if sides & LEFT:
                        left = lows_bound(cells.box, first, first + size, q_left) - first
                    if sides & RIGHT and left < size:
                        right = bound_high(cells.high, first, first + size, ~q_right) - first
                state[PROBES] += int(sides & LEFT) + int(sides & RIGHT > 0)
            if left + right == 0:
                continue
            if writes and count + left + right > capacity:
                state[0], state[1] = step, i
                return count
            state[VISITED] += left + min(right, size - left)
            if size <= SMALL:
                count = cell_try(
                    key, rows[i], first, size, q_left, q_right, sides, cells,
                    writes, count, out_tuples, out_slots,
                )  # fmt: skip
            else:
                count = cell_emit(
                    key, rows[i], first, size, left, right, q_right, cells,
                    writes, count, out_tuples, out_slots,
                )  # fmt: skip
        resume = 0
    state[0], state[1] = len(order), 0
    return count


@kernel
def pairs_keep(tuples: Rows, slots: Rows, stale: Flags) -> int:
    """Keep the pairs whose query is not stale, in place; count them."""
    count = 0
    for i in range(len(slots)):
        tuples[count] = tuples[i]
        slots[count] = slots[i]
        count += int(not stale[slots[i]])
    return count
