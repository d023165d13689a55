"""What finding laws costs: a join under AUTO beside one under HEEB that is told them."""

from __future__ import annotations

from collections.abc import Callable

from penstock.lab.caching.workload import Configuration
from penstock.lab.report import Findings, Size, at_most, sized
from penstock.lab.timing import alternate
from penstock.operators.bounded.laws_independent import LinearTrend
from penstock.operators.bounded.laws_noise import BoundedNormal

COST_BUDGET = 1_000
COST_TICKS = sized(5_000, 50_000, 500_000)
COST_MOST = 4.0
"""Other policies run beside AUTO in small, and laws are fitted anew: lookups pay as much."""


def cost(size: Size, *, told: Callable[..., object], steered: Callable[..., object]) -> float:
    """Give how many times as long a join takes that finds its laws, at a larger budget."""
    wide = 4 * COST_BUDGET
    laws = tuple(
        LinearTrend(slope=1, intercept=lag, noise=BoundedNormal(sigma=spread, half_width=wide))
        for lag, spread in ((-100, COST_BUDGET / 4), (0, COST_BUDGET / 5))
    )
    assert len(laws) == 2
    case = Configuration(name="wide", laws=(laws[0], laws[1]), residence=COST_BUDGET / 2)
    keys = case.draw(COST_TICKS[size], 0)
    steered([part[:3000] for part in keys], COST_BUDGET)
    best = alternate(
        {
            "told": lambda: told(case, None, keys, COST_BUDGET),
            "found": lambda: steered(keys, COST_BUDGET),
        },
        rounds=1 if size == "tiny" else 3,
    )
    return best["found"] / best["told"]


def judge_cost(dearer: float, size: Size) -> Findings:
    """Claim that it is not much."""
    if size != "full":
        return
    yield at_most(f"time of AUTO over HEEB at {COST_BUDGET:,} rows", dearer, COST_MOST, timed=True)
