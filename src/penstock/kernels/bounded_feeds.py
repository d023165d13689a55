"""Bounded joins and lookups, tick by tick: join, admit, discard what is above the budget.

In every tick all arrivals first join with what is held and with each other; then they are
candidates like the rows held, and the policy discards rows until the budget holds again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.kernels.arrays import Flags, Ints
from penstock.kernels.bounded_counts import Counts
from penstock.kernels.bounded_histograms import (
    Learning,
    buckets_fade,
    line_learn,
)
from penstock.kernels.bounded_orders import moving_rerank
from penstock.kernels.bounded_prefetch import arrivals_fetch, is_far
from penstock.kernels.bounded_rows import (
    count_rank,
    key_count,
    recent_rank,
    row_admit,
    row_leave,
)
from penstock.kernels.bounded_slots import (
    AGE_STAMP,
    EVICTED,
    EXPIRED,
    GROUP_HEAD,
    GROUP_HITS,
    GROUP_SIZE,
    GROUP_USED,
    HELD,
    LAST,
    NONE,
    NOW,
    OLDEST,
    REFUSED,
    ROW_BORN,
    ROW_NEXT,
    ROW_NUMBER,
    STREAM_ROWS,
    Pool,
    group_find,
    stream_at,
)
from penstock.kernels.bounded_victims import (
    COUNTED,
    LASTING,
    LEARNED,
    PROBABLE,
    RANKED,
    RECENT,
    Lives,
    came_often,
    victim_row,
)
from penstock.kernels.bounded_windows import (
    ADVANCE,
    NO_WINDOW,
    SIZE,
    has_windows,
    measures_move,
)
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.score_lines import Lines
from penstock.kernels.scores import ScoreTable

Pairs = npt.NDArray[np.int64]

# Places in a feed's cursor.
AT = 0
TICK = 1
USED = 2
"""Pairs that there are."""
NEEDED = 3
"""Pairs that the next tick may make, if it stopped."""
CURSOR_WORDS = 4


@inlined
def pairs_most(
    pool: Pool, joins: Flags, streams: Ints, keys: Ints, owned: Flags, at: int, until: int
) -> int:  # fmt: skip
    """Give how many results arrivals of one tick have at most."""
    most = (until - at) * (until - at - 1) // 2
    for i in range(at, until):
        for partner in range(joins.shape[1]):
            if owned[i] and joins[streams[i], partner]:
                group = group_find(pool, partner, keys[i])
                most += pool.groups[group, GROUP_SIZE] if group != NONE else 0
    return most


@inlined
def arrival_join(
    pool: Pool, joins: Flags, stream: int, key: int, number: int,
    emit: bool, pairs: Pairs, used: int,
) -> Any:  # fmt: skip
    """Join an arrival with the rows held; give how many, and how many pairs there are now."""
    made = 0
    for partner in range(joins.shape[1]):
        if not joins[stream, partner]:
            continue
        group = group_find(pool, partner, key)
        if group == NONE:
            continue
        made += pool.groups[group, GROUP_SIZE]
        pool.groups[group, GROUP_HITS] += 1
        pool.groups[group, GROUP_USED] = number
        if emit:
            row = pool.groups[group, GROUP_HEAD]
            while row != NONE:
                pairs[used, 0] = number
                pairs[used, 1] = pool.rows[row, ROW_NUMBER]
                used += 1
                row = pool.rows[row, ROW_NEXT]
    return made, used


@inlined
def rows_expire(
    pool: Pool, learning: Learning, joins: Flags, windows: Ints, mode: int, now: int, ahead: int
) -> None:  # fmt: skip
    """Let all rows go whose window has passed, or will have `ahead` ticks from now at the least."""
    for stream in range(len(windows)):
        size = windows[stream, SIZE]
        if size == NO_WINDOW:
            continue
        measure = pool.meta[stream_at(stream, NOW)] + ahead * windows[stream, ADVANCE]
        at = stream_at(stream, OLDEST)
        while pool.meta[at] != NONE and measure - pool.ages[pool.meta[at], AGE_STAMP] >= size:
            pool.meta[EXPIRED] += 1
            row_leave(pool, learning, joins, pool.meta[at], mode, now)


@inlined
def arrival_seen(
    pool: Pool, counts: Counts, learning: Learning, joins: Flags,
    stream: int, key: int, owned: bool, mode: int, now: int, number: int,
) -> None:  # fmt: skip
    """Let the policy see an arrival before it decides; of others' arrivals it sees the key."""
    pool.meta[stream_at(stream, LAST)] = key
    if mode == LEARNED:
        line_learn(learning, stream, now, key)
    if not owned:
        return
    if mode in (COUNTED, PROBABLE, LASTING):
        key_count(pool, counts, stream, key)
    if mode == COUNTED:
        for other in range(joins.shape[0]):
            if joins[other, stream]:
                group = group_find(pool, other, key)
                if group != NONE:
                    often = came_often(pool, counts, joins, group)
                    moving_rerank(pool, group, count_rank(often, number))


