"""The optimum: the cheapest lazy, greedy, minimal schedule when all arrivals are known.

It is what a run is measured against afterwards, and what is replayed when arrivals repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from penstock.kernels.cost_curves import cheapest_splits
from penstock.kernels.flush_hopes import joint_hopes
from penstock.kernels.flush_searches import FOUND, cheapest_path
from penstock.views.maintenance.curves import CLOSE, CostCurve
from penstock.views.maintenance.policies import Naive, followed
from penstock.views.maintenance.problems import Problem, members_of
from penstock.views.maintenance.schedules import Schedule
from penstock.vocabulary.batches import Floats, Ints

Hope = Literal["joint", "safe", "literal", "zero"]
"""What is hoped of the rest of a path: never too much, of all tables under the one bound or of each
as if it had the bound alone; what the publication printed; or nothing.

The printed one hopes too much where several changes come at once or curves are not concave, and
then the path that is found need not be the cheapest."""

EXPANSIONS_MAX = 5_000_000
"""Nodes after which a search gives up; at a few hundred bytes each they take what memory allows."""
JOINT_MAX = 1 << 24
"""Entries of joint hopes, one for every two moments and table; beyond, each table has its own."""
PRICE_ROUNDS = 100
"""Steps towards good prices; more hardly better them."""
WITHINS = (1.0, 1.05, 1.1, 1.2, 1.5)
"""How near to the optimum is tried for, the nearest first."""
SPLITS_MAX = 400_000_000
"""Steps beyond which splits are not tried: the least cost per change is hoped instead."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OptimalSchedule:
    """A cheapest schedule, and how it was found."""

    schedule: Schedule
    cost: float
    expanded: int
    """Nodes of the graph that were looked at."""
    again: int
    """Of them, looked at once more: none, if hopes are safe."""
    fell: int
    """How often a path cost less than one before it was thought to: never, if hopes are safe."""
    floor: float
    """What no schedule of its class costs less than; its own cost, if it is the cheapest."""


def optimal(
    problem: Problem,
    *,
    hope: Hope = "joint",
    within: float = 1.0,
    expansions_max: int = EXPANSIONS_MAX,
) -> OptimalSchedule | None:
    """Find the cheapest lazy, greedy, minimal schedule; None if that takes too many nodes.

    `within` is how many times as dear the one that is found may be: with it hopes are raised, and
    far fewer nodes are looked at.
    """
    return _searched(problem, hope, _hoped(problem, hope), within, expansions_max)


def nearest(problem: Problem, *, expansions_max: int) -> OptimalSchedule | None:
    """Find a schedule as near to the optimum as so many nodes, each time it is tried, allow.

    Its `floor` says how near it is. None if even one that is half as dear again is too far to seek.
    """
    hoped = _hoped(problem, "joint")
    tried = (_searched(problem, "joint", hoped, each, expansions_max) for each in WITHINS)
    return next((found for found in tried if found is not None), None)


Hoped = tuple[Floats, int, float]
"""Hopes as the search reads them, how far their rows are apart, and what no schedule is below."""


def _searched(
    problem: Problem, hope: Hope, hoped: Hoped, within: float, expansions_max: int
) -> OptimalSchedule | None:
    fresh, (told, row, floor) = problem.freshness, hoped
    starts = np.arange(len(fresh.curves)) * (len(told) // len(fresh.curves))
    quantum = CLOSE * max(fresh.bound, 1e-6)
    lines = [curve.fit.fixed for curve in fresh.curves.each if curve.is_line]
    is_linear = len(lines) == len(fresh.curves) and hope in {"joint", "safe"}
    outcome, cost, expanded, again, fell, moments, sets = cheapest_path(
        *fresh.curves.arrays, problem.come, fresh.limit, within * told, starts, row, quantum,
        expansions_max, np.array(lines if is_linear else [], np.float64),
    )  # fmt: skip
    if outcome != FOUND:
        return None
    found = dict(zip(moments.tolist(), map(members_of, sets.tolist()), strict=True))
    return OptimalSchedule(
        schedule=Schedule.of_sets(problem, found),
        cost=float(cost),
        expanded=int(expanded),
        again=int(again),
        fell=int(fell),
        floor=float(cost) if within == 1.0 else max(floor, float(cost) / within),
    )


def _hoped(problem: Problem, hope: Hope) -> Hoped:
    entries = len(problem.freshness.curves) * len(problem.come) ** 2
    if hope == "joint" and entries <= JOINT_MAX:
        return _joint(problem)
    return _apart(problem, "safe" if hope == "joint" else hope)


def _joint(problem: Problem) -> Hoped:
    """Hope of all tables together."""
    fresh, come = problem.freshness, problem.come
    batches = [
        curve.over(np.arange(total + 1))
        for curve, total in zip(fresh.curves.each, come[-1].tolist(), strict=True)
    ]
    starts = np.cumsum([0, *map(len, batches)]).astype(np.int64)
    upper = followed(problem, Naive(freshness=fresh)).cost
    told, floor = joint_hopes(
        np.concatenate(batches), starts, come, fresh.limit, upper, PRICE_ROUNDS
    )
    return told, len(come), float(floor)


def _apart(problem: Problem, hope: Hope) -> Hoped:
    """Hope of each table as if it were alone; the moment does not matter then."""
    fresh, come = problem.freshness, problem.come
    tables = [
        hopes(curve, fresh.limit, problem.arrivals[:, table], hope)[
            come[-1, table] - come[:, table]
        ]
        for table, curve in enumerate(fresh.curves.each)
    ]
    return np.concatenate(tables), 0, float(sum(each[0] for each in tables))


def hopes(curve: CostCurve, limit: float, arrivals: Ints, hope: Hope) -> Floats:
    """Give the least that 0, 1, … changes of a table may be hoped to cost.

    No batch holds more than what keeps the limit and one moment's arrivals.
    """
    total, most = int(arrivals.sum()), int(arrivals.max(initial=0))
    counts = np.arange(total + 1)
    if hope == "zero":
        return np.zeros(total + 1)
    kept = curve.largest(limit, total)
    if hope == "literal":
        return _whole_batches(curve, kept + 1, total)
    largest = min(kept + most, total)
    if largest >= total and curve.is_concave:
        return curve.over(counts)
    if curve.is_concave:
        return _whole_batches(curve, largest, total)
    batch = curve.over(np.arange(largest + 1))
    if largest * total > SPLITS_MAX:
        return np.asarray(counts * float((batch[1:] / counts[1 : largest + 1]).min()))
    told = np.empty(total + 1)
    cheapest_splits(batch, largest, told)
    return told


def _whole_batches(curve: CostCurve, largest: int, total: int) -> Floats:
    """Give what changes cost in as many batches of the largest size as there are, and a rest."""
    counts = np.arange(total + 1)
    whole = counts // largest * curve(largest)
    return np.asarray(whole + curve.over(counts % largest))
