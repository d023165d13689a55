"""Boxes: a packed R-tree of closed int64 boxes in two or three dimensions.

A box is one row (low, high, low, high, ...). Level 0 are the boxes themselves, in an order that
keeps neighbours together (Sort-Tile-Recursive); box k of level l + 1 encloses boxes k * FANOUT and
following of level l. All levels lie in one array, level l at starts[l] : starts[l + 1].
"""

from __future__ import annotations

from penstock.kernels.arrays import Ints, Rows
from penstock.kernels.compilation import kernel

FANOUT = 16
STACK = 16 * FANOUT
"""Room for a walk: at most one node's children per level wait, and there are few levels."""


@kernel
def boxes_enclose(boxes: Ints, starts: Ints) -> None:
    """Fill the upper levels of a tree whose level 0 is in place."""
    sides = boxes.shape[1]
    for level in range(1, len(starts) - 1):
        below, here, end = starts[level - 1], starts[level], starts[level + 1]
        for k in range(here, end):
            first = below + (k - here) * FANOUT
            last = min(first + FANOUT, here)
            for side in range(0, sides, 2):
                low, high = boxes[first, side], boxes[first, side + 1]
                for child in range(first + 1, last):
                    low = min(low, boxes[child, side])
                    high = max(high, boxes[child, side + 1])
                boxes[k, side] = low
                boxes[k, side + 1] = high


@kernel
def box_holds(boxes: Ints, k: int, point: Ints) -> bool:
    """Say whether a box contains a point of two or three dimensions."""
    holds = boxes[k, 0] <= point[0] <= boxes[k, 1] and boxes[k, 2] <= point[1] <= boxes[k, 3]
    if len(point) == 3:
        holds = holds and boxes[k, 4] <= point[2] <= boxes[k, 5]
    return bool(holds)


@kernel
def boxes_stab(
    boxes: Ints, starts: Ints, slots: Rows, tail: Ints, tail_slots: Rows, point: Ints,
    stack: Ints, found: Rows,
) -> int:  # fmt: skip
    """Write the slots of all boxes that contain a point: of the tree, then of the unpacked tail.

    `stack` has room for STACK numbers, `found` for every box.
    """
    count = 0
    levels = len(starts) - 1
    waiting = 0
    if levels > 0 and starts[1] > 0:
        for k in range(starts[levels - 1], starts[levels]):
            stack[waiting] = k
            waiting += 1
    # A box's place tells its level.
    while waiting > 0:
        waiting -= 1
        k = stack[waiting]
        if not box_holds(boxes, k, point):
            continue
        level = 0
        while k >= starts[level + 1]:
            level += 1
        if level == 0:
            found[count] = slots[k]
            count += 1
            continue
        first = starts[level - 1] + (k - starts[level]) * FANOUT
        last = min(first + FANOUT, starts[level])
        if level == 1:
            for child in range(first, last):
                if box_holds(boxes, child, point):
                    found[count] = slots[child]
                    count += 1
        else:
            for child in range(first, last):
                stack[waiting] = child
                waiting += 1
    for k in range(len(tail_slots)):
        if box_holds(tail, k, point):
            found[count] = tail_slots[k]
            count += 1
    return count


@kernel
def points_stab(
    state: Ints, points: Ints, boxes: Ints, starts: Ints, slots: Rows, tail: Ints,
    tail_slots: Rows, stack: Ints, found: Rows, out_points: Ints, out_slots: Rows,
) -> int:  # fmt: skip
    """Write (point, slot) of all boxes that contain a point, from point `state[0]` on.

    All is done when state[0] is the number of points. Buffers have room for every box at least.
    """
    count = 0
    while state[0] < len(points):
        at = state[0]
        hits = boxes_stab(boxes, starts, slots, tail, tail_slots, points[at], stack, found)
        if count + hits > len(out_slots):
            break
        for k in range(hits):
            out_points[count] = at
            out_slots[count] = found[k]
            count += 1
        state[0] = at + 1
    return count


@kernel
def rows_probe(
    state: Ints, last: int, a: Ints, codes: Rows, start: Ints, length: Rows, values: Ints,
    boxes: Ints, starts: Ints, slots: Rows, tail: Ints, tail_slots: Rows,
    point: Ints, stack: Ints, found: Rows, stamps: Rows, out_tuples: Rows, out_slots: Rows,
) -> int:  # fmt: skip
    """Write (tuple, slot) of all boxes (a range, c range) that hold a tuple with a row of its run.

    Every row of the run is a probe; `stamps[slot]` is the last tuple that met the query, plus one.
    `state` is (tuple, row of its run, probes, boxes found). All is done when state[0] is `last`.
    Buffers have room for all boxes at least; without buffers, pairs are counted only.
    """
    capacity = len(out_slots)
    writes = capacity > 0
    count = 0
    row = state[1]
    for i in range(state[0], last):
        code = codes[i]
        if 0 <= code < len(start):
            begin = start[code]
            point[0] = a[i]
            for j in range(begin + row, begin + length[code]):
                if j > begin and values[j] == values[j - 1]:
                    continue
                point[1] = values[j]
                hits = boxes_stab(boxes, starts, slots, tail, tail_slots, point, stack, found)
                if writes and count + hits > capacity:
                    state[0], state[1] = i, j - begin
                    return count
                state[2] += 1
                state[3] += hits
                for k in range(hits):
                    slot = found[k]
                    if stamps[slot] != i + 1:
                        stamps[slot] = i + 1
                        if writes:
                            out_tuples[count] = i
                            out_slots[count] = slot
                        count += 1
        row = 0
    state[0], state[1] = last, 0
    return count
