"""HIST, which learns what rows are worth, beside HEEB, which is told, and chance.

Both streams have slope 1 and normal noise of the same deviation; the first is a tick behind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.lab.caching.workload import Configuration, results, trends
from penstock.lab.draws import chance
from penstock.lab.report import Chart, Findings, Size, Table, at_least, chart, curves_of, sized
from penstock.lab.timing import say
from penstock.operators.bounded.policies_baselines import Rand
from penstock.operators.bounded.policies_hist import Hist

WIDTHS = {1: 10, 8: 24}
"""Half-width of the noise by its deviation."""
BUDGETS = sized((10,), (5, 10, 20), (5, 10, 20, 30))
LENGTH = sized(2_000, 4_000, 5_000)
RUNS = sized(1, 8, 8)
LEARNT = 0.97, 0.90
"""What HIST must reach of HEEB, by deviation."""
WARM_UP = 200
WORSE_THAN_CHANCE = (5, 10, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """Mean results at one deviation and budget."""

    sigma: int
    budget: int
    heeb: float
    hist: float
    rand: float


def measure(sigma: int, budget: int, size: Size) -> Learnt:
    """Run the three policies on the same streams."""
    laws = trends((sigma, sigma), widths=(WIDTHS[sigma], WIDTHS[sigma]))
    streams = Configuration(name=f"σ = {sigma}", laws=laws, residence=2.0 * sigma)
    found = []
    for seed in range(RUNS[size]):
        keys = streams.draw(LENGTH[size], seed)
        policies = (
            streams.heeb(budget),
            Hist(seed=chance(seed)),
            Rand(seed=chance(seed), passing=streams.passing),
        )
        found.append([results(policy, keys, budget, WARM_UP) for policy in policies])
    heeb, hist, rand = np.mean(found, axis=0).tolist()
    return Learnt(sigma=sigma, budget=budget, heeb=heeb, hist=hist, rand=rand)


def run(size: Size) -> Findings:
    """Measure both deviations at every budget."""
    found = []
    for sigma in WIDTHS:
        say(f"histogram-policy: deviation {sigma}")
        found += [measure(sigma, budget, size) for budget in BUDGETS[size]]
    yield Table(
        "mean results by deviation and budget",
        ("deviation", "budget_rows", "HEEB", "HIST", "RAND", "HIST / HEEB", "RAND / HEEB"),
        [
            (o.sigma, o.budget, o.heeb, o.hist, o.rand, o.hist / o.heeb, o.rand / o.heeb)
            for o in found
        ],
    )
    yield from _judge(found)
    yield from (_figure(sigma, found) for sigma in WIDTHS)


def _judge(found: list[Learnt]) -> Findings:
    for sigma, share in zip(WIDTHS, LEARNT, strict=True):
        least = min(one.hist / one.heeb for one in found if one.sigma == sigma)
        yield at_least(f"deviation {sigma}: HIST over HEEB, at worst", least, share)
    least = min(
        one.hist / one.rand for one in found if one.sigma == 8 and one.budget in WORSE_THAN_CHANCE
    )
    yield at_least("deviation 8: HIST over RAND, at worst", least, 1.0)


def _figure(sigma: int, found: list[Learnt]) -> Chart:
    drawn = curves_of(
        (name, one.budget, made)
        for one in found
        if one.sigma == sigma
        for name, made in (("HEEB", one.heeb), ("HIST", one.hist), ("RAND", one.rand))
    )
    return chart(f"results by budget, deviation {sigma}", "budget (rows)", "results", drawn)
