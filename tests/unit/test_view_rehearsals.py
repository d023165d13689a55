"""Rehearsals: flushes are measured up to what waits, and not beyond what may."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from penstock.kinds.view.hindsight import Hindsight
from penstock.operators.view import figures
from penstock.views.maintenance.curves import CostCurve
from penstock.views.maintenance.decisions import Decisions, FlushPlan
from penstock.views.rehearsals import rehearsed
from penstock.vocabulary.figures import Tally


class SteadyStore:
    """Takes 10 ms for a flush and a microsecond for a change, of as many rows as it has."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.asked: list[int] = []

    def rehearse(self, _input: int, size: int, _draw: int = 0) -> float:
        self.asked.append(size)
        return 0.01 + 1e-6 * size if size <= self.rows else math.nan


def steady(rows: int = 10_000_000) -> Any:
    return SteadyStore(rows)


def sizes(waiting: int, bound_s: float, **known: int) -> list[int]:
    return list(rehearsed(steady(**known), 0, waiting, bound_s))


def test_flushes_are_rehearsed_as_large_as_what_waits() -> None:
    assert sizes(waiting=1, bound_s=9.0)[-1] == 256
    assert sizes(waiting=100_000, bound_s=9.0)[-1] == 262_144
    assert sizes(waiting=100_000, bound_s=0.02)[-1] == 16_384, "longer ones are not waited for"
    assert sizes(waiting=100_000, bound_s=9.0, rows=5_000)[-1] == 4_096


def test_large_flushes_are_rehearsed_once() -> None:
    store = steady()
    rehearsed(store, 0, 100_000, 9.0)
    assert store.asked.count(1_024) == 3 and store.asked.count(4_096) == 1


@pytest.mark.parametrize("waiting", [1_000, 100_000])
def test_a_bound_is_kept_however_many_changes_come_at_once(waiting: int) -> None:
    """A curve of small flushes says nothing of a hundred thousand changes."""
    curve = CostCurve.from_samples(*zip(*rehearsed(steady(), 0, waiting, 0.5).items(), strict=True))
    plan = FlushPlan.from_json(FlushPlan(number=1, curves=(curve,)).to_json())
    decisions, pending, memo = Decisions("online", 0.5, plan), np.zeros(1, np.int64), ""
    come, worst = np.array([100_000]), 0
    for _ in range(40):
        pending += come
        chosen, memo = decisions.choose(come, pending, memo)
        pending[list(chosen)] = 0
        worst = max(worst, int(pending[0]))
    assert 200_000 <= worst <= 390_000, "0.4 s are a flush of 390,000 changes"


def test_a_curve_of_many_changes_does_not_fall_and_costs_no_more_than_its_parts() -> None:
    asked = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144]
    drawn = np.random.default_rng(7)
    noisy = [(0.01 + 1e-6 * size) * drawn.uniform(0.8, 1.2) for size in asked]
    curve = CostCurve.from_samples(asked, noisy)
    points = curve.sizes
    assert len(points) < 2_200 and (np.diff(curve.costs) >= 0).all()
    for place in range(2_049, len(points)):
        parts = points[1:place]
        assert (
            curve(int(points[place]))
            <= (curve.over(parts) + curve.over(points[place] - parts)).min() + 1e-9
        )
    assert curve(1_000_000) == pytest.approx(1.01, rel=0.3)


def test_beyond_what_was_measured_changes_cost_what_they_did() -> None:
    flat = CostCurve.from_samples([1, 256, 1_024], [1.0, 2.0, 2.0])
    assert flat(102_400) == pytest.approx(2.0 + 101_376 / 1_023, rel=1e-6)


def told(come: int, flushed: int, pending: int) -> Tally:
    found = Tally({figures.TURNS: 1})
    for number, unit in enumerate((come, 1)):
        found[figures.FLUSHED, number] = flushed * unit
        found[figures.PENDING, number] = pending * unit
    return found


def test_hindsight_counts_many_changes_by_the_hundred() -> None:
    """A search that had a place for every change would take half a gigabyte."""
    hundreds = (CostCurve.linear(each=2.0, fixed=1.0), CostCurve.linear(each=1.0, fixed=12.0))
    single = (CostCurve.linear(each=2.0 / 100_000, fixed=1.0), hundreds[1])
    known = []
    for curves, come in ((hundreds, 1), (single, 100_000)):
        seen = Hindsight(2)
        for moment in range(1, 201):
            waiting = moment % 4
            seen.note(told(come, 0, waiting) if waiting else told(come, 4, 0))
        known.append((seen.regret(curves, 24.0), seen.is_together(curves, 24.0)))
    (one, together), (many, also_together) = known
    assert one is not None and many == pytest.approx(one, rel=0.02)
    assert together == also_together
