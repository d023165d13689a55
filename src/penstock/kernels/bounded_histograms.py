"""What a learning policy keeps: per stream of partners, results and inverse stays by offset.

The offset of a row is its key less the partner's mean now (a running line through its keys) or
less the partner's last key. Rows that leave tell what they brought and how long they took.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.bounded_slots import (
    GROUP_HITS,
    LEARNT,
    MARK_HITS,
    MARK_OFFSET,
    NONE,
    ROW_BORN,
    ROW_GROUP,
    Pool,
    last_key,
)
from penstock.kernels.compilation import inlined

# A bucket: number, mean and sum of squared deviations, of results and of inverse stays.
HITS = 0
INVERSES = 3
BUCKET_WORDS = 6

# A stream's line: keys seen, mean tick, mean key, and the sums that give the slope.
SEEN = 0
TICK_MEAN = 1
KEY_MEAN = 2
TICK_SQUARES = 3
TICK_KEYS = 4
LINE_WORDS = 5

# Settings.
RANGE_FROM = 0
RANGE_UNTIL = 1
RANDOM_UNTIL = 2
PERIOD = 3
FADING = 4
FOLLOWS = 5
"""1: offsets are taken from the partner's last key, not from its line."""
SETTING_WORDS = 6


class Learning(NamedTuple):
    """Buckets by partner stream, their ranges, the streams' lines, and settings."""

    buckets: npt.NDArray[np.float64]
    ranges: npt.NDArray[np.float64]
    lines: npt.NDArray[np.float64]
    settings: Floats


def learning_make(streams: int, buckets: int, settings: Floats) -> Learning:
    """Make a policy's memory before it has seen anything."""
    ranges = np.empty((streams, 2))
    ranges[:, 0], ranges[:, 1] = np.inf, -np.inf
    return Learning(
        buckets=np.zeros((streams, buckets, BUCKET_WORDS)),
        ranges=ranges,
        lines=np.zeros((streams, LINE_WORDS)),
        settings=np.asarray(settings, dtype=np.float64),
    )


@inlined
def line_learn(learning: Learning, stream: int, now: int, key: int) -> None:
    """Draw a key into its stream's line (least squares, updated with means: no cancellation)."""
    line = learning.lines[stream]
    line[SEEN] += 1.0
    ahead = now - line[TICK_MEAN]
    line[TICK_MEAN] += ahead / line[SEEN]
    off = key - line[KEY_MEAN]
    line[KEY_MEAN] += off / line[SEEN]
    line[TICK_SQUARES] += ahead * (now - line[TICK_MEAN])
    line[TICK_KEYS] += ahead * (key - line[KEY_MEAN])


@inlined
def line_slope(learning: Learning, stream: int) -> float:
    """Give the slope of a stream's line, 0 while one cannot be told."""
    line = learning.lines[stream]
    return line[TICK_KEYS] / line[TICK_SQUARES] if line[TICK_SQUARES] > 0.0 else 0.0


@inlined
def offset_of(learning: Learning, partner: int, key: int, now: int, meta: Ints) -> float:
    """Give how far a key lies above where its partner is now."""
    if learning.settings[FOLLOWS] > 0.0:
        return np.float64(key - last_key(meta, partner))
    line = learning.lines[partner]
    mean = line[KEY_MEAN] + line_slope(learning, partner) * (now - line[TICK_MEAN])
    return float(key - mean)


@inlined
def bucket_find(learning: Learning, partner: int, offset: float) -> int:
    """Give the bucket of an offset; NONE where the partner has passed or nothing is known."""
    low, high = learning.ranges[partner, 0], learning.ranges[partner, 1]
    if low > high:
        return NONE
    follows = learning.settings[FOLLOWS] > 0.0
    slope = line_slope(learning, partner)
    if offset < low and (follows or slope >= 0.0):
        return NONE
    if offset > high and (follows or slope < 0.0):
        return NONE
    count = learning.buckets.shape[1]
    bucket = int((offset - low) / max(high - low, 1e-9) * count)
    return int(min(max(bucket, 0), count - 1))


@inlined
def value_add(bucket: Floats, first: int, value: float) -> None:
    """Add a value to a bucket's number, mean and squared deviations."""
    bucket[first] += 1.0
    off = value - bucket[first + 1]
    bucket[first + 1] += off / bucket[first]
    bucket[first + 2] += off * (value - bucket[first + 1])


@inlined
def leaving_learn(learning: Learning, pool: Pool, row: int, partner: int, now: int) -> None:
    """Learn from a row that leaves after a stay of a tick or more."""
    stay = now - pool.rows[row, ROW_BORN]
    if stay < 1:
        return
    bucket = bucket_find(learning, partner, np.int64(pool.marks[row, MARK_OFFSET]).view(np.float64))
    if bucket == NONE:
        return
    hits = pool.groups[pool.rows[row, ROW_GROUP], GROUP_HITS] - pool.marks[row, MARK_HITS]
    value_add(learning.buckets[partner, bucket], HITS, np.float64(hits))
    value_add(learning.buckets[partner, bucket], INVERSES, 1.0 / stay)


@inlined
def range_widen(learning: Learning, partner: int, offset: float, seen: int) -> None:
    """Let the range of a partner's buckets take in an offset, in the ticks meant for that."""
    if learning.settings[RANGE_FROM] <= seen < learning.settings[RANGE_UNTIL]:
        learning.ranges[partner, 0] = min(learning.ranges[partner, 0], offset)
        learning.ranges[partner, 1] = max(learning.ranges[partner, 1], offset)


@inlined
def buckets_fade(learning: Learning, pool: Pool) -> None:
    """Count a tick; once a period, let what was learnt weigh less."""
    pool.meta[LEARNT] += 1
    if pool.meta[LEARNT] % np.int64(learning.settings[PERIOD]) == 0:
        for partner in range(learning.buckets.shape[0]):
            for bucket in range(learning.buckets.shape[1]):
                for first in (HITS, INVERSES):
                    learning.buckets[partner, bucket, first] *= learning.settings[FADING]
                    learning.buckets[partner, bucket, first + 2] *= learning.settings[FADING]


@inlined
def learnt_score(learning: Learning, partner: int, key: int, now: int, meta: Ints) -> float:
    """Give the results that a key may bring, weighed by how soon; 0 where nothing is known.

    Beside a walk, which may come back, keys beyond the known range are worth less the farther.
    """
    offset = offset_of(learning, partner, key, now, meta)
    bucket = bucket_find(learning, partner, offset)
    if bucket == NONE:
        low, high = learning.ranges[partner, 0], learning.ranges[partner, 1]
        if learning.settings[FOLLOWS] > 0.0 and low <= high:
            return -float(max(low - offset, offset - high))
        return 0.0
    here = learning.buckets[partner, bucket]
    return float(here[HITS + 1] * here[INVERSES + 1]) if here[HITS] > 0.0 else 0.0
