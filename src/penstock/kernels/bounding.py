"""The rows of a bounded join: held in slots, grouped by stream and key, ordered for eviction.

Rows of one stream with one key form a *group*: they join alike, so a policy ranks groups and the
oldest row of a group goes first. Groups are found by hashing, listed densely for scans, and kept
in up to two heaps per stream, by their smallest and their largest rank, so that the row to discard
is found in logarithmic time whenever a policy's order allows it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.kernels.bounding_heaps import heap_fix, heap_push, heap_remove
from penstock.kernels.compilation import inlined, kernel
from penstock.kernels.hashing import MULTIPLIER, word_hash

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

NONE = -1
# Words of a row.
ROW_STREAM = 0
ROW_KEY = 1
ROW_BORN = 2
ROW_NUMBER = 3
ROW_GROUP = 4
ROW_NEXT = 5
ROW_PREV = 6
ROW_NEWER = 7
ROW_OLDER = 8
ROW_HITS = 9
"""What its group had met when the row came."""
ROW_MARK = 10
"""A learning policy's offset at arrival, as bits."""
ROW_STAMP = 11
"""Its stream's measure when the row came."""
ROW_LIST = 12
"""Not of the row: the slot at a place of the list of slots; those held come first."""
ROW_PLACE = 13
ROW_WORDS = 14

# Words of a group.
GROUP_STREAM = 0
GROUP_KEY = 1
GROUP_HEAD = 2
GROUP_TAIL = 3
GROUP_SIZE = 4
GROUP_HITS = 5
GROUP_USED = 6
"""The number of the last arrival that its rows joined with."""
LOW_PLACE = 7
HIGH_PLACE = 8
GROUP_LIST = 9
"""Not of the group: the group at a place of the list of groups; those open come first."""
GROUP_PLACE = 10
GROUP_WORDS = 11

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
STREAMS_FROM = 13
STREAM_WORDS = 9
LAST = 0
"""The stream's last key."""
STREAM_ROWS = 1
ORDERED = 2
"""Groups in the stream's heaps."""
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


class Pool(NamedTuple):
    """The slots of a bounded join or lookup.

    Few arrays of many words: they are passed to every function, and a row is a line of memory.
    """

    rows: Ints
    groups: Ints
    heaps: Ints
    """Two per stream: by smallest and by largest rank; nodes of a rank and a group."""
    table: Rows
    meta: Ints
    """Counters, then some words per stream."""


