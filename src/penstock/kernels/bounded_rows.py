"""Rows come into a bounded join and leave it; groups keep the order that the policy asks for."""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Flags, Ints
from penstock.kernels.bounded_counts import HALVINGS, Counts, count_add
from penstock.kernels.bounded_heaps import RANK, heap_down
from penstock.kernels.bounded_histograms import (
    Learning,
    leaving_learn,
    offset_of,
    range_widen,
)
from penstock.kernels.bounded_orders import (
    extremes_order,
    extremes_unorder,
    moving_order,
    moving_rerank,
    moving_unorder,
    ranked_order,
    ranked_unorder,
)
from penstock.kernels.bounded_scores import group_bound, plain_score
from penstock.kernels.bounded_slots import (
    AGE_NEWER,
    AGE_OLDER,
    AGE_STAMP,
    AGED_UNTIL,
    AGES,
    FREE,
    GROUP_HEAD,
    GROUP_HITS,
    GROUP_KEY,
    GROUP_LIST,
    GROUP_SIZE,
    GROUP_STREAM,
    GROUP_TAIL,
    GROUP_USED,
    GROUPS,
    HEAP_PLACE,
    HELD,
    LEARNT,
    LEFT,
    MARK_HITS,
    MARK_OFFSET,
    NEWEST,
    NONE,
    OLDEST,
    ORDERED,
    PEAK,
    ROW_BORN,
    ROW_GROUP,
    ROW_NEXT,
    ROW_NUMBER,
    STALE,
    STAYED,
    STREAM_ROWS,
    YOUNG,
    Pool,
    group_close,
    group_find,
    group_open,
    score_rank,
    stream_at,
)
from penstock.kernels.bounded_victims import (
    AGED,
    COUNTED,
    EXTREMES,
    LEARNED,
    RANKED,
    RECENT,
    came_often,
)
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.score_lines import Lines
from penstock.kernels.scores import ScoreTable

RECENCY_BITS = 32
RECENCY = (1 << RECENCY_BITS) - 1


@inlined
def slot_take(pool: Pool) -> int:
    """Take a slot that is free: the last that became so, or one that was never used."""
    row = pool.meta[FREE]
    if row == NONE:
        row = pool.meta[PEAK]
        pool.meta[PEAK] = row + 1
    else:
        pool.meta[FREE] = pool.rows[row, ROW_NEXT]
    pool.meta[HELD] += 1
    return int(row)


@inlined
def row_add(pool: Pool, group: int, now: int, number: int, stamp: int) -> int:
    """Put a new row at the end of its group and of its stream; give its slot."""
    row = slot_take(pool)
    stream = pool.groups[group, GROUP_STREAM]
    pool.meta[stream_at(stream, STREAM_ROWS)] += 1
    pool.rows[row, ROW_BORN] = now
    pool.rows[row, ROW_NUMBER] = number
    pool.rows[row, ROW_GROUP] = group
    pool.rows[row, ROW_NEXT] = NONE
    if pool.groups[group, GROUP_SIZE] == 0:
        pool.groups[group, GROUP_HEAD] = row
    else:
        pool.rows[pool.groups[group, GROUP_TAIL], ROW_NEXT] = row
    pool.groups[group, GROUP_TAIL] = row
    pool.groups[group, GROUP_SIZE] += 1
    if pool.meta[AGES]:
        age_link(pool, row, stream, stamp)
    return row


@inlined
def age_link(pool: Pool, row: int, stream: int, stamp: int) -> None:
    """Put a row at the end of its stream's rows by age."""
    newest = pool.meta[stream_at(stream, NEWEST)]
    pool.ages[row, AGE_STAMP] = stamp
    pool.ages[row, AGE_OLDER] = newest
    pool.ages[row, AGE_NEWER] = NONE
    if newest == NONE:
        pool.meta[stream_at(stream, OLDEST)] = row
    else:
        pool.ages[newest, AGE_NEWER] = row
    pool.meta[stream_at(stream, NEWEST)] = row


@inlined
def age_unlink(pool: Pool, row: int, stream: int) -> None:
    """Take a row out of its stream's rows by age."""
    newer, older = pool.ages[row, AGE_NEWER], pool.ages[row, AGE_OLDER]
    if older == NONE:
        pool.meta[stream_at(stream, OLDEST)] = newer
    else:
        pool.ages[older, AGE_NEWER] = newer
    if newer == NONE:
        pool.meta[stream_at(stream, NEWEST)] = older
    else:
        pool.ages[newer, AGE_OLDER] = older


