"""Select-joins without groups: searches inside a run.

A tuple (a, code) meets the run of its code, the rows' sorted values. A query is the rectangle
[al, ah] x [cl, ch]; it is affected when a lies in the first and some value of the run in the
second. `ranges_a[q]` is (al, ah), `ranges_c[q]` is (cl, ch).
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Flags, Ints, Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.runs import bound_low

SLOT_MASK = (1 << 32) - 1
"""A serial number carries the query's slot in its lower half."""


@kernel
def tuples_able(codes: Rows, length: Rows, able: Flags) -> int:
    """Mark the tuples whose code has a run that is not empty; count them."""
    count = 0
    for i in range(len(codes)):
        code = codes[i]
        able[i] = 0 <= code < len(length) and length[code] > 0
        count += int(able[i])
    return count


@kernel
def run_meets(values: Ints, begin: int, end: int, low: int, high: int) -> bool:
    """Say whether the run has a value in [low, high]."""
    at = bound_low(values, begin, end, low)
    return at < end and values[at] <= high


@kernel
def queries_scan(
    state: Ints, able: Flags, a: Ints, codes: Rows, start: Ints, length: Rows, values: Ints,
    slots: Rows, ranges_a: Ints, ranges_c: Ints, last: int, out_tuples: Rows, out_slots: Rows,
) -> int:  # fmt: skip
    """Write (tuple, slot) for every affected query, by trying every query, until buffers are full.

    `state` is (tuple, query, searches): where to begin, and how many searches were made. All is
    done when state[0] is `last`. Without buffers, pairs are counted only.
    """
    capacity = len(out_slots)
    writes = capacity > 0
    count = 0
    query = state[1]
    for i in range(state[0], last):
        if able[i]:
            begin = start[codes[i]]
            end = begin + length[codes[i]]
            key = a[i]
            for q in range(query, len(slots)):
                if ranges_a[q, 0] <= key <= ranges_a[q, 1]:
                    state[2] += 1
                    if run_meets(values, begin, end, ranges_c[q, 0], ranges_c[q, 1]):
                        if writes:
                            if count == capacity:
                                state[0], state[1] = i, q
                                return count
                            out_tuples[count] = i
                            out_slots[count] = slots[q]
                        count += 1
        query = 0
    state[0], state[1] = last, 0
    return count


@kernel
def pairs_verify(
    tuples: Rows, serials: Ints, codes: Rows, start: Ints, length: Rows, values: Ints,
    serial_of: Ints, ranges_c: Ints, out_slots: Rows,
) -> int:  # fmt: skip
    """Keep the pairs (tuple, serial) whose query meets the tuple's run, in place; count them.

    The slots of the kept pairs go to `out_slots`.
    """
    count = 0
    mask = np.int64(SLOT_MASK)
    for i in range(len(tuples)):
        row = tuples[i]
        slot = serials[i] & mask
        begin = start[codes[row]]
        end = begin + length[codes[row]]
        # A range that died still contains the extreme keys: its serial number tells.
        holds = serial_of[slot] == serials[i]
        holds = holds and run_meets(values, begin, end, ranges_c[slot, 0], ranges_c[slot, 1])
        tuples[count] = row
        out_slots[count] = slot
        count += int(holds)
    return count
