"""Joins of many overloaded inputs are planned in time, and EXPLAIN says how the order was found."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from penstock.algebra.trees import Join, Leaf, Tree
from penstock.kernels import large_join_trees as kernels
from penstock.planning.constants import BUILT_IN
from penstock.planning.costs import Constant, Measured
from penstock.planning.model import InputModel, JoinModel, PredicateModel
from penstock.planning.optimiser import Choices, Resources, optimise
from penstock.planning.plan_costs import cost
from penstock.planning.plan_explanation import PlanExplanation
from penstock.planning.search import search
from penstock.planning.searched import Wanted
from penstock.planning.space import space_of
from penstock.planning.tree_improvement import improved_trees

MANY = 16
LINKS = {
    "chain": lambda n: [(k, k + 1) for k in range(n - 1)],
    "star": lambda n: [(0, k) for k in range(1, n)],
    "clique": lambda n: list(combinations(range(n), 2)),
}


def drawn(shape: str, kind: str, inputs: int = MANY) -> JoinModel:
    rng = np.random.default_rng(inputs)
    rates, rows = np.exp(rng.uniform(np.log(5), np.log(200), (2, inputs))).tolist()
    links = LINKS[shape](inputs)
    # A clique's many conditions leave something each.
    low, high = (0.5, 0.95) if shape == "clique" else (0.005, 0.3)
    return JoinModel(
        inputs=tuple(
            InputModel(name=f"s{k}", rate=rate, rows=window)
            if kind == "rows"
            else InputModel(name=f"s{k}", rate=rate, range_s=window / rate)
            for k, (rate, window) in enumerate(zip(rates, rows, strict=True))
        ),
        predicates=tuple(
            PredicateModel(mask=1 << a | 1 << b, selectivity=float(rng.uniform(low, high)))
            for a, b in links
        ),
    )


@pytest.mark.parametrize("shape", LINKS)
@pytest.mark.parametrize("kind", ["rows", "range"])
def test_sixteen_overloaded_inputs_are_planned(shape: str, kind: str) -> None:
    model, library = drawn(shape, kind), Measured(BUILT_IN)
    optimise(drawn(shape, kind, 5), library, Resources(processors=1e-9, headroom=0.0))
    least = search(model, library).costing
    bound = least.fixed_cpu + (least.cpu - least.fixed_cpu) / 4
    planned = optimise(model, library, Resources(processors=bound, headroom=0.0), Choices())
    assert planned.verdict == "INSUFFICIENT" and not planned.is_exact
    assert planned.shedding is not None and 0 < planned.shedding.kept < 1
    assert planned.shedding.cpu <= bound * (1 + 1e-6)
    told = PlanExplanation.of(planned, model).text()
    assert "More than 12 inputs: a good order was searched by improvement" in told


@pytest.mark.parametrize("products", [True, False])
@pytest.mark.parametrize("shape", LINKS)
def test_improved_trees_take_what_they_are_said_to(shape: str, products: bool) -> None:
    model, library = drawn(shape, "rows", 9), Measured(BUILT_IN)
    space = space_of(model, library, ())
    found = improved_trees(space, [], Wanted(products=products), count=12)
    figures = [spent for spent, _ in found]
    assert figures == sorted(figures) and len(found) == 12
    assert len({frozenset(_masks(tree)) for _, tree in found}) == 12
    for spent, tree in found:
        costing = cost(model, tree, library)
        assert spent == pytest.approx(sum(join.join_cpu for join in costing.joins), rel=1e-9)
        assert products or not any(join.is_product for join in costing.joins)


def test_every_step_from_a_tree_is_priced() -> None:
    """Of three inputs every other tree is one step away: the best is found from any."""
    model, library = drawn("chain", "rows", 3), Constant(1.0)
    space = space_of(model, library, ())
    best = min(cost(model, tree, library).cpu for tree in _three())
    for tree in _three():
        spent, met = improved_trees(space, [tree], Wanted(), count=3)[0]
        assert cost(model, met, library).cpu == pytest.approx(best)
        assert spent <= best * (1 + kernels.GAIN)


def test_the_exact_search_finds_the_same_with_a_limit() -> None:
    """From nine inputs on a good plan bounds the search: what it finds must not change."""
    for shape in LINKS:
        model, library = drawn(shape, "rows", 10), Measured(BUILT_IN)
        found = search(model, library)
        assert found.is_exact
        better = improved_trees(space_of(model, library, ()), [], Wanted())[0][1]
        assert found.cpu <= cost(model, better, library).cpu * (1 + 1e-12)


def _masks(tree: Tree) -> list[int]:
    return [] if isinstance(tree, Leaf) else [tree.mask, *_masks(tree.left), *_masks(tree.right)]


def _three() -> list[Tree]:
    a, b, c = Leaf(0), Leaf(1), Leaf(2)
    return [Join(Join(a, b), c), Join(Join(b, c), a), Join(Join(a, c), b)]
