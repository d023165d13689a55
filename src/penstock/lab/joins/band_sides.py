"""What the band-join experiments share: data, sides, and how a side is measured.

All sides find the affected queries and write none of them, as the publication measures. One thread
each. Slow sides get fewer tuples; what is reported is the cost per tuple.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, thread_time

import numpy as np

from penstock.lab.draws import generator
from penstock.lab.joins.workload import DOMAIN, around, lengths
from penstock.lab.timing import alternate
from penstock.operators.join.band import BandCore
from penstock.vocabulary.batches import Ints

BATCH = 10_000
STEPS = 20_000_000
"""About so many steps does a slow side make per measurement: this sets its tuples."""
OUTPUT = 5_000_000
"""About so many pairs are written where output is measured."""
OTHERS = ("queries", "data", "merge")
SINGLY = "ssi, tuple at a time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bands:
    """Standing bands, stored values (ascending), arriving values."""

    low: Ints
    high: Ints
    stored: Ints
    given: Ints

    def core(self, strategy: str) -> BandCore:
        """Register all bands."""
        core = BandCore(strategy, threads=1)
        core.add(np.arange(len(self.low), dtype=np.int32), self.low, self.high)
        return core


def bands(count: int, mean: float, deviation: float, rows: int, seed: int = 1) -> Bands:
    """Draw the table's workload: midpoints uniform, lengths normal, stored values normal."""
    rng = generator(seed)
    low, high = around(rng.integers(0, DOMAIN + 1, count), lengths(rng, mean, deviation, count))
    values = np.clip(np.rint(rng.normal(DOMAIN / 2, DOMAIN / 10, rows)), 0, DOMAIN)
    return Bands(
        low=low,
        high=high,
        stored=np.sort(values.astype(np.int64)),
        given=rng.integers(0, DOMAIN + 1, BATCH),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BandsMeasured:
    """Seconds per tuple by side; groups; with output, tuples and pairs per second."""

    groups: int
    cost: dict[str, float]
    tuples_out: float
    pairs_out: float
    differing: int

    def rate(self, side: str) -> float:
        """Tuples per second."""
        return 1.0 / self.cost[side]


def measure(data: Bands, rounds: int, sides: tuple[str, ...] = OTHERS) -> BandsMeasured:
    """Measure the sides alternately, on the same data."""
    count, rows = len(data.low), len(data.stored)
    steps = {"queries": count // 5 + 1, "data": 8 * min(rows, DOMAIN), "merge": count + 1_000}
    ssi = data.core("ssi")
    cores = {side: data.core(side) for side in sides}
    parts = {side: data.given[: max(3, min(BATCH, STEPS // steps[side]))] for side in sides}
    runs: dict[str, Callable[[], int]] = {
        "ssi": lambda: ssi.find(data.given, data.stored),
        SINGLY: lambda: ssi.find_singly(data.given, data.stored),
    }
    for side in sides:
        runs[side] = _finding(cores[side], parts[side], data.stored)
    differing = abs(runs["ssi"]() - runs[SINGLY]()) + _differing(data, [ssi, *cores.values()])
    best = alternate(runs, rounds, thread_time)
    tuples = {side: len(part) for side, part in parts.items()} | {"ssi": BATCH, SINGLY: BATCH}
    few = data.given[: max(3, min(BATCH, OUTPUT // count))]
    started = perf_counter()
    pairs = sum(len(places) for places, _ in ssi.pieces(few, data.stored))
    seconds = perf_counter() - started
    return BandsMeasured(
        groups=len(ssi.groups()),
        cost={side: best[side] / tuples[side] for side in runs},
        tuples_out=len(few) / seconds,
        pairs_out=pairs / seconds,
        differing=differing,
    )


def _finding(core: BandCore, given: Ints, stored: Ints) -> Callable[[], int]:
    return lambda: core.find(given, stored)


def _differing(data: Bands, cores: list[BandCore]) -> int:
    """Count the pairs of a few tuples that some side has and another has not."""
    found = []
    for core in cores:
        rows, slots = core.identify(data.given[:3], data.stored)
        found.append(set((rows.astype(np.int64) * len(data.low) + slots).tolist()))
    return len(set.union(*found) - set.intersection(*found))