@inlined
def row_remove(pool: Pool, row: int, now: int) -> None:
    """Take a row out; its group stays open, and its stay is told in `meta`."""
    group, after = pool.rows[row, ROW_GROUP], pool.rows[row, ROW_NEXT]
    stream = pool.groups[group, GROUP_STREAM]
    pool.meta[stream_at(stream, STREAM_ROWS)] -= 1
    pool.groups[group, GROUP_SIZE] -= 1
    before = pool.groups[group, GROUP_HEAD]
    if before == row:
        pool.groups[group, GROUP_HEAD] = after
    else:
        # Chance alone takes a row from the middle.
        while pool.rows[before, ROW_NEXT] != row:
            before = pool.rows[before, ROW_NEXT]
        pool.rows[before, ROW_NEXT] = after
        if after == NONE:
            pool.groups[group, GROUP_TAIL] = before
    if pool.meta[AGES]:
        age_unlink(pool, row, stream)
    pool.rows[row, ROW_GROUP] = NONE
    pool.rows[row, ROW_NEXT] = pool.meta[FREE]
    pool.meta[FREE] = row
    pool.meta[HELD] -= 1
    if now > pool.rows[row, ROW_BORN]:
        pool.meta[LEFT] += 1
        pool.meta[STAYED] += now - pool.rows[row, ROW_BORN]


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
            heap_down(heap, pool.places, HEAP_PLACE, size, place)
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
def recent_rank(pool: Pool, group: int) -> int:
    """Rank groups by when their oldest row was used; the row that used another goes after it."""
    came = pool.rows[pool.groups[group, GROUP_HEAD], ROW_NUMBER]
    return int(max(2 * came + 1, 2 * pool.groups[group, GROUP_USED]))


@inlined
def group_order(
    pool: Pool, tables: tuple[ScoreTable, ...], lines: Lines, counts: Counts, joins: Flags,
    windows: Ints, group: int, mode: int, now: int,
) -> None:  # fmt: skip
    """Put a group into the heaps of its mode, if that has any."""
    if mode == EXTREMES:
        extremes_order(pool, pool.groups[group, GROUP_STREAM], pool.groups[group, GROUP_KEY])
    elif mode == RANKED:
        stream, key = pool.groups[group, GROUP_STREAM], pool.groups[group, GROUP_KEY]
        ranked_order(pool, group, score_rank(plain_score(pool, lines, joins, stream, key, now)))
    elif mode == COUNTED:
        often = came_often(pool, counts, joins, group)
        moving_order(pool, group, count_rank(often, group_used(pool, group)))
    elif mode == RECENT:
        moving_order(pool, group, recent_rank(pool, group))
    elif mode == AGED:
        bound = group_bound(pool, tables, joins, windows, group, now)
        moving_order(pool, group, score_rank(bound))


@inlined
def row_mark(pool: Pool, learning: Learning, joins: Flags, row: int, now: int) -> None:
    """Note where a row stands beside its partner, for a policy that learns."""
    group = pool.rows[row, ROW_GROUP]
    stream = pool.groups[group, GROUP_STREAM]
    pool.marks[row, MARK_HITS] = pool.groups[group, GROUP_HITS]
    for partner in range(joins.shape[1]):
        if joins[stream, partner]:
            key = pool.groups[pool.rows[row, ROW_GROUP], GROUP_KEY]
            offset = offset_of(learning, partner, key, now, pool.meta)
            pool.marks[row, MARK_OFFSET] = np.float64(offset).view(np.int64)
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
            if joins[pool.groups[group, GROUP_STREAM], partner]:
                leaving_learn(learning, pool, row, partner, now)
                break
    row_remove(pool, row, now)
    if pool.groups[group, GROUP_SIZE] == 0:
        if mode == EXTREMES:
            extremes_unorder(pool, group)
        elif mode == RANKED:
            ranked_unorder(pool, group)
        elif mode in (COUNTED, RECENT, AGED):
            moving_unorder(pool, group)
        group_close(pool, group)
    elif mode == RECENT:
        moving_rerank(pool, group, recent_rank(pool, group))


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
    if fresh and mode in (EXTREMES, RANKED, COUNTED, RECENT, AGED):
        group_order(pool, tables, lines, counts, joins, windows, group, mode, now)
    elif mode == LEARNED:
        row_mark(pool, learning, joins, row, now)


@tight
def pool_reorder(
    pool: Pool, tables: tuple[ScoreTable, ...], lines: Lines, counts: Counts, learning: Learning,
    joins: Flags, windows: Ints, mode: int, now: int,
) -> None:  # fmt: skip
    """Order everything that is held as another policy, or the same with other tables, wants it."""
    pool.meta[AGED_UNTIL], pool.meta[YOUNG] = NONE, 0
    for stream in range(joins.shape[0]):
        pool.meta[stream_at(stream, ORDERED)] = pool.meta[stream_at(stream, STALE)] = 0
    for place in range(pool.meta[GROUPS]):
        group = pool.lists[GROUP_LIST, place]
        group_order(pool, tables, lines, counts, joins, windows, group, mode, now)
    if mode == LEARNED:
        for row in range(pool.meta[PEAK]):
            if pool.rows[row, ROW_GROUP] != NONE:
                row_mark(pool, learning, joins, row, now)
