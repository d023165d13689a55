"""Probing stabbing groups as it was published: a descent of the whole index per tuple and group."""

from __future__ import annotations

from penstock.kernels.arrays import Ints, Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.group_cells import Cells
from penstock.kernels.group_probes import (
    DESCENTS,
    PROBES,
    SMALL,
    VISITED,
    cell_emit,
    cell_try,
    lows_bound,
)
from penstock.kernels.runs import bound_high


@kernel
def rows_descend(rows: Ints, code: int, key: int) -> int:
    """Find the first row above (code, key); `rows` are (code, value), sorted."""
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) >> 1
        here = rows[middle, 0]
        if here < code or (here == code and rows[middle, 1] <= key):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def tuples_scan(
    state: Ints, last: int, keys: Ints, codes: Rows, rows: Ints, cells: Cells,
    out_tuples: Rows, out_slots: Rows,
) -> int:  # fmt: skip
    """Write (tuple, slot) of all affected queries, one tuple after the other, one group at a time.

    `rows` are (code, value) of the probed side, sorted. `state` is (tuple, group, ...), as for
    `groups_scan`; all is done when state[0] is `last`.
    """
    points, hulls = cells.points, cells.hulls
    capacity = len(out_slots)
    writes = capacity > 0
    count = 0
    resume = state[1]
    for i in range(state[0], last):
        code, key = codes[i], keys[i]
        for g in range(resume, len(points)):
            state[DESCENTS] += 1
            at = rows_descend(rows, code, points[g])
            has_left = at > 0 and rows[at - 1, 0] == code
            has_right = at < len(rows) and rows[at, 0] == code
            goes_left = has_left and hulls[g, 2] <= rows[at - 1, 1]
            goes_right = has_right and rows[at, 1] <= hulls[g, 3]
            goes_right = goes_right and not (has_left and rows[at - 1, 1] == points[g])
            if not (goes_left or goes_right) or key < hulls[g, 0] or key > hulls[g, 1]:
                continue
            cell = cells.first[g]
            cell = bound_high(cells.bound, cell, cell + cells.many[g], key) - 1
            first, size = cells.start[cell], int(cells.size[cell])
            q_left = rows[at - 1, 1] if has_left else 0
            q_right = rows[at, 1] if has_right else 0
            sides = int(goes_left) | int(goes_right) << 1
            state[PROBES] += int(goes_left) + int(goes_right)
            left, right = size, 0
            if size > SMALL:
                left = 0
                if goes_left:
                    left = lows_bound(cells.box, first, first + size, q_left) - first
                if goes_right and left < size:
                    right = bound_high(cells.high, first, first + size, ~q_right) - first
            if writes and count + left + right > capacity:
                state[0], state[1] = i, g
                return count
            state[VISITED] += left + min(right, size - left)
            if size <= SMALL:
                count = cell_try(
                    key, i, first, size, q_left, q_right, sides, cells,
                    writes, count, out_tuples, out_slots,
                )  # fmt: skip
            else:
                count = cell_emit(
                    key, i, first, size, left, right, q_right, cells,
                    writes, count, out_tuples, out_slots,
                )  # fmt: skip
        resume = 0
    state[0], state[1] = last, 0
    return count
