"""Hindsight: what a view's flushes cost, beside the cheapest schedule had all been known."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from penstock.operators.view.figures import FLUSHED, PENDING, REFRESHES
from penstock.views.maintenance.curves import CostCurve, Curves
from penstock.views.maintenance.optimum import nearest
from penstock.views.maintenance.policies import Naive, Online, ReplayedSchedule, followed
from penstock.views.maintenance.problems import Freshness, Problem
from penstock.views.maintenance.rates import MeanRates
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.figures import Tally

MOMENTS_MAX = 256
"""Batches that are looked back at."""
MOMENTS_MIN = 8
EXPANSIONS_MAX = 20_000
"""Nodes of the search, so that a look back takes milliseconds."""
CHEAPER = 0.95
"""A schedule that is replayed costs at most so much of what policies do."""
COUNTED_MAX = 1 << 16
"""Changes of an input that are counted one by one; more are counted by twos, by threes, …"""


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """What came, what was flushed, and what waited then, by input."""

    come: Ints
    flushed: Ints
    pending: Ints


class Hindsight:
    """The batches of a view since somebody last refreshed it."""

    def __init__(self, inputs: int) -> None:
        self._inputs = range(inputs)
        self._pending: Ints = np.zeros(inputs, np.int64)
        self._moments: deque[Moment] = deque(maxlen=MOMENTS_MAX)
        self._come: deque[tuple[float, Ints]] = deque(maxlen=MOMENTS_MAX)
        self._is_first = True

    def note(self, told: Tally, now_s: float = 0.0) -> None:
        """Take what a batch told."""
        flushed = np.array([told[FLUSHED, each] for each in self._inputs], np.int64)
        pending = np.array([told[PENDING, each] for each in self._inputs], np.int64)
        if told[REFRESHES]:
            # What waited was flushed for a reader, before the batch.
            flushed = np.maximum(flushed - self._pending, 0)
            self._pending = np.zeros_like(pending)
            self._moments.clear()
        come = np.maximum(flushed + pending - self._pending, 0)
        self._moments.append(Moment(come, flushed, pending))
        self._pending = pending
        if not self._is_first:  # that one may fill tables
            self._come.append((now_s, come))
        self._is_first = False

    def expected(self) -> tuple[tuple[float, ...], float]:
        """Give how many changes of each input come in a batch, and seconds from batch to batch.

        By what came lately, whoever asked meanwhile; nothing, if too little has.
        """
        if len(self._come) < MOMENTS_MIN:
            return (), 0.0
        come = np.mean([own for _, own in self._come], axis=0)
        spent_s = self._come[-1][0] - self._come[0][0]
        return tuple(come.tolist()), spent_s / (len(self._come) - 1)

    def regret(self, curves: tuple[CostCurve, ...], bound_s: float) -> float | None:
        """Give how much more was paid than the cheapest schedule pays, as a share of that.

        By the curves, everything flushed in the end. None if too little is known, or the cheapest
        is too far to seek.
        """
        known = Freshness(curves=Curves(curves), bound=bound_s)
        problem = self._problem(known)
        if problem is None:
            return None
        paid = sum(known.cost(each.flushed) for each in self._moments)
        paid += known.cost(self._moments[-1].pending)
        best = nearest(problem, expansions_max=EXPANSIONS_MAX)
        if best is None or best.cost <= 0.0:
            return None
        return float(paid / best.cost - 1.0)

    def is_together(self, curves: tuple[CostCurve, ...], bound_s: float) -> bool:
        """Say whether it is cheaper to flush inputs together than apart, by what came lately.

        Before anything is known, as if changes of all inputs came alike.
        """
        fresh = Freshness(curves=Curves(curves), bound=bound_s)
        problem = self._problem(fresh) or Problem.uniform(fresh, MOMENTS_MAX)
        together, apart = _costs(problem)
        return together < apart

    def replayed(
        self, curves: tuple[CostCurve, ...], bound_s: float
    ) -> tuple[tuple[tuple[int, ...], ...], int]:
        """Give the sets of the cheapest schedule for changes that come evenly, and its moments.

        None, if by what came lately it is not clearly cheaper to follow it than to decide from time
        to time, or nothing is known yet.
        """
        problem = self._problem(Freshness(curves=Curves(curves), bound=bound_s))
        if problem is None:
            return (), 0
        moments = np.arange(problem.last + 1)[:, None]
        even = np.diff(moments * problem.come[-1] // problem.last, axis=0, prepend=0)
        best = nearest(replace(problem, arrivals=even), expansions_max=EXPANSIONS_MAX)
        if best is None or not best.schedule.sets:
            return (), 0
        cost = followed(problem, ReplayedSchedule.of(best.schedule)).cost
        if cost > CHEAPER * min(_costs(problem)):
            return (), 0
        sets = best.schedule.sets.items()
        return tuple(own for at, own in sets if at < problem.last), problem.last

    def _problem(self, fresh: Freshness) -> Problem | None:
        """Give what came lately, as a problem; None if that is too little.

        A search has a place for every change: where there are many, several count as one.
        """
        if len(self._moments) < MOMENTS_MIN:
            return None
        first = self._moments[0]
        arrivals = np.zeros((len(self._moments) + 1, len(self._inputs)), np.int64)
        arrivals[1:] = [each.come for each in self._moments]
        arrivals[1] = first.pending + first.flushed
        come = np.cumsum(arrivals, axis=0)
        units = np.maximum(-(-come[-1] // COUNTED_MAX), 1)
        counted = np.diff(come // units, axis=0, prepend=0)
        pairs = zip(fresh.curves.each, units.tolist(), strict=True)
        curves = Curves(tuple(curve.counted_by(unit) for curve, unit in pairs))
        return Problem(freshness=replace(fresh, curves=curves), arrivals=counted)


def _costs(problem: Problem) -> tuple[float, float]:
    """Give what it costs to flush inputs together, and apart."""
    fresh = problem.freshness
    together = followed(problem, Naive(freshness=fresh))
    apart = followed(problem, Online(fresh, MeanRates(len(fresh.curves))))
    return together.cost, apart.cost
