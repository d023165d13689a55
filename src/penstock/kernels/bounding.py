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

from penstock.kernels.compilation import kernel
from penstock.kernels.hashing import MULTIPLIER, word_hash

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

NONE = -1
BRANCHES = 4
"""Children of a heap's node: shallow heaps touch fewer lines of memory."""

# Places in `meta`.
HELD = 0
GROUPS = 1
OLDEST = 2
NEWEST = 3
LEFT = 4
"""Rows that left after a stay of at least a tick."""
STAYED = 5
"""Ticks that those rows stayed."""
REFUSED = 6
"""Rows that left in the tick of their arrival."""
EXPIRED = 7
"""Rows that left because their window had passed."""
CHANCE = 8
"""State of the chance that breaks ties."""
LEARNT = 9
"""Ticks that a learning policy has seen."""
META_WORDS = 10


class Pool(NamedTuple):
    """The slots of a bounded join or lookup; `meta` holds its counters."""

    row_stream: Rows
    row_key: Ints
    row_born: Ints
    row_id: Ints
    row_group: Rows
    row_next: Rows
    row_prev: Rows
    row_newer: Rows
    row_older: Rows
    row_hits: Ints
    row_mark: Floats
    row_list: Rows
    row_place: Rows
    group_stream: Rows
    group_key: Ints
    group_head: Rows
    group_tail: Rows
    group_size: Ints
    group_hits: Ints
    group_list: Rows
    group_place: Rows
    rank: Ints
    counter_rank: Ints
    low_place: Rows
    high_place: Rows
    low_heap: npt.NDArray[np.int32]
    high_heap: npt.NDArray[np.int32]
    heap_sizes: npt.NDArray[np.int64]
    table: Rows
    stream_rows: Ints
    lasts: Ints
    meta: Ints


def pool_make(capacity: int, streams: int, seed: int) -> Pool:
    """Make an empty pool of `capacity` slots for rows of `streams` streams."""
    size = 8
    while size < 2 * capacity:
        size *= 2

    def rows(fill: int = 0) -> Rows:
        return np.full(capacity, fill, dtype=np.int32)

    def ints() -> Ints:
        return np.zeros(capacity, dtype=np.int64)

    meta = np.zeros(META_WORDS, dtype=np.int64)
    meta[OLDEST] = meta[NEWEST] = NONE
    meta[CHANCE] = seed
    return Pool(
        row_stream=rows(), row_key=ints(), row_born=ints(), row_id=ints(), row_group=rows(),
        row_next=rows(NONE), row_prev=rows(NONE), row_newer=rows(NONE), row_older=rows(NONE),
        row_hits=ints(), row_mark=np.zeros(capacity), row_list=np.arange(capacity, dtype=np.int32),
        row_place=np.arange(capacity, dtype=np.int32), group_stream=rows(), group_key=ints(),
        group_head=rows(NONE), group_tail=rows(NONE), group_size=ints(), group_hits=ints(),
        group_list=np.arange(capacity, dtype=np.int32),
        group_place=np.arange(capacity, dtype=np.int32), rank=ints(), counter_rank=ints(),
        low_place=rows(), high_place=rows(),
        low_heap=np.zeros((streams, capacity), dtype=np.int32),
        high_heap=np.zeros((streams, capacity), dtype=np.int32),
        heap_sizes=np.zeros((2, streams), dtype=np.int64), table=np.full(size, NONE, dtype=np.int32),
        stream_rows=np.zeros(streams, dtype=np.int64), lasts=np.zeros(streams, dtype=np.int64),
        meta=meta,
    )  # fmt: skip


@kernel
def chance_next(meta: Ints) -> np.uint64:
    """Give 64 bits of chance ; the state is in `meta`."""
    state = np.uint64(meta[CHANCE]) + np.uint64(MULTIPLIER)
    meta[CHANCE] = np.int64(state)
    return word_hash(state)


@kernel
def chance_below(meta: Ints, bound: int) -> int:
    """Give a number in [0, bound), each alike."""
    word = chance_next(meta) >> np.uint64(11)
    return np.int64(np.float64(word) * (1.0 / 9007199254740992.0) * bound)


