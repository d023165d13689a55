"""Decisions: what a view flushes in a turn, by its rule, its curves and what it remembers.

A decision is a function of what came, what waits, the plan in force and the memo of the turn
before: no clock, so that a turn which is taken again decides the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from penstock.algebra.views import FlushRule
from penstock.views.maintenance.curves import CostCurve, Curves
from penstock.views.maintenance.policies import (
    FlushPolicy,
    Immediate,
    Naive,
    Online,
    ReplayedSchedule,
)
from penstock.views.maintenance.problems import Freshness
from penstock.views.maintenance.rates import MovingRates
from penstock.vocabulary.batches import Ints

HEADROOM = 0.8
"""The share of the bound that waiting changes may take by the curves: flushes vary."""
RATE_WEIGHT = 0.1
"""How much the newest turn counts in the rates that are expected."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlushPlan:
    """The curves that a view goes by, as an entry of the registry, and how far to trust them."""

    number: int
    curves: tuple[CostCurve, ...]
    headroom: float = HEADROOM
    together: bool = False
    """Whether inputs are flushed together: where none has a large fixed cost, that is cheaper."""
    replayed: tuple[tuple[int, ...], ...] = ()
    """The sets of a schedule, if it is cheaper to follow that than to decide from time to time."""
    period: int = 0
    """Moments after which that schedule is followed again."""
    come: tuple[float, ...] = ()
    """Changes of each input in a batch, as they came lately; nothing, if too few have."""
    every_s: float = 0.0
    """Seconds from batch to batch."""
    regret: float = 0.0
    """What flushes before it cost beyond the cheapest schedule in hindsight, as a share of it."""

    def to_json(self) -> dict[str, Any]:
        """Describe the plan, for the operator and for the next start."""
        curves = [
            {"sizes": own.sizes.tolist(), "costs": own.costs.tolist(), "slope": own.slope}
            for own in map(thinned, self.curves)
        ]
        return {
            "curves": curves,
            "headroom": self.headroom,
            "together": self.together,
            "replayed": [list(own) for own in self.replayed],
            "period": self.period,
            "come": list(self.come),
            "every_s": self.every_s,
            "regret": self.regret,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], number: int = 0) -> Self:
        """Give back the plan that `to_json` described."""
        curves = tuple(
            CostCurve(
                sizes=np.array(own["sizes"], np.int64),
                costs=np.array(own["costs"], np.float64),
                slope=float(own["slope"]),
            )
            for own in data["curves"]
        )
        return cls(
            number=number,
            curves=curves,
            headroom=float(data["headroom"]),
            together=bool(data.get("together", False)),
            replayed=tuple(map(tuple, data.get("replayed", ()))),
            period=int(data.get("period", 0)),
            come=tuple(map(float, data.get("come", ()))),
            every_s=float(data.get("every_s", 0.0)),
            regret=float(data.get("regret", 0.0)),
        )

    def replay(self, freshness: Freshness) -> ReplayedSchedule:
        """Give the policy that follows the schedule."""
        return ReplayedSchedule(freshness, dict(enumerate(self.replayed)), self.period)

    def numbered(self, number: int) -> FlushPlan:
        """Give the same plan under the number of its entry."""
        return replace(self, number=number)


def thinned(curve: CostCurve) -> CostCurve:
    """Give a curve with fewer points: all small sizes, then each a tenth larger than the last.

    >>> len(thinned(CostCurve.table(range(2_001))).sizes)
    63
    """
    kept, least = [], 0.0
    for place, size in enumerate(curve.sizes.tolist()):
        if size >= least or place == len(curve.sizes) - 1:
            kept.append(place)
            least = max(size + 1, size * 1.1)
    return replace(curve, sizes=curve.sizes[kept], costs=curve.costs[kept])


class Decisions:
    """Decides for one turn.

    Without a plan nothing is known of costs: then everything is flushed in every turn.

    >>> plan = FlushPlan(number=1, curves=(
    ...     CostCurve.linear(each=0.24, fixed=0.3), CostCurve.linear(each=0.01, fixed=8.0)))
    >>> decisions = Decisions("online", 20.0, plan)
    >>> come, memo, chosen, pending = np.array([1, 1]), "", [], np.zeros(2, np.int64)
    >>> for _ in range(100):
    ...     pending += come
    ...     flushed, memo = decisions.choose(come, pending, memo)
    ...     pending[list(flushed)] = 0
    ...     chosen += [flushed] if flushed else []
    >>> chosen
    [(0,), (0,), (0,)]
    """

    def __init__(self, rule: FlushRule, bound_s: float, plan: FlushPlan | None) -> None:
        self._rule, self._plan = rule, plan
        self._freshness: Freshness | None = None
        if plan is not None:
            self._rule = "naive" if rule == "online" and plan.together else rule
            self._freshness = Freshness(curves=Curves(plan.curves), bound=bound_s * plan.headroom)

    def choose(self, come: Ints, pending: Ints, memo: str) -> tuple[tuple[int, ...], str]:
        """Give the inputs to flush, and what to remember.

        What came counts as one moment; the rates of those before are in the memo.
        """
        if self._rule == "immediate" or self._freshness is None:
            return Immediate().choose(pending), memo
        if self._rule == "naive":
            return self._chosen(Naive(freshness=self._freshness), come, pending), ""
        known = json.loads(memo) if memo else {}
        # If no change of before waits, all were flushed, for a reader too: count from here.
        is_going_on = bool((pending > come).any())
        if self._plan is not None and self._plan.replayed:
            replay = self._plan.replay(self._freshness)
            if "replay" in known and is_going_on:
                replay.recall(known["replay"])
            chosen = self._chosen(replay, come, pending)
            return chosen, json.dumps({"replay": replay.to_json()})
        rates = MovingRates(len(pending), RATE_WEIGHT)
        online = Online(self._freshness, rates)
        if "rates" in known:
            rates.recall(known["rates"])
            if is_going_on:
                online.recall(known["spent"])
        chosen = self._chosen(online, come, pending)
        if len(chosen) == np.count_nonzero(pending):
            online.refreshed()
        return chosen, json.dumps({"rates": rates.to_json(), "spent": online.to_json()})

    @staticmethod
    def _chosen(policy: FlushPolicy, come: Ints, pending: Ints) -> tuple[int, ...]:
        policy.observe(come)
        return tuple(each for each in policy.choose(pending) if pending[each])

    def refresh_s(self, pending: Ints) -> float:
        """Give what a refresh would take now, by the curves; 0 while nothing is known."""
        return 0.0 if self._freshness is None else self._freshness.cost(pending)
