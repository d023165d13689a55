"""What a decision costs as the budget grows: ordered victims beside scoring all candidates.

Both sides run in machine code, over the same rows and the same tables. The scan is the plain loop
over all rows held, each stream's in an array of its own, with the look-up written out in the loop.
Both sides find their results too. Of rows with equal scores the scan drops the first that it meets,
the ordered side the oldest, so that a few results differ. Lookups are timed alone: what a reference
costs under the policies that order their rows, and where one is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from time import thread_time

import numpy as np

from penstock.algebra.memories import Memory
from penstock.lab.caching.policies import Heeb
from penstock.lab.caching.workload import Configuration, alternating, trends
from penstock.lab.draws import generator
from penstock.lab.kernels.scans import scan_feed
from penstock.lab.report import (
    Cell,
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
from penstock.operators.bounded.lookups import AutoLookup
from penstock.operators.bounded.lookups_caches import LookupCache
from penstock.operators.bounded.policies import CompiledPolicy
from penstock.operators.bounded.policies_baselines import Lfu, Lru
from penstock.operators.bounded.weightings import Exponential, alpha_of
from penstock.vocabulary.batches import Ints

BUDGETS = sized((100, 1_000), (100, 1_000, 10_000), (100, 1_000, 10_000, 100_000))
TICKS = sized(2_000, 20_000, 200_000)
SCANNED_ROWS = sized(10**6, 10**7, 10**8)
"""About so many rows does the scan score per measurement: this sets its ticks."""
ROUNDS = sized(1, 2, 5)
JUDGED = sized(1_000, 10_000, 10_000)
LEAD_MIN = sized(2, 10, 20)
"""Ordered over scanned, at the budget that is judged."""
GROWTH_ROUNDS: dict[Size, int] = {"small": 5, "full": 20}
GROWTH_MAX: dict[Size, float] = {"small": 1.5, "full": 1.0}


LOOKUP_POLICIES = ("LRU", "LFU", "HEEB", "AUTO")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One law and budget: seconds per row of both sides; the share of results that differ."""

    law: str
    budget: int
    ordered_s: float
    scanned_s: float
    differing: float


