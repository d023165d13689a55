"""Windows of bounded joins: until when a row may join, in its stream's measure and in ticks.

Every stream has a *measure* that never falls: ticks, event time, or how many of its rows have come.
A row that came at `stamp` is active while the measure is less than `size` above it. Policies count
in ticks: what is left of a window is converted by how many ticks a unit of the measure took so far.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.kernels.arrays import Ints
from penstock.kernels.bounded_slots import (
    AGE_STAMP,
    BEGUN,
    GROUP_STREAM,
    NOW,
    ORIGIN,
    ORIGIN_TICK,
    ROW_GROUP,
    Pool,
    stream_at,
)
from penstock.kernels.compilation import inlined, tight

# Words of a stream's window.
SIZE = 0
ADVANCE = 1
"""By how much the measure grows at least from tick to tick: 1 if it counts ticks, else 0."""
WINDOW_WORDS = 2

NO_WINDOW = (1 << 63) - 1
NEVER = 1 << 40
"""Ticks that nobody lives to see."""


@tight
def ticks_count(ticks: Ints) -> Any:
    """Give how many ticks arrivals are of, and the most of one; -1 if they are not in order."""
    count, burst, begin = 0, 0, 0
    for i in range(len(ticks)):
        if i == 0 or ticks[i] != ticks[i - 1]:
            if i > 0 and ticks[i] < ticks[i - 1]:
                return -1, 0
            count += 1
            begin = i
        burst = max(burst, i + 1 - begin)
    return count, burst


@inlined
def measures_move(pool: Pool, nows: Ints, now: int) -> None:
    """Note the measures of all streams at an arrival."""
    if pool.meta[BEGUN] == 0:
        pool.meta[BEGUN] = 1
        pool.meta[ORIGIN_TICK] = now
        for stream in range(len(nows)):
            pool.meta[stream_at(stream, ORIGIN)] = nows[stream]
    for stream in range(len(nows)):
        pool.meta[stream_at(stream, NOW)] = nows[stream]


@inlined
def ticks_per_unit(meta: Ints, windows: Ints, stream: int, now: int) -> float:
    """Give how many ticks a unit of a stream's measure took so far."""
    if windows[stream, ADVANCE] > 0:
        return 1.0
    passed = meta[stream_at(stream, NOW)] - meta[stream_at(stream, ORIGIN)]
    ticks = now - meta[ORIGIN_TICK]
    # Before anything is known, windows are so long that they matter to nobody.
    return np.float64(ticks) / np.float64(passed) if passed > 0 and ticks > 0 else np.float64(NEVER)


@inlined
def ticks_remaining(pool: Pool, windows: Ints, row: int, now: int) -> int:
    """Give the ticks in which a row may still join; NEVER if it has no window."""
    stream = pool.groups[pool.rows[row, ROW_GROUP], GROUP_STREAM]
    size = windows[stream, SIZE]
    if size == NO_WINDOW:
        return NEVER
    left = size - 1 - (pool.meta[stream_at(stream, NOW)] - pool.ages[row, AGE_STAMP])
    if left <= 0 or windows[stream, ADVANCE] > 0:
        return max(int(left), 0)
    ticks = np.float64(left) * ticks_per_unit(pool.meta, windows, stream, now)
    return int(min(ticks, np.float64(NEVER)))


@inlined
def has_windows(windows: Ints) -> bool:
    """Say whether any stream has a window."""
    for stream in range(len(windows)):
        if windows[stream, SIZE] != NO_WINDOW:
            return True
    return False
