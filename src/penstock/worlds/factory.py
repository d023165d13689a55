"""A made-up factory: alarms of lines, jobs that lines give to machines, readings of machines.

Three streams for joins of three: an alarm and a job share a line, a job and a reading share a
machine. Keys are even chance, so an equality holds for one pair in `lines` or in `machines`. Rows
come at random, as of a Poisson process with the rate asked for. Every row is a pure function of
(seed, stream, offset), as in the market.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from penstock.vocabulary.batches import Ints
from penstock.worlds.chance import Hashes, bits, mix
from penstock.worlds.market import START_US, TIMESTAMP

SEED = 7
LINES = 2
MACHINES = 5
KEYS_MAX = 1_000_000
RATES = {"alarms": 10, "jobs": 20, "readings": 70}
"""Rows per second of each stream, unless `rows_per_second` says otherwise."""
BLOCK_ROWS = 1_024
"""Rows whose times are drawn together; a block of them lasts exactly BLOCK_ROWS / rate."""

ALARMS = pa.schema(
    [("ts", TIMESTAMP), ("line", pa.int64()), ("severity", pa.int64()), ("alarm_id", pa.int64())]
)
JOBS = pa.schema(
    [
        ("ts", TIMESTAMP),
        ("line", pa.int64()),
        ("machine", pa.int64()),
        ("units", pa.int64()),
        ("job_id", pa.int64()),
    ]
)
READINGS = pa.schema(
    [
        ("ts", TIMESTAMP),
        ("machine", pa.int64()),
        ("temperature", pa.float64()),
        ("reading_id", pa.int64()),
    ]
)
_ALARMS_SALT = 0x616C_6172
_JOBS_SALT = 0x6A6F_6273
_READINGS_SALT = 0x7265_6164
_TIMES_SALT = 0x7469_6D65
_MICRO = 1_000_000
_BLOCK_BITS = 30


def alarms(
    first: int,
    last: int,
    seed: int = SEED,
    rows_per_second: int = RATES["alarms"],
    lines: int = LINES,
    start_us: int = START_US,
) -> pa.RecordBatch:
    """Make the alarms of offsets `first` up to, not including, `last`.

    >>> alarms(0, 3_000, seed=3).slice(900, 200).equals(alarms(900, 1_100, seed=3))
    True
    """
    offsets = np.arange(first, last, dtype=np.int64)
    chance = mix(offsets, seed, _ALARMS_SALT)
    columns = [
        _times(first, last, seed ^ _ALARMS_SALT, rows_per_second, start_us),
        pa.array(_key(chance, 0, lines)),
        pa.array(1 + bits(chance, 24, 8) % 5),
        pa.array(offsets),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ALARMS)


def jobs(
    first: int,
    last: int,
    seed: int = SEED,
    rows_per_second: int = RATES["jobs"],
    lines: int = LINES,
    machines: int = MACHINES,
    start_us: int = START_US,
) -> pa.RecordBatch:
    """Make the jobs of offsets `first` up to, not including, `last`.

    >>> jobs(0, 1).column_names
    ['ts', 'line', 'machine', 'units', 'job_id']
    """
    offsets = np.arange(first, last, dtype=np.int64)
    chance = mix(offsets, seed, _JOBS_SALT)
    columns = [
        _times(first, last, seed ^ _JOBS_SALT, rows_per_second, start_us),
        pa.array(_key(chance, 0, lines)),
        pa.array(_key(chance, 24, machines)),
        pa.array(1 + bits(chance, 48, 16) % 500),
        pa.array(offsets),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=JOBS)


def readings(
    first: int,
    last: int,
    seed: int = SEED,
    rows_per_second: int = RATES["readings"],
    machines: int = MACHINES,
    start_us: int = START_US,
) -> pa.RecordBatch:
    """Make the readings of offsets `first` up to, not including, `last`.

    >>> readings(0, 1).column_names
    ['ts', 'machine', 'temperature', 'reading_id']
    """
    offsets = np.arange(first, last, dtype=np.int64)
    chance = mix(offsets, seed, _READINGS_SALT)
    columns = [
        _times(first, last, seed ^ _READINGS_SALT, rows_per_second, start_us),
        pa.array(_key(chance, 0, machines)),
        pa.array(20.0 + bits(chance, 24, 10) / 16.0),
        pa.array(offsets),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=READINGS)


def _key(chance: Hashes, low: int, count: int) -> Ints:
    """Give keys from 0 up to, not including, `count`, all as likely."""
    return np.asarray(bits(chance, low, 24) * count >> 24)


def _times(first: int, last: int, seed: int, rows_per_second: int, start_us: int) -> pa.Array:
    """Give the event times, ascending with the offset.

    Given how many points a Poisson process has in a time, they lie there evenly at random. So a
    block's rows get as many even draws, sorted, and no block needs another.
    """
    low, high = first // BLOCK_ROWS, -(-last // BLOCK_ROWS)
    numbers = np.arange(low * BLOCK_ROWS, high * BLOCK_ROWS, dtype=np.int64)
    draws = bits(mix(numbers, seed, _TIMES_SALT), 0, _BLOCK_BITS).reshape(-1, BLOCK_ROWS)
    within = np.sort(draws, axis=1) * (BLOCK_ROWS * _MICRO) >> _BLOCK_BITS
    begins = np.arange(low, high, dtype=np.int64)[:, None] * (BLOCK_ROWS * _MICRO)
    elapsed_us = ((begins + within) // rows_per_second).ravel()
    kept = elapsed_us[first - low * BLOCK_ROWS : last - low * BLOCK_ROWS]
    return pa.array(kept + start_us, pa.int64()).cast(TIMESTAMP)


STREAMS: dict[str, tuple[pa.Schema, Callable[..., pa.RecordBatch]]] = {
    "alarms": (ALARMS, alarms),
    "jobs": (JOBS, jobs),
    "readings": (READINGS, readings),
}
"""Schema and maker of each stream, by its name."""
KEYS = {"alarms": ("lines",), "jobs": ("lines", "machines"), "readings": ("machines",)}
"""The options that say how many values the keys of a stream have."""
