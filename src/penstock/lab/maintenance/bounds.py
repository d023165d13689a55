"""Bounds: what freshness costs by the bound that it must keep.

Where the bound is so wide that nothing is forced, or so narrow that every change forces everything,
all policies pay alike. The published experiments were run under two bounds. In whatever unit, they
are told by how often NAIVE flushes under them: every 15 and every 48 moments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.lab.report import Cell
from penstock.views.maintenance.curves import CostCurve
from penstock.views.maintenance.optimum import nearest, optimal
from penstock.views.maintenance.policies import (
    FlushPolicy,
    Immediate,
    Naive,
    Online,
    ReplayedSchedule,
    followed,
)
from penstock.views.maintenance.problems import Freshness, Problem
from penstock.views.maintenance.rates import MeanRates
from penstock.views.maintenance.schedules import Schedule

CHANGES = 2
"""That come of each table at a moment: one update."""
PUBLISHED = (15, 48)
"""Moments whose changes, flushed together, take as long as the published bounds of 12 s and 20 s:
under the latter NAIVE flushes "more than 20 times" in 1,000 moments."""
EXPANSIONS_MAX = 400_000


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedBound:
    """What every policy plans to pay under one bound."""

    problem: Problem
    naive: Schedule
    online: Schedule
    immediate: Schedule
    optimum: Schedule
    floor: float
    """What no schedule of the optimum's class costs less than."""

    @property
    def freshness(self) -> Freshness:
        """The curves and the bound."""
        return self.problem.freshness

    @property
    def gain(self) -> float:
        """What NAIVE pays over the optimum."""
        return self.naive.cost / self.optimum.cost

    @property
    def simulated(self) -> Schedule:
        """The optimum of half the time, which is replayed."""
        found = optimal(self.problem.until(self.problem.last // 2), expansions_max=EXPANSIONS_MAX)
        return self.optimum if found is None else found.schedule

    def policies(self) -> dict[str, FlushPolicy]:
        """Give every policy, new."""
        fresh = self.freshness
        return {
            "naive": Naive(freshness=fresh),
            "online": Online(fresh, MeanRates(len(fresh.curves))),
            "simulate": ReplayedSchedule.of(self.simulated),
            "optimum": ReplayedSchedule.of(self.optimum),
            "immediate": Immediate(),
        }

    @property
    def cells(self) -> dict[str, Cell]:
        """What a table says of it."""
        return {
            "bound_ms": 1000 * self.freshness.bound,
            "immediate_s": self.immediate.cost,
            "naive_s": self.naive.cost,
            "online_s": self.online.cost,
            "optimum_s": self.optimum.cost,
            "naive_over_optimum": self.gain,
            "naive_flushes": len(self.naive.sets),
        }


def planned_under(curves: list[CostCurve], bound: float, last: int) -> PlannedBound | None:
    """Plan one update of each table per moment; None if the optimum is too far to seek."""
    fresh = Freshness.of(curves, bound)
    problem = Problem.uniform(fresh, last, CHANGES)
    best = nearest(problem, expansions_max=EXPANSIONS_MAX)
    if best is None:
        return None
    return PlannedBound(
        problem=problem,
        naive=followed(problem, Naive(freshness=fresh)),
        online=followed(problem, Online(fresh, MeanRates(len(curves)))),
        immediate=followed(problem, Immediate()),
        optimum=best.schedule,
        floor=best.floor,
    )


def published_bounds(curves: list[CostCurve], last: int) -> dict[int, PlannedBound]:
    """Plan under the bounds that were published, by the moments that NAIVE waits under them."""
    found = {
        each: planned_under(curves, sum(curve(each * CHANGES) for curve in curves), last)
        for each in PUBLISHED
    }
    return {each: plan for each, plan in found.items() if plan is not None}


def planned_bounds(curves: list[CostCurve], last: int, count: int) -> list[PlannedBound]:
    """Plan under so many bounds from what two moments cost to what a fifth of them do."""
    moments = np.unique(np.geomspace(2, max(last // 5, 3), count).round().astype(int))
    found = [
        planned_under(curves, sum(curve(CHANGES * int(each)) for curve in curves), last)
        for each in moments
    ]
    return [each for each in found if each is not None]