def streams(law: str, budget: int) -> Configuration:
    """Give streams that are unlike, so that no two rows with different keys are worth the same."""
    if law == "linear trend":
        width = 2 * budget
        laws = trends((budget / 4, budget / 5), lag=budget // 10, widths=(width, width))
        return Configuration(name=law, laws=laws, residence=budget / 2)
    chances = 1 / np.arange(1, 4 * budget + 1)
    chances /= chances.sum()
    shuffled = generator(6).permutation(4 * budget)
    both = (
        Stationary(keys=np.arange(4 * budget), probabilities=chances),
        Stationary(keys=shuffled, probabilities=chances[::-1] * 0.9),
    )
    return Configuration(name=law, laws=both, residence=budget / 2)


def warmed(policy: Heeb, rows: tuple[Ints, Ints, Ints], budget: int) -> JoinCache:
    """Give a cache that is full."""
    cache = JoinCache(budget, policy)
    cache.feed(*rows)
    return cache


def measure(law: str, budget: int, size: Size) -> Timed:
    """Time both sides over the same rows after the same warm-up, alternately; take the best."""
    configuration = streams(law, budget)
    policy = configuration.heeb(budget)
    assert isinstance(policy.weighting, Exponential)
    ticks = TICKS[size]
    warm = 2 * budget
    few = max(SCANNED_ROWS[size] // (2 * budget), 10)
    rows = alternating(*configuration.draw(warm + max(ticks, few), 0))
    first = tuple(part[: 2 * warm] for part in rows)
    assert len(first) == 3
    ordered, scanned = float("inf"), float("inf")
    differing = 0.0
    for _ in range(ROUNDS[size]):
        cache = warmed(policy, first, budget)
        held = cache.rows
        begun = thread_time()
        fed = cache.feed(*(part[2 * warm : 2 * (warm + ticks)] for part in rows))
        ordered = min(ordered, (thread_time() - begun) / (2 * ticks))
        until = 2 * (warm + few)
        made = np.zeros(few, dtype=np.int64)
        part = slice(2 * warm, until)
        mine = [held.keys[held.streams == stream] for stream in range(2)]
        apart = np.zeros((2, budget + 2, 1), dtype=np.int64)
        for own, keys in zip(apart, mine, strict=True):
            own[: len(keys), 0] = keys
        arguments = (
            policy.rule().tables, apart, np.array([len(keys) for keys in mine]),
            np.zeros((2, budget + 2)), rows[0][part], rows[1][part], rows[2][part], budget,
        )  # fmt: skip
        begun = thread_time()
        scan_feed(*arguments, made, np.zeros(2, dtype=np.int64))
        scanned = min(scanned, (thread_time() - begun) / (2 * few))
        both = min(few, ticks)
        differing = float(np.abs(made[:both] - fed.made[:both]).sum() / max(made[:both].sum(), 1))
    return Timed(law=law, budget=budget, ordered_s=ordered, scanned_s=scanned, differing=differing)


def growth(law: str, size: Size) -> float:
    """Give how much more a tuple costs at the largest budget than at the smallest.

    Measured by turns, and the best of many: a large pool waits for memory, which other programs ask
    for too.
    """
    budgets = BUDGETS[size][0], BUDGETS[size][-1]
    best = dict.fromkeys(budgets, float("inf"))
    cases = []
    for budget in budgets:
        configuration = streams(law, budget)
        rows = alternating(*configuration.draw(2 * budget + TICKS[size], 0))
        cases.append((budget, configuration.heeb(budget), rows))
    for _ in range(GROWTH_ROUNDS[size]):
        for budget, policy, rows in cases:
            cache = JoinCache(budget, policy)
            cache.feed(*(part[: 4 * budget] for part in rows))
            begun = thread_time()
            cache.feed(*(part[4 * budget :] for part in rows))
            best[budget] = min(best[budget], thread_time() - begun)
    return best[budgets[1]] / best[budgets[0]]


def lookup_cache(name: str, configuration: Configuration, budget: int) -> LookupCache | AutoLookup:
    """Give an empty lookup cache; HEEB knows the first stream's law, AUTO is told nothing."""
    if name == "AUTO":
        return AutoLookup(Memory(rows=budget), numeric=True)
    told = Heeb(
        laws=configuration.laws[:1], weighting=Exponential(alpha_of(budget / 2)), caching=True
    )
    policies: dict[str, CompiledPolicy] = {"LRU": Lru(), "LFU": Lfu(), "HEEB": told}
    return LookupCache(budget, policies[name])


def lookups(law: str, budget: int, size: Size) -> tuple[Cell, ...]:
    """Time lookups of the first stream's keys, by policy, after the cache is full."""
    configuration = streams(law, budget)
    keys = configuration.draw(2 * budget + TICKS[size], 1)[0]
    rates = []
    for name in LOOKUP_POLICIES:
        cache = lookup_cache(name, configuration, budget)
        cache.feed(keys[: 2 * budget])
        begun = thread_time()
        cache.feed(keys[2 * budget :])
        rates.append(TICKS[size] / (thread_time() - begun))
    return (law, budget, *rates)


def run(size: Size) -> Findings:
    """Time both laws at every budget; ratios are judged at every size."""
    found, looked = [], []
    for law in ("linear trend", "stationary"):
        measure(law, BUDGETS["tiny"][0], "tiny")
        lookups(law, BUDGETS["tiny"][0], "tiny")
        for budget in BUDGETS[size]:
            say(f"join-cache-speed: {law}, {budget:,} rows")
            found.append(measure(law, budget, size))
            looked.append(lookups(law, budget, size))
    yield Table(
        "tuples per second on one core",
        ("law", "budget_rows", "ordered", "scanned", "ordered / scanned"),
        [
            (o.law, o.budget, 1 / o.ordered_s, 1 / o.scanned_s, o.scanned_s / o.ordered_s)
            for o in found
        ],
    )
    yield Table("lookups per second on one core", ("law", "budget_rows", *LOOKUP_POLICIES), looked)
    yield from _judge(found, size)
    yield chart(
        "cost of a tuple by budget",
        "budget (rows)",
        "microseconds",
        curves_of(
            (f"{one.law}, {side}", one.budget, 1e6 * spent_s)
            for one in found
            for side, spent_s in (("ordered", one.ordered_s), ("scanned", one.scanned_s))
        ),
        log="xy",
    )


def _judge(found: list[Timed], size: Size) -> Findings:
    yield at_most("share of results that differ, at most", max(o.differing for o in found), 0.002)
    for law in dict.fromkeys(one.law for one in found):
        here = {one.budget: one for one in found if one.law == law}
        judged = here[JUDGED[size]]
        yield at_least(
            f"{law}: ordered over scanned at {judged.budget:,} rows",
            judged.scanned_s / judged.ordered_s,
            LEAD_MIN[size],
            timed=True,
        )
        if size == "tiny":  # a thousand rows are in the core's own cache, as a hundred are
            continue
        yield at_most(
            f"{law}: growth of a tuple's cost over that of the logarithm",
            growth(law, size) / (log2(max(here)) / log2(min(here))),
            GROWTH_MAX[size],
            timed=True,
        )
