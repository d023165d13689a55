"""Costs, conditions and moves of the optimiser of sharing, by examples that can be checked."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from penstock.algebra.models import ModelEnvelope, ModelFilter, ModelStage, ModelWindow
from penstock.algebra.sharing import SharedExpression, SharingPlan
from penstock.models.coefficient_histograms import CoefficientHistogram
from penstock.models.sharing.containment import fault
from penstock.models.sharing.fixed_plans import covered, united
from penstock.models.sharing.workloads import ExpressionKind, SharedWorkload, by_source
from penstock.planning.selectivity.statistics import SegmentStatistics, Selectivity
from penstock.planning.sharing.conditions import (
    consumer_limit,
    instance_limit,
    pays_to_measure,
    rank,
)
from penstock.planning.sharing.costs import CostModel
from penstock.planning.sharing.estimated import estimated
from penstock.planning.sharing.instances import switch
from penstock.planning.sharing.optimiser import adjusted, optimise
from penstock.planning.sharing.period import Period
from penstock.planning.sharing.state_machine import allowed
from penstock.planning.sharing.statistics import (
    SharingSettings,
    SharingStatistics,
    UnitCosts,
)
from penstock.planning.sharing.unit_costs import BUILT_IN
from tests.support.models import segments, source
from tests.support.sharing import limit

EQUAL = UnitCosts(cover=1.0, compensation=1.0, union=0.0, duplicates=0.0, alone=1.0)
PUBLISHED = {
    ("High", "High"): (34.27, 35.41, 30.73), ("High", "Spread"): (23.82, 24.67, 19.26),
    ("High", "Low"): (1.32, 15.07, 13.87), ("Spread", "High"): (34.72, 35.64, 29.24),
    ("Spread", "Spread"): (29.2, 30.94, 24.86), ("Spread", "Low"): (1.57, 14.46, 13.73),
    ("Low", "High"): (3.05, 20.14, 28.7), ("Low", "Spread"): (3.14, 19.08, 21.42),
    ("Low", "Low"): (1.45, 14.52, 14.37),
}  # fmt: skip
"""Figure 4.6: seconds of cover, union and unshared, by selectivity of B and of A."""
SECONDS = UnitCosts(cover=1.47, compensation=1.58, union=0.22, duplicates=0.22, alone=1.47)
QUERIES = 10
SELECTIVITIES = {
    "High": [0.999] * QUERIES,
    "Spread": np.linspace(0.05, 0.95, QUERIES).tolist(),
    "Low": [0.0] * QUERIES,
}


def chain(queries: int) -> SharedWorkload:
    """Give queries with two filters each, of two attributes."""
    plans: dict[int, ModelStage] = {}
    for query in range(queries):
        first = ModelFilter(input=source(1, attributes=2), condition=limit(0, "<", float(query)))
        plans[query] = ModelFilter(input=first, condition=limit(1, "<", float(query)))
    return SharedWorkload.of(plans)


def known(
    workload: SharedWorkload, *by_expression: list[float], **more: object
) -> SharingStatistics:
    """Give statistics of selectivities by expression and query."""
    own = {
        (number, query): Selectivity.exactly(value)
        for number, values in enumerate(by_expression)
        for query, value in zip(sorted(workload.queries), values, strict=True)
    }
    return SharingStatistics(own=own, costs={"filter": SECONDS, "envelope": SECONDS}, **more)  # type: ignore[arg-type]


def settled(
    workload: SharedWorkload, statistics: SharingStatistics, settings: SharingSettings
) -> SharingPlan:
    """Optimise until no move comes."""
    plan = workload.unshared()
    for _ in range(20):
        found = optimise(workload, plan, statistics, settings)
        plan = found.plan
        if not found.moves:
            return plan
    raise AssertionError("it does not come to rest")


def test_lazy_instances_break_even_where_published() -> None:
    assert instance_limit(EQUAL, 10) == pytest.approx(0.9)
    assert instance_limit(replace(EQUAL, compensation=1.5), 10) == pytest.approx(0.6)
    assert consumer_limit(EQUAL, 10) == pytest.approx(0.9)
    assert instance_limit(SECONDS, 10, union=True) < instance_limit(SECONDS, 10)


def test_built_in_costs_let_sharing_begin_and_end() -> None:
    assert {*BUILT_IN} == {*get_args(ExpressionKind)}
    assert 0.6 < instance_limit(BUILT_IN["filter"], 10) < 0.9


def test_the_filter_of_least_rank_comes_first() -> None:
    (one, other), (lets, drops) = (2.0, 1.0), (0.9, 0.2)
    assert (rank(one, lets), rank(other, drops)) == pytest.approx((20.0, 1.25))
    assert (one + lets * other, other + drops * one) == pytest.approx((2.9, 1.4))


def test_what_is_worth_counting() -> None:
    assert pays_to_measure(100.0, 40.0, 10.0, 20.0)
    assert not pays_to_measure(100.0, 40.0, 40.0, 0.0)
    assert pays_to_measure(100.0, 40.0, 10.0, 12.0, risk=0.3)
    assert not pays_to_measure(100.0, 40.0, 10.0, 13.0, risk=0.3)


@pytest.mark.parametrize(("b", "a"), PUBLISHED)
def test_the_cost_model_finds_the_published_winner(b: str, a: str) -> None:
    workload = chain(QUERIES)
    statistics = known(workload, SELECTIVITIES[a], SELECTIVITIES[b])
    model = CostModel(workload, statistics, SharingSettings(risk=0.0))
    plans = covered(workload), united(workload), workload.unshared()
    found = [model.cost(plan).estimate for plan in plans]
    published = PUBLISHED[b, a]
    assert int(np.argmin(found)) == int(np.argmin(published))
    assert (found[1] < found[2]) == (published[1] < published[2]) or b != "Low"
    np.testing.assert_allclose(found, published, atol=5.2)
    best = settled(workload, statistics, SharingSettings(risk=0.0))
    assert model.cost(best).estimate <= min(found) + 1e-9


def test_the_cost_model_is_near_to_all_published_cells() -> None:
    workload = chain(QUERIES)
    off = []
    for (b, a), published in PUBLISHED.items():
        statistics = known(workload, SELECTIVITIES[a], SELECTIVITIES[b])
        model = CostModel(workload, statistics, SharingSettings(risk=0.0))
        plans = covered(workload), united(workload), workload.unshared()
        off += [model.cost(p).estimate - c for p, c in zip(plans, published, strict=True)]
    assert np.sqrt(np.mean(np.square(off))) < 1.75


def test_the_published_form_of_costs_is_there() -> None:
    workload = chain(4)
    statistics = known(workload, [0.5] * 4, [0.25] * 4)
    model = CostModel(workload, statistics, SharingSettings(), fidelity="literal")
    found = model.by_expression(covered(workload))
    assert found[0] == pytest.approx(1.47 + 0.5 * 4 * 1.58)
    assert found[1] == pytest.approx(0.5 * (1.47 + 0.25 * 4 * 1.58))
    united_ = model.by_expression(united(workload))
    assert united_[1] == pytest.approx(4 * 0.5 * 0.44 + 0.5 * (1.47 + 0.25 * 4 * 1.58))


def test_moves_say_why_and_what_else_there_was() -> None:
    workload = chain(6)
    found = optimise(
        workload, workload.unshared(), known(workload, [0.1] * 6, [0.9] * 6), SharingSettings()
    )
    first = found.moves[0]
    assert (first.kind, first.to, first.consumers) == ("share", "cover", tuple(range(6)))
    assert first.gain > 0 and "{0}, {1}, {2} and 3 others" in first.text and "%" in first.text
    assert found.cost <= found.runner_up_cost <= found.unshared_cost
    assert found.runner_up != found.plan and 0.5 < found.saved < 1


def test_an_instance_that_no_longer_pays_is_dissolved() -> None:
    workload = chain(4)
    plan = covered(workload)
    found = optimise(workload, plan, known(workload, [0.99] * 4, [0.99] * 4), SharingSettings())
    assert found.moves and found.cost < found.moves[0].before
    last = settled(workload, known(workload, [0.99] * 4, [0.99] * 4), SharingSettings())
    assert last == workload.unshared()


def test_filters_change_places_by_rank() -> None:
    workload = chain(1)
    found = optimise(
        workload, workload.unshared(), known(workload, [0.9], [0.2]), SharingSettings()
    )
    assert [move.kind for move in found.moves] == ["reorder"]
    assert found.plan.ways[0].expressions == (1, 0)


def test_a_consumer_goes_where_it_costs_less_if_that_is_more_than_little() -> None:
    plans: dict[int, ModelStage] = {
        query: ModelFilter(input=source(1, attributes=2), condition=limit(0, "<", float(query)))
        for query in range(6)
    }
    workload = SharedWorkload.of(plans)
    plan = SharingPlan(
        expressions=(SharedExpression(cover=((0, 1, 5), (2, 3, 4))),), ways=workload.unshared().ways
    )
    statistics = known(workload, [0.05, 0.05, 0.5, 0.5, 0.5, 0.5])
    period = Period(workload, plan, statistics, SharingSettings(risk=0.0))
    assert switch(period, 0)
    assert period.plan.expressions[0].cover == ((0, 1), (2, 3, 4, 5))
    assert [(move.kind, move.consumers) for move in period.moves] == [("switch", (5,))]
    lazy = SharingSettings(risk=0.0, hysteresis=10.0)
    assert not switch(Period(workload, plan, statistics, lazy), 0)


def test_unsure_selectivities_are_worth_counting() -> None:
    workload = chain(1)
    own = {
        (0, 0): Selectivity(estimate=0.5, low=0.0, high=1.0),
        (1, 0): Selectivity(estimate=0.5, low=0.49, high=0.51),
    }
    statistics = SharingStatistics(own=own, costs={"filter": EQUAL})
    settings = SharingSettings(risk=0.5, collecting=0.1)
    found = optimise(workload, workload.unshared(), statistics, settings)
    assert found.plan.measured == (0,)
    assert "100%" in found.moves[-1].text or "risk" in found.moves[-1].text
    dear = optimise(workload, found.plan, statistics, replace(settings, collecting=5.0))
    assert dear.plan.measured == ()


def test_nobody_leaves_what_it_needs_behind_it() -> None:
    assert "alone" not in allowed((None, "cover", "cover"))
    assert "alone" not in allowed(("union", "union", "cover"))
    assert allowed(("alone", "union", None)) == ("alone",)


def test_containment_is_told_by_its_fault() -> None:
    workload = chain(3)
    alone = workload.unshared().expressions
    cover = SharedExpression(cover=((0, 1, 2),))
    narrow = SharedExpression(cover=((0, 1),), alone=(2,))
    plan = workload.unshared()
    assert fault(workload, replace(plan, expressions=(cover, cover))) is None
    assert fault(workload, replace(plan, expressions=(cover, narrow))) is None
    assert "covers queries" in str(fault(workload, replace(plan, expressions=(narrow, cover))))
    assert "covers queries" in str(fault(workload, replace(plan, expressions=(alone[0], cover))))
    assert "once" in str(fault(workload, replace(plan, expressions=(cover, SharedExpression()))))
    minima = SharedWorkload.of(
        {
            query: ModelEnvelope(input=given, function="min", attribute=0, name="m")
            for query, given in workload.queries.items()
        }
    )
    united_ = SharedExpression(union=((0, 1, 2),))
    plan = minima.unshared()
    assert "cannot pass" in str(fault(minima, replace(plan, expressions=(cover, cover, cover))))
    assert fault(minima, replace(plan, expressions=(cover, cover, united_))) is None
    sums = SharedWorkload.of(
        {
            query: ModelWindow(
                input=given, function="sum", attribute=0, name="s", size_us=1, slide_us=1
            )
            for query, given in workload.queries.items()
        }
    )
    assert "united" in str(fault(sums, replace(plan, expressions=(cover, cover, united_))))
    turned = (replace(plan.ways[0], expressions=(1, 0, 2)), *plan.ways[1:])
    both = replace(plan, expressions=(united_, united_, plan.expressions[2]), ways=turned)
    assert "waits" in str(fault(minima, both))


def test_plans_follow_queries_that_come_and_go() -> None:
    before = chain(4)
    plan = covered(before)
    now = SharedWorkload.of({q: p for q, p in chain(6).queries.items() if q not in (0, 3)})
    found = adjusted(now, before, plan)
    assert found.expressions[0] == SharedExpression(cover=((1, 2),), alone=(4, 5))
    assert fault(now, found) is None


def test_bins_of_coefficients_tell_the_optimiser_what_covers_let_through() -> None:
    rng = np.random.default_rng(3)
    rows = [
        ((0,), 0, 0.0, 1.0, [[float(rng.uniform(0, 10)), 0.1], [float(rng.uniform(0, 10)), 0.0]],
         1, n)
        for n in range(2_000)
    ]  # fmt: skip
    made = segments(rows)
    histograms = [CoefficientHistogram(2), CoefficientHistogram(2)]
    for attribute, histogram in enumerate(histograms):
        histogram.count(made, attribute)
    known = SegmentStatistics.of(*(each.bins() for each in histograms))
    workload = chain(8)
    statistics = estimated(workload, known)
    assert statistics.own[0, 5].estimate == pytest.approx(0.5, abs=0.03)
    found = optimise(workload, workload.unshared(), statistics, SharingSettings())
    assert statistics.covers is not None
    assert statistics.covers(0, (1, 2, 7)).estimate == pytest.approx(0.7, abs=0.03)
    assert found.moves and found.cost < found.unshared_cost


def test_queries_are_divided_by_their_sources() -> None:
    other = ModelFilter(input=source(2), condition=limit(0, "<", 1.0, 1))
    found = by_source({**chain(2).queries, 7: other})
    assert [sorted(each.queries) for each in found] == [[0, 1], [7]]
    assert SharingPlan.from_json(found[0].unshared().to_json()) == found[0].unshared()
