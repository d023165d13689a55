"""Rows come into a bounded join and leave it; groups keep the order that the policy asks for."""

from __future__ import annotations

import numpy as np

from penstock.kernels.bounding import (
    AGED_UNTIL,
    GROUP_HEAD,
    GROUP_KEY,
    GROUP_LIST,
    GROUP_SIZE,
    GROUP_USED,
    GROUPS,
    HELD,
    LEARNT,
    LOW_PLACE,
    NONE,
    ORDERED,
    ROW_GROUP,
    ROW_LIST,
    ROW_MARK,
    ROW_NUMBER,
    ROW_STREAM,
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
    leaving_learn,
    offset_of,
    range_widen,
)
from penstock.kernels.bounding_scores import group_bound, plain_score
from penstock.kernels.bounding_victims import (
    AGED,
    COUNTED,
    EXTREMES,
    LEARNED,
    RANKED,
    RECENT,
    came_often,
)
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.scoring import ScoreTable
from penstock.kernels.scoring_lines import Lines

RECENCY_BITS = 32
RECENCY = (1 << RECENCY_BITS) - 1


@inlined
def count_rank(count: int, moment: int) -> int:
    """Rank keys by how often they came; among equal ones, by how recently."""
    return (count << RECENCY_BITS) | (moment & RECENCY)


@inlined
def key_count(pool: Pool, counts: Counts, stream: int, key: int) -> int:
    """Count a key; as often as that halved all counts, halve those in the heap. Give the count."""
    before = counts.meta[HALVINGS]
    count = count_add(counts, stream, key)
    halvings = counts.meta[HALVINGS] - before
    if halvings > 0:
        heap, size = pool.heaps[0], pool.meta[stream_at(0, ORDERED)]
        for place in range(size):
            rank = heap[place, RANK]
            heap[place, RANK] = count_rank((rank >> RECENCY_BITS) >> halvings, rank)
        for place in range(size - 1, -1, -1):
            heap_down(heap, pool.groups, LOW_PLACE, size, place)
    return count


@tight
def counts_take(counts: Counts, streams: Ints, keys: Ints) -> None:
    """Count keys that came while nothing was held."""
    for i in range(len(keys)):
        count_add(counts, streams[i], keys[i])


@inlined
def group_used(pool: Pool, group: int) -> int:
    """Give the number of the arrival at which a group's oldest row was used last."""
    came = pool.rows[pool.groups[group, GROUP_HEAD], ROW_NUMBER]
    return int(max(came, pool.groups[group, GROUP_USED]))


@inlined
def group_order(
    pool: Pool, tables: tuple[ScoreTable, ...], lines: Lines, counts: Counts, joins: Flags,
    windows: Ints, group: int, mode: int, now: int,
) -> None:  # fmt: skip
    """Put a group into the heaps of its mode, if that has any."""
    if mode == EXTREMES:
        pool_order(pool, group, pool.groups[group, GROUP_KEY], True)
    elif mode == RANKED:
        score = plain_score(pool, lines, joins, group, now)
        pool_order(pool, group, score_rank(score), False)
    elif mode == COUNTED:
        often = came_often(pool, counts, joins, group)
        pool_order(pool, group, count_rank(often, group_used(pool, group)), False)
    elif mode == RECENT:
        pool_order(pool, group, group_used(pool, group), False)
    elif mode == AGED:
        bound = group_bound(pool, tables, joins, windows, group, now)
        pool_order(pool, group, score_rank(bound), False)


@inlined
def row_mark(pool: Pool, learning: Learning, joins: Flags, row: int, now: int) -> None:
    """Note where a row stands beside its partner, for a policy that learns."""
    stream = pool.rows[row, ROW_STREAM]
    for partner in range(joins.shape[1]):
        if joins[stream, partner]:
            key = pool.groups[pool.rows[row, ROW_GROUP], GROUP_KEY]
            offset = offset_of(learning, partner, key, now, pool.meta)
            pool.rows[row, ROW_MARK] = np.float64(offset).view(np.int64)
            range_widen(learning, partner, offset, pool.meta[LEARNT])
            break


@inlined
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
        if mode in (EXTREMES, RANKED, COUNTED, RECENT, AGED):
            pool_unorder(pool, group, mode == EXTREMES)
        group_close(pool, group)
    elif mode == RECENT:
        pool_rerank(pool, group, group_used(pool, group))


@inlined
def row_admit(
    pool: Pool, tables: tuple[ScoreTable, ...], lines: Lines, counts: Counts, learning: Learning,
    joins: Flags, windows: Ints, stream: int, key: int, stamp: int, mode: int, now: int,
    number: int,
) -> None:  # fmt: skip
    """Make an arrival a row like those held."""
    group = group_find(pool, stream, key)
    fresh = group == NONE
    if fresh:
        group = group_open(pool, stream, key)
    row = row_add(pool, group, now, number, stamp)
    if fresh and mode == EXTREMES:
        pool_order(pool, group, key, True)
    elif fresh and mode in (RANKED, COUNTED, RECENT, AGED):
        group_order(pool, tables, lines, counts, joins, windows, group, mode, now)
    elif mode == LEARNED:
        row_mark(pool, learning, joins, row, now)


@tight
def pool_reorder(
    pool: Pool, tables: tuple[ScoreTable, ...], lines: Lines, counts: Counts, learning: Learning,
    joins: Flags, windows: Ints, mode: int, now: int,
) -> None:  # fmt: skip
    """Order everything that is held as another policy, or the same with other tables, wants it."""
    pool.meta[AGED_UNTIL] = NONE
    for stream in range(joins.shape[0]):
        pool.meta[stream_at(stream, ORDERED)] = 0
    for place in range(pool.meta[GROUPS]):
        group = pool.groups[place, GROUP_LIST]
        group_order(pool, tables, lines, counts, joins, windows, group, mode, now)
    if mode == LEARNED:
        for place in range(pool.meta[HELD]):
            row_mark(pool, learning, joins, pool.rows[place, ROW_LIST], now)
