"""Who gets the memory: the share of rows of the first stream, as streams become unlike.

No rule divides the budget. Rows of both streams compete by score; a stream that lags, or whose
partner is easier to meet, gets what its rows are worth. Streams that differ in nothing but a lag
have rows of exactly equal scores all the time, one of each stream: who goes is left to chance, as
in the published figures. (If the older row goes, which is as good for the results, the stream that
lags holds 0.32 and 0.13 of the budget instead of 0.30 and 0.10.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penstock.kernels.bounded_victims import TOSSED
from penstock.lab.caching.policies import Heeb
from penstock.lab.caching.workload import WIDTHS, Configuration, feed, trends
from penstock.lab.draws import chance
from penstock.lab.report import Findings, Size, Table, at_least, at_most, chart, sized
from penstock.lab.timing import say
from penstock.operators.bounded.policies import Rule

BUDGET = 10
WARM_UP = 4 * BUDGET
LENGTH = sized(1_000, 2_000, 5_000)
RUNS = sized(2, 4, 20)
BASES = (1.0, 2.0)
CASES = (
    ("same", 0, 1.0),
    ("lag 2", 2, 1.0),
    ("lag 4", 4, 1.0),
    ("second's deviation x 2", 0, 2.0),
    ("second's deviation x 4", 0, 4.0),
)
EXPECTED = {"same": 0.5, "lag 2": 0.30, "lag 4": 0.10}
SLACK = 0.015


@dataclass(frozen=True, slots=True, kw_only=True)
class TossedHeeb(Heeb):
    """HEEB, any row among those of equal scores."""

    seed: int

    def rule(self) -> Rule:
        """Say how victims are found."""
        return replace(Heeb.rule(self), mode=TOSSED, seed=self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """One case: the first stream's mean share of the budget."""

    base: float
    case: str
    share: float


def share(base: float, lag: int, factor: float, size: Size) -> float:
    """Give the first stream's mean share, after a warm-up."""
    sigmas = (base, base * factor)
    streams = Configuration(
        name="TOWER", laws=trends(sigmas, lag=lag, widths=WIDTHS), residence=sum(sigmas)
    )
    plain = streams.heeb(BUDGET)
    shares = []
    for seed in range(RUNS[size]):
        policy = TossedHeeb(laws=plain.laws, weighting=plain.weighting, seed=chance(seed))
        fed = feed(policy, streams.draw(LENGTH[size], seed), BUDGET)
        held = fed.held[WARM_UP:].sum(axis=0)
        shares.append(held[0] / held.sum())
    return float(np.mean(shares))


def run(size: Size) -> Findings:
    """Measure every case."""
    found = []
    for base in BASES:
        say(f"memory-allocation: deviation {base:g}")
        for case, lag, factor in CASES:
            found.append(Shared(base=base, case=case, share=share(base, lag, factor, size)))
    cases = [case for case, _, _ in CASES]
    by_base = {base: [one.share for one in found if one.base == base] for base in BASES}
    yield Table(
        "share of the budget held by the first stream",
        ("case", *(f"deviation {base:g}" for base in BASES)),
        [(case, *(by_base[b][i] for b in BASES)) for i, case in enumerate(cases)],
    )
    yield from _judge(dict(zip(cases, by_base[BASES[0]], strict=True)))
    yield chart(
        "share of the budget held by the first stream",
        ", ".join(f"{i}: {case}" for i, case in enumerate(cases)),
        "share",
        {f"deviation {base:g}": (range(len(cases)), by_base[base]) for base in BASES},
    )


def _judge(shares: dict[str, float]) -> Findings:
    yield from (
        at_most(f"{case}: distance of the share from {aim:g}", abs(shares[case] - aim), SLACK)
        for case, aim in EXPECTED.items()
    )
    wide = min(shares["second's deviation x 2"], shares["second's deviation x 4"])
    yield at_least("share when the second stream varies more", wide, 0.6)
