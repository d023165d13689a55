"""The forecast of recall against memory, beside the recall of runs.

EXPLAIN forecasts from laws alone. Here the streams themselves are drawn, anew and more often, and
run through the compiled cache with the policy that EXPLAIN supposes; recall is compared budget by
budget. Walks differ much from each other, so theirs is the mean of many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.algebra.memories import Memory
from penstock.lab.caching.recall_estimate import WIDE, all_results, zipf
from penstock.lab.caching.workload import CONFIGURATIONS, alternating
from penstock.lab.draws import generator
from penstock.lab.report import Findings, Size, Table, at_least, at_most, chart, sized
from penstock.lab.timing import say
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.forecasts import curve_facts
from penstock.operators.bounded.laws import Law
from penstock.operators.bounded.laws_markov import Ar1
from penstock.operators.bounded.policies import CompiledPolicy
from penstock.operators.bounded.policy_demands import policy_for

POINTS = 0.03
RUNS = sized(1, 4, 12)
NEEDED = 0.9
EVEN = (1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A join that EXPLAIN is asked about."""

    name: str
    laws: tuple[Law, Law]
    rows: int
    window: int | None = None
    policy: str = "HEEB"
    runs: int = 1
    """How many times as many runs as usual it takes."""


_TOWER, _ROOF, _FLOOR, _WALK = (each.laws for each in CONFIGURATIONS)
_SLOW = Ar1(phi0=0.0, phi1=0.9, sigma=20.0)


def all_asked() -> tuple[Asked, ...]:
    """Give all joins that are forecast."""
    return (
        Asked(name="TOWER", laws=_TOWER, rows=10),
        Asked(name="ROOF", laws=_ROOF, rows=10),
        Asked(name="FLOOR", laws=_FLOOR, rows=10),
        Asked(name="WIDE FLOOR", laws=WIDE.laws, rows=100),
        Asked(name="ROOF, RAND", laws=_ROOF, rows=10, policy="RAND"),
        Asked(name="WALK", laws=_WALK, rows=50, runs=8),
        Asked(name="ZIPF, window of 400", laws=zipf().laws, rows=100, window=400),
        Asked(name="AR(1), window of 300", laws=(_SLOW, _SLOW), rows=60, window=300),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveCompared:
    """One join: budgets, what was forecast and what runs had."""

    name: str
    budgets: list[int]
    forecast: list[float]
    had: list[float]
    ticks: int
    needed: int | None

    @property
    def error(self) -> float:
        """The largest difference."""
        return max(abs(a - b) for a, b in zip(self.forecast, self.had, strict=True))


def _cache(asked: Asked, budget: int, policy: CompiledPolicy) -> JoinCache:
    return JoinCache(budget, policy, windows=(asked.window, asked.window))


def _feed(cache: JoinCache, keys: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    streams, rows, times = alternating(*keys)
    nows = np.stack([times, times], axis=1)
    fed = cache.feed(streams, rows, times, stamps=times, nows=nows)
    return fed.made + fed.together


def compare(asked: Asked, size: Size) -> CurveCompared:
    """Forecast a join, and run it."""
    memory = Memory(rows=asked.rows, policy=asked.policy)
    windows = (asked.window, asked.window)
    facts = curve_facts(memory, asked.laws, EVEN, windows)
    budgets = [point["rows"] for point in facts["points"]]
    ticks, warm_up = facts["ticks"], facts["warm_up"]
    policies = [policy_for(memory, asked.laws, EVEN, windows, each) for each in budgets]
    made, there = np.zeros(len(budgets)), 0
    for seed in range(RUNS[size] * asked.runs):
        first, second = (
            law.draw(ticks, generator(seed, stream, 99)) for stream, law in enumerate(asked.laws)
        )
        window = None if asked.window is None else asked.window - 1
        there += all_results(first, second, window)
        # What joins before the warm-up ends is not counted; what is active then still joins.
        there -= all_results(first[:warm_up], second[:warm_up], window) if warm_up else 0
        for place, budget in enumerate(budgets):
            found = _feed(_cache(asked, budget, policies[place]), (first, second))
            made[place] += found[warm_up:].sum()
    needed = {need["recall"]: need["rows"] for need in facts["needs"]}[NEEDED]
    return CurveCompared(
        name=asked.name,
        budgets=budgets,
        forecast=[point["recall"] for point in facts["points"]],
        had=[float(each) for each in made / there],
        ticks=ticks,
        needed=needed,
    )


def run(size: Size) -> Findings:
    """Compare on every join."""
    found = []
    for asked in all_asked()[:: 3 if size == "tiny" else 1]:
        say(f"memory-curve: {asked.name}")
        found.append(compare(asked, size))
    yield Table(
        "recall against memory, as forecast and as runs had it",
        ("streams", "ticks", "budget_rows", "forecast", "runs", "error_points"),
        [
            (one.name, one.ticks, budget, said, had, 100 * abs(said - had))
            for one in found
            for budget, said, had in zip(one.budgets, one.forecast, one.had, strict=True)
        ],
    )
    yield from _judge(found)
    yield from (
        chart(
            f"{one.name}: recall against memory",
            "budget (rows)",
            "recall",
            {"forecast": (one.budgets, one.forecast), "runs": (one.budgets, one.had)},
            log="x",
        )
        for one in found
    )


def _judge(found: Sequence[CurveCompared]) -> Findings:
    yield from (
        at_most(f"{one.name}: worst error of the forecast", one.error, POINTS) for one in found
    )
    reached = [
        float(np.interp(np.log(one.needed), np.log(one.budgets), one.had))
        for one in found
        if one.needed is not None
    ]
    least = min(reached)
    yield at_least("recall with the memory that 90 % is said to need", least, 0.87)
