"""The theorems of window joins on drawn queries, and the search beside every plan there is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.trees import Join, JoinPlan, Leaf, Pulled, Tree
from penstock.planning.constants import BUILT_IN
from penstock.planning.costs import Constant, CostLibrary, IndexCosts, Measured
from penstock.planning.model import (
    ClassModel,
    InputModel,
    JoinModel,
    PredicateModel,
    SelectionModel,
)
from penstock.planning.plan_costs import cost
from penstock.planning.search import best_plans, placed, search
from penstock.planning.tree_enumeration import trees
from tests.oracle.plans import (
    all_nests,
    all_places,
    is_deep,
    is_product,
    members,
    nested,
    reckon,
    shape_of,
)

CLOSE = 1e-9
# Slow enough that selections are worth moving about, unlike on the machine they were fitted on.
SLOW = Measured(replace(BUILT_IN, terms=200.0, residual=400.0))
# Its hash would be cheap without a key, too, if that were possible.
BUCKETS = CostLibrary(
    table=(
        IndexCosts(
            name="hash",
            probe_s=0.1,
            probe_row_s=0.01,
            insert_s=0.2,
            invalidate_s=0.2,
            needs_equality=True,
        ),
        IndexCosts(name="loop", probe_row_s=0.2, insert_s=0.1, invalidate_s=0.1),
    ),
    arrive_s=0.1,
    emit_s=0.3,
    batch_s=0.05,
)
libraries = st.sampled_from((Constant(1.0), Measured(BUILT_IN), SLOW, BUCKETS))
sizes = st.floats(0.5, 500.0)
chances = st.floats(0.001, 1.0)
# A box cannot tell smaller shares from 0, and the smallest floats have no digits to compare.
shares = st.one_of(st.just(0.0), st.floats(1e-6, 1.0))


@st.composite
def models(
    draw: Any,
    least: int = 2,
    most: int = 5,
    selections: int = 0,
    tables: bool = False,
    uneven: bool = True,
) -> JoinModel:
    """Draw a query; predicates of an `uneven` one may match more of one side's rows."""
    count = draw(st.integers(least, most))
    inputs = []
    for number in range(count):
        if tables and number and draw(st.booleans()):
            inputs.append(InputModel(name=f"t{number}", rate=0, rows=draw(sizes), is_table=True))
        elif draw(st.booleans()):
            inputs.append(InputModel(name=f"s{number}", rate=draw(sizes), rows=draw(sizes)))
        else:
            window = draw(st.floats(0.1, 5.0))
            inputs.append(InputModel(name=f"s{number}", rate=draw(sizes), range_s=window))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    masks = pairs.filter(lambda pair: pair[0] != pair[1]).map(lambda p: 1 << p[0] | 1 << p[1])
    predicates = tuple(
        PredicateModel(
            mask=mask,
            selectivity=draw(chances),
            is_equality=draw(st.booleans()),
            reverse=draw(st.one_of(st.none(), chances)) if uneven else None,
        )
        for mask in draw(st.lists(masks, max_size=count))
    )
    classes = tuple(
        ClassModel(mask=mask, selectivity=draw(chances))
        for mask in draw(st.lists(st.integers(1, (1 << count) - 1), max_size=2))
    )
    places = draw(
        st.lists(
            st.tuples(st.integers(0, count - 1), st.sampled_from(("terms", "residual"))),
            max_size=selections,
            unique=True,
        )
    )
    asked = tuple(
        SelectionModel(
            input=number,
            part=part,
            selectivity=draw(shares),
            cost_s=draw(st.sampled_from((0.0, 1e-9, 1e-7, 1e-6, 0.5, 5.0))),
        )
        for number, part in places
    )
    return JoinModel(inputs=tuple(inputs), predicates=predicates, classes=classes, selections=asked)


def close(expected: Any) -> Any:
    return pytest.approx(expected, rel=CLOSE, abs=1e-300)


def check_every_tree(model: JoinModel, library: CostLibrary) -> None:
    """Observation 1, and that what an input's rows bring does not depend on the tree."""
    expected = reckon(model, all_nests(len(model.inputs))[0], library)
    values = None
    for tree in trees(len(model.inputs)):
        costing = cost(model, tree, library)
        assert costing.output_rate == close(expected.output)
        assert costing.window == close(expected.window)
        values = costing.v if values is None else values
        assert costing.v == close(values)


@settings(max_examples=200)
@given(models(most=5, tables=True), libraries)
def test_every_tree_gives_the_same_output(model: JoinModel, library: CostLibrary) -> None:
    check_every_tree(model, library)


