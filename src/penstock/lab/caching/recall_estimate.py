"""The live estimate of recall against the truth.

A join runs within its budget while the meter watches; the truth is counted afterwards over whole
streams. Two slices are judged. With the default slice every single run must come within three
points: it knows all keys at first, and is halved in the longest runs. With a slice of four entries
per row of the budget, which is halved again and again, one estimate is as good as chance allows:
its spread is shown, and the mean over many slices, weighing each by what it saw, must come within
three points, for the estimate of what is lost has no bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from penstock.lab.caching.policies import Heeb
from penstock.lab.caching.speed import streams as streams_of
from penstock.lab.caching.workload import CONFIGURATIONS, Configuration, alternating, trends
from penstock.lab.draws import chance, generator
from penstock.lab.report import (
    Chart,
    Findings,
    Size,
    Table,
    at_least,
    at_most,
    chart,
    curves_of,
    sized,
)
from penstock.lab.timing import say
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.laws_independent import Stationary
from penstock.operators.bounded.recall import LIMIT, NO_WINDOW, RecallMeter
from penstock.operators.bounded.weightings import Exponential, alpha_of
from penstock.vocabulary.batches import Ints

BUDGETS = (10, 100)
LENGTH = sized(1_000, 5_000, 5_000)
LONG = sized(80_000, 80_000, 400_000)
"""Ticks of runs in which trends bring more keys than the default slice may remember."""
RUNS = sized(1, 3, 10)
SLICES = sized(1_000, 1_000, 2_000)
DOMAIN = 1_000
POINTS = 0.03
TIMED = sized(500, 10_000, 10_000)
"""Rows of the joins beside which the meter is timed."""
ROUNDS = 4
COST = 1.0
"""The estimate takes less than the join: it finds a row's key as the join does, and scores none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Two streams, and the ticks that a row stays active; None: all."""

    name: str
    configuration: Configuration
    window: int | None = None

    def policy(self, budget: int) -> Heeb:
        """Give HEEB with the streams' own laws."""
        if self.window is None:
            return self.configuration.heeb(budget)
        weighting = Exponential(alpha_of(max(budget / 2, 1.5)))
        return Heeb(laws=self.configuration.laws, weighting=weighting, window=self.window)


def zipf() -> Configuration:
    """Give two streams whose keys' chances fall as their rank, ranks being shuffled."""
    chances = 1 / np.arange(1, DOMAIN + 1)
    chances /= chances.sum()
    both = tuple(
        Stationary(keys=generator(seed).permutation(DOMAIN), probabilities=chances)
        for seed in range(2)
    )
    return Configuration(name="ZIPF", laws=(both[0], both[1]), residence=None)


WIDE = Configuration(
    name="WIDE FLOOR", laws=trends(None, lag=10, widths=(100, 150)), residence=125.0
)
"""FLOOR with ten times the noise: a hundred rows are a third of what it needs."""


