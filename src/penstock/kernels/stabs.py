"""Stabbing: which ranges contain a key.

A level is an immutable array of entries (low, high, payload), sorted by (code, run, low). A run
holds entries of one code whose widths are alike, so that the entries that can contain a key x lie
in a window of lows: x - width <= low <= x, where width is the largest of the run. A single wide
range sits in a run of its own and lengthens nobody's window. The largest high of every 32 and of
every 1,024 entries skips the parts of a long window where all entries end before x.

Entries without a lower end are mirrored (low becomes ~high, and they are probed with ~x): sorted
by their only end, all entries in their window match.

A dropped entry gets high = DEAD, which lies below every key that highs are compared with. No live
entry ends there: one that contained the least key would have no lower end, and be mirrored. So the
least key is compared with highs as the one above it.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Bytes, Ints, Rows
from penstock.kernels.compilation import kernel

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
DEAD = LOWEST
BLOCK_BITS = 5
PAGE_BITS = 10
BLOCK = 1 << BLOCK_BITS
PAGE = 1 << PAGE_BITS
STEP = 8
"""How many neighbours are compared at once before the search gallops."""


@kernel
def bound_gallop(lows: Ints, start: int, end: int, hint: int, key: int) -> int:
    """Find the first low above `key` in [start, end), searching from `hint`."""
    position = hint
    if position > start and lows[position - 1] > key:
        # The key went back: bracket it below, then search the bracket.
        high = position - 1
        step = 1
        low = high - step
        while low >= start and lows[low] > key:
            high = low
            step *= 2
            low = high - step
        low = max(low + 1, start) if low >= start else start
    else:
        if end - position >= STEP:
            # Compared at once: the count of lows not above the key needs no branch.
            ahead = 0
            base = np.uint64(position)
            for j in range(np.uint64(STEP)):
                ahead += int(lows[base + j] <= key)
            position += ahead
            if ahead < STEP:
                return position
        else:
            while position < end and lows[np.uint64(position)] <= key:
                position += 1
            return position
        low = position
        step = STEP
        high = low + step
        while high < end and lows[high] <= key:
            low = high + 1
            step *= 2
            high = low + step
        high = min(high, end)
    while low < high:
        middle = (low + high) >> 1
        if lows[middle] <= key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def runs_find(run_codes: Rows, hint: int, code: int) -> int:
    """Find the first run at or after `hint` whose code is not below `code`."""
    end = len(run_codes)
    low = hint
    step = 1
    high = low
    while high < end and run_codes[high] < code:
        low = high + 1
        high = low + step
        step *= 2
    high = min(high, end)
    while low < high:
        middle = (low + high) >> 1
        if run_codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def events_stab(
    state: Ints, codes: Rows, keys: Ints, rows: Rows,
    run_codes: Rows, run_starts: Rows, run_widths: Ints, run_mirrored: Bytes,
    lows: Ints, highs: Ints, payloads: Ints, blocks: Ints, pages: Ints,
    other_lows: Ints, other_highs: Ints, other_keys: Ints,
    out_events: Rows, out_payloads: Ints,
) -> int:  # fmt: skip
    """Write (event, payload) for every entry that contains an event's key, until buffers are full.

    Events come grouped by code and best sorted by key. `other_lows[k]`, `other_highs[k]` are the
    entries' ranges on further columns; an event's keys there are `other_keys[k, row]`.

    `state` is (group start, run, event, position, scanned entries, scanned blocks): all zero (run
    -1) at first; the kernel leaves there where to continue. All events are done when state[0]
    equals the number of events.

    Returns
    -------
    int
        How many pairs were written.
    """
    capacity = len(out_payloads)
    others = len(other_lows)
    coded = len(codes) > 0
    group, run, event, resume = state[0], state[1], state[2], state[3]
    scanned, skimmed = state[4], state[5]
    count = 0
    total = len(keys)
    first_run = 0
    while group < total:
        code = 0
        group_end = total
        if coded:
            code = int(codes[group])
            group_end = group + 1
            while group_end < total and codes[group_end] == code:
                group_end += 1
        first_run = runs_find(run_codes, first_run, code)
        if run < 0:
            run = first_run
            event = group
            resume = -1
        while run < len(run_codes) and run_codes[run] == code:
            start, end = int(run_starts[run]), int(run_starts[run + 1])
            width = run_widths[run]
            mirrored = run_mirrored[run] != 0
            bottom = start
            top = start
            while event < group_end:
                key = keys[event]
                if mirrored:
                    key = ~key
                top = bound_gallop(lows, start, end, top, key)
                if width < 0 or key < LOWEST + 1 + width:
                    bottom = start
                else:
                    bottom = bound_gallop(lows, start, end, bottom, key - width - 1)
                position = bottom
                if resume >= 0:
                    position = resume
                    resume = -1
                row = rows[event]
                if key == DEAD:
                    key = DEAD + 1
                if (
                    others == 0
                    and top - position <= 2 * BLOCK
                    and top - position <= capacity - count
                ):
                    # Unsigned positions spare numba's check for negative ones.
                    at = np.uint64(count)
                    for i in range(np.uint64(position), np.uint64(top)):
                        out_payloads[at] = payloads[i]
                        out_events[at] = row
                        at += np.uint64(highs[i] >= key)
                    count = int(np.int64(at))
                    scanned += top - position
                    position = top
                while position < top:
                    if position & (PAGE - 1) == 0 and position + PAGE <= top:
                        skimmed += 1
                        if pages[position >> PAGE_BITS] < key:
                            position += PAGE
                            continue
                    stop = min(top, (position | (BLOCK - 1)) + 1)
                    skimmed += 1
                    if blocks[position >> BLOCK_BITS] < key:
                        position = stop
                        continue
                    room = capacity - count
                    if room == 0:
                        break
                    stop = min(stop, position + room)
                    scanned += stop - position
                    if others == 0:
                        at = np.uint64(count)
                        for i in range(np.uint64(position), np.uint64(stop)):
                            out_payloads[at] = payloads[i]
                            out_events[at] = row
                            at += np.uint64(highs[i] >= key)
                        count = int(np.int64(at))
                    else:
                        for i in range(position, stop):
                            if highs[i] >= key:
                                holds = True
                                for k in range(others):
                                    other = other_keys[k, row]
                                    holds &= other_lows[k, i] <= other
                                    holds &= other <= other_highs[k, i]
                                out_payloads[count] = payloads[i]
                                out_events[count] = row
                                count += int(holds)
                    position = stop
                if position < top:
                    state[0], state[1], state[2], state[3] = group, run, event, position
                    state[4], state[5] = scanned, skimmed
                    return count
                event += 1
            run += 1
            event = group
        group = group_end
        run = -1
    state[0], state[1], state[2], state[3] = group, -1, 0, -1
    state[4], state[5] = scanned, skimmed
    return count