@settings(max_examples=8)
@given(models(least=6, most=6, tables=True), libraries)
def test_every_tree_of_six_gives_the_same_output(model: JoinModel, library: CostLibrary) -> None:
    check_every_tree(model, library)


@settings(max_examples=80)
@given(models(most=5, selections=3, tables=True), libraries, st.data())
def test_costing_means_what_the_formulas_say(
    model: JoinModel, library: CostLibrary, data: Any
) -> None:
    tree = data.draw(st.sampled_from(list(trees(len(model.inputs)))))
    places = data.draw(st.sampled_from(list(all_places(model, nested(tree)))))
    expected = reckon(model, nested(tree), library, places)
    pulled = tuple(
        Pulled(input=each.input, part=each.part, mask=sum(1 << k for k in places[number]))
        for number, each in enumerate(model.selections)
        if len(places[number]) > 1
    )
    found = cost(model, JoinPlan(tree=tree, pulled=pulled), library, indexes="best")
    assert (found.cpu, found.memory_rows) == close((expected.cpu, expected.memory))
    # Selection commutes: wherever it is asked, rate and window of the results are the same.
    assert (found.output_rate, found.window) == close((expected.output, expected.window))


@settings(max_examples=50)
@given(models(most=6, uneven=False))
def test_turnovers_add_up(model: JoinModel) -> None:
    """D1: the rate of a set is its window times the sum of its inputs' turnovers."""
    for tree in list(trees(len(model.inputs)))[:30]:
        for join in cost(model, tree, Constant(1.0)).joins:
            inside = [k for k in range(len(model.inputs)) if join.mask >> k & 1]
            window = model.selectivity(join.mask)
            for k in inside:
                window *= model.inputs[k].window
            assert join.window == close(window)
            assert join.rate == close(window * sum(model.inputs[k].turnover for k in inside))


@given(models(selections=2), libraries, st.data())
def test_cost_and_output_are_linear_in_the_boxes(
    model: JoinModel, library: CostLibrary, data: Any
) -> None:
    """a and v are finite differences of the recursive cost, windows fixed, and sum up."""
    tree = data.draw(st.sampled_from(list(trees(len(model.inputs)))))
    costing = cost(model, tree, library)
    rates = np.array([each.rate for each in model.inputs])
    passes = np.array([data.draw(shares) for _ in rates])
    thin = cost(model, costing.plan, library, rates=rates * passes)
    assert costing.at(passes) == close((thin.cpu, thin.output_rate))
    assert costing.a.sum() + costing.fixed_cpu == close(costing.cpu)
    for k in range(len(rates)):
        without = passes.copy()
        without[k] = 0.0
        lower = cost(model, costing.plan, library, rates=rates * without)
        scale = max(thin.cpu, thin.output_rate)
        assert thin.cpu - lower.cpu == pytest.approx(costing.a[k] * passes[k], abs=CLOSE * scale)
        gained = thin.output_rate - lower.output_rate
        assert gained == pytest.approx(costing.v[k] * passes[k], abs=CLOSE * scale)


@given(models(), st.data(), st.floats(0.01, 100))
def test_value_per_cost_does_not_depend_on_rates(
    model: JoinModel, data: Any, factor: float
) -> None:
    tree = data.draw(st.sampled_from(list(trees(len(model.inputs)))))
    number = data.draw(st.integers(0, len(model.inputs) - 1))
    rates = [each.rate for each in model.inputs]
    before = cost(model, tree, Constant(1.0), rates=rates)
    rates[number] *= factor
    after = cost(model, tree, Constant(1.0), rates=rates)
    assert after.v / after.a == close(before.v / before.a)


@given(models(uneven=False), st.data())
def test_closed_forms(model: JoinModel, data: Any) -> None:
    """v_k = W_Q theta_k; a_k = theta_k times the windows of the parts above that hold k."""
    tree = data.draw(st.sampled_from(list(trees(len(model.inputs)))))
    costing = cost(model, tree, Constant(2.0))
    for k, given_input in enumerate(model.inputs):
        assert costing.v[k] == close(costing.window * given_input.turnover)
        windows = sum(
            join.left_window if join.left_mask >> k & 1 else join.right_window
            for join in costing.joins
            if join.mask >> k & 1
        )
        assert costing.a[k] == close(given_input.turnover * 2.0 * windows)


def tried(model: JoinModel, library: CostLibrary) -> list[tuple[Any, Any]]:
    """Every tree, with every place of its selections."""
    return [
        (nest, reckon(model, nest, library, places))
        for nest in all_nests(len(model.inputs))
        for places in all_places(model, nest)
    ]


