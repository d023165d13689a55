"""Who goes: the row that a policy discards next, found by scanning groups or at heaps' tops."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from penstock.kernels.arrays import Flags, Ints
from penstock.kernels.bounded_counts import Counts, count_of
from penstock.kernels.bounded_heaps import ITEM
from penstock.kernels.bounded_histograms import RANDOM_UNTIL, Learning, learnt_score
from penstock.kernels.bounded_orders import extreme_key, ranked_first
from penstock.kernels.bounded_scores import aged_victim, group_score, plain_score
from penstock.kernels.bounded_slots import (
    GROUP_HEAD,
    GROUP_KEY,
    GROUP_LIST,
    GROUP_SIZE,
    GROUP_STREAM,
    GROUPS,
    LEARNT,
    NONE,
    PEAK,
    ROW_GROUP,
    ROW_NEXT,
    ROW_NUMBER,
    STREAM_ROWS,
    Pool,
    chance_below,
    group_find,
    stream_at,
)
from penstock.kernels.bounded_windows import NO_WINDOW, SIZE, ticks_remaining
from penstock.kernels.compilation import inlined
from penstock.kernels.score_lines import Lines
from penstock.kernels.scores import ScoreTable

# How a policy finds its victim.
SCANNED = 0
"""The lowest score of the tables, over all groups."""
EXTREMES = 1
"""The lowest score of the tables, which stands at a stream's smallest or largest key."""
RANKED = 2
"""The lowest score at admission, which never changes."""
COUNTED = 3
"""The key that came least often in the partner streams."""
PROBABLE = 4
"""As COUNTED, rows that the partner has passed first, ties by chance."""
LASTING = 5
"""The lowest product of ticks left and how often the key came, ties by chance."""
RANDOM = 6
"""Any row, rows that the partner has passed first."""
LEARNED = 7
"""The lowest product of learnt results and learnt inverse stay, ties by chance."""
RECENT = 8
"""The row that was used longest ago."""
TOSSED = 9
"""The lowest score of the tables, any row among equal ones, whatever their age."""
AGED = 10
"""As SCANNED in windows, by bounds on scores that hold for a while."""

Lives = npt.NDArray[np.float64]
"""Per partner: slope, intercept and lower bound of its keys; slope 0: it never passes a key."""


@inlined
def ticks_left(
    pool: Pool, lives: Lives, joins: Flags, windows: Ints, group: int, now: int
) -> float:  # fmt: skip
    """Give the ticks in which a group's oldest row may still join; infinite if nothing says."""
    stream, key = pool.groups[group, GROUP_STREAM], pool.groups[group, GROUP_KEY]
    left = np.inf
    if windows[stream, SIZE] != NO_WINDOW:
        left = np.float64(ticks_remaining(pool, windows, pool.groups[group, GROUP_HEAD], now))
    passed = -np.inf
    for partner in range(joins.shape[1]):
        if joins[stream, partner]:
            slope, bound = lives[partner, 0], lives[partner, 2]
            if slope == 0.0:
                return left
            lowest = slope * now + lives[partner, 1] - bound
            passed = max(passed, math.ceil((key - lowest) / slope - 1e-9))
    return max(min(left, passed), 0.0)


@inlined
def came_often(pool: Pool, counts: Counts, joins: Flags, group: int) -> int:
    """Count how often a group's key came in the streams that it joins with."""
    total = 0
    for partner in range(joins.shape[1]):
        if joins[pool.groups[group, GROUP_STREAM], partner]:
            total += count_of(counts, partner, pool.groups[group, GROUP_KEY])
    return total


@inlined
def scanned_victim(
    pool: Pool, tables: tuple[ScoreTable, ...], joins: Flags, windows: Ints, now: int,
    windowed: bool,
) -> int:  # fmt: skip
    """Give the oldest row of the group with the lowest score; the older row, if two are equal."""
    best, lowest = NONE, np.inf
    for place in range(pool.meta[GROUPS]):
        group = pool.lists[GROUP_LIST, place]
        score = group_score(pool, tables, joins, windows, group, now, windowed)
        head = pool.groups[group, GROUP_HEAD]
        if score < lowest or (
            score == lowest and pool.rows[head, ROW_NUMBER] < pool.rows[best, ROW_NUMBER]
        ):
            best, lowest = head, score
    return best


