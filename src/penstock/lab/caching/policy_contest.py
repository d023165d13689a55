"""AUTO beside LRU, LFU, RAND and HEEB on streams that no law fits.

HEEB is AUTO without its contest: it goes by whatever law fits best. All see the same streams.
Results are counted after a warm-up of four ticks per row of the budget. The last pair of streams
are real flights; without their package it is left out.

What is claimed is a mean, so a pair of streams is run until the mean's standard error is small
beside what may be missing. Few series would also flatter whoever of the others had luck. Flights
are not drawn: all of the year are flown four times, in series that follow each other, and each
time the policies take other chances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.algebra.memories import AUTO, Memory
from penstock.lab.caching.lawless import FLIGHTS, LAWLESS, flights_path
from penstock.lab.caching.workload import alternating
from penstock.lab.draws import chance
from penstock.lab.report import Check, Findings, Size, Table, at_least, chart, curves_of, sized
from penstock.lab.spreads import Spread, ratio_of, spread_of
from penstock.lab.timing import say
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.policy_control import Steering
from penstock.vocabulary.batches import Ints

BUDGETS = sized((10,), (10, 30, 100), (10, 30, 100, 300, 1000))
RUNS = sized((2, 2), (8, 216), (12, 48))
"""Series of a pair of streams and a budget: at the least, and at most.

Fifty-four small ones, or eleven full ones, are all flights of the year."""
UNSURE = 0.004
"""The standard error of AUTO over the best at which no further series are run."""
TICKS = sized(3_000, 6_000, 30_000)
"""Ticks of every series, at the least."""
TICKS_PER_ROW = 60
"""A series has so many ticks per row of the budget, if they are more."""
RIVALS = ("LRU", "LFU", "RAND", "HEEB")
LEAST = sized(0.9, 0.98, 0.98)
"""A policy is left after some hundreds of ticks at the earliest: of tiny series that is much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contested:
    """One pair of streams and a budget: results by policy and series; last in force, by series."""

    streams: str
    budget: int
    results: dict[str, list[int]]
    in_force: list[str]

    @property
    def best(self) -> str:
        """The rival with the most results over all series."""
        return max(RIVALS, key=lambda name: sum(self.results[name]))

    @property
    def ratio(self) -> Spread:
        """AUTO over the best rival."""
        return ratio_of(self.results["AUTO"], self.results[self.best])


def joined(
    policy: str, keys: tuple[Ints, Ints], budget: int, numeric: bool, series: int
) -> tuple[int, str]:
    """Run a policy over two streams; give its results, and what was in force at the end."""
    declared = "HEEB" if policy == "AUTO" else policy
    options = {"seed": chance(series)}
    memory = Memory(rows=budget, policy=declared, laws=(AUTO, AUTO), options=options)
    steering = Steering(memory, numeric=numeric, budget=budget, contested=policy == "AUTO")
    cache = JoinCache(budget, steering.policy())
    made = [fed.made for _, fed in steering.feed(cache, *alternating(*keys))]
    return int(np.concatenate(made)[4 * budget :].sum()), steering.policy().name


def contest(streams: str, budget: int, size: Size) -> Contested:
    """Run all policies over all series of a pair of streams."""
    results: dict[str, list[int]] = {}
    in_force: list[str] = []
    found = Contested(streams=streams, budget=budget, results=results, in_force=in_force)
    least, most = RUNS[size]
    for series in range(most):
        ticks = max(TICKS[size], TICKS_PER_ROW * budget)
        keys = LAWLESS[streams](budget, ticks, series)
        for policy in ("AUTO", *RIVALS):
            made, last = joined(policy, keys, budget, streams != "flights", series)
            results.setdefault(policy, []).append(made)
            if policy == "AUTO":
                in_force.append(last)
        is_sure = streams != "flights" and found.ratio.error <= UNSURE
        if series + 1 >= least and is_sure:
            break
    return found


def run(size: Size) -> Findings:
    """Contest every pair of streams with every budget."""
    names = [name for name in LAWLESS if name != "flights" or flights_path() is not None]
    found = []
    for streams in names:
        for budget in BUDGETS[size]:
            say(f"policy-contest: {streams}, {budget} rows")
            found.append(contest(streams, budget, size))
    yield Table(
        "mean results of the series, and their standard errors",
        ("streams", "budget_rows", "series", "AUTO", *RIVALS, "AUTO / best", "in force last"),
        [
            (
                one.streams,
                one.budget,
                one.ratio.count,
                *(str(spread_of(one.results[name])) for name in ("AUTO", *RIVALS)),
                str(one.ratio),
                ", ".join(sorted(set(one.in_force))),
            )
            for one in found
        ],
    )
    yield from (_check(one, LEAST[size]) for one in found)
    yield from (_note(one) for one in found if one.ratio.mean < LEAST["full"])
    yield chart(
        "AUTO over the best of LRU, LFU, RAND and HEEB",
        "budget (rows)",
        "share of results",
        curves_of((one.streams, one.budget, one.ratio.mean) for one in found),
        log="x",
    )
    if "flights" not in names:
        yield {"flights": f"left out: the package {FLIGHTS} is not installed"}


def _check(one: Contested, least: float) -> Check:
    return at_least(f"{one.streams}, {one.budget} rows: AUTO over the best", one.ratio.mean, least)


def _note(one: Contested) -> str:
    """Say of which pair of streams more than two percent are missing."""
    return (
        f"{one.streams}, {one.budget} rows: {one.ratio} of what {one.best} finds. "
        "A contest takes some hundreds of ticks, and longer where results are few."
    )