@settings(max_examples=150)
@given(models(most=5, selections=2, tables=True), libraries)
def test_the_search_finds_the_best_of_all_plans(model: JoinModel, library: CostLibrary) -> None:
    plans = tried(model, library)
    best = search(model, library)
    assert best.is_exact
    assert best.cpu == close(min(plan.cpu for _, plan in plans))
    least = search(model, library, objective="memory")
    assert least.memory_rows == close(min(plan.memory for _, plan in plans))
    deep = search(model, library, shape="left-deep")
    assert is_deep(nested(deep.plan.tree))
    assert deep.cpu == close(min(plan.cpu for nest, plan in plans if is_deep(nest)))
    assert deep.cpu >= best.cpu * (1 - CLOSE)


@settings(max_examples=12)
@given(models(least=6, most=6, tables=True), libraries)
def test_the_search_finds_the_best_of_six(model: JoinModel, library: CostLibrary) -> None:
    plans = [reckon(model, nest, library) for nest in all_nests(6)]
    assert search(model, library).cpu == close(min(plan.cpu for plan in plans))
    memory = search(model, library, objective="memory").memory_rows
    assert memory == close(min(plan.memory for plan in plans))
    assert search(model, library, worst=True).cpu == close(max(plan.cpu for plan in plans))


@given(models(most=5, tables=True), libraries)
def test_products_are_left_out_when_forbidden(model: JoinModel, library: CostLibrary) -> None:
    nests = all_nests(len(model.inputs))
    linked = [reckon(model, nest, library).cpu for nest in nests if not is_product(model, nest)]
    if not linked:
        with pytest.raises(Exception, match="PLN-011"):
            search(model, library, products=False)
        return
    found = search(model, library, products=False)
    assert not is_product(model, nested(found.plan.tree))
    assert found.cpu == close(min(linked))


@given(models(most=5), libraries, st.data())
def test_the_search_follows_rates_as_given(
    model: JoinModel, library: CostLibrary, data: Any
) -> None:
    """What the searches for shedding ask: thinned rates, windows unchanged."""
    rates = [data.draw(st.sampled_from((0.0, 1.0, 0.3, 20.0))) * i.rate for i in model.inputs]
    found = search(model, library, rates=rates)
    thin = cost(model, found.plan, library, rates=rates)
    nests = all_nests(len(rates))
    assert thin.cpu == close(min(reckon(model, nest, library, rates=rates).cpu for nest in nests))


@settings(max_examples=60)
@given(models(most=5), libraries, st.integers(1, 12))
def test_the_best_plans_are_the_first_of_all(
    model: JoinModel, library: CostLibrary, count: int
) -> None:
    every = sorted(reckon(model, nest, library).cpu for nest in all_nests(len(model.inputs)))
    found = best_plans(model, library, count)
    assert [each.cpu for each in found] == close(every[:count])
    assert len({shape_of(nested(each.plan.tree)) for each in found}) == len(found)


@settings(max_examples=60)
@given(models(least=3, most=4, selections=3, tables=True), libraries)
def test_runner_ups_ask_their_selections_in_the_best_places(
    model: JoinModel, library: CostLibrary
) -> None:
    best: dict[Any, float] = {}
    for nest, plan in tried(model, library):
        shape = shape_of(nest)
        best[shape] = min(best.get(shape, np.inf), plan.cpu)
    found = best_plans(model, library, 3)
    assert found[0].cpu == close(min(best.values()))
    for each in found:
        assert each.cpu == close(best[shape_of(nested(each.plan.tree))])


@settings(max_examples=80)
@given(models(most=4, selections=2, tables=True), libraries, st.floats(0, 1))
def test_bounds_on_what_is_not_the_objective(
    model: JoinModel, library: CostLibrary, between: float
) -> None:
    plans = [plan for _, plan in tried(model, library)]
    for objective, other, bound in (("cpu", "memory", "memory_max"), ("memory", "cpu", "cpu_max")):
        figures = [(getattr(plan, objective), getattr(plan, other)) for plan in plans]
        least, most = (end(figure[1] for figure in figures) for end in (min, max))
        limit = least + between * (most - least) * 0.5 + CLOSE * most
        expected = min(figure[0] for figure in figures if figure[1] <= limit)
        options: dict[str, Any] = {"objective": objective, bound: limit}
        found = search(model, library, **options)
        assert found.fits and found.is_exact
        reached = found.cpu if objective == "cpu" else found.memory_rows
        assert reached == pytest.approx(expected, rel=1e-6)
        none = search(model, library, **{**options, bound: least * 0.5})
        assert not none.fits or least == 0


