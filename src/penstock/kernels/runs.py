"""Runs: the rows of one join key side by side, sorted by value, with room to grow.

All runs live in one pool. Run `code` is pool[start[code] : start[code] + length[code]], sorted by
(value, slot); it may grow in place up to room[code]. A run that outgrows its room moves to the
pool's end, and leaves waste behind until the pool is packed again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.kernels.arrays import Flags, Ints, Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.radix_sorts import words_order

USED, WASTE, MISSED = 0, 1, 2
"""What `state` holds: pool in use, pool wasted, changes that did not fit the rows."""


class RunIndex(NamedTuple):
    """What a kernel needs to read runs: where each begins, how long it is, the pool's values."""

    start: Ints
    length: Rows
    value: Ints


@kernel
def bound_low(values: Ints, start: int, stop: int, key: int) -> int:
    """Find the first place in [start, stop) whose value is not below `key`."""
    low, high = start, stop
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def bound_high(values: Ints, start: int, stop: int, key: int) -> int:
    """Find the first place in [start, stop) whose value is above `key`."""
    low, high = start, stop
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def room_for(length: int) -> int:
    """Give the room of a run that moves: half as much again."""
    return length + (length >> 1) + 2


@kernel
def changes_order(codes: Rows, values: Ints, slots: Rows) -> Any:
    """Give the permutation that sorts changes by (code, value, slot)."""
    n = len(codes)
    order = np.arange(n).astype(np.int32)
    words = np.empty(n, dtype=np.uint64)
    smallest = np.int64((1 << 63) - 1)
    slot_top, code_top, largest = np.int64(0), np.int64(0), np.int64(-(1 << 63))
    for i in range(n):
        slot_top = max(slot_top, np.int64(slots[i]))
        code_top = max(code_top, np.int64(codes[i]))
        smallest = min(smallest, values[i])
        largest = max(largest, values[i])
        words[i] = np.uint64(slots[i])
    order = words_order(words, order, np.uint64(slot_top))
    base = np.uint64(smallest)
    for i in range(n):
        words[i] = np.uint64(values[order[i]]) - base
    order = words_order(words, order, np.uint64(largest) - base)
    if code_top > 0:
        for i in range(n):
            words[i] = np.uint64(codes[order[i]])
        order = words_order(words, order, np.uint64(code_top))
    return order


@kernel
def runs_measure(codes: Rows, added: Flags, order: Rows, length: Rows, room: Rows) -> Any:
    """Give the pool that sorted changes may need at most, and the longest run they may make."""
    needed, longest = 0, 0
    total = len(order)
    i = 0
    while i < total:
        code = codes[order[i]]
        grown = int(length[code])
        while i < total and codes[order[i]] == code:
            grown += int(added[order[i]])
            i += 1
        longest = max(longest, grown)
        if grown > room[code]:
            needed += room_for(grown)
    return needed, longest


@kernel
def runs_merge(
    codes: Rows, values: Ints, slots: Rows, added: Flags, order: Rows,
    start: Ints, length: Rows, room: Rows, pool_values: Ints, pool_slots: Rows,
    spare_values: Ints, spare_slots: Rows, state: Ints,
) -> None:  # fmt: skip
    """Merge sorted changes into their runs, each run once.

    Changes of one (code, value, slot) are netted first: an entry may go and come in one batch.
    """
    total = len(order)
    i = 0
    while i < total:
        code = codes[order[i]]
        begin = start[code]
        end = begin + length[code]
        # What lies before the first change stays where it is.
        kept = bound_low(pool_values, begin, end, values[order[i]])
        old = kept
        count = 0
        while i < total and codes[order[i]] == code:
            value, slot = values[order[i]], slots[order[i]]
            net = 0
            while (
                i < total
                and slots[order[i]] == slot
                and values[order[i]] == value
                and codes[order[i]] == code
            ):
                net += 1 if added[order[i]] else -1
                i += 1
            while old < end and (
                pool_values[old] < value or (pool_values[old] == value and pool_slots[old] < slot)
            ):
                spare_values[count] = pool_values[old]
                spare_slots[count] = pool_slots[old]
                count += 1
                old += 1
            if old < end and pool_values[old] == value and pool_slots[old] == slot:
                net += 1
                old += 1
            state[MISSED] += int(net < 0 or net > 1)
            if net > 0:
                spare_values[count] = value
                spare_slots[count] = slot
                count += 1
        while old < end:
            spare_values[count] = pool_values[old]
            spare_slots[count] = pool_slots[old]
            count += 1
            old += 1
        head = kept - begin
        grown = head + count
        if grown > room[code]:
            moved = state[USED]
            for j in range(head):
                pool_values[moved + j] = pool_values[begin + j]
                pool_slots[moved + j] = pool_slots[begin + j]
            state[WASTE] += room[code]
            room[code] = room_for(grown)
            state[USED] += room[code]
            start[code] = moved
            kept = moved + head
        for j in range(count):
            pool_values[kept + j] = spare_values[j]
            pool_slots[kept + j] = spare_slots[j]
        length[code] = grown
        if room[code] > 4 * grown + 8:
            # A run that shrank gives back the end of its room.
            fits = room_for(grown) if grown > 0 else 0
            state[WASTE] += room[code] - fits
            room[code] = fits


@kernel
def runs_pack(
    start: Ints, length: Rows, room: Rows, pool_values: Ints, pool_slots: Rows,
    new_values: Ints, new_slots: Rows,
) -> int:  # fmt: skip
    """Copy all runs into a new pool, in order of their codes; give the pool in use."""
    used = 0
    for code in range(len(start)):
        count = int(length[code])
        begin = start[code]
        for j in range(count):
            new_values[used + j] = pool_values[begin + j]
            new_slots[used + j] = pool_slots[begin + j]
        start[code] = used
        room[code] = room_for(count) if count > 0 else 0
        used += int(room[code])
    return used


@kernel
def runs_slice(
    codes: Rows, lows: Ints, highs: Ints, start: Ints, length: Rows, values: Ints,
    starts: Ints, stops: Ints,
) -> int:  # fmt: skip
    """Find, per item, the places of its run whose values lie in [low, high]; count them all."""
    total = 0
    for i in range(len(codes)):
        code = codes[i]
        starts[i] = 0
        stops[i] = 0
        if code < 0 or code >= len(start) or lows[i] > highs[i]:
            continue
        begin = start[code]
        end = begin + length[code]
        first = bound_low(values, begin, end, lows[i])
        last = bound_high(values, first, end, highs[i])
        starts[i] = first
        stops[i] = last
        total += last - first
    return total


@kernel
def runs_copy(starts: Ints, stops: Ints, slots: Rows, offsets: Ints, out: Rows) -> None:
    """Write the row slots of all slices, one slice after the other."""
    at = 0
    for i in range(len(starts)):
        offsets[i] = at
        for j in range(starts[i], stops[i]):
            out[at] = slots[j]
            at += 1
    offsets[len(starts)] = at
