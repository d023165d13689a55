"""Bounded joins and lookups, tick by tick: join, admit, discard what is above the budget.

In every tick all arrivals first join with what is held and with each other; then they are
candidates like the rows held, and the policy discards rows until the budget holds again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.kernels.bounding import (
    EXPIRED,
    GROUP_HEAD,
    GROUP_HITS,
    GROUP_SIZE,
    HELD,
    LAST,
    LEARNT,
    LOW_PLACE,
    NONE,
    OLDEST,
    ORDERED,
    ROW_BORN,
    ROW_GROUP,
    ROW_MARK,
    ROW_NEXT,
    ROW_NUMBER,
    ROW_STREAM,
    STREAM_ROWS,
    Flags,
    Ints,
    Pool,
    group_close,
    group_find,
    group_open,
    pool_order,
    pool_rerank,
    pool_unorder,
    row_add,
    row_remove,
    score_rank,
    stream_at,
)
from penstock.kernels.bounding_counts import HALVINGS, Counts, count_add
from penstock.kernels.bounding_heaps import RANK, heap_down
from penstock.kernels.bounding_histograms import (
    Learning,
    buckets_fade,
    leaving_learn,
    line_learn,
    offset_of,
    range_widen,
)
from penstock.kernels.bounding_victims import (
    COUNTED,
    EXTREMES,
    LASTING,
    LEARNED,
    PROBABLE,
    RANKED,
    RECENT,
    Lives,
    came_often,
    group_score,
    victim_row,
)
from penstock.kernels.compilation import kernel
from penstock.kernels.scoring import ScoreTable

Pairs = npt.NDArray[np.int64]

RECENCY_BITS = 32
RECENCY = (1 << RECENCY_BITS) - 1


@kernel
def count_rank(count: int, moment: int) -> int:
    """Rank keys by how often they came; among equal ones, by how recently."""
    return (count << RECENCY_BITS) | (moment & RECENCY)


@kernel
def key_count(pool: Pool, counts: Counts, stream: int, key: int) -> int:
    """Count a key; if that halved all counts, halve those in the heap too. Give the count."""
    before = counts.meta[HALVINGS]
    count = count_add(counts, stream, key)
    if counts.meta[HALVINGS] != before:
        heap, size = pool.heaps[0], pool.meta[stream_at(0, ORDERED)]
        for place in range(size):
            rank = heap[place, RANK]
            heap[place, RANK] = count_rank((rank >> RECENCY_BITS) >> 1, rank)
        for place in range(size - 1, -1, -1):
            heap_down(heap, pool.groups, LOW_PLACE, size, place)
    return count


@kernel
def pairs_grown(pairs: Pairs, used: int) -> Pairs:
    """Give room for one more pair."""
    if used < len(pairs):
        return pairs
    grown = np.empty((2 * len(pairs) + 16, 2), dtype=np.int64)
    grown[:used] = pairs
    return grown


@kernel
def row_leave(
    pool: Pool, learning: Learning, joins: Flags, row: int, mode: int, now: int
) -> None:  # fmt: skip
    """Let a row go, with its group if it was the last of it."""
    group = pool.rows[row, ROW_GROUP]
    if mode == LEARNED:
        for partner in range(joins.shape[1]):
            if joins[pool.rows[row, ROW_STREAM], partner]:
                leaving_learn(learning, pool, row, partner, now)
                break
    row_remove(pool, row, now)
    if pool.groups[group, GROUP_SIZE] == 0:
        if mode in (EXTREMES, RANKED, COUNTED, RECENT):
            pool_unorder(pool, group, mode == EXTREMES)
        group_close(pool, group)


@kernel
def row_admit(
    pool: Pool, tables: tuple[ScoreTable, ...], counts: Counts, learning: Learning, joins: Flags,
    stream: int, key: int, mode: int, now: int, number: int,
) -> None:  # fmt: skip
    """Make an arrival a row like those held."""
    group = group_find(pool, stream, key)
    fresh = group == NONE
    if fresh:
        group = group_open(pool, stream, key)
    row = row_add(pool, group, now, number)
    if fresh and mode == EXTREMES:
        pool_order(pool, group, key, True)
    elif fresh and mode == RANKED:
        score = group_score(pool, tables, joins, group, now, 0)
        pool_order(pool, group, score_rank(score), False)
    elif fresh and mode == COUNTED:
        pool_order(pool, group, count_rank(came_often(pool, counts, joins, group), number), False)
    elif fresh and mode == RECENT:
        pool_order(pool, group, number, False)
    elif mode == LEARNED:
        for partner in range(joins.shape[1]):
            if joins[stream, partner]:
                offset = offset_of(learning, partner, key, now, pool.meta)
                pool.rows[row, ROW_MARK] = np.float64(offset).view(np.int64)
                range_widen(learning, partner, offset, pool.meta[LEARNT])
                break


@kernel
def arrival_join(
    pool: Pool, joins: Flags, stream: int, key: int, number: int,
    emit: bool, pairs: Pairs, used: int,
) -> Any:  # fmt: skip
    """Join an arrival with the rows held; give how many, the pairs and how many those are."""
    made = 0
    for partner in range(joins.shape[1]):
        if not joins[stream, partner]:
            continue
        group = group_find(pool, partner, key)
        if group == NONE:
            continue
        made += pool.groups[group, GROUP_SIZE]
        pool.groups[group, GROUP_HITS] += 1
        if emit:
            row = pool.groups[group, GROUP_HEAD]
            while row != NONE:
                pairs = pairs_grown(pairs, used)
                pairs[used, 0] = number
                pairs[used, 1] = pool.rows[row, ROW_NUMBER]
                used += 1
                row = pool.rows[row, ROW_NEXT]
    return made, pairs, used


@kernel
def rows_expire(
    pool: Pool, learning: Learning, joins: Flags, mode: int, now: int, born_min: int
) -> None:  # fmt: skip
    """Let all rows go that arrived before a tick."""
    while pool.meta[OLDEST] != NONE and pool.rows[pool.meta[OLDEST], ROW_BORN] < born_min:
        pool.meta[EXPIRED] += 1
        row_leave(pool, learning, joins, pool.meta[OLDEST], mode, now)


@kernel
def arrival_seen(
    pool: Pool, counts: Counts, learning: Learning, joins: Flags,
    stream: int, key: int, mode: int, now: int, number: int,
) -> None:  # fmt: skip
    """Let the policy see an arrival before it decides."""
    pool.meta[stream_at(stream, LAST)] = key
    if mode in (COUNTED, PROBABLE, LASTING):
        key_count(pool, counts, stream, key)
    if mode == COUNTED:
        for other in range(joins.shape[0]):
            if joins[other, stream]:
                group = group_find(pool, other, key)
                if group != NONE:
                    often = came_often(pool, counts, joins, group)
                    pool_rerank(pool, group, count_rank(often, number))
    if mode == LEARNED:
        line_learn(learning, stream, now, key)


@kernel
def joins_feed(
    pool: Pool, tables: tuple[ScoreTable, ...], counts: Counts, learning: Learning, lives: Lives,
    joins: Flags, streams: Ints, keys: Ints, ticks: Ints, first: int, mode: int, budget: int,
    window: int, emit: bool, made: Ints, together: Ints, held: Ints,
) -> Any:  # fmt: skip
    """Feed arrivals in the order of ticks; the first has number `first`.

    For the n-th tick fed: `made[n]` results with rows held, `together[n]` results among its
    arrivals, `held[n, s]` rows of stream s held at its end (where `held` has a row for it).

    Returns
    -------
    pairs, used
        With `emit`: the numbers of both rows of every result, the later arrival first.
    """
    pairs = np.empty((16 if emit else 0, 2), dtype=np.int64)
    used, at, tick = 0, 0, 0
    while at < len(ticks):
        now = ticks[at]
        until = at
        if window > 0:
            rows_expire(pool, learning, joins, mode, now, now - window)
        while until < len(ticks) and ticks[until] == now:
            number, stream, key = first + until, streams[until], keys[until]
            found, pairs, used = arrival_join(pool, joins, stream, key, number, emit, pairs, used)
            made[tick] += found
            for other in range(at, until):
                if keys[other] == key and joins[stream, streams[other]]:
                    together[tick] += 1
                    if emit:
                        pairs = pairs_grown(pairs, used)
                        pairs[used, 0], pairs[used, 1] = number, first + other
                        used += 1
            until += 1
        for i in range(at, until):
            arrival_seen(
                pool, counts, learning, joins, streams[i], keys[i], mode, now, first + i
            )  # fmt: skip
        for i in range(at, until):
            row_admit(
                pool, tables, counts, learning, joins, streams[i], keys[i], mode, now, first + i
            )  # fmt: skip
        if window > 0:
            rows_expire(pool, learning, joins, mode, now, now - window + 1)
        while pool.meta[HELD] > budget:
            row = victim_row(pool, tables, counts, learning, lives, joins, mode, now, window)
            row_leave(pool, learning, joins, row, mode, now)
        if mode == LEARNED:
            buckets_fade(learning, pool)
        assert pool.meta[HELD] <= budget
        if tick < len(held):
            for stream in range(held.shape[1]):
                held[tick, stream] = pool.meta[stream_at(stream, STREAM_ROWS)]
        at = until
        tick += 1
    return pairs, used


@kernel
def lookups_feed(
    pool: Pool, tables: tuple[ScoreTable, ...], counts: Counts, learning: Learning, lives: Lives,
    joins: Flags, keys: Ints, first: int, mode: int, budget: int, hits: Flags, left: Ints,
) -> None:  # fmt: skip
    """Feed references, one per tick; `hits[i]` says whether the i-th was held.

    `left[i]` is the number of the reference that brought what was discarded at the i-th, or NONE.
    """
    for i in range(len(keys)):
        now = first + i
        key = keys[i]
        pool.meta[stream_at(0, LAST)] = key
        often = key_count(pool, counts, 0, key) if mode == COUNTED else 0
        group = group_find(pool, 0, key)
        hits[i] = group != NONE
        left[i] = NONE
        if group != NONE:
            pool.groups[group, GROUP_HITS] += 1
            if mode == COUNTED:
                pool_rerank(pool, group, count_rank(often, now))
            elif mode == RECENT:
                pool_rerank(pool, group, now)
            continue
        row_admit(pool, tables, counts, learning, joins, 0, key, mode, now, now)
        if pool.meta[HELD] > budget:
            row = victim_row(pool, tables, counts, learning, lives, joins, mode, now, 0)
            left[i] = pool.rows[row, ROW_NUMBER]
            row_leave(pool, learning, joins, row, mode, now)
        assert pool.meta[HELD] <= budget
