"""Looking up: caches of one row per key, under a policy that may change at any time.

A shelf counts all keys that it may remember, held or not, so that a new policy knows at once how
often and how recently every key was referenced. A policy orders rows by a rank: by recency, by
frequency, by frequency that fades, by a score that never changes, or by key where the lowest score
stands at an end; other scores are looked up for all rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.kernels.arrays import Flags, Floats, Ints
from penstock.kernels.bounded_heaps import ITEM, heap_fix, heap_push, heap_remove
from penstock.kernels.bounded_scans import lowest_scan
from penstock.kernels.bounded_victims import (
    COUNTED,
    EXTREMES,
    RANDOM,
    RANKED,
    RECENT,
    SCANNED,
)
from penstock.kernels.compilation import inlined, kernel, tight
from penstock.kernels.hash_tables import MULTIPLIER, word_hash
from penstock.kernels.scores import ScoreTable, table_score

NONE = -1

FADING = 100
"""A mode that lookups alone have: COUNTED, and what a reference counts halves every so often."""

# Words of a cell: a key that is remembered.
KEY = 0
COUNT = 1
FADED = 2
"""The logarithm of its faded references, as bits."""
SLOT = 3
CELL_WORDS = 4

# Words of a slot: a row that is held. The first word is its key.
CAME = 1
"""The number of the reference that brought it."""
USED = 2
"""The number of its last reference."""
LOW_PLACE = 3
HIGH_PLACE = 4
SLOT_WORDS = 5

# Words of `meta`.
HELD = 0
ORDERED = 1
REMEMBERED = 2
REMEMBERED_MAX = 3
LAST = 4
"""The last key of the stream."""
CHANCE = 5
NOW = 6
"""The number of the next reference."""
META_WORDS = 7

RECENCY_BITS = 40
RECENCY = (1 << RECENCY_BITS) - 1
COUNT_MAX = 1 << 22
"""More references than these are no difference."""


class Shelf(NamedTuple):
    """Keys remembered, by hash; rows held, densely; their heaps by rank, and `meta`."""

    cells: Ints
    slots: Ints
    heaps: Ints
    scores: Floats
    """Room for a scan of all rows."""
    meta: Ints


def shelf_make(budget: int, remembered_max: int, seed: int) -> Shelf:
    """Make an empty shelf that holds `budget` rows between references."""
    assert remembered_max > budget + 1
    size = 8
    while size < 2 * remembered_max:
        size *= 2
    meta = np.zeros(META_WORDS, dtype=np.int64)
    meta[REMEMBERED_MAX] = remembered_max
    meta[CHANCE] = seed
    return Shelf(
        cells=np.zeros((size, CELL_WORDS), dtype=np.int64),
        slots=np.zeros((budget + 1, SLOT_WORDS), dtype=np.int64),
        heaps=np.zeros((2, budget + 1, 2), dtype=np.int64),
        scores=np.empty(budget + 1),
        meta=meta,
    )


@inlined
def cell_find(cells: Ints, key: int) -> int:
    """Give the cell of a key, or the empty cell where it would stand."""
    mask = len(cells) - 1
    at = int(np.int64(word_hash(np.uint64(key)) & np.uint64(mask)))
    while cells[at, COUNT] > 0 and cells[at, KEY] != key:
        at = (at + 1) & mask
    return at


@kernel
def cells_forget(shelf: Shelf) -> None:
    """Halve all counts; forget keys that are left with none, unless they are held."""
    cells = shelf.cells
    before = cells.copy()
    cells[:, COUNT] = 0
    remembered = 0
    for old in range(len(before)):
        count = before[old, COUNT] >> 1
        if before[old, COUNT] > 0 and before[old, SLOT] != NONE:
            count = max(count, 1)
        if count > 0:
            at = cell_find(cells, before[old, KEY])
            cells[at] = before[old]
            cells[at, COUNT] = count
            remembered += 1
    shelf.meta[REMEMBERED] = remembered


@inlined
def faded_add(faded: float, moment: float) -> float:
    """Add a reference at a moment, in half-lives, to the logarithm of faded references."""
    return float(moment + np.log2(1.0 + 2.0 ** (faded - moment)))


@inlined
def slot_rank(shelf: Shelf, table: ScoreTable, mode: int, slot: int, cell: int, now: int) -> Any:
    """Give the rank of a row: the lowest goes first."""
    if mode == RECENT:
        return shelf.slots[slot, USED]
    if mode == COUNTED:
        count = min(shelf.cells[cell, COUNT], COUNT_MAX)
        return (count << RECENCY_BITS) | (shelf.slots[slot, USED] & RECENCY)
    if mode == FADING:
        return shelf.cells[cell, FADED]
    if mode == RANKED:
        score = table_score(table, shelf.slots[slot, KEY], now, shelf.meta[LAST])
        return np.float64(score).view(np.int64)
    return shelf.slots[slot, KEY]


@inlined
def is_ordered(mode: int) -> bool:
    """Say whether rows stand in heaps."""
    return mode not in (SCANNED, RANDOM)


@inlined
def slot_order(shelf: Shelf, table: ScoreTable, mode: int, slot: int, cell: int, now: int) -> None:
    """Put a row into the heaps."""
    rank = slot_rank(shelf, table, mode, slot, cell, now)
    size = shelf.meta[ORDERED]
    heap_push(shelf.heaps[0], shelf.slots, LOW_PLACE, size, rank, slot)
    if mode == EXTREMES:
        heap_push(shelf.heaps[1], shelf.slots, HIGH_PLACE, size, ~rank, slot)
    shelf.meta[ORDERED] = size + 1


@kernel
def shelf_order(shelf: Shelf, table: ScoreTable, mode: int) -> None:
    """Order all rows anew: for another policy, another table or other counts."""
    now = shelf.meta[NOW]
    shelf.meta[ORDERED] = 0
    if is_ordered(mode):
        for slot in range(shelf.meta[HELD]):
            cell = cell_find(shelf.cells, shelf.slots[slot, KEY])
            slot_order(shelf, table, mode, slot, cell, now)


@inlined
def slot_remove(shelf: Shelf, mode: int, slot: int) -> None:
    """Let a row go; the last one takes its place."""
    slots, heaps, size = shelf.slots, shelf.heaps, shelf.meta[ORDERED]
    if size > 0:
        heap_remove(heaps[0], slots, LOW_PLACE, size, slot)
        if mode == EXTREMES:
            heap_remove(heaps[1], slots, HIGH_PLACE, size, slot)
        shelf.meta[ORDERED] = size - 1
    shelf.cells[cell_find(shelf.cells, slots[slot, KEY]), SLOT] = NONE
    last = shelf.meta[HELD] - 1
    shelf.meta[HELD] = last
    if slot != last:
        for word in range(SLOT_WORDS):
            slots[slot, word] = slots[last, word]
        shelf.cells[cell_find(shelf.cells, slots[slot, KEY]), SLOT] = slot
        if size > 0:
            heaps[0, slots[slot, LOW_PLACE], ITEM] = slot
            if mode == EXTREMES:
                heaps[1, slots[slot, HIGH_PLACE], ITEM] = slot


@inlined
def slot_victim(shelf: Shelf, table: ScoreTable, mode: int, now: int) -> int:
    """Give the row that goes next; of equal scores, the one that came first."""
    if mode == SCANNED:
        held, last = shelf.meta[HELD], shelf.meta[LAST]
        return lowest_scan(table, shelf.slots, held, now, last, shelf.scores)
    if mode == RANDOM:
        state = np.uint64(shelf.meta[CHANCE]) + np.uint64(MULTIPLIER)
        shelf.meta[CHANCE] = np.int64(state)
        word = word_hash(state) >> np.uint64(11)
        return int(np.float64(word) * (1.0 / 9007199254740992.0) * shelf.meta[HELD])
    low = shelf.heaps[0, 0, ITEM]
    if mode != EXTREMES:
        return int(low)
    high = shelf.heaps[1, 0, ITEM]
    lower = table_score(table, shelf.slots[low, KEY], now, shelf.meta[LAST])
    higher = table_score(table, shelf.slots[high, KEY], now, shelf.meta[LAST])
    if higher < lower or (higher == lower and shelf.slots[high, CAME] < shelf.slots[low, CAME]):
        return int(high)
    return int(low)


@tight
def references_feed(
    shelf: Shelf, table: ScoreTable, mode: int, budget: int, half_life: float, keys: Ints,
    owned: Flags, at: int, hits: Flags, left: Ints,
) -> int:  # fmt: skip
    """Feed references from the one at a place on; give the place of one that must wait.

    It brings a key for which nothing can be remembered before something is forgotten.
    """
    cells, slots, meta = shelf.cells, shelf.slots, shelf.meta
    for i in range(at, len(keys)):
        key, now = keys[i], meta[NOW]
        cell = cell_find(cells, key)
        if owned[i] and cells[cell, COUNT] == 0:
            if meta[REMEMBERED] >= meta[REMEMBERED_MAX]:
                return i
            meta[REMEMBERED] += 1
            cells[cell, KEY] = key
            cells[cell, FADED] = np.float64(0.0).view(np.int64)
            cells[cell, SLOT] = NONE
        meta[NOW] = now + 1
        meta[LAST] = key
        hits[i] = False
        left[i] = NONE
        if not owned[i]:
            continue
        cells[cell, COUNT] += 1
        if half_life > 0.0:
            # Half-lives are counted from 1 on: ranks are above 0 and in the order of their bits.
            before = np.int64(cells[cell, FADED]).view(np.float64)
            moment = 1.0 + now / half_life
            faded = faded_add(before, moment) if before > 0.0 else moment
            cells[cell, FADED] = np.float64(faded).view(np.int64)
        slot = cells[cell, SLOT]
        if slot != NONE:
            hits[i] = True
            slots[slot, USED] = now
            if mode in (RECENT, COUNTED, FADING):
                rank = slot_rank(shelf, table, mode, slot, cell, now)
                heap_fix(shelf.heaps[0], slots, LOW_PLACE, meta[ORDERED], rank, slot)
            continue
        slot = meta[HELD]
        meta[HELD] = slot + 1
        slots[slot, KEY] = key
        slots[slot, CAME] = now
        slots[slot, USED] = now
        slots[slot, LOW_PLACE] = slots[slot, HIGH_PLACE] = 0
        cells[cell, SLOT] = slot
        if is_ordered(mode):
            slot_order(shelf, table, mode, slot, cell, now)
        if meta[HELD] > budget:
            victim = slot_victim(shelf, table, mode, now)
            left[i] = slots[victim, CAME]
            slot_remove(shelf, mode, victim)
    return len(keys)


@kernel
def shelf_feed(
    shelf: Shelf, table: ScoreTable, mode: int, budget: int, half_life: float, keys: Ints,
    owned: Flags, hits: Flags, left: Ints,
) -> None:  # fmt: skip
    """Feed references.

    Of keys that are not owned only the last one is known. `hits[i]` says whether the i-th was
    held, `left[i]` is the number of the reference that brought what went then, or NONE.
    """
    at = 0
    while True:
        at = references_feed(shelf, table, mode, budget, half_life, keys, owned, at, hits, left)
        if at == len(keys):
            return
        cells_forget(shelf)
        if mode == COUNTED:
            shelf_order(shelf, table, mode)


@kernel
def keys_slice(keys: Ints, bits: int, taken: Flags) -> None:
    """Take one of 2^bits keys, by its hash: always the same ones."""
    mask = np.uint64((1 << bits) - 1)
    for i in range(len(keys)):
        word = word_hash(np.uint64(keys[i]) * np.uint64(MULTIPLIER) + np.uint64(MULTIPLIER))
        taken[i] = (word >> np.uint64(20)) & mask == np.uint64(0)