@kernel
def bucket_of(stream: int, key: int, mask: int) -> int:
    """Give the bucket where the search for a group begins."""
    word = word_hash(np.uint64(key) + np.uint64(stream) * np.uint64(MULTIPLIER))
    return np.int64(word & np.uint64(mask))


@kernel
def group_find(pool: Pool, stream: int, key: int) -> int:
    """Give the group of a stream's rows with a key, or NONE."""
    mask = len(pool.table) - 1
    at = bucket_of(stream, key, mask)
    while True:
        group = pool.table[at]
        if group == NONE:
            return NONE
        if pool.group_key[group] == key and pool.group_stream[group] == stream:
            return group
        at = (at + 1) & mask


@kernel
def group_open(pool: Pool, stream: int, key: int) -> int:
    """Open an empty group and hash it; it is in no heap yet."""
    place = pool.meta[GROUPS]
    pool.meta[GROUPS] = place + 1
    group = pool.group_list[place]
    pool.group_stream[group] = stream
    pool.group_key[group] = key
    pool.group_head[group] = NONE
    pool.group_tail[group] = NONE
    pool.group_size[group] = 0
    pool.group_hits[group] = 0
    mask = len(pool.table) - 1
    at = bucket_of(stream, key, mask)
    while pool.table[at] != NONE:
        at = (at + 1) & mask
    pool.table[at] = group
    return group


@kernel
def group_close(pool: Pool, group: int) -> None:
    """Forget an empty group: unhash it, closing the gap, and free its number."""
    mask = len(pool.table) - 1
    hole = bucket_of(pool.group_stream[group], pool.group_key[group], mask)
    while pool.table[hole] != group:
        hole = (hole + 1) & mask
    at = hole
    while True:
        at = (at + 1) & mask
        other = pool.table[at]
        if other == NONE:
            break
        home = bucket_of(pool.group_stream[other], pool.group_key[other], mask)
        if ((at - home) & mask) >= ((at - hole) & mask):
            pool.table[hole] = other
            hole = at
    pool.table[hole] = NONE
    last = pool.meta[GROUPS] - 1
    place = pool.group_place[group]
    moved = pool.group_list[last]
    pool.group_list[place] = moved
    pool.group_place[moved] = place
    pool.group_list[last] = group
    pool.group_place[group] = last
    pool.meta[GROUPS] = last


@kernel
def row_add(pool: Pool, group: int, now: int, number: int) -> int:
    """Put a new row at the end of its group and of all rows; give its slot."""
    place = pool.meta[HELD]
    pool.meta[HELD] = place + 1
    row = pool.row_list[place]
    stream = pool.group_stream[group]
    pool.stream_rows[stream] += 1
    pool.row_stream[row] = stream
    pool.row_key[row] = pool.group_key[group]
    pool.row_born[row] = now
    pool.row_id[row] = number
    pool.row_group[row] = group
    pool.row_hits[row] = pool.group_hits[group]
    tail = pool.group_tail[group]
    pool.row_prev[row] = tail
    pool.row_next[row] = NONE
    if tail == NONE:
        pool.group_head[group] = row
    else:
        pool.row_next[tail] = row
    pool.group_tail[group] = row
    pool.group_size[group] += 1
    newest = pool.meta[NEWEST]
    pool.row_older[row] = newest
    pool.row_newer[row] = NONE
    if newest == NONE:
        pool.meta[OLDEST] = row
    else:
        pool.row_newer[newest] = row
    pool.meta[NEWEST] = row
    return row


@kernel
def row_remove(pool: Pool, row: int, now: int) -> None:
    """Take a row out; its group stays open, and its stay is told in `meta`."""
    group = pool.row_group[row]
    pool.stream_rows[pool.row_stream[row]] -= 1
    after, before = pool.row_next[row], pool.row_prev[row]
    if before == NONE:
        pool.group_head[group] = after
    else:
        pool.row_next[before] = after
    if after == NONE:
        pool.group_tail[group] = before
    else:
        pool.row_prev[after] = before
    pool.group_size[group] -= 1
    newer, older = pool.row_newer[row], pool.row_older[row]
    if older == NONE:
        pool.meta[OLDEST] = newer
    else:
        pool.row_newer[older] = newer
    if newer == NONE:
        pool.meta[NEWEST] = older
    else:
        pool.row_older[newer] = older
    last = pool.meta[HELD] - 1
    place = pool.row_place[row]
    moved = pool.row_list[last]
    pool.row_list[place] = moved
    pool.row_place[moved] = place
    pool.row_list[last] = row
    pool.row_place[row] = last
    pool.meta[HELD] = last
    if now > pool.row_born[row]:
        pool.meta[LEFT] += 1
        pool.meta[STAYED] += now - pool.row_born[row]
    else:
        pool.meta[REFUSED] += 1


