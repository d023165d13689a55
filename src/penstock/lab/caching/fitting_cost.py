"""What finding models costs: a join under AUTO beside one under HEEB that is told them."""

from __future__ import annotations

from collections.abc import Callable

from penstock.lab.caching.workload import Configuration
from penstock.lab.report import Findings, Size, at_most, sized
from penstock.lab.timing import alternate
from penstock.operators.bounded.models_independent import LinearTrend
from penstock.operators.bounded.models_noise import BoundedNormal

COST_BUDGET = 1_000
COST_TICKS = sized(5_000, 50_000, 500_000)
COST_MOST = 4.0
"""Other policies run beside AUTO in small, and models are fitted anew: lookups pay as much."""


def cost(size: Size, *, told: Callable[..., object], steered: Callable[..., object]) -> float:
    """Give how many times as long a join takes that finds its models, at a larger budget."""
    wide = 4 * COST_BUDGET
    models = tuple(
        LinearTrend(slope=1, intercept=lag, noise=BoundedNormal(sigma=spread, half_width=wide))
        for lag, spread in ((-100, COST_BUDGET / 4), (0, COST_BUDGET / 5))
    )
    assert len(models) == 2
    case = Configuration(name="wide", models=(models[0], models[1]), residence=COST_BUDGET / 2)
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