@inlined
def arrival_used(pool: Pool, joins: Flags, stream: int, key: int, number: int) -> None:
    """Note that an arrival used the rows that it joined with, also those of its tick."""
    for other in range(joins.shape[0]):
        if joins[other, stream]:
            group = group_find(pool, other, key)
            if group != NONE:
                pool.groups[group, GROUP_USED] = max(pool.groups[group, GROUP_USED], number)
                moving_rerank(pool, group, recent_rank(pool, group))


@inlined
def is_inside(windows: Ints, stream: int, now: int, stamp: int) -> bool:
    """Say whether a row with a stamp is active at its stream's measure."""
    size = windows[stream, SIZE]
    return bool(size == NO_WINDOW or now - stamp < size)


@tight
def joins_feed(
    pool: Pool, tables: tuple[ScoreTable, ...], lines: Lines, counts: Counts, learning: Learning,
    lives: Lives, joins: Flags, windows: Ints, streams: Ints, keys: Ints, ticks: Ints, stamps: Ints,
    nows: Ints, owned: Flags, first: int, mode: int, windowed: bool, budget: int, made: Ints,
    together: Ints, held: Ints, found: Ints, emit: bool, pairs: Pairs, cursor: Ints,
) -> None:  # fmt: skip
    """Feed arrivals in the order of ticks; the first has number `first`.

    `stamps[i]` is the measure of the arrival's own stream, `nows[i, s]` that of stream s. Arrivals
    that are not `owned` only show where their stream is.

    For the n-th tick fed: `made[n]` results with rows held, `together[n]` results among its
    arrivals, `held[n, s]` rows of stream s held at its end (where `held` has a row for it).
    `found[i]` are the results of the i-th arrival with all that came before it. With `emit`,
    `pairs` are the numbers of both rows of every result, the later arrival first.

    `cursor` says how far it came: before a tick for which `pairs` may be too short, or to the end.
    """
    at, tick, used = cursor[AT], cursor[TICK], cursor[USED]
    measured, far = has_windows(windows), is_far(pool)
    while at < len(ticks):
        now = ticks[at]
        until = at + 1
        while until < len(ticks) and ticks[until] == now:
            until += 1
        if emit and len(pairs) - used < (until - at) * (pool.meta[HELD] + until - at):
            cursor[NEEDED] = pairs_most(pool, joins, streams, keys, owned, at, until)
            if len(pairs) - used < cursor[NEEDED]:
                break
        for i in range(at, until):
            if far:
                arrivals_fetch(pool, lines, joins, streams, keys, mode == RANKED, i)
            if measured:
                measures_move(pool, nows[i], now)
                rows_expire(pool, learning, joins, windows, mode, now, 0)
            if not owned[i]:
                continue
            stream, key, number = streams[i], keys[i], first + i
            count, used = arrival_join(pool, joins, stream, key, number, emit, pairs, used)
            made[tick] += count
            for other in range(at, i):
                partner = streams[other]
                if keys[other] != key or not (owned[other] and joins[stream, partner]):
                    continue
                if is_inside(windows, partner, nows[i, partner], stamps[other]):
                    together[tick] += 1
                    count += 1
                    if emit:
                        pairs[used, 0], pairs[used, 1] = number, first + other
                        used += 1
            found[i] = count
        for i in range(at, until):
            arrival_seen(
                pool, counts, learning, joins, streams[i], keys[i], owned[i], mode, now, first + i
            )  # fmt: skip
        for i in range(at, until):
            if owned[i]:
                row_admit(
                    pool, tables, lines, counts, learning, joins, windows, streams[i], keys[i],
                    stamps[i], mode, now, first + i,
                )  # fmt: skip
        for i in range(at, until if mode == RECENT else at):
            if owned[i]:
                arrival_used(pool, joins, streams[i], keys[i], first + i)
        if measured:
            rows_expire(pool, learning, joins, windows, mode, now, 1)
        while pool.meta[HELD] > budget:
            row = victim_row(
                pool, tables, lines, counts, learning, lives, joins, windows, mode, now, windowed
            )  # fmt: skip
            pool.meta[EVICTED if now > pool.rows[row, ROW_BORN] else REFUSED] += 1
            row_leave(pool, learning, joins, row, mode, now)
        if mode == LEARNED:
            buckets_fade(learning, pool)
        assert pool.meta[HELD] <= budget
        if tick < len(held):
            for stream in range(held.shape[1]):
                held[tick, stream] = pool.meta[stream_at(stream, STREAM_ROWS)]
        at = until
        tick += 1
    cursor[AT], cursor[TICK], cursor[USED] = at, tick, used
