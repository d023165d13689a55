"""Schedules of maintenance: known traces, counter-examples, curves and their repair."""

from __future__ import annotations

import json

import numpy as np
import pytest

from penstock.lab.maintenance.exhaustive import Exhaustive
from penstock.lab.maintenance.plans import misled, sure, tight_example
from penstock.lab.maintenance.workload import calibrated
from penstock.views.maintenance.curves import CostCurve
from penstock.views.maintenance.decisions import Decisions, FlushPlan
from penstock.views.maintenance.optimum import hopes, optimal
from penstock.views.maintenance.policies import Immediate, Naive, Online, followed
from penstock.views.maintenance.problems import Freshness, Problem
from penstock.views.maintenance.rates import KnownRates, MovingRates

LINES = [CostCurve.linear(each=2, fixed=1), CostCurve.linear(each=1, fixed=12)]
FRESH = Freshness.of(LINES, 24.0)
TWENTY = Problem.uniform(FRESH, 20)


def test_the_golden_trace() -> None:
    naive = followed(TWENTY, Naive(freshness=FRESH))
    assert naive.cost == 125 and list(naive.sets) == [4, 8, 12, 16, 20]
    best = sure(optimal(TWENTY))
    assert best.cost == 91 and best.schedule.cost == 91
    online = followed(TWENTY, Online(FRESH, KnownRates([1, 1])))
    early = dict.fromkeys((4, 7, 9, 10, 11, 12), (0,))
    assert online.cost == 92
    assert online.sets == {**early, 13: (1,), 17: (0,), 20: (0, 1)}


def test_where_several_changes_come_at_once_the_printed_hope_misleads() -> None:
    assert sure(optimal(misled(), hope="literal")).cost == 18
    assert sure(optimal(misled())).cost == 16
    bulk = Problem.of([CostCurve.linear(each=1, fixed=2)], 2.0, [(2,)])
    assert hopes(*_table(bulk), "literal")[-1] == 6 and sure(optimal(bulk)).cost == 4


def test_where_curves_are_not_concave_the_printed_hope_is_too_high() -> None:
    steps = CostCurve.table(4 * -(-size // 2) for size in range(5))
    problem = Problem.of([CostCurve.linear(each=1), steps], 5.0, [(1, 1)] * 4)
    hoped = sum(
        hopes(curve, problem.freshness.limit, problem.arrivals[:, table], "literal")[-1]
        for table, curve in enumerate(problem.freshness.curves.each)
    )
    assert hoped == 16 and sure(optimal(problem)).cost == 12


def _table(problem: Problem) -> tuple[CostCurve, float, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return problem.freshness.curves.each[0], problem.freshness.limit, problem.arrivals[:, 0]


@pytest.mark.parametrize(
    ("parts", "pairs", "minimal", "least"),
    [(2, 1, 2.5, 1.5), (3, 2, 14 / 3, 8 / 3), (4, 1, 2.25, 1.25)],
)
def test_the_tight_example_costs_nearly_twice_the_cheapest(
    parts: int, pairs: int, minimal: float, least: float
) -> None:
    problem = tight_example(parts, pairs)
    assert not problem.freshness.is_full(np.array([2 * parts])), "the bound itself is kept"
    assert sure(optimal(problem)).cost == pytest.approx(minimal)
    assert Exhaustive(problem).cheapest().cost == pytest.approx(least)


def test_the_safe_hope_saves_most_nodes() -> None:
    problem = Problem.uniform(calibrated("A", 12.0), 500)
    safe, zero = (sure(optimal(problem, hope=each)) for each in ("safe", "zero"))
    assert safe.cost == pytest.approx(zero.cost) and zero.expanded >= 20 * safe.expanded


def test_identical_linear_tables_gain_nothing() -> None:
    alike = [CostCurve.linear(each=1), CostCurve.linear(each=1)]
    fresh = Freshness.of(alike, 9.0)
    problem = Problem.uniform(fresh, 50)
    costs = {followed(problem, policy).cost for policy in (Immediate(), Naive(freshness=fresh))}
    assert costs == {100.0} and sure(optimal(problem)).cost == 100


def test_with_one_table_and_linear_cost_naive_is_the_best_there_is() -> None:
    fresh = Freshness.of([CostCurve.linear(each=1, fixed=5)], 20.0)
    problem = Problem.uniform(fresh, 100)
    assert followed(problem, Naive(freshness=fresh)).cost == sure(optimal(problem)).cost


def test_a_search_that_takes_too_long_gives_up() -> None:
    assert optimal(Problem.uniform(FRESH, 200), expansions_max=10) is None


def test_what_was_measured_is_evened_out() -> None:
    generator = np.random.default_rng(5)
    sizes = list(range(1, 400, 5))
    noisy = [0.3 + 0.01 * size + generator.random() for size in sizes]
    curve = CostCurve.from_samples(sizes, noisy)
    told = curve.over(np.arange(sizes[-1] + 1))
    assert told[0] == 0 and (np.diff(told) >= 0).all()
    assert all(
        told[size]
        <= (told[1 : size // 2 + 1] + told[size - 1 : (size - 1) // 2 : -1]).min() + 1e-12
        for size in range(2, len(told))
    )
    true = 0.8 + 0.01 * np.array(sizes)
    assert abs((told[sizes] - true).mean()) < 0.1, "noise lies on both sides of the curve"
    assert curve(4000) > curve(396)


def test_a_line_is_known_as_one() -> None:
    line = CostCurve.from_samples([1, 6, 11, 16], [0.5 + 0.1 * size for size in (1, 6, 11, 16)])
    assert line.fit.is_close and line.is_concave
    assert line.fit.each == pytest.approx(0.1) and line.fit.fixed == pytest.approx(0.5)
    steps = CostCurve.table(-(-size // 5) for size in range(12))
    assert not steps.is_concave


def test_the_first_moments_of_a_moving_rate_count_as_much_as_they_are() -> None:
    moving = MovingRates(1, weight=0.1)
    moving.observe(np.array([4]))
    assert moving.rates[0] == pytest.approx(4.0)
    for _ in range(200):
        moving.observe(np.array([1]))
    assert moving.rates[0] == pytest.approx(1.0, abs=1e-6)


def test_behind_a_reader_s_refresh_what_is_spent_counts_from_there() -> None:
    """What waits then came in this turn alone."""
    plan = FlushPlan(number=1, curves=tuple(LINES), headroom=1.0)
    decisions = Decisions("online", 24.0, plan)
    pending, come, memo = np.zeros(2, np.int64), np.array([1, 1]), ""
    for _ in range(12):
        pending += come
        chosen, memo = decisions.choose(come, pending, memo)
        pending[list(chosen)] = 0
    assert pending[1] == 12, "it waits since the beginning"
    _, refreshed = decisions.choose(come, come, memo)
    assert json.loads(refreshed)["spent"] == {"moment": 1, "spent": 0.0}
    assert json.loads(refreshed)["rates"]["weights"] > json.loads(memo)["rates"]["weights"]
