"""The rows of a bounded join: held in slots, grouped by stream and key, ordered for eviction.

Rows of one stream with one key form a *group*: they join alike, so a policy ranks groups and the
oldest row of a group goes first. Groups are found by hashing, listed densely for scans, and kept
in up to two heaps per stream, by their smallest and their largest rank, so that the row to discard
is found in logarithmic time whenever a policy's order allows it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.kernels.arrays import Ints, Rows
from penstock.kernels.bounded_heaps import heaps_make
from penstock.kernels.compilation import inlined, kernel
from penstock.kernels.hash_tables import MULTIPLIER, word_hash

NONE = -1
# Words of a row.
ROW_BORN = 0
ROW_NUMBER = 1
ROW_GROUP = 2
"""NONE: the slot is free."""
ROW_NEXT = 3
"""The next row of its group, or the next slot that is free."""
ROW_WORDS = 4

# Words of a row that windows ask for.
AGE_STAMP = 0
"""Its stream's measure when the row came."""
AGE_NEWER = 1
AGE_OLDER = 2
AGE_WORDS = 3

# Words of a row that a learning policy asks for.
MARK_HITS = 0
"""What its group had met when the row came."""
MARK_OFFSET = 1
"""Its offset then, as bits."""
MARK_WORDS = 2

# Words of a group.
GROUP_STREAM = 0
GROUP_KEY = 1
GROUP_HEAD = 2
GROUP_TAIL = 3
GROUP_SIZE = 4
GROUP_HITS = 5
GROUP_USED = 6
"""The number of the last arrival that its rows joined with."""
GROUP_RANK = 7
"""Where it stands, if that never changes."""
GROUP_WORDS = 8

# Words of the hash table.
TABLE_GROUP = 0
TABLE_WORD = 1
"""The low half of the group's hash."""
TABLE_WORDS = 2
HALF = 0xFFFFFFFF

# Words of a group's place in a heap.
HEAP_PLACE = 0
PLACE_WORDS = 1

# Lists of groups.
GROUP_LIST = 0
"""The groups; those open come first."""
GROUP_PLACE = 1
"""Where a group stands in it."""
LISTS = 2

# Places in `meta`.
HELD = 0
GROUPS = 1
PEAK = 2
"""The most rows that were ever held: slots from here on have never been used."""
LEFT = 3
"""Rows that left after a stay of at least a tick."""
STAYED = 4
"""Ticks that those rows stayed."""
REFUSED = 5
"""Rows that were discarded in the tick of their arrival."""
EXPIRED = 6
"""Rows that left because their window had passed."""
EVICTED = 7
"""Rows that were discarded later."""
CHANCE = 8
"""State of the chance that breaks ties."""
LEARNT = 9
"""Ticks that a learning policy has seen."""
BEGUN = 10
"""Whether measures have begun."""
ORIGIN_TICK = 11
"""The tick at which they did."""
AGED_UNTIL = 12
"""The last tick up to which ranks by age hold."""
AGES = 13
"""Whether rows are linked by age, as those are that windows end."""
FREE = 14
"""The slot that became free last."""
YOUNG = 15
"""Groups that came last and are not yet in the heap."""
STREAMS_FROM = 16
STREAM_WORDS = 10
LAST = 0
"""The stream's last key."""
STREAM_ROWS = 1
ORDERED = 2
"""Places in the stream's heaps."""
OLDEST = 3
NEWEST = 4
NOW = 5
"""The stream's measure at the last arrival of any stream."""
ORIGIN = 6
"""The stream's measure when measures began."""
AGED_NOW = 7
"""The measure up to which ranks by age hold."""
AGED_RATE = 8
"""The least ticks per unit of measure for which they hold, as bits."""
STALE = 9
"""Of the places in the stream's heaps, those whose groups are gone."""


class Pool(NamedTuple):
    """The slots of a bounded join or lookup.

    A row's words stand together, as do a group's: they are read together. What is written all over
    the pool for every row that comes or goes stands apart, and is small.
    """

    rows: Ints
    ages: Ints
    marks: Ints
    groups: Ints
    places: Rows
    """Per group, where it stands in the heap, if its rank may change."""
    lists: Rows
    heaps: Ints
    """Two per stream; which are in use, and for what, is up to the policy's order."""
    table: Rows
    meta: Ints
    """Counters, then some words per stream."""


STALE_MIN = 16


@inlined
def stale_most(groups: int) -> int:
    """Give how many places of groups that are gone there may be beside those of others."""
    return groups // 2 + STALE_MIN


def pool_make(capacity: int, streams: int, seed: int, ages: bool) -> Pool:
    """Make an empty pool of `capacity` slots for rows of `streams` streams."""
    size = 8
    while size < 2 * capacity:
        size *= 2
    rows = np.zeros((capacity, ROW_WORDS), dtype=np.int64)
    groups = np.zeros((capacity, GROUP_WORDS), dtype=np.int64)
    meta = np.zeros(STREAMS_FROM + STREAM_WORDS * streams, dtype=np.int64)
    for stream in range(streams):
        at = STREAMS_FROM + STREAM_WORDS * stream
        meta[at + OLDEST] = meta[at + NEWEST] = NONE
    meta[AGED_UNTIL] = meta[FREE] = NONE
    meta[CHANCE] = seed
    meta[AGES] = ages
    return Pool(
        rows=rows,
        ages=np.zeros((capacity, AGE_WORDS), dtype=np.int64),
        marks=np.zeros((capacity, MARK_WORDS), dtype=np.int64),
        groups=groups,
        places=np.zeros((capacity, PLACE_WORDS), dtype=np.int32),
        lists=np.tile(np.arange(capacity, dtype=np.int32), (LISTS, 1)),
        heaps=heaps_make(2 * streams, capacity + stale_most(capacity) + 1),
        table=np.full((size, TABLE_WORDS), NONE, dtype=np.int32),
        meta=meta,
    )


