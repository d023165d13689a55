"""What finding laws costs: a join under AUTO beside one under HEEB that is told them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import thread_time

from penstock.lab.caching.workload import Configuration
from penstock.lab.report import Findings, Size, Table, at_most, sized
from penstock.lab.timing import alternate
from penstock.operators.bounded.laws_independent import LinearTrend
from penstock.operators.bounded.laws_noise import BoundedNormal

COST_BUDGETS = sized((100,), (100, 1_000, 10_000), (100, 300, 1_000, 10_000))
COST_TICKS = sized(5_000, 50_000, 500_000)
COST_MOST = sized(0.0, 8.0, 4.0)
"""Laws are fitted anew, and other policies run beside AUTO in small: lookups pay as much.

Most of it is paid for the first thousands of ticks, of which a short series has little else.
"""


def cost(
    size: Size, *, told: Callable[..., object], steered: Callable[..., object]
) -> dict[int, float]:
    """Give how many times as long a join takes that finds its laws, by its budget."""
    found = {}
    for budget in COST_BUDGETS[size]:
        laws = tuple(
            LinearTrend(
                slope=1, intercept=lag, noise=BoundedNormal(sigma=spread, half_width=4 * budget)
            )
            for lag, spread in ((-budget // 10, budget / 4), (0, budget / 5))
        )
        assert len(laws) == 2
        case = Configuration(name="wide", laws=(laws[0], laws[1]), residence=budget / 2)
        keys = case.draw(COST_TICKS[size], 0)
        steered([part[:3000] for part in keys], budget)
        best = alternate(
            {
                "told": partial(told, case, None, keys, budget),
                "found": partial(steered, keys, budget),
            },
            rounds=1 if size == "tiny" else 3,
            clock=thread_time,
        )
        found[budget] = best["found"] / best["told"]
    return found


def judge_cost(dearer: dict[int, float], size: Size) -> Findings:
    """Claim that it is not much."""
    yield Table(
        f"time of AUTO over HEEB that is told the laws, {COST_TICKS[size]:,} ticks",
        ("budget_rows", "AUTO / HEEB"),
        list(dearer.items()),
    )
    for budget, ratio in dearer.items() if size != "tiny" else ():
        yield at_most(
            f"time of AUTO over HEEB at {budget:,} rows", ratio, COST_MOST[size], timed=True
        )
