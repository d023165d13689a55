"""Refreshes at random: whether the bound is kept and the view is right, whoever asks when."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from penstock.lab.draws import generator
from penstock.lab.maintenance.bounds import CHANGES, PlannedBound
from penstock.lab.maintenance.measured import FollowedPolicy, MeasuredView, everything
from penstock.lab.maintenance.tpch import NATION, Offers, undone
from penstock.lab.report import Cell, Findings, Size, Table, at_most, sized, timed
from penstock.views.maintenance.policies import Online
from penstock.views.maintenance.problems import Freshness
from penstock.views.maintenance.rates import MeanRates

REFRESHES = sized(4, 40, 1000)
LIKELY = 0.1
"""How likely somebody asks at a moment."""
CHECKED = sized(4, 50, 200)
"""Moments at which the view is computed anew beside it."""
MISSES_MAX = 0.001
TOLD_MAX = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Refreshes:
    """What refreshes took, and what was found wrong."""

    bound: float
    headroom: float
    moments: int
    seconds: list[float]
    """Of each refresh, by the clock on the wall."""
    worked: list[float]
    """Of each refresh, by the processor."""
    hoped: list[float]
    """What the curves said of each."""
    total: float
    """All flushes, those of refreshes among them."""
    checked: int
    wrong: int

    @property
    def misses(self) -> list[int]:
        """The refreshes that took longer than the bound."""
        return [number for number, took in enumerate(self.seconds) if took > self.bound]

    @property
    def own_misses(self) -> list[int]:
        """Of them, those that would have taken longer on a machine of their own, too."""
        return [number for number in self.misses if self.worked[number] > self.bound]

    def findings(self, store: str) -> Findings:
        """Tell and judge."""
        took = 1000 * np.array(self.seconds)
        yield Table.of(
            f"{store}: refreshes at random moments, ONLINE",
            [
                {
                    "refreshes": len(took),
                    "bound_ms": 1000 * self.bound,
                    "headroom": self.headroom,
                    "p50_ms": float(np.quantile(took, 0.5)),
                    "p99_ms": float(np.quantile(took, 0.99)),
                    "worst_ms": float(took.max()),
                    "misses": len(self.misses),
                    "own_misses": len(self.own_misses),
                    "checked": self.checked,
                }
            ],
        )
        if self.misses:
            rows = [self._miss(number) for number in self.misses[:TOLD_MAX]]
            yield Table.of(f"{store}: refreshes over the bound", rows)
        yield at_most(f"{store}: moments at which the view was wrong", self.wrong, 0)
        for what, found in (
            ("over the bound", self.misses),
            ("over the bound by processor time alone", self.own_misses),
        ):
            share = len(found) / len(took)
            yield from timed(at_most(f"{store}: share of refreshes {what}", share, MISSES_MAX))

    def _miss(self, number: int) -> dict[str, Cell]:
        took, hoped = self.seconds[number], self.hoped[number]
        worked = self.worked[number]
        cause = "store slow: its processor was busy with others"
        if hoped > self.bound:
            cause = "burst beyond the bound"
        elif worked > self.bound:
            cause = "curve wrong"
        return {
            "refresh": number,
            "took_ms": 1000 * took,
            "processor_ms": 1000 * worked,
            "curve_ms": 1000 * hoped,
            "cause": cause,
        }


def refreshed_at_random(
    view: MeasuredView, plan: PlannedBound, offers: Offers, headroom: float, size: Size
) -> Refreshes:
    """Follow ONLINE, refresh at drawn moments, and compare with the oracle and a recomputation.

    Curves are taken `headroom` times as high as measured: so much longer one of a hundred rehearsed
    batches took.
    """
    drawn = generator(35)
    last = int(REFRESHES[size] / LIKELY)
    arrivals = np.full((last + 1, 2), CHANGES, np.int64)
    arrivals[0] = 0
    moments = offers.updates(generator(36), arrivals)
    asks = np.sort(drawn.choice(last, REFRESHES[size], replace=False))
    checks = set(drawn.choice(last, min(CHECKED[size], last), replace=False).tolist())
    curves = plan.freshness.curves
    fresh = Freshness.of([each.scaled(headroom) for each in curves.each], plan.freshness.bound)
    chooser = FollowedPolicy(Online(fresh, MeanRates(len(curves))))
    state = offers.state()
    seconds, worked, hoped, total, wrong = [], [], [], 0.0, 0
    clock = view.store.clock
    asked = set(asks.tolist())
    for moment, changes in enumerate(moments):
        turn = view.take(changes, chooser)
        state.follow(changes)
        flushes = list(turn.flushes)
        if moment in asked:
            hoped.append(curves.cost(np.ascontiguousarray(turn.pending[:NATION])))
            busy, begun = clock(), perf_counter()
            flushes += view.store.refresh()
            seconds.append(perf_counter() - begun)
            worked.append(clock() - busy)
            chooser.refreshed()
            wrong += view.value() != state.least()
        if moment in checks:
            wrong += not view.is_right()
        total += sum(flush.seconds for flush in flushes)
    view.take(undone(moments), everything)
    return Refreshes(
        bound=plan.freshness.bound, headroom=headroom, moments=last, seconds=seconds,
        worked=worked, hoped=hoped,
        total=total, checked=len(asked) + len(checks), wrong=wrong,
    )  # fmt: skip
