"""A made-up harbour: vessels sail straight on, turn, and tell where they are and how they move.

Positions are metres east and north of the harbour. Each coordinate of a vessel goes to and fro
between two bounds at a speed of its own, so that a vessel's course is straight for minutes; what is
told has a little noise. Every row is a pure function of (seed, offset), as in the market.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.vocabulary.batches import Floats, Ints
from penstock.worlds.chance import bits, mix
from penstock.worlds.market import START_US, TIMESTAMP

SEED = 7
VESSELS = 20
VESSELS_MAX = 100_000
RATES = {"positions": 20}
"""Rows per second of each stream, unless `rows_per_second` says otherwise."""
NOISE_M = 2.0
"""How far a position that is told may be from the true one."""
BOUNDS_M = (2_000.0, 8_000.0)
"""How far from the harbour vessels turn, at least and at most."""
SPEEDS_MPS = (2.0, 12.0)

POSITIONS = pa.schema(
    [
        ("ts", TIMESTAMP),
        ("vessel", pa.int64()),
        ("x", pa.float64()),
        ("y", pa.float64()),
        ("vx", pa.float64()),
        ("vy", pa.float64()),
        ("report_id", pa.int64()),
    ]
)
_SALT = 0x7368_6970
_NOISE_BITS = 20


class _Courses(NamedTuple):
    """How each coordinate of each vessel goes: (2, vessels)."""

    bound: Floats
    speed: Floats
    phase: Floats


@lru_cache(maxsize=16)
def _courses(seed: int, vessels: int) -> _Courses:
    rng = np.random.default_rng([seed, 5])
    shape = (2, vessels)
    return _Courses(
        rng.uniform(*BOUNDS_M, shape), rng.uniform(*SPEEDS_MPS, shape), rng.uniform(0, 1, shape)
    )


def positions(
    first: int,
    last: int,
    seed: int = SEED,
    rows_per_second: int = RATES["positions"],
    vessels: int = VESSELS,
    start_us: int = START_US,
) -> pa.RecordBatch:
    """Make the positions of offsets `first` up to, not including, `last`; vessels take turns.

    >>> positions(0, 300, seed=3).slice(90, 20).equals(positions(90, 110, seed=3))
    True
    """
    offsets = np.arange(first, last, dtype=np.int64)
    vessel = offsets % vessels
    elapsed_us = offsets * 1_000_000 // rows_per_second
    courses, chance = _courses(seed, vessels), mix(offsets, seed, _SALT)
    places, speeds = [], []
    for axis in range(2):
        place, speed = _sailed(courses, axis, vessel, elapsed_us / 1e6)
        noise = bits(chance, 24 * axis, _NOISE_BITS) * (2.0 * NOISE_M / (1 << _NOISE_BITS))
        places.append(pa.array(place + noise - NOISE_M))
        speeds.append(pa.array(speed))
    columns = [
        pa.array(elapsed_us + start_us, pa.int64()).cast(TIMESTAMP),
        pa.array(vessel), *places, *speeds, pa.array(offsets),
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, schema=POSITIONS)


def _sailed(courses: _Courses, axis: int, vessel: Ints, time_s: Floats) -> tuple[Floats, Floats]:
    """Give a coordinate and its change per second: to and fro at a speed, between two bounds."""
    bound, speed = courses.bound[axis][vessel], courses.speed[axis][vessel]
    turns = time_s * (speed / (4.0 * bound)) + courses.phase[axis][vessel]
    part = turns - np.floor(turns)
    forth = part < 0.5
    place = bound * np.where(forth, 4.0 * part - 1.0, 3.0 - 4.0 * part)
    return place, np.where(forth, speed, -speed)


STREAMS: dict[str, tuple[pa.Schema, Callable[..., pa.RecordBatch]]] = {
    "positions": (POSITIONS, positions)
}
"""Schema and maker of each stream, by its name."""