@inlined
def oldest_number(pool: Pool, stream: int, key: int) -> int:
    """Give the number of a stream's oldest row with a key; there is one."""
    return int(pool.rows[pool.groups[group_find(pool, stream, key), GROUP_HEAD], ROW_NUMBER])


@inlined
def extreme_victim(pool: Pool, lines: Lines, joins: Flags, now: int) -> int:
    """Give the row with the lowest score among the smallest and largest keys of each stream."""
    source, best, lowest = NONE, 0, np.inf
    for stream in range(joins.shape[0]):
        if pool.meta[stream_at(stream, STREAM_ROWS)] == 0:
            continue
        for end in range(2):
            key = extreme_key(pool, stream, end)
            score = plain_score(pool, lines, joins, stream, key, now)
            if score < lowest or (
                score == lowest
                and oldest_number(pool, stream, key) < oldest_number(pool, source, best)
            ):
                source, best, lowest = stream, key, score
    return int(pool.groups[group_find(pool, source, best), GROUP_HEAD])


@inlined
def chanced_victim(
    pool: Pool, tables: tuple[ScoreTable, ...], counts: Counts, learning: Learning, lives: Lives,
    joins: Flags, windows: Ints, mode: int, now: int, windowed: bool,
) -> int:  # fmt: skip
    """Give the oldest row of a group with the lowest score; among equal ones, any row's group."""
    random = mode == RANDOM or (
        mode == LEARNED and pool.meta[LEARNT] < learning.settings[RANDOM_UNTIL]
    )
    best, lowest, ties = NONE, np.inf, 0
    for place in range(pool.meta[GROUPS]):
        group = pool.lists[GROUP_LIST, place]
        score = 0.0
        if random:
            left = ticks_left(pool, lives, joins, windows, group, now)
            score = 0.0 if left > 0.0 else -1.0
        elif mode == TOSSED:
            score = group_score(pool, tables, joins, windows, group, now, windowed)
        elif mode == LEARNED:
            stream, key = pool.groups[group, GROUP_STREAM], pool.groups[group, GROUP_KEY]
            for partner in range(joins.shape[1]):
                if joins[stream, partner]:
                    score += learnt_score(learning, partner, key, now, pool.meta)
        else:
            left = ticks_left(pool, lives, joins, windows, group, now)
            often = came_often(pool, counts, joins, group)
            if mode == LASTING:
                score = (often + 1) * left
            else:
                score = np.float64(often) if left > 0.0 else -1.0
        if score > lowest:
            continue
        size = pool.groups[group, GROUP_SIZE]
        ties = size if score < lowest else ties + size
        lowest = score
        if chance_below(pool.meta, ties) < size:
            best = group
    row = pool.groups[best, GROUP_HEAD]
    if random or mode == TOSSED:
        for _ in range(chance_below(pool.meta, pool.groups[best, GROUP_SIZE])):
            row = pool.rows[row, ROW_NEXT]
    return int(row)


@inlined
def any_row(pool: Pool) -> int:
    """Give any row that is held, each alike; above the budget hardly a slot is free."""
    while True:
        row = chance_below(pool.meta, pool.meta[PEAK])
        if pool.rows[row, ROW_GROUP] != NONE:
            return int(row)


@inlined
def victim_row(
    pool: Pool, tables: tuple[ScoreTable, ...], lines: Lines, counts: Counts, learning: Learning,
    lives: Lives, joins: Flags, windows: Ints, mode: int, now: int, windowed: bool,
) -> int:  # fmt: skip
    """Give the row that goes next."""
    if mode == SCANNED:
        return scanned_victim(pool, tables, joins, windows, now, windowed)
    if mode == EXTREMES:
        return extreme_victim(pool, lines, joins, now)
    if mode == AGED:
        return aged_victim(pool, tables, joins, windows, now)
    if mode == RANKED:
        return int(pool.groups[ranked_first(pool), GROUP_HEAD])
    if mode in (COUNTED, RECENT):
        return int(pool.groups[pool.heaps[0, 0, ITEM], GROUP_HEAD])
    if mode == RANDOM and lives[0, 0] == 0.0:
        return any_row(pool)
    return chanced_victim(
        pool, tables, counts, learning, lives, joins, windows, mode, now, windowed
    )