def pool_make(capacity: int, streams: int, seed: int) -> Pool:
    """Make an empty pool of `capacity` slots for rows of `streams` streams."""
    size = 8
    while size < 2 * capacity:
        size *= 2
    rows = np.zeros((capacity, ROW_WORDS), dtype=np.int64)
    groups = np.zeros((capacity, GROUP_WORDS), dtype=np.int64)
    for words, listed, place in ((rows, ROW_LIST, ROW_PLACE), (groups, GROUP_LIST, GROUP_PLACE)):
        words[:, listed] = words[:, place] = np.arange(capacity)
    meta = np.zeros(STREAMS_FROM + STREAM_WORDS * streams, dtype=np.int64)
    for stream in range(streams):
        at = STREAMS_FROM + STREAM_WORDS * stream
        meta[at + OLDEST] = meta[at + NEWEST] = NONE
    meta[AGED_UNTIL] = NONE
    meta[CHANCE] = seed
    return Pool(
        rows=rows,
        groups=groups,
        heaps=np.zeros((2 * streams, capacity, 2), dtype=np.int64),
        table=np.full(size, NONE, dtype=np.int32),
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
def bucket_of(stream: int, key: int, mask: int) -> int:
    """Give the bucket where the search for a group begins."""
    word = word_hash(np.uint64(key) + np.uint64(stream) * np.uint64(MULTIPLIER))
    return int(np.int64(word & np.uint64(mask)))


@inlined
def group_find(pool: Pool, stream: int, key: int) -> int:
    """Give the group of a stream's rows with a key, or NONE."""
    mask = len(pool.table) - 1
    at = bucket_of(stream, key, mask)
    while True:
        group = pool.table[at]
        if group == NONE:
            return NONE
        if pool.groups[group, GROUP_KEY] == key and pool.groups[group, GROUP_STREAM] == stream:
            return int(group)
        at = (at + 1) & mask


@inlined
def group_hash(pool: Pool, group: int) -> None:
    """Let a group be found by its stream and key."""
    mask = len(pool.table) - 1
    at = bucket_of(pool.groups[group, GROUP_STREAM], pool.groups[group, GROUP_KEY], mask)
    while pool.table[at] != NONE:
        at = (at + 1) & mask
    pool.table[at] = group


@inlined
def group_open(pool: Pool, stream: int, key: int) -> int:
    """Open an empty group and hash it; it is in no heap yet."""
    place = pool.meta[GROUPS]
    pool.meta[GROUPS] = place + 1
    group = pool.groups[place, GROUP_LIST]
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
    hole = bucket_of(pool.groups[group, GROUP_STREAM], pool.groups[group, GROUP_KEY], mask)
    while pool.table[hole] != group:
        hole = (hole + 1) & mask
    at = hole
    while True:
        at = (at + 1) & mask
        other = pool.table[at]
        if other == NONE:
            break
        home = bucket_of(pool.groups[other, GROUP_STREAM], pool.groups[other, GROUP_KEY], mask)
        if ((at - home) & mask) >= ((at - hole) & mask):
            pool.table[hole] = other
            hole = at
    pool.table[hole] = NONE
    last = pool.meta[GROUPS] - 1
    place = pool.groups[group, GROUP_PLACE]
    moved = pool.groups[last, GROUP_LIST]
    pool.groups[place, GROUP_LIST] = moved
    pool.groups[moved, GROUP_PLACE] = place
    pool.groups[last, GROUP_LIST] = group
    pool.groups[group, GROUP_PLACE] = last
    pool.meta[GROUPS] = last


@inlined
def row_add(pool: Pool, group: int, now: int, number: int, stamp: int) -> int:
    """Put a new row at the end of its group and of its stream; give its slot."""
    place = pool.meta[HELD]
    pool.meta[HELD] = place + 1
    pool.meta[PEAK] = max(pool.meta[PEAK], place + 1)
    row = pool.rows[place, ROW_LIST]
    stream = pool.groups[group, GROUP_STREAM]
    pool.meta[stream_at(stream, STREAM_ROWS)] += 1
    pool.rows[row, ROW_STREAM] = stream
    pool.rows[row, ROW_KEY] = pool.groups[group, GROUP_KEY]
    pool.rows[row, ROW_BORN] = now
    pool.rows[row, ROW_NUMBER] = number
    pool.rows[row, ROW_STAMP] = stamp
    pool.rows[row, ROW_MARK] = 0
    pool.rows[row, ROW_GROUP] = group
    pool.rows[row, ROW_HITS] = pool.groups[group, GROUP_HITS]
    tail = pool.groups[group, GROUP_TAIL]
    pool.rows[row, ROW_PREV] = tail
    pool.rows[row, ROW_NEXT] = NONE
    if tail == NONE:
        pool.groups[group, GROUP_HEAD] = row
    else:
        pool.rows[tail, ROW_NEXT] = row
    pool.groups[group, GROUP_TAIL] = row
    pool.groups[group, GROUP_SIZE] += 1
    newest = pool.meta[stream_at(stream, NEWEST)]
    pool.rows[row, ROW_OLDER] = newest
    pool.rows[row, ROW_NEWER] = NONE
    if newest == NONE:
        pool.meta[stream_at(stream, OLDEST)] = row
    else:
        pool.rows[newest, ROW_NEWER] = row
    pool.meta[stream_at(stream, NEWEST)] = row
    return int(row)


@inlined
def row_remove(pool: Pool, row: int, now: int) -> None:
    """Take a row out; its group stays open, and its stay is told in `meta`."""
    group = pool.rows[row, ROW_GROUP]
    stream = pool.rows[row, ROW_STREAM]
    pool.meta[stream_at(stream, STREAM_ROWS)] -= 1
    after, before = pool.rows[row, ROW_NEXT], pool.rows[row, ROW_PREV]
    if before == NONE:
        pool.groups[group, GROUP_HEAD] = after
    else:
        pool.rows[before, ROW_NEXT] = after
    if after == NONE:
        pool.groups[group, GROUP_TAIL] = before
    else:
        pool.rows[after, ROW_PREV] = before
    pool.groups[group, GROUP_SIZE] -= 1
    newer, older = pool.rows[row, ROW_NEWER], pool.rows[row, ROW_OLDER]
    if older == NONE:
        pool.meta[stream_at(stream, OLDEST)] = newer
    else:
        pool.rows[older, ROW_NEWER] = newer
    if newer == NONE:
        pool.meta[stream_at(stream, NEWEST)] = older
    else:
        pool.rows[newer, ROW_OLDER] = older
    last = pool.meta[HELD] - 1
    place = pool.rows[row, ROW_PLACE]
    moved = pool.rows[last, ROW_LIST]
    pool.rows[place, ROW_LIST] = moved
    pool.rows[moved, ROW_PLACE] = place
    pool.rows[last, ROW_LIST] = row
    pool.rows[row, ROW_PLACE] = last
    pool.meta[HELD] = last
    if now > pool.rows[row, ROW_BORN]:
        pool.meta[LEFT] += 1
        pool.meta[STAYED] += now - pool.rows[row, ROW_BORN]


@inlined
def pool_order(pool: Pool, group: int, rank: int, extremes: bool) -> None:
    """Put a group into the heaps: both of its stream's, or the one that all streams share."""
    stream = pool.groups[group, GROUP_STREAM] if extremes else 0
    at = stream_at(stream, ORDERED)
    size = pool.meta[at]
    heap_push(pool.heaps[2 * stream], pool.groups, LOW_PLACE, size, rank, group)
    pool.meta[at] = size + 1
    if extremes:
        heap_push(pool.heaps[2 * stream + 1], pool.groups, HIGH_PLACE, size, ~rank, group)


@inlined
def pool_unorder(pool: Pool, group: int, extremes: bool) -> None:
    """Take a group out of the heaps."""
    stream = pool.groups[group, GROUP_STREAM] if extremes else 0
    at = stream_at(stream, ORDERED)
    size = pool.meta[at]
    heap_remove(pool.heaps[2 * stream], pool.groups, LOW_PLACE, size, group)
    if extremes:
        heap_remove(pool.heaps[2 * stream + 1], pool.groups, HIGH_PLACE, size, group)
    pool.meta[at] = size - 1


@inlined
def pool_rerank(pool: Pool, group: int, rank: int) -> None:
    """Change a group's rank in the heap that all streams share."""
    size = pool.meta[stream_at(0, ORDERED)]
    heap_fix(pool.heaps[0], pool.groups, LOW_PLACE, size, rank, group)


@inlined
def score_rank(score: float) -> Any:
    """Give whole numbers in the order of scores, which are never negative."""
    return np.float64(score).view(np.int64)


@inlined
def groups_hash(pool: Pool) -> None:
    """Let all open groups be found; none is yet."""
    for place in range(pool.meta[GROUPS]):
        group_hash(pool, pool.groups[place, GROUP_LIST])


@kernel
def pool_copy(pool: Pool, larger: Pool) -> None:
    """Fill an empty pool of more slots with everything that a pool holds, in the same order."""
    count = len(pool.rows)
    larger.rows[:count] = pool.rows
    larger.groups[:count] = pool.groups
    larger.heaps[:, :count] = pool.heaps
    larger.meta[:] = pool.meta
    groups_hash(larger)