def all_watched() -> tuple[Watched, ...]:
    """Give all streams that are watched."""
    return (
        *(Watched(name=each.name, configuration=each) for each in (*CONFIGURATIONS, WIDE)),
        Watched(name="ZIPF, window of 400", configuration=zipf(), window=400),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One run: the truth, and estimates by slices; `weight` is the last of the first slice."""

    name: str
    budget: int
    ticks: int
    limit: int
    truth: float
    made: list[int]
    all: list[int]
    weight: int
    remembered: int

    @property
    def error(self) -> float:
        """How far the first slice's estimate is from the truth."""
        return abs(self.made[0] / max(self.all[0], 1) - self.truth)

    @property
    def pooled_error(self) -> float:
        """How far all slices' estimate is from the truth."""
        return abs(sum(self.made) / max(sum(self.all), 1) - self.truth)

    @property
    def spread(self) -> float:
        """The standard deviation of one slice's estimate."""
        return float(np.std([m / max(a, 1) for m, a in zip(self.made, self.all, strict=True)]))


def all_results(first: Ints, second: Ints, window: int | None) -> int:
    """Count the pairs of equal keys that come within a window, one row of each stream a tick."""
    if window is None:
        keys, counts = np.unique(first, return_counts=True)
        others, times = np.unique(second, return_counts=True)
        _, mine, theirs = np.intersect1d(keys, others, return_indices=True)
        return int((counts[mine] * times[theirs]).sum())
    total = int((first == second).sum())
    for later in range(1, window + 1):
        total += int((first[later:] == second[:-later]).sum())
        total += int((second[later:] == first[:-later]).sum())
    return total


def watch(watched: Watched, budget: int, ticks: int, limit: int, seed: int, slices: int) -> Seen:
    """Run a join and watch it through slices of one limit."""
    keys = watched.configuration.draw(ticks, seed)
    streams, rows, times = alternating(*keys)
    cache = JoinCache(budget, watched.policy(budget), window=watched.window)
    fed = cache.feed(streams, rows, times)
    made = int(fed.made.sum() + fed.together.sum())
    size = NO_WINDOW if watched.window is None else watched.window + 1
    nows = np.stack([times, times], axis=1)
    meters = [RecallMeter((size, size), limit, seed=chance(each)) for each in range(slices)]
    told = [meter.feed(streams, rows, times, nows, fed.found) for meter in meters]
    return Seen(
        name=watched.name,
        budget=budget,
        ticks=ticks,
        limit=limit,
        truth=made / all_results(*keys, watched.window),
        made=[each[0] for each in told],
        all=[each[1] for each in told],
        weight=meters[0].weight,
        remembered=max(meter.remembered for meter in meters),
    )


def cost(law: str, budget: int, ticks: int) -> tuple[float, float]:
    """Time a join that is full and its meter, per row, the best of some rounds."""
    configuration = streams_of(law, budget)
    warm = 4 * budget
    streams, rows, times = alternating(*configuration.draw(warm // 2 + ticks, 0))
    joined, metered = [], []
    for _ in range(ROUNDS):
        cache = JoinCache(budget, configuration.heeb(budget))
        meter = RecallMeter((NO_WINDOW, NO_WINDOW))
        _timed(cache, meter, streams[:warm], rows[:warm], times[:warm])
        join_s, meter_s = _timed(cache, meter, streams[warm:], rows[warm:], times[warm:])
        joined.append(join_s)
        metered.append(meter_s)
    return min(joined) / (2 * ticks), min(metered) / (2 * ticks)


def _timed(
    cache: JoinCache, meter: RecallMeter, streams: Ints, keys: Ints, times: Ints
) -> tuple[float, float]:
    """Give the seconds that a join and its meter take."""
    nows = np.stack([times, times], axis=1)
    begun = perf_counter()
    fed = cache.feed(streams, keys, times)
    between = perf_counter()
    meter.feed(streams, keys, times, nows, fed.found)
    return between - begun, perf_counter() - between


def run(size: Size) -> Findings:
    """Watch all configurations; what the meter costs is judged at `full`."""
    whole: list[Seen] = []
    small: list[Seen] = []
    everything = all_watched()
    for watched in everything:
        say(f"recall-estimate: {watched.name}")
        for budget in BUDGETS:
            seeds = range(RUNS[size])
            whole += [watch(watched, budget, LENGTH[size], LIMIT, seed, 1) for seed in seeds]
            small.append(watch(watched, budget, LENGTH[size], 4 * budget, 0, SLICES[size]))
    for watched in (each for each in everything if each.configuration.passing):
        say(f"recall-estimate: {watched.name}, {LONG[size]:,} ticks")
        whole += [watch(watched, budget, LONG[size], LIMIT, 0, 1) for budget in BUDGETS]
    costs = [
        (law, *cost(law, TIMED[size], 10 * LENGTH[size])) for law in ("linear trend", "stationary")
    ]
    yield Table(
        f"the default slice of {LIMIT:,} entries, run by run",
        ("streams", "budget_rows", "ticks", "recall", "error_points", "weight"),
        [(o.name, o.budget, o.ticks, o.truth, 100 * o.error, o.weight) for o in whole],
    )
    yield _small_table(small, SLICES[size])
    yield Table(
        f"cost of a row at {TIMED[size]:,} rows, nanoseconds",
        ("streams", "join", "estimate", "estimate / join"),
        [(name, 1e9 * join, 1e9 * meter, meter / join) for name, join, meter in costs],
    )
    yield from _judge(whole, small, costs, size)
    yield _figure(small)


def _small_table(small: Sequence[Seen], slices: int) -> Table:
    return Table(f"small slices of 4 entries per row, {slices} of them", (
            "streams", "budget_rows", "entries", "recall", "error_points_of_the_mean",
            "spread_points_of_one", "weight",
        ), [
            (
                o.name, o.budget, o.limit, o.truth, 100 * o.pooled_error, 100 * o.spread, o.weight,
            )
            for o in small
        ])  # fmt: skip


def _figure(small: Sequence[Seen]) -> Chart:
    return chart(
        "errors of the mean over small slices",
        "recall",
        "error (points)",
        curves_of(
            (f"budget of {one.budget} rows", one.truth, 100 * one.pooled_error)
            for one in sorted(small, key=lambda one: (one.budget, one.truth))
        ),
    )


def _judge(
    whole: Sequence[Seen], small: Sequence[Seen], costs: Sequence[tuple[str, float, float]],
    size: Size,
) -> Findings:  # fmt: skip
    for budget in BUDGETS:
        runs = [one for one in whole if one.budget == budget]
        means = [one for one in small if one.budget == budget]
        yield at_most(
            f"{budget} rows, default slice: worst error of a run",
            max(one.error for one in runs),
            POINTS,
        )
        yield at_most(
            f"{budget} rows, small slices: worst error of a mean",
            max(one.pooled_error for one in means),
            POINTS,
        )
    yield at_least("default slices that were halved", sum(one.weight > 1 for one in whole), 1)
    yield at_least("small slices that were halved", sum(one.weight > 1 for one in small), 4)
    yield at_most(
        "entries above a limit", max(one.remembered - one.limit for one in (*whole, *small)), 0
    )
    if size == "full":
        worst = max(meter / join for _, join, meter in costs)
        yield at_most("cost of the estimate over that of the join", worst, COST, timed=True)
