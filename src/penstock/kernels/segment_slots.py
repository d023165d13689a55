"""Slots of keys: the newest model of every key of a source, found by hashing.

A slot has words and models. It is free until a key comes that has a model; where no slot is left,
those of keys whose models have ended are given to others. Nothing else ever goes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Bytes, Floats, Ints, Rows
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.hash_tables import EMPTY, MULTIPLIER, word_hash

# Words of a slot; those of its key follow, then its carried codes.
NEWEST = 0
"""The event time of the newest row."""
REFERENCE = 1
END = 2
"""The event time at which the model ends."""
HORIZON = 3
SERIAL = 4
"""The number of its segment; FREE: the slot has no key."""
KEPT = 5
"""How many of its newest rows have been kept, where predictions are fitted."""
OPEN = 6
"""How many rows have no model yet, where pieces are fitted."""
KEY = 7

FREE = -1
LATEST = (1 << 63) - 1
EARLIEST = -(1 << 63)

# Places in `meta`.
NEXT_SERIAL = 0
USED = 1
"""Slots from here on have never had a key."""
CURSOR = 2
"""Slots before it are not free."""
EXPIRES = 3
"""No model ends before it, so far as a search for ended ones has told."""
TOUCHED = 4
HELD = 5
"""How many slots have a key."""
# Counters.
SEEN = 6
VALIDATED = 7
VIOLATIONS = 8
EXPIRIES = 9
BEGINNINGS = 10
"""Models of keys that had none."""
CHANGES = 11
"""Models made because a carried code changed."""
UNUSABLE = 12
LATE = 13
HOMELESS = 14
"""Rows of new keys when no slot was left."""
EVICTED = 15
SLACKS = 16
"""Models whose tolerance is slack."""
FORGOTTEN = 17
"""The event time at which slots were last freed: older rows of unknown keys are late."""
META = 18

CLEAN, MOVED, CHANGED = 0, 1, 2
"""What is new of a slot since changes were last taken: nothing, its newest row, all of it."""


class SegmentSlots(NamedTuple):
    """The state of a source."""

    meta: Ints
    words: Ints
    """(slots, KEY + key columns + carried columns)."""
    models: Floats
    """(slots, attributes, coefficients + 1): the tolerance stands behind the coefficients."""
    cells: Rows
    """A hash table over keys, a power of two and at most half full."""
    marks: Bytes
    touched: Rows
    """Slots that are not clean."""


@inlined
def key_hash(keys: Ints, row: int, offset: int, columns: int) -> np.uint64:
    """Hash the key that stands in a row from an offset on."""
    mixed = np.uint64(0)
    for k in range(columns):
        mixed = word_hash((mixed * np.uint64(MULTIPLIER)) ^ np.uint64(keys[row, offset + k]))
    return mixed


@inlined
def slot_find(slots: SegmentSlots, keys: Ints, row: int) -> int:
    """Give the slot of a row's key, or EMPTY."""
    columns = keys.shape[1]
    mask = np.uint64(len(slots.cells) - 1)
    cell = key_hash(keys, row, 0, columns) & mask
    slot = slots.cells[cell]
    while slot != EMPTY:
        same = True
        for k in range(columns):
            same = same and slots.words[slot, KEY + k] == keys[row, k]
        if same:
            break
        cell = (cell + np.uint64(1)) & mask
        slot = slots.cells[cell]
    return int(slot)


@inlined
def slot_place(slots: SegmentSlots, slot: int, columns: int) -> None:
    """Write a slot, whose key is not there, into the table."""
    mask = np.uint64(len(slots.cells) - 1)
    cell = key_hash(slots.words, slot, KEY, columns) & mask
    while slots.cells[cell] != EMPTY:
        cell = (cell + np.uint64(1)) & mask
    slots.cells[cell] = slot


@tight
def slots_index(slots: SegmentSlots, columns: int) -> None:
    """Write all slots that have a key into the table, which is emptied first."""
    for cell in range(len(slots.cells)):
        slots.cells[cell] = EMPTY
    for slot in range(slots.meta[USED]):
        if slots.words[slot, SERIAL] != FREE:
            slot_place(slots, slot, columns)


@inlined
def slot_touch(slots: SegmentSlots, slot: int, what: int) -> None:
    """Note that a slot is new, or its newest row."""
    if slots.marks[slot] == CLEAN:
        slots.touched[slots.meta[TOUCHED]] = slot
        slots.meta[TOUCHED] += 1
    slots.marks[slot] = max(slots.marks[slot], what)


@tight
def slots_evict(slots: SegmentSlots, at: int, columns: int) -> None:
    """Free all slots whose models have ended at an event time, and have been told."""
    meta = slots.meta
    earliest = LATEST
    for slot in range(meta[USED]):
        if slots.words[slot, SERIAL] != FREE:
            end = slots.words[slot, END]
            if end <= at and slots.words[slot, OPEN] == 0:
                slots.words[slot, SERIAL] = FREE
                slot_touch(slots, slot, CHANGED)
                meta[EVICTED] += 1
                meta[FORGOTTEN] = max(meta[FORGOTTEN], at)
                meta[HELD] -= 1
            elif end > at:
                earliest = min(earliest, end)
    meta[EXPIRES] = earliest
    meta[CURSOR] = 0
    slots_index(slots, columns)


@tight
def slot_take(slots: SegmentSlots, at: int, columns: int, slots_max: int) -> int:
    """Give a free slot; -1 if the arrays must grow, -2 if there is none."""
    meta = slots.meta
    for attempt in range(2):
        while meta[CURSOR] < meta[USED] and slots.words[meta[CURSOR], SERIAL] != FREE:
            meta[CURSOR] += 1
        if meta[CURSOR] < meta[USED]:
            return int(meta[CURSOR])
        if meta[USED] < min(len(slots.words), slots_max):
            meta[USED] += 1
            return int(meta[USED] - 1)
        if len(slots.words) < slots_max:
            return -1
        if attempt == 0 and at >= meta[EXPIRES]:
            slots_evict(slots, at, columns)
    return -2


@tight
def slots_take_changes(slots: SegmentSlots, moved: Rows, changed: Rows) -> int:
    """Write which slots have moved and which have changed, clean them; count those that moved."""
    moves, changes = 0, 0
    for k in range(slots.meta[TOUCHED]):
        slot = slots.touched[k]
        if slots.marks[slot] == MOVED:
            moved[moves] = slot
            moves += 1
        else:
            changed[changes] = slot
            changes += 1
        slots.marks[slot] = CLEAN
    slots.meta[TOUCHED] = 0
    return moves
