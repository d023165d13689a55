"""Joins of which the rows of one side match another share than those of the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.algebra.trees import Join, Leaf
from penstock.lab.planner.examples import EXAMPLE_1, drawn_chain, tree
from penstock.planning.costs import Constant
from penstock.planning.model import InputModel, JoinModel, PredicateModel
from penstock.planning.optimiser import Resources, optimise
from penstock.planning.plan_costs import cost, thinned
from penstock.planning.plan_explanation import PlanExplanation
from penstock.planning.search import search
from penstock.planning.space import space_of
from penstock.planning.tree_enumeration import trees
from penstock.vocabulary.errors import PenstockError
from tests.support.plan_costs import uneven

ONE_TO_MANY = JoinModel(
    inputs=(InputModel(name="a", rate=10, rows=40), InputModel(name="b", rate=30, rows=20)),
    predicates=(PredicateModel(mask=0b11, selectivity=0.05, reverse=0.5),),
)


def uneven_example() -> JoinModel:
    """Example 1, where a row of `b` finds half as many of `a`, and four times as many of `c`."""
    ab, bc = EXAMPLE_1.predicates
    return replace(
        EXAMPLE_1, predicates=(replace(ab, reverse=0.25), replace(bc, selectivity=0.8, reverse=0.2))
    )


@pytest.mark.parametrize("sides", [(0, 1), (1, 0)])
def test_two_inputs_give_the_formula(sides: tuple[int, int]) -> None:
    """The rate is f_L W_R rate_L + f_R W_L rate_R, the window f W_L W_R with the mean of both."""
    costing = cost(ONE_TO_MANY, Join(Leaf(sides[0]), Leaf(sides[1])), Constant(1.0))
    from_a, from_b = 0.05 * 20 * 10, 0.5 * 40 * 30
    assert costing.v == pytest.approx([from_a, from_b])
    assert costing.output_rate == pytest.approx(from_a + from_b)
    mean = (from_a + from_b) / (20 * 10 + 40 * 30)
    assert costing.window == pytest.approx(mean * 40 * 20)
    assert costing.joins[0].selectivity == pytest.approx(mean)
    assert costing.cpu == pytest.approx(40), "the same rows come in"


def test_rates_of_three_inputs_by_hand() -> None:
    model = uneven_example()
    ab = (0.5 * 10 * 10 + 0.25 * 10 * 20) / (10 * 10 + 10 * 20)
    bc = (0.8 * 10 * 20 + 0.2 * 10 * 70) / (10 * 20 + 10 * 70)
    expected = [0.5 * bc * 100 * 10, 0.25 * 0.8 * 100 * 20, ab * 0.2 * 100 * 70]
    for each in trees(3):
        costing = cost(model, each, Constant(1.0))
        assert costing.v == pytest.approx(expected)
        assert costing.window == pytest.approx(ab * bc * 1000)
    middle = cost(model, tree("((ab)c)"), Constant(1.0)).joins[0]
    assert (middle.rate, middle.window) == pytest.approx((0.5 * 100 + 0.25 * 200, ab * 100))
    product = cost(model, tree("((ac)b)"), Constant(1.0)).joins[0]
    assert product.rate == pytest.approx(800), "a predicate leans only once it has been asked"


def test_the_order_follows_the_way_that_brings_fewer_rows() -> None:
    """Few of the pairs that the busiest stream completes match, so that it may come early."""
    model = replace(
        EXAMPLE_1,
        predicates=(
            PredicateModel(mask=0b011, selectivity=0.5, reverse=0.5),
            PredicateModel(mask=0b110, selectivity=0.5, reverse=0.02),
        ),
    )
    assert search(EXAMPLE_1, Constant(1.0)).cpu == pytest.approx(250)
    found = search(model, Constant(1.0))
    assert found.cpu == pytest.approx(100 + 0.5 * 200 + 0.02 * 700)
    assert {join.mask for join in found.costing.joins} == {0b110, 0b111}


def test_the_search_walks_the_rates_that_plans_have() -> None:
    """Of more than two inputs the ways change rates that no mean gives; they do so in any tree."""
    rng = np.random.default_rng(5)
    model = uneven(drawn_chain(rng, 5), rng)
    space = space_of(model, Constant(1.0), ())
    for shares in (np.ones(5), rng.uniform(0.1, 1.0, 5)):
        rates = shares * [each.rate for each in model.inputs]
        turnovers = space.turnovers(rates)
        for each in trees(5):
            for join in cost(model, each, Constant(1.0), rates=rates).joins:
                walked = space.windows[join.mask] * turnovers[join.mask]
                assert (join.rate, join.window) == pytest.approx((walked, space.windows[join.mask]))


def test_the_same_both_ways_is_as_before() -> None:
    same = replace(
        EXAMPLE_1,
        predicates=tuple(replace(each, reverse=each.selectivity) for each in EXAMPLE_1.predicates),
    )
    for each in trees(3):
        one, other = (cost(model, each, Constant(1.0)) for model in (EXAMPLE_1, same))
        assert one.a == pytest.approx(other.a)
        assert one.v == pytest.approx(other.v)
    assert EXAMPLE_1.leanings == ()
    assert EXAMPLE_1.means == (0.5, 0.2)


def test_several_predicates_of_two_inputs_count_together() -> None:
    parts = (
        PredicateModel(mask=0b11, selectivity=0.5, reverse=0.8, is_equality=False),
        PredicateModel(mask=0b11, selectivity=0.1, reverse=0.625),
    )
    together = cost(ONE_TO_MANY, Join(Leaf(0), Leaf(1)), Constant(1.0))
    apart = cost(replace(ONE_TO_MANY, predicates=parts), Join(Leaf(0), Leaf(1)), Constant(1.0))
    assert apart.v == pytest.approx(together.v)
    assert apart.window == pytest.approx(together.window)


def test_a_table_has_the_way_of_the_stream_and_two_tables_the_mean() -> None:
    stream = InputModel(name="s", rate=10, rows=5)
    table = InputModel(name="t", rate=0, rows=100, is_table=True)
    link = PredicateModel(mask=0b11, selectivity=0.02, reverse=0.6)
    model = JoinModel(inputs=(stream, table), predicates=(link,))
    assert cost(model, Join(Leaf(0), Leaf(1)), Constant(1.0)).output_rate == pytest.approx(20)
    turned = JoinModel(inputs=(table, stream), predicates=(link,))
    assert cost(turned, Join(Leaf(0), Leaf(1)), Constant(1.0)).output_rate == pytest.approx(600)
    assert JoinModel(inputs=(table, table), predicates=(link,)).means == pytest.approx((0.31,))


def test_rows_of_one_way_that_never_match_bring_nothing() -> None:
    never = replace(ONE_TO_MANY.predicates[0], selectivity=0.0)
    costing = cost(replace(ONE_TO_MANY, predicates=(never,)), tree("(ab)"), Constant(1.0))
    assert costing.v == pytest.approx([0.0, 600.0])
    neither = replace(never, reverse=0.0)
    assert replace(ONE_TO_MANY, predicates=(neither,)).leanings == ((3, 0, 1.0), (3, 1, 1.0))
    nothing = cost(replace(ONE_TO_MANY, predicates=(neither,)), tree("(ab)"), Constant(1.0))
    assert (nothing.output_rate, nothing.window) == (0.0, 0.0)


def test_windows_do_not_depend_on_what_passes() -> None:
    model = uneven_example()
    passes = (0.1, 1.0, 0.5)
    full, plan = cost(model, tree("((ab)c)"), Constant(1.0)), tree("((ab)c)")
    behind = cost(thinned(model, passes), plan, Constant(1.0))
    assert behind.window == pytest.approx(full.window)
    assert (behind.cpu, behind.output_rate) == pytest.approx(full.at(passes))
    again = thinned(thinned(model, passes), (0.5, 0.5, 0.5))
    assert again.means == pytest.approx(model.means)


def test_the_input_whose_rows_match_is_let_through() -> None:
    """Rows of a and b cost the same; those of b bring twenty times as much."""
    library, resources = Constant(1 / 20), Resources(headroom=0.0)
    planned = optimise(ONE_TO_MANY, library, resources)
    assert planned.verdict == "INSUFFICIENT"
    assert planned.plan.passes == pytest.approx((0.0, 2 / 3))
    assert (
        "a row of a meets 5 % of b, one of b 50 % of a"
        in PlanExplanation.of(planned, ONE_TO_MANY).text()
    )
    turned = replace(ONE_TO_MANY.predicates[0], selectivity=0.5, reverse=0.0005)
    other = optimise(replace(ONE_TO_MANY, predicates=(turned,)), library, resources)
    assert other.plan.passes == pytest.approx((1.0, 1 / 3))


@pytest.mark.parametrize("bad", [-0.1, 1.5])
def test_shares_of_either_way_are_checked(bad: float) -> None:
    with pytest.raises(PenstockError, match="PLN-004"):
        PredicateModel(mask=0b11, selectivity=0.5, reverse=bad)


def test_only_two_inputs_have_two_ways() -> None:
    with pytest.raises(AssertionError, match="two ways"):
        PredicateModel(mask=0b111, selectivity=0.5, reverse=0.1)
