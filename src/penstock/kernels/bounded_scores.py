"""What a row held is worth: its score now, and a bound on its score that holds for a while.

In windows every score changes from tick to tick, each at its own pace, and no order of rows lasts.
But where keys of different ticks are independent and weights fall exponentially, a score is what
the row earns in the next n ticks plus e^(-n/alpha) times its score then. So the score at the end of
an *epoch* of some ticks, weighed so, bounds the score from below throughout the epoch. Groups stand
in a heap by such bounds; only those whose bound is below the lowest score found are scored, which
are about as many as will be discarded before the epoch ends.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Flags, Ints
from penstock.kernels.bounded_heaps import BRANCHES, ITEM, RANK
from penstock.kernels.bounded_orders import moving_order
from penstock.kernels.bounded_slots import (
    AGE_STAMP,
    AGED_NOW,
    AGED_RATE,
    AGED_UNTIL,
    GROUP_HEAD,
    GROUP_KEY,
    GROUP_LIST,
    GROUP_STREAM,
    GROUPS,
    NONE,
    NOW,
    ORDERED,
    ROW_NUMBER,
    Pool,
    last_key,
    score_rank,
    stream_at,
)
from penstock.kernels.bounded_windows import (
    ADVANCE,
    NEVER,
    NO_WINDOW,
    SIZE,
    ticks_per_unit,
    ticks_remaining,
)
from penstock.kernels.compilation import inlined
from penstock.kernels.score_lines import Lines, line_score
from penstock.kernels.scores import ScoreTable, table_score, window_score

SLACK = 1.0 - 1e-6
"""Bounds allow for rounding, above what `window_score` takes for it."""
EPOCH_SHARE = 0.1
"""An epoch is at most this share of the shortest alpha, so that bounds stay near the scores."""
RATE_SHARE = 0.9
"""Bounds hold as long as a measure's ticks per unit do not fall below this share."""
HASTE = 1.25
"""Bounds hold as long as a measure does not run ahead by more than this factor."""


@inlined
def group_score(
    pool: Pool, tables: tuple[ScoreTable, ...], joins: Flags, windows: Ints, group: int, now: int,
    windowed: bool,
) -> float:  # fmt: skip
    """Give the score of a group's oldest row: the sum over its partners."""
    stream, key = pool.groups[group, GROUP_STREAM], pool.groups[group, GROUP_KEY]
    score = 0.0
    for partner in range(joins.shape[1]):
        if not joins[stream, partner]:
            continue
        last = last_key(pool.meta, partner)
        if windowed:
            remaining = ticks_remaining(pool, windows, pool.groups[group, GROUP_HEAD], now)
            score += window_score(tables[partner], key, now, last, remaining)
        else:
            score += table_score(tables[partner], key, now, last)
    return score


@inlined
def plain_score(pool: Pool, lines: Lines, joins: Flags, stream: int, key: int, now: int) -> float:
    """Give what a stream's rows with a key are worth without windows, by tables that are lines."""
    score = 0.0
    for partner in range(joins.shape[1]):
        if joins[stream, partner]:
            score += line_score(lines, partner, key, now, last_key(pool.meta, partner))
    return score


@inlined
def group_bound(
    pool: Pool, tables: tuple[ScoreTable, ...], joins: Flags, windows: Ints, group: int, now: int
) -> float:
    """Give what the score of a group's oldest row does not fall below in this epoch."""
    until = pool.meta[AGED_UNTIL]
    if until < now:
        return 0.0
    stream, key = pool.groups[group, GROUP_STREAM], pool.groups[group, GROUP_KEY]
    size, remaining = windows[stream, SIZE], NEVER
    if size != NO_WINDOW:
        stamp = pool.ages[pool.groups[group, GROUP_HEAD], AGE_STAMP]
        left = size - 1 - (pool.meta[stream_at(stream, AGED_NOW)] - stamp)
        if left <= 0:
            return 0.0
        rate = np.int64(pool.meta[stream_at(stream, AGED_RATE)]).view(np.float64)
        remaining = int(min(np.float64(left) * rate, np.float64(NEVER)))
    bound = 0.0
    for partner in range(joins.shape[1]):
        if joins[stream, partner]:
            table = tables[partner]
            later = window_score(table, key, until, last_key(pool.meta, partner), remaining)
            bound += np.exp(-table.decay * (until - now)) * later
    return SLACK * bound


