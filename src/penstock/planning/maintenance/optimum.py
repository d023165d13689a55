"""The optimum: the cheapest lazy, greedy, minimal schedule when all arrivals are known.

It is what a run is measured against afterwards, and what is replayed when arrivals repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from penstock.kernels.cost_curves import cheapest_splits
from penstock.kernels.flush_searches import FOUND, cheapest_path
from penstock.planning.maintenance.curves import CLOSE, CostCurve
from penstock.planning.maintenance.problems import Problem, members_of
from penstock.planning.maintenance.schedules import Schedule
from penstock.vocabulary.batches import Floats, Ints

Hope = Literal["safe", "literal", "zero"]
"""What is hoped of the rest of a path: never too much, what the publication printed, or nothing.

The printed one hopes too much where several changes come at once or curves are not concave, and
then the path that is found need not be the cheapest."""

EXPANSIONS_MAX = 5_000_000
"""Nodes after which a search gives up; at a few hundred bytes each they take what memory allows."""
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


def optimal(
    problem: Problem, *, hope: Hope = "safe", expansions_max: int = EXPANSIONS_MAX
) -> OptimalSchedule | None:
    """Find the cheapest lazy, greedy, minimal schedule; None if that takes too many nodes."""
    come, fresh = problem.come, problem.freshness
    tables = [
        hopes(curve, fresh.limit, problem.arrivals[:, table], hope)
        for table, curve in enumerate(fresh.curves.each)
    ]
    starts = np.cumsum([0, *map(len, tables)])[:-1].astype(np.int64)
    quantum = CLOSE * max(fresh.bound, 1e-6)
    outcome, cost, expanded, again, fell, moments, sets = cheapest_path(
        *fresh.curves.arrays, come, fresh.limit, np.concatenate(tables), starts, quantum,
        expansions_max,
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
    )


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
