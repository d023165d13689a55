"""The optimiser of sharing: covers, costs, containment and coming to rest, on drawn workloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.models import (
    Comparator,
    ModelComparison,
    ModelCondition,
    ModelConjunction,
    ModelDisjunction,
)
from penstock.algebra.sharing import SharingPlan
from penstock.models.conditions import ConditionSolver
from penstock.models.segments import WIDTH, Segments
from penstock.models.sharing.containment import fault
from penstock.models.sharing.covering import covering
from penstock.models.sharing.shared_plans import SharedPlan
from penstock.models.sharing.workloads import SharedWorkload
from penstock.planning.selectivity.statistics import Selectivity
from penstock.planning.sharing.conditions import rank
from penstock.planning.sharing.costs import CostModel, PlanCost
from penstock.planning.sharing.optimiser import optimise
from penstock.planning.sharing.placements import placed
from penstock.planning.sharing.selectivities import READINGS
from penstock.planning.sharing.statistics import (
    SharingSettings,
    SharingStatistics,
    UnitCosts,
)
from tests.oracle.models import holds
from tests.support.models import compared
from tests.support.sharing import (
    SHAPES,
    assert_same_functions,
    assert_same_segments,
    drawn_workload,
    limit,
    scaled,
    story,
    told_alone,
    told_together,
)

seeds = st.integers(0, 2**32 - 1)
PERIODS_MAX = 20


def drawn_statistics(rng: np.random.Generator, workload: SharedWorkload) -> SharingStatistics:
    """Draw selectivities with bounds, and unit costs."""
    own = {}
    for expression in workload.expressions:
        for query in expression.stages:
            low, estimate, high = np.sort(rng.uniform(0, 1, 3) ** rng.choice([0.3, 1, 3]))
            own[expression.number, query] = Selectivity(
                estimate=float(estimate), low=float(low), high=float(high)
            )
    costs = {
        kind: UnitCosts(
            cover=float(rng.uniform(0.5, 2)), compensation=float(rng.uniform(0.2, 2)),
            union=float(rng.uniform(0, 0.3)), duplicates=float(rng.uniform(0, 0.3)), alone=1.0,
        )
        for kind in ("filter", "join", "map", "envelope", "window")
    }  # fmt: skip
    return SharingStatistics(own=own, costs=costs)  # type: ignore[arg-type]


@st.composite
def conditions(draw: st.DrawFn) -> ModelCondition:
    """Draw an AND or an OR of limits and scaled pairs of two attributes."""
    numbers = st.integers(-4, 4).map(float)
    comparators = st.sampled_from(["<", "<=", ">", ">=", "=", "<>"])
    terms = draw(
        st.lists(
            st.one_of(
                st.builds(limit, st.integers(0, 1), comparators, numbers),
                st.builds(scaled, comparators, numbers.filter(bool), numbers.filter(bool)),
            ),
            min_size=1,
            max_size=3,
        )
    )
    if len(terms) == 1:
        return terms[0]
    one_of = ModelDisjunction if draw(st.booleans()) else ModelConjunction
    return one_of(terms=tuple(terms))


@given(given=st.lists(conditions(), min_size=1, max_size=6), seed=seeds)
@settings(deadline=None, max_examples=120)
def test_a_cover_is_implied_by_each(given: list[ModelCondition], seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = np.concatenate([rng.normal(0, 3, (100, 2)), rng.integers(-4, 5, (100, 2))])
    cover = holds(covering(given), points)
    for each in given:
        assert cover[holds(each, points)].all()


def test_the_published_example_of_scaled_pairs_is_covered() -> None:
    given = [scaled("<", 1, 1), scaled("<", 3, 2), scaled(">", 4, 1), scaled(">", 3, 3)]
    points = np.random.default_rng(1).normal(0, 3, (10_000, 2))
    exact = np.any([holds(each, points) for each in given], axis=0)
    np.testing.assert_array_equal(holds(covering(given), points), exact)
    assert holds(covering(given), np.array([[1.0, 2.0]])).all()


def test_scaled_pairs_are_covered_where_both_attributes_are_0() -> None:
    """There the one in the middle holds alone."""
    given = [scaled("<", 1, 1), scaled("<=", 1, 2), scaled("<", 1, 3)]
    assert holds(covering(given), np.zeros((1, 2))).all()


def line(
    comparator: Comparator, factors: Sequence[float], number: float, times: float
) -> ModelComparison:
    """Compare a sum of two attributes with a number, all of it taken so many times."""
    return compared(
        comparator, (-number * times, (0, 0)), (factors[0] * times, (1, 0)),
        (factors[1] * times, (0, 1)),
    )  # fmt: skip


@given(seed=seeds, number=st.sampled_from([0.0, 0.7, 1.2, -2.0]))
@settings(deadline=None, max_examples=60)
def test_a_gate_keeps_what_a_reader_finds_however_numbers_are_rounded(
    seed: int, number: float
) -> None:
    """Readers ask nearly the same, times numbers of their own, of lines with few digits."""
    rng = np.random.default_rng(seed)
    count = 500
    models = np.zeros((count, 2, WIDTH))
    models[:, :, 0] = rng.integers(-40, 41, (count, 2)) / 10
    models[:, :, 1] = rng.integers(-10, 11, (count, 2)) / 10
    lines = Segments(
        np.zeros((count, 1), np.int64), np.arange(count), np.zeros(count),
        rng.choice([0.0, 1.0, 2.0, 5.0, 10.0], count), models, np.ones(count, np.int8),
        np.arange(count),
    )  # fmt: skip
    factors = [(1.0, 1.0), (1.0, 0.0), (1.0, -0.7), (-1.0, 1.0)][rng.integers(4)]
    over = bool(rng.integers(2))
    asked = [
        line(own, factors, number + rng.choice([0.0, 0.0, 0.1]), rng.choice([1.0, 2.0, 1.8, 3.0]))
        for own in rng.choice([">", ">="] if over else ["<", "<="], 4)
    ]
    passed = ConditionSolver(covering(asked), 2).gate(lines)
    for each in asked:
        found, _, _ = ConditionSolver(each, 2).solve(lines.coefficients, lines.low, lines.high)
        assert np.isin(lines.serial[found], passed.serial).all()


@given(seed=seeds, shape=st.sampled_from(SHAPES), queries=st.integers(2, 5))
@settings(deadline=None, max_examples=30)
def test_plans_are_contained_and_come_to_rest(seed: int, shape: str, queries: int) -> None:
    rng = np.random.default_rng(seed)
    workload = drawn_workload(seed, shape, queries)
    plan = workload.unshared()
    for _ in range(2):
        statistics = drawn_statistics(rng, workload)
        weighed = SharingSettings(risk=float(rng.uniform(0, 1)), collecting=0.01)
        before = None
        found = optimise(workload, plan, statistics, weighed)
        for _period in range(PERIODS_MAX):
            found = optimise(workload, plan, statistics, weighed)
            assert fault(workload, found.plan) is None
            assert before is None or found.cost <= before * (1 + 1e-9)
            assert all(move.after <= move.before * (1 + 1e-9) for move in found.moves)
            before, plan = found.cost, found.plan
            if not found.moves:
                break
        assert not found.moves, "it does not come to rest"
        assert found.cost <= found.unshared_cost * (1 + weighed.hysteresis + 1e-9)


def test_a_thousand_steps_of_adaptation_stay_contained() -> None:
    steps, seed = 0, 0
    while steps < 1000:
        seed += 1
        rng = np.random.default_rng(seed)
        workload = drawn_workload(seed, SHAPES[seed % len(SHAPES)], 5)
        plan = workload.unshared()
        for _ in range(8):
            statistics = drawn_statistics(rng, workload)
            found = optimise(workload, plan, statistics, SharingSettings(risk=0.3))
            plan = found.plan
            assert fault(workload, plan) is None
            steps += max(len(found.moves), 1)


@given(seed=seeds, shape=st.sampled_from(SHAPES), queries=st.integers(2, 5))
@settings(deadline=None, max_examples=25)
def test_whatever_is_planned_tells_the_same(seed: int, shape: str, queries: int) -> None:
    rng = np.random.default_rng(seed)
    workload = drawn_workload(seed, shape, queries)
    changes = story(workload, seed)
    alone = {query: told_alone(plan, changes) for query, plan in workload.queries.items()}
    plan = workload.unshared()
    tried: set[SharingPlan] = set()
    for _ in range(4):
        statistics = drawn_statistics(rng, workload)
        plan = optimise(workload, plan, statistics, SharingSettings()).plan
        if plan in tried:
            continue
        tried.add(plan)
        together = told_together(SharedPlan(workload, plan), workload, changes)
        for query, told in alone.items():
            if shape == "min":
                assert_same_functions(told, together[query], seed)
                continue
            for one, two in zip(told, together[query], strict=True):
                assert_same_segments(one, two, 1e-9)


@given(data=st.lists(st.tuples(st.floats(0.1, 5), st.floats(0, 1)), min_size=2, max_size=5))
@settings(deadline=None)
def test_the_order_of_ranks_costs_least(data: list[tuple[float, float]]) -> None:
    def cost(chain: list[tuple[float, float]]) -> float:
        rate, total = 1.0, 0.0
        for unit, passes in chain:
            total, rate = total + rate * unit, rate * passes
        return total

    ranked = sorted(data, key=lambda each: rank(*each))
    best = cost(ranked)
    rng = np.random.default_rng(len(data))
    for _ in range(20):
        assert best <= cost([data[i] for i in rng.permutation(len(data))]) * (1 + 1e-9)


@given(seed=seeds, shape=st.sampled_from(SHAPES), risk=st.floats(0, 1))
@settings(deadline=None, max_examples=40)
def test_the_objective_is_linear_in_risk(seed: int, shape: str, risk: float) -> None:
    rng = np.random.default_rng(seed)
    workload = drawn_workload(seed, shape, 5)
    statistics = drawn_statistics(rng, workload)
    plan = optimise(workload, workload.unshared(), statistics, SharingSettings()).plan
    cost = CostModel(workload, statistics, SharingSettings()).cost(plan)
    assert cost.spread >= -1e-12 and cost.low <= cost.estimate * (1 + 1e-9)
    ends = cost.objective(0.0), cost.objective(1.0)
    assert np.isclose(cost.objective(risk), (1 - risk) * ends[0] + risk * ends[1])
    assert ends == (cost.estimate, cost.spread)
    sure = replace(
        statistics, own={k: Selectivity.exactly(s.estimate) for k, s in statistics.own.items()}
    )
    known = CostModel(workload, sure, SharingSettings()).cost(workload.unshared())
    assert known == PlanCost(known.estimate, known.estimate, known.estimate)


@given(seed=seeds, shape=st.sampled_from(("filters", "pairs", "bands")))
@settings(deadline=None, max_examples=25)
def test_plans_at_the_source_cost_what_a_walk_along_them_says(seed: int, shape: str) -> None:
    rng = np.random.default_rng(seed)
    workload = drawn_workload(seed, shape, 9)
    statistics = replace(drawn_statistics(rng, workload), rate=3.0)
    for fidelity in ("repaired", "literal"):
        quick, walked = (
            CostModel(workload, statistics, SharingSettings(), fidelity) for _ in range(2)
        )
        vars(walked)["_is_flat"] = False
        plan = workload.unshared()
        for _ in range(6):
            found, expected = quick.cost(plan), walked.cost(plan)
            for reading in READINGS:
                assert np.isclose(getattr(found, reading), getattr(expected, reading), rtol=1e-12)
            each = workload.expressions[int(rng.integers(len(workload.expressions)))]
            some = [query for query in sorted(each.stages) if rng.random() < 0.4]
            plan = placed(plan, each.number, some, "cover") if some else plan