@inlined
def bounds_hold(pool: Pool, windows: Ints, now: int) -> bool:
    """Say whether the epoch lasts and measures went no faster than it allows for."""
    until = pool.meta[AGED_UNTIL]
    if now > until:
        return False
    for stream in range(len(windows)):
        if windows[stream, SIZE] == NO_WINDOW or windows[stream, ADVANCE] > 0:
            continue
        rate = np.int64(pool.meta[stream_at(stream, AGED_RATE)]).view(np.float64)
        if ticks_per_unit(pool.meta, windows, stream, now) < rate:
            return False
        room = pool.meta[stream_at(stream, AGED_NOW)] - pool.meta[stream_at(stream, NOW)]
        # One tick for the parts of ticks that are cut off.
        if np.float64(room) * rate < until - now + 1:
            return False
    return True


@inlined
def bounds_make(
    pool: Pool, tables: tuple[ScoreTable, ...], joins: Flags, windows: Ints, now: int
) -> None:
    """Begin an epoch: order all groups by their bounds."""
    decay = 0.0
    for partner in range(joins.shape[1]):
        decay = max(decay, tables[partner].decay)
    ticks = max(min(int(0.5 * np.sqrt(pool.meta[GROUPS])), int(EPOCH_SHARE / decay)), 1)
    pool.meta[AGED_UNTIL] = now + ticks
    for stream in range(len(windows)):
        measure = pool.meta[stream_at(stream, NOW)]
        if windows[stream, ADVANCE] > 0:
            rate, ahead = 1.0, np.int64(ticks)
        else:
            rate = RATE_SHARE * ticks_per_unit(pool.meta, windows, stream, now)
            ahead = np.int64(np.ceil(HASTE * (ticks + 1) / rate))
        pool.meta[stream_at(stream, AGED_NOW)] = measure + ahead
        pool.meta[stream_at(stream, AGED_RATE)] = np.float64(rate).view(np.int64)
    pool.meta[stream_at(0, ORDERED)] = 0
    for place in range(pool.meta[GROUPS]):
        group = pool.lists[GROUP_LIST, place]
        bound = group_bound(pool, tables, joins, windows, group, now)
        moving_order(pool, group, score_rank(bound))


@inlined
def aged_victim(
    pool: Pool, tables: tuple[ScoreTable, ...], joins: Flags, windows: Ints, now: int
) -> int:
    """Give the oldest row of the group with the lowest score; the older row, if two are equal."""
    if not bounds_hold(pool, windows, now):
        bounds_make(pool, tables, joins, windows, now)
    size, heap = pool.meta[stream_at(0, ORDERED)], pool.heaps[0]
    # The second heap is not in use: places of the first that are to be looked at.
    places = pool.heaps[1]
    places[0, 0] = 0
    open_places = 1
    best, lowest = NONE, np.inf
    while open_places > 0:
        open_places -= 1
        at = places[open_places, 0]
        if heap[at, RANK] > score_rank(lowest):
            continue
        group = heap[at, ITEM]
        score = group_score(pool, tables, joins, windows, group, now, True)
        head = pool.groups[group, GROUP_HEAD]
        if score < lowest or (
            score == lowest and pool.rows[head, ROW_NUMBER] < pool.rows[best, ROW_NUMBER]
        ):
            best, lowest = head, score
        first = BRANCHES * at + 1
        for child in range(first, min(first + BRANCHES, size)):
            if heap[child, RANK] <= score_rank(lowest):
                places[open_places, 0] = child
                open_places += 1
    return int(best)