@kernel
def heap_up(heap: Rows, places: Rows, ranks: Ints, at: int) -> int:
    """Let the item at a place rise to where it belongs; give its place."""
    item = heap[at]
    rank = ranks[item]
    while at > 0:
        parent = (at - 1) // BRANCHES
        above = heap[parent]
        if ranks[above] <= rank:
            break
        heap[at] = above
        places[above] = at
        at = parent
    heap[at] = item
    places[item] = at
    return at


@kernel
def heap_down(heap: Rows, places: Rows, ranks: Ints, size: int, at: int) -> None:
    """Let the item at a place sink to where it belongs."""
    item = heap[at]
    rank = ranks[item]
    while True:
        first = BRANCHES * at + 1
        if first >= size:
            break
        least = first
        lowest = ranks[heap[first]]
        for child in range(first + 1, min(first + BRANCHES, size)):
            other = ranks[heap[child]]
            if other < lowest:
                lowest = other
                least = child
        if rank <= lowest:
            break
        below = heap[least]
        heap[at] = below
        places[below] = at
        at = least
    heap[at] = item
    places[item] = at


@kernel
def heap_push(heap: Rows, places: Rows, ranks: Ints, size: int, item: int) -> None:
    """Add an item to a heap of `size` items."""
    heap[size] = item
    heap_up(heap, places, ranks, size)


@kernel
def heap_remove(heap: Rows, places: Rows, ranks: Ints, size: int, item: int) -> None:
    """Take an item out of a heap of `size` items."""
    at = places[item]
    last = heap[size - 1]
    if last != item:
        heap[at] = last
        places[last] = at
        at = heap_up(heap, places, ranks, at)
        heap_down(heap, places, ranks, size - 1, at)


@kernel
def heap_fix(heap: Rows, places: Rows, ranks: Ints, size: int, item: int) -> None:
    """Move an item whose rank has changed."""
    at = heap_up(heap, places, ranks, places[item])
    heap_down(heap, places, ranks, size, at)


@kernel
def pool_order(pool: Pool, group: int, rank: int, extremes: bool) -> None:
    """Put a group into the heaps: both of its stream's, or the one that all streams share."""
    pool.rank[group] = rank
    stream = pool.group_stream[group] if extremes else 0
    size = pool.heap_sizes[0, stream]
    heap_push(pool.low_heap[stream], pool.low_place, pool.rank, size, group)
    pool.heap_sizes[0, stream] = size + 1
    if extremes:
        pool.counter_rank[group] = ~rank
        heap_push(pool.high_heap[stream], pool.high_place, pool.counter_rank, size, group)
        pool.heap_sizes[1, stream] = size + 1


@kernel
def pool_unorder(pool: Pool, group: int, extremes: bool) -> None:
    """Take a group out of the heaps."""
    stream = pool.group_stream[group] if extremes else 0
    size = pool.heap_sizes[0, stream]
    heap_remove(pool.low_heap[stream], pool.low_place, pool.rank, size, group)
    pool.heap_sizes[0, stream] = size - 1
    if extremes:
        heap_remove(pool.high_heap[stream], pool.high_place, pool.counter_rank, size, group)
        pool.heap_sizes[1, stream] = size - 1


@kernel
def pool_rerank(pool: Pool, group: int, rank: int) -> None:
    """Change a group's rank in the heap that all streams share."""
    pool.rank[group] = rank
    heap_fix(pool.low_heap[0], pool.low_place, pool.rank, pool.heap_sizes[0, 0], group)


@kernel
def score_rank(score: float) -> Any:
    """Give whole numbers in the order of scores, which are never negative."""
    return np.float64(score).view(np.int64)
