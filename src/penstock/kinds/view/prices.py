"""Prices: what a change of a view's inputs costs to bring in, by the bound that refreshes keep.

What comes is foretold: as many changes of each input in every batch as came lately, or as somebody
assumes of their rates. Where nothing is known, all inputs change alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from penstock.algebra.views import FlushRule
from penstock.language.statements import Assumption
from penstock.planning.figures import figure, percent, seconds
from penstock.views.maintenance.curves import Curves
from penstock.views.maintenance.decisions import FlushPlan
from penstock.views.maintenance.policies import FlushPolicy, Immediate, Naive, Online, followed
from penstock.views.maintenance.problems import Freshness, Problem
from penstock.views.maintenance.rates import KnownRates
from penstock.views.maintenance.schedules import Schedule
from penstock.vocabulary.batches import Floats

MOMENTS = 2_000
"""Moments of the schedules that are foretold."""
COME_MAX = 1e9
"""Changes of an input in a batch, of which more are never foretold."""
BOUNDS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8)
"""Of the bound that is asked about, the others that are drawn beside it."""
BAR = 32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Foretold:
    """What is expected to come.

    `batches` of the engine are a moment: so many that in each a change of some input comes.
    """

    come: Floats
    """Changes of each input at a moment."""
    batches: float
    every_s: float
    """Seconds from batch to batch; 0: nobody knows."""

    @classmethod
    def of(cls, names: Sequence[str], plan: FlushPlan, what_if: Sequence[Assumption]) -> Foretold:
        """Take what came lately, and for some inputs what is assumed of their rates."""
        told = {each.of[0].lower(): each.value for each in what_if if each.what == "rate"}
        assumed = np.array([told.get(name.lower(), np.nan) for name in names])
        seen, every_s = np.array(plan.come), plan.every_s
        is_seen = bool(len(seen)) and (every_s > 0.0 or not told)
        if is_seen:
            rates = np.where(np.isnan(assumed), seen, assumed * every_s)
        else:
            rates, every_s = np.nan_to_num(assumed), 0.0
            rates[rates == 0.0] = rates.max()
        if not rates.any():
            rates = np.ones(len(names))
        most = float(rates.max())
        batches = 1.0 / min(most, 1.0) if is_seen else 1.0 / most
        return cls(
            come=np.clip(rates * batches, 0.0, COME_MAX),
            batches=batches,
            every_s=every_s,
        )

    @property
    def moment_s(self) -> float:
        """Seconds from moment to moment; 0: nobody knows."""
        return self.batches * self.every_s

    def words(self, names: Sequence[str]) -> str:
        """Say what is expected."""
        if not self.every_s:
            alike = len({*self.come.tolist()}) == 1
            return "as often of each input" if alike else "by the rates that are assumed"
        rates = (
            f"{name} {figure(float(come) / self.moment_s)}/s"
            for name, come in zip(names, self.come, strict=True)
        )
        return f"{', '.join(rates)}, in batches every {seconds(self.every_s)}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Price:
    """What maintenance costs under one bound: as planned, all inputs together, at every change."""

    plan: FlushPlan
    foretold: Foretold
    bound_s: float
    rule: FlushRule = "online"
    is_asked: bool = True
    """Whether the plan was made for this bound and for what is foretold."""

    @cached_property
    def freshness(self) -> Freshness:
        """What refreshes must keep."""
        return Freshness(curves=Curves(self.plan.curves), bound=self.bound_s * self.plan.headroom)

    @cached_property
    def problem(self) -> Problem:
        """What comes."""
        moments = np.arange(MOMENTS + 1)
        come = np.floor(np.outer(moments, self.foretold.come) + 1e-9).astype(np.int64)
        return Problem(freshness=self.freshness, arrivals=np.diff(come, axis=0, prepend=0))

    @cached_property
    def together(self) -> Schedule:
        """All inputs are flushed whenever the bound is near."""
        return followed(self.problem, Naive(freshness=self.freshness))

    @cached_property
    def planned(self) -> Schedule:
        """What the plan says; for another bound, what one would say that is made for it."""
        plan, fresh = self.plan, self.freshness
        if self.rule == "immediate":
            return followed(self.problem, Immediate())
        if self.rule == "naive" or (self.is_asked and plan.together):
            return self.together
        policy: FlushPolicy = Online(fresh, KnownRates(self.foretold.come.tolist()))
        if self.is_asked and plan.replayed:
            period = max(round(plan.period / self.foretold.batches), 1)
            policy = replace(plan, period=period).replay(fresh)
        found = followed(self.problem, policy)
        return found if self.is_asked else min(found, self.together, key=lambda own: own.cost)

    @property
    def changes(self) -> int:
        """How many changes come."""
        return int(self.problem.arrivals.sum())

    @property
    def at_once(self) -> float:
        """What a change costs that is brought in by itself."""
        ones = np.array([curve(1) for curve in self.plan.curves])
        return float(ones @ self.foretold.come / self.foretold.come.sum())

    @property
    def worst_s(self) -> float:
        """What the longest refresh takes."""
        return max(self.freshness.cost(state) for state in self.planned.after)

    def words(self) -> str:
        """Say what a change costs."""
        costs = {
            "as planned": self.planned.cost / self.changes,
            "all at once": self.together.cost / self.changes,
            "at every change": self.at_once,
        }
        return ", ".join(f"{name} {seconds(cost)}" for name, cost in costs.items())

    def work(self) -> str:
        """Say which part of the time maintenance takes; nothing, if no rate is known."""
        if not self.foretold.moment_s:
            return ""
        return percent(self.planned.cost / (MOMENTS * self.foretold.moment_s))

    def under(self, bound_s: float) -> Price:
        """Give the price under another bound."""
        return replace(self, bound_s=bound_s, is_asked=False)


def priced_bounds(price: Price) -> list[Price]:
    """Give the prices under smaller and larger bounds."""
    return [price if each == 1 else price.under(price.bound_s * each) for each in BOUNDS]


def drawn_prices(prices: Sequence[Price]) -> list[str]:
    """Draw what a change costs against the bound, in letters: a line and a bar for each."""
    planned = [each.planned.cost / each.changes for each in prices]
    most = max(planned) or 1.0
    rows = [
        (
            seconds(each.bound_s),
            seconds(cost),
            seconds(each.together.cost / each.changes),
            "█" * max(round(BAR * cost / most), 1),
        )
        for each, cost in zip(prices, planned, strict=True)
    ]
    rows.insert(0, ("bound", "a change", "all at once", ""))
    wide = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        "  ".join(
            [*(cell.rjust(width) for cell, width in zip(row, wide, strict=False)), row[3]]
        ).rstrip()
        for row in rows
    ]