@settings(max_examples=60)
@given(models(most=5, selections=2), libraries, st.data())
def test_selections_find_their_places_in_a_given_tree(
    model: JoinModel, library: CostLibrary, data: Any
) -> None:
    tree = data.draw(st.sampled_from(list(trees(len(model.inputs)))))
    found = placed(model, tree, library)
    assert nested(found.plan.tree) == nested(tree)
    places = all_places(model, nested(tree))
    assert found.cpu == close(min(reckon(model, nested(tree), library, p).cpu for p in places))


@settings(max_examples=60)
@given(models(least=3, most=6), libraries)
def test_heuristics_stay_near_the_best(model: JoinModel, library: CostLibrary) -> None:
    """A tree of heuristics is a tree of the query, not better than the best nor the dearest."""
    exact, found = search(model, library), search(model, library, n_max=2)
    assert not found.is_exact
    assert members(nested(found.plan.tree)) == frozenset(range(len(model.inputs)))
    deep = search(model, library, shape="left-deep")
    assert exact.cpu * (1 - CLOSE) <= found.cpu <= deep.cpu * (1 + CLOSE)
    dearest, far = search(model, library, worst=True), search(model, library, worst=True, n_max=2)
    assert far.cpu <= dearest.cpu * (1 + CLOSE)


def test_heuristics_find_the_best_of_most_queries() -> None:
    random = np.random.default_rng(11)
    met = 0
    for _ in range(40):
        rates, windows = (np.exp(random.uniform(1.6, 5.3, 8)) for _ in range(2))
        inputs = tuple(
            InputModel(name=f"s{k}", rate=float(rates[k]), rows=float(windows[k])) for k in range(8)
        )
        links = tuple(
            PredicateModel(mask=0b11 << k, selectivity=float(random.uniform(0.005, 0.3)))
            for k in range(7)
        )
        model = JoinModel(inputs=inputs, predicates=links)
        exact = search(model, Constant(1.0)).cpu
        met += search(model, Constant(1.0), n_max=2).cpu <= exact * (1 + CLOSE)
    assert met >= 36


def test_selections_whose_place_is_a_close_call() -> None:
    """Joins that give about as many rows as they take, and selections about as dear as a join."""
    random = np.random.default_rng(3)
    pulled = 0
    for _ in range(150):
        windows = random.uniform(5, 50, 3)
        inputs = tuple(
            InputModel(name=f"s{k}", rate=float(random.uniform(5, 50)), rows=float(windows[k]))
            for k in range(3)
        )
        links = tuple(
            PredicateModel(
                mask=0b11 << k, selectivity=min(float(random.uniform(0.2, 1.5) / windows[k]), 1.0)
            )
            for k in range(2)
        )
        asked = tuple(
            SelectionModel(
                input=k,
                part="terms" if random.random() < 0.7 else "residual",
                selectivity=float(random.uniform(0.1, 0.95)),
                cost_s=float(random.uniform(0.3, 4.0)),
            )
            for k in range(3)
        )
        model = JoinModel(inputs=inputs, predicates=links, selections=asked)
        found = search(model, Constant(1.0))
        assert found.cpu == close(min(plan.cpu for _, plan in tried(model, Constant(1.0))))
        pulled += bool(found.plan.pulled)
    assert 30 <= pulled <= 150


def test_many_inputs_get_a_plan() -> None:
    inputs = tuple(InputModel(name=f"s{k}", rate=10.0 + k, rows=20.0) for k in range(15))
    links = tuple(PredicateModel(mask=0b11 << k, selectivity=0.01) for k in range(14))
    model = JoinModel(inputs=inputs, predicates=links)
    found = search(model, Constant(1.0), products=False)
    deep = search(model, Constant(1.0), products=False, shape="left-deep")
    assert not found.is_exact and deep.is_exact
    assert found.cpu <= deep.cpu
    assert found.costing.output_rate == close(deep.costing.output_rate)


def test_a_relation_joined_with_itself_is_two_inputs() -> None:
    tree: Tree = Join(Leaf(0), Leaf(1))
    one = InputModel(name="s", rate=10.0, rows=5.0)
    model = JoinModel(inputs=(one, one), classes=(ClassModel(mask=3, selectivity=0.2),))
    assert cost(model, tree, Constant(1.0)).output_rate == close(0.2 * 100)
