"""Verdicts: what the specification says of its examples, and what bad input is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock.algebra.trees import Boxes, Join, Leaf, shown
from penstock.lab.planner.examples import (
    B4,
    CART,
    EXAMPLE_1,
    EXAMPLE_1_PLANS,
    FIGURE_4,
    INV3,
    chain,
    tree,
)
from penstock.planning.approximation import is_same_tree
from penstock.planning.constants import BUILT_IN
from penstock.planning.costs import Constant, Measured
from penstock.planning.model import InputModel, JoinModel, PredicateModel
from penstock.planning.optimiser import Choices, Planned, Resources, optimise
from penstock.planning.pass_fractions import approximate
from penstock.vocabulary.errors import PenstockError

ALL = Resources(headroom=0.0)


def planned(
    kappa_s: float, resources: Resources = ALL, model: JoinModel = EXAMPLE_1, **choices
) -> Planned:
    return optimise(model, Constant(kappa_s), resources, Choices(**choices))


def with_inputs(model: JoinModel, **changes) -> JoinModel:
    """Change the inputs of a model: a list of values for every field named."""
    inputs = [
        replace(each, **{name: values[k] for name, values in changes.items()})
        for k, each in enumerate(model.inputs)
    ]
    return replace(model, inputs=tuple(inputs))


@pytest.mark.parametrize(
    ("kappa_s", "verdict", "utilisation", "worst"),
    [
        (0.0005, "ABUNDANT", 0.125, 0.45),
        (0.002, "TIGHT", 0.5, 1.8),
        (0.004, "TIGHT", 1.0, 3.6),
        (0.005, "INSUFFICIENT", 1.25, 4.5),
    ],
)
def test_the_verdicts_of_example_1(
    kappa_s: float, verdict: str, utilisation: float, worst: float
) -> None:
    found = planned(kappa_s)
    assert found.verdict == verdict
    assert found.utilisation == pytest.approx(utilisation)
    assert found.worst_cpu == pytest.approx(worst)
    assert found.is_critical == (kappa_s == 0.004)
    assert (found.shedding is not None) == (verdict == "INSUFFICIENT")
    assert is_same_tree(found.plan.tree, EXAMPLE_1_PLANS["a"])


def test_at_the_edge_only_plan_a_passes_and_strictly_none() -> None:
    found = planned(0.004)
    assert [each.is_feasible for each in found.runner_ups] == [False, False]
    assert found.is_critical and "nothing to spare" in found.sentence
    strict = planned(0.004, Resources(headroom=0.0, strict=True))
    assert strict.verdict == "INSUFFICIENT" and not strict.is_critical
    assert strict.shedding is not None and strict.shedding.cpu < 1.0


def test_the_sentence_says_what_is_needed_dropped_and_kept() -> None:
    assert planned(0.005).sentence == (
        "Insufficient: the cheapest order needs 125 % of one processor; "
        "with 27.8 % of a and of b dropped it emits 91.7 % as many rows; "
        "52.2 % of the full answer is among them."
    )
    assert planned(0.0005).sentence == (
        "Abundant: every order keeps up; the chosen one needs 12.5 % of one processor."
    )
    assert planned(0.005, shedding="off").sentence.endswith(
        "nothing may be dropped, so rows will wait longer and longer."
    )
    scarce = planned(1 / 35)
    assert scarce.plan.passes == pytest.approx((0.0, 0.0, 0.5))
    assert "with all of a and of b and 50 % of c dropped it emits 35 %" in scarce.sentence


def test_what_shedding_example_1_is_told_to_cost() -> None:
    found = planned(0.005)
    account = found.shedding
    assert account is not None
    assert account.output == pytest.approx(916.67, abs=0.01)
    assert account.full_output == pytest.approx(1000) and account.kept == pytest.approx(
        0.91667, 1e-4
    )
    assert account.exact_share == pytest.approx(0.569, abs=5e-4)
    assert account.cpu == pytest.approx(1.0)
    assert [ratio * 0.005 for ratio in account.ratios] == pytest.approx([5 / 3, 5 / 3, 10])
    assert [each.used / 0.005 for each in account.breakpoints] == pytest.approx([0, 70, 250])
    outputs = [each.output for each in found.runner_ups]
    assert outputs == pytest.approx([733.33, 363.64], abs=0.01)
    assert found.plan.passes == account.passes and found.plan.boxes == "faithful"


def test_processing_picks_a_and_memory_picks_b() -> None:
    assert planned(0.0005).costing.memory_rows == 80
    found = planned(0.0005, objective="memory")
    assert is_same_tree(found.plan.tree, EXAMPLE_1_PLANS["b"])
    assert found.costing.memory_rows == pytest.approx(50)
    # Where b does not keep up, a must do.
    assert is_same_tree(planned(0.0038, objective="memory").plan.tree, EXAMPLE_1_PLANS["a"])


def test_headroom_and_processors() -> None:
    kept_free = planned(0.0035, Resources(headroom=0.2))
    assert kept_free.verdict == "INSUFFICIENT"
    assert kept_free.utilisation == pytest.approx(0.875 / 0.8)
    assert "and 80 % may be used" in kept_free.sentence
    two = planned(0.0035, Resources(processors=2, headroom=0.0))
    assert two.verdict == "TIGHT"
    assert [each.is_feasible for each in two.runner_ups] == [True, False]


def test_a_join_that_no_processor_can_do_alone() -> None:
    found = planned(0.006, Resources(processors=3, headroom=0.0))
    # The second join of a takes 132 % of a processor, that of b 114 %: neither can be divided.
    assert found.verdict == "TIGHT" and found.overloaded == (0b111,)
    balanced = chain((100, 100, 100, 100), (1, 1, 1, 1), (0.5, 0.5, 0.5))
    assert planned(0.004, Resources(processors=4, headroom=0.0), balanced).overloaded == ()


def test_a_plan_whose_joins_fit_a_processor_each_goes_first() -> None:
    model = chain((100, 20, 20, 20), (20, 5, 5, 10), (0.1, 0.2, 0.2))
    cheapest = optimise(model, Constant(0.001), ALL)
    assert max(join.cpu for join in cheapest.costing.joins) == pytest.approx(0.2)
    kappa_s = 0.001 / 0.175
    found = optimise(model, Constant(kappa_s), Resources(processors=9, headroom=0.0))
    assert found.overloaded == ()
    assert found.costing.cpu > found.cpu


def test_the_scheduler_gives_time_by_demand() -> None:
    shares = dict(planned(0.0005).shares)
    assert shares == pytest.approx({0b011: 30 / 250, 0b111: 220 / 250})


def test_figure_4() -> None:
    found = optimise(FIGURE_4, Constant(0.0), ALL)
    assert found.verdict == "TIGHT"
    assert (found.cpu, found.worst_cpu) == pytest.approx((0.75, 1.25))
    assert [share for _, share in found.shares] == pytest.approx([2 / 3, 1 / 3])
    assert [each.part for each in found.filters] == ["terms", "residual"]
    assert found.plan.passes == () and found.costing.output_rate == pytest.approx(125)
    less = optimise(FIGURE_4, Constant(0.0), Resources(headroom=0.4))
    assert less.verdict == "INSUFFICIENT"
    assert less.plan.passes == pytest.approx((0.8,)) and less.shedding is not None
    assert less.shedding.output == pytest.approx(100)
    twice = with_inputs(FIGURE_4, rate=[3000])
    assert optimise(twice, Constant(0.0), ALL).plan.passes == pytest.approx((1 / 2.25,))


@pytest.mark.parametrize(
    ("model", "capacity", "mincost", "best"),
    [(INV3, 570.0, 26000.0, 50460.78), (CART, 446.25, 8113.64, 16036.26), (B4, 10.0, 8.0, 24.0)],
    ids=["INV3", "CART", "B4"],
)
def test_the_cheapest_plan_is_not_the_one_to_shed(
    model: JoinModel, capacity: float, mincost: float, best: float
) -> None:
    for strategy in ("exact", "exhaustive", "alternate"):
        account = planned(1 / capacity, model=model, strategy=strategy).shedding
        assert account is not None and account.strategy == strategy
        assert account.output == pytest.approx(best, abs=0.01)
        assert account.mincost.output == pytest.approx(mincost, abs=0.01)
    baseline = planned(1 / capacity, model=model, strategy="mincost").shedding
    assert baseline is not None and baseline.output == pytest.approx(mincost, abs=0.01)


def test_minimums_and_weights_reach_the_plan() -> None:
    lifted = with_inputs(EXAMPLE_1, minimum=[0.5, 0.5, 0.5])
    account = planned(0.005, model=lifted).shedding
    assert account is not None and account.output == pytest.approx(916.67, abs=0.01)
    assert account.breakpoints[0].used == pytest.approx(0.625)
    with pytest.raises(PenstockError, match=r"PLN-020.*112\.5 %.*100 %"):
        planned(0.005, model=with_inputs(EXAMPLE_1, minimum=[0.9, 0.9, 0.9]))
    weighed = with_inputs(EXAMPLE_1, weight=[100.0, 1.0, 1.0])
    shed = approximate(weighed, EXAMPLE_1_PLANS["a"], Constant(1 / 70), 1.0)
    assert shed.passes == pytest.approx((1.0, 0.0, 1 / 7)) and shed.output == pytest.approx(200)


def test_minimums_that_the_cheapest_plan_cannot_serve() -> None:
    """Another plan may serve them: then it is the one."""
    model = with_inputs(EXAMPLE_1, minimum=[1.0, 0.0, 0.0])
    found = planned(1 / 40, model=model)
    assert found.shedding is not None and found.plan.passes[0] == 1.0
    assert is_same_tree(found.plan.tree, EXAMPLE_1_PLANS["b"])
    assert found.shedding.output == pytest.approx(100 + 30 * 10 / 3, rel=1e-6)


@pytest.mark.parametrize(
    ("capacity", "outputs"),
    [
        (200, (705.88, 680.00, 195.40)),
        (100, (173.01, 280.01, 81.16)),
        (50, (38.07, 94.45, 26.69)),
    ],
)
def test_windows_that_shrink(capacity: float, outputs: tuple[float, ...]) -> None:
    ranges = chain((10, 20, 70), (1, 0.5, 1 / 7), (0.5, 0.2), ranges=True)
    for each, expected in zip(EXAMPLE_1_PLANS.values(), outputs, strict=True):
        cases: tuple[tuple[JoinModel, Boxes], ...]
        cases = ((EXAMPLE_1, "subset"), (ranges, "faithful"), (ranges, "subset"))
        for model, boxes in cases:
            shed = approximate(model, each, Constant(1 / capacity), 1.0, boxes)
            assert shed.output == pytest.approx(expected, abs=0.01)
            assert shed.used <= 1.0 + 1e-9
    account = planned(1 / capacity, model=ranges).shedding
    assert account is not None and account.output == pytest.approx(max(outputs), abs=0.01)
    assert account.exact_share == pytest.approx(1.0)
    assert account.breakpoints == () and account.mincost.output == pytest.approx(
        outputs[0], abs=0.01
    )


def test_a_memory_budget() -> None:
    roomy = planned(0.0005, Resources(headroom=0.0, memory_rows=60))
    assert is_same_tree(roomy.plan.tree, EXAMPLE_1_PLANS["b"]) and roomy.verdict == "TIGHT"
    assert planned(0.0005, Resources(headroom=0.0, memory_rows=130)).verdict == "ABUNDANT"
    small = planned(0.0005, Resources(headroom=0.0, memory_rows=40))
    assert small.verdict == "INSUFFICIENT" and not small.fits_memory and small.shedding is None
    assert small.sentence == (
        "Insufficient: the best order keeps 50 rows in memory, and 40 rows are allowed."
    )
    shed = planned(0.005, Resources(headroom=0.0, memory_rows=60))
    assert is_same_tree(shed.plan.tree, EXAMPLE_1_PLANS["b"]) and shed.fits_memory
    in_bytes = with_inputs(EXAMPLE_1, row_bytes=[100.0, 100.0, 100.0])
    heavy = planned(0.0005, Resources(headroom=0.0, memory_bytes=1_000), in_bytes)
    assert "kB in memory, and 1 kB are allowed" in heavy.sentence


def test_an_order_that_the_user_insists_on() -> None:
    found = planned(0.002, tree=tree("((ac)b)"))
    assert is_same_tree(found.plan.tree, EXAMPLE_1_PLANS["c"])
    assert found.verdict == "INSUFFICIENT" and found.shedding is not None
    assert shown(found.runner_ups[0].tree, "abc") in ("(a ⋈ b) ⋈ c", "(b ⋈ a) ⋈ c")
    with pytest.raises(PenstockError, match="PLN-023"):
        planned(0.002, tree=Join(Leaf(0), Leaf(1)))


def test_tables_have_no_boxes() -> None:
    inputs = (
        InputModel(name="s", rate=1000, rows=10),
        InputModel(name="t", rate=0, rows=100, is_table=True),
        InputModel(name="u", rate=500, rows=10),
    )
    links = (PredicateModel(mask=3, selectivity=0.05), PredicateModel(mask=6, selectivity=0.05))
    model = JoinModel(inputs=inputs, predicates=links)
    for shedding in ("faithful", "subset"):
        found = planned(0.002, model=model, shedding=shedding)
        assert found.verdict == "INSUFFICIENT" and found.plan.passes[1] == 1.0
        assert found.shedding is not None and found.shedding.cpu <= 1.0 + 1e-9
        assert 0 < found.shedding.kept < 1


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"processors": 0}, "PLN-021"),
        ({"headroom": 1.0}, "PLN-021"),
        ({"headroom": -0.1}, "PLN-021"),
        ({"memory_rows": 0}, "PLN-021"),
        ({"memory_rows": 10, "memory_bytes": 10}, "PLN-022"),
    ],
)
def test_resources_that_make_no_sense(wrong: dict[str, Any], code: str) -> None:
    with pytest.raises(PenstockError, match=code):
        Resources(**wrong)


def test_exhaustive_has_a_limit() -> None:
    seven = chain([10] * 7, [10] * 7, [0.1] * 6)
    with pytest.raises(PenstockError, match="PLN-024"):
        planned(1.0, model=seven, strategy="exhaustive")


def test_batches_that_are_too_dear_by_themselves() -> None:
    library = Measured(replace(BUILT_IN, batch=2e9))
    found = optimise(EXAMPLE_1, library, ALL)
    assert found.verdict == "INSUFFICIENT" and found.shedding is None
    alone = "batches, and rows that come, alone take 200 %"
    assert found.sentence.endswith(f"{alone}, so dropping cannot help.")
    with pytest.raises(PenstockError, match="PLN-025"):
        approximate(EXAMPLE_1, EXAMPLE_1_PLANS["a"], library, 1.0)


def test_nothing_matches() -> None:
    """A selectivity of 0 leaves no results to keep, and no division by them."""
    none = chain((10, 20, 70), (10, 10, 10), (0.0, 0.2))
    for shedding in ("faithful", "subset"):
        account = planned(0.05, model=none, shedding=shedding).shedding
        assert account is not None and account.kept == 1.0 and account.cpu <= 1.0 + 1e-9


def test_extreme_scarcity_still_fits() -> None:
    ranges = chain((10, 20, 70), (1, 0.5, 1 / 7), (0.5, 0.2), ranges=True)
    for model in (EXAMPLE_1, ranges):
        for kappa_s in (1.0, 1e3):
            account = planned(kappa_s, model=model).shedding
            assert account is not None and 0.99 < account.cpu <= 1.0 + 1e-9
            assert account.output > 0
    assert "almost all of c" in planned(1e3).sentence