@inlined
def stream_at(stream: int, word: int) -> int:
    """Give where a stream's word stands in `meta`."""
    return STREAMS_FROM + STREAM_WORDS * stream + word


@inlined
def last_key(meta: Ints, stream: int) -> int:
    """Give a stream's last key, 0 before any."""
    return int(meta[STREAMS_FROM + STREAM_WORDS * stream + LAST])


@inlined
def chance_next(meta: Ints) -> np.uint64:
    """Give 64 bits of chance ; the state is in `meta`."""
    state = np.uint64(meta[CHANCE]) + np.uint64(MULTIPLIER)
    meta[CHANCE] = np.int64(state)
    return word_hash(state)


@inlined
def chance_below(meta: Ints, bound: int) -> int:
    """Give a number in [0, bound), each alike."""
    word = chance_next(meta) >> np.uint64(11)
    return int(np.float64(word) * (1.0 / 9007199254740992.0) * bound)


@inlined
def half_hash(stream: int, key: int) -> int:
    """Give the low half of a group's hash: its search begins at the bucket of its low bits."""
    word = word_hash(np.uint64(key) + np.uint64(stream) * np.uint64(MULTIPLIER))
    return int(np.int64(word & np.uint64(HALF)))


@inlined
def group_find(pool: Pool, stream: int, key: int) -> int:
    """Give the group of a stream's rows with a key, or NONE."""
    mask = len(pool.table) - 1
    word = half_hash(stream, key)
    at = word & mask
    while True:
        group = pool.table[at, TABLE_GROUP]
        if group == NONE:
            return NONE
        if (
            pool.table[at, TABLE_WORD] == np.int32(word)
            and pool.groups[group, GROUP_KEY] == key
            and pool.groups[group, GROUP_STREAM] == stream
        ):
            return int(group)
        at = (at + 1) & mask


@inlined
def group_hash(pool: Pool, group: int) -> None:
    """Let a group be found by its stream and key."""
    mask = len(pool.table) - 1
    word = half_hash(pool.groups[group, GROUP_STREAM], pool.groups[group, GROUP_KEY])
    at = word & mask
    while pool.table[at, TABLE_GROUP] != NONE:
        at = (at + 1) & mask
    pool.table[at, TABLE_GROUP] = group
    pool.table[at, TABLE_WORD] = np.int32(word)


@inlined
def group_open(pool: Pool, stream: int, key: int) -> int:
    """Open an empty group and hash it; it is in no heap yet."""
    place = pool.meta[GROUPS]
    pool.meta[GROUPS] = place + 1
    group = pool.lists[GROUP_LIST, place]
    pool.groups[group, GROUP_STREAM] = stream
    pool.groups[group, GROUP_KEY] = key
    pool.groups[group, GROUP_HEAD] = NONE
    pool.groups[group, GROUP_TAIL] = NONE
    pool.groups[group, GROUP_SIZE] = 0
    pool.groups[group, GROUP_HITS] = 0
    pool.groups[group, GROUP_USED] = NONE
    group_hash(pool, group)
    return int(group)


@inlined
def group_close(pool: Pool, group: int) -> None:
    """Forget an empty group: unhash it, closing the gap, and free its number."""
    mask = len(pool.table) - 1
    hole = half_hash(pool.groups[group, GROUP_STREAM], pool.groups[group, GROUP_KEY]) & mask
    while pool.table[hole, TABLE_GROUP] != group:
        hole = (hole + 1) & mask
    at = hole
    while True:
        at = (at + 1) & mask
        if pool.table[at, TABLE_GROUP] == NONE:
            break
        home = int(pool.table[at, TABLE_WORD]) & mask
        if ((at - home) & mask) >= ((at - hole) & mask):
            pool.table[hole, TABLE_GROUP] = pool.table[at, TABLE_GROUP]
            pool.table[hole, TABLE_WORD] = pool.table[at, TABLE_WORD]
            hole = at
    pool.table[hole, TABLE_GROUP] = NONE
    last = pool.meta[GROUPS] - 1
    place = pool.lists[GROUP_PLACE, group]
    moved = pool.lists[GROUP_LIST, last]
    pool.lists[GROUP_LIST, place] = moved
    pool.lists[GROUP_PLACE, moved] = place
    pool.lists[GROUP_LIST, last] = group
    pool.lists[GROUP_PLACE, group] = last
    pool.meta[GROUPS] = last


@inlined
def score_rank(score: float) -> Any:
    """Give whole numbers in the order of scores, which are never negative."""
    return np.float64(score).view(np.int64)


@inlined
def groups_hash(pool: Pool) -> None:
    """Let all open groups be found; none is yet."""
    for place in range(pool.meta[GROUPS]):
        group_hash(pool, pool.lists[GROUP_LIST, place])


@kernel
def pool_copy(pool: Pool, larger: Pool) -> None:
    """Fill an empty pool of more slots with everything that a pool holds, in the same order."""
    count = len(pool.rows)
    larger.rows[:count] = pool.rows
    larger.ages[:count] = pool.ages
    larger.marks[:count] = pool.marks
    larger.groups[:count] = pool.groups
    larger.places[:count] = pool.places
    larger.lists[:, :count] = pool.lists
    larger.heaps[:, : pool.heaps.shape[1]] = pool.heaps
    larger.meta[:] = pool.meta
    groups_hash(larger)
