"""Shedding: the laws of the specification, against general solvers and by exhaustion."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from penstock.lab.planner.examples import drawn_chain
from penstock.planning.costs import Constant
from penstock.planning.geometric import most_product
from penstock.planning.model import SelectionModel
from penstock.planning.pass_fractions import approximate
from penstock.planning.plan_costs import cost
from penstock.planning.selections import chain, ranked
from penstock.planning.shedding import breakpoints, shed, shed_filters
from penstock.planning.tree_enumeration import trees
from tests.support.plan_costs import uneven

INSTANCES = 300


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw what the inputs of a plan cost and give; some ratios tie, some rows are free."""
    n = int(rng.integers(1, 8))
    a, v = rng.uniform(0.1, 10, n), rng.uniform(0.1, 10, n)
    if n > 1 and rng.random() < 0.3:
        a[1], v[1] = 2 * a[0], 2 * v[0]
    a[rng.random(n) < 0.05] = 0.0
    return a, v


def test_the_greedy_is_the_optimum_of_the_linear_programme(seed: int) -> None:
    for instance in range(INSTANCES):
        rng = np.random.default_rng([seed, instance])
        a, v = drawn(rng)
        low = rng.uniform(0, 0.6, len(a)) * (instance % 2)
        weights = rng.uniform(0.1, 10, len(a)) if instance % 3 == 0 else np.ones(len(a))
        bound = float(rng.uniform(a @ low + 1e-6, 1.2 * a.sum() + 1e-6))
        found = shed(a.tolist(), v.tolist(), bound, low.tolist(), weights.tolist())
        oracle = linprog(
            -weights * v,
            A_ub=[a],
            b_ub=[bound],
            bounds=list(zip(low, np.ones(len(a)), strict=True)),
        )
        assert found.worth == pytest.approx(-oracle.fun, rel=1e-6)
        assert found.used <= bound * (1 + 1e-9)
        assert all(low - 1e-12 <= found.passes) and max(found.passes) <= 1
        assert found.output == pytest.approx(v @ found.passes)


def test_plans_whose_predicates_are_not_the_same_both_ways_are_shed_best(seed: int) -> None:
    for instance in range(INSTANCES // 3):
        rng = np.random.default_rng([seed, instance])
        model = uneven(drawn_chain(rng, int(rng.integers(2, 6))), rng)
        every = list(trees(len(model.inputs)))
        full = cost(model, every[int(rng.integers(len(every)))], Constant(1.0))
        bound = full.cpu * float(rng.uniform(0.05, 0.95))
        oracle = linprog(-full.v, A_ub=[full.a], b_ub=[bound], bounds=(0, 1))
        found = approximate(model, full.plan, Constant(1.0), bound)
        assert found.output == pytest.approx(-oracle.fun, rel=1e-6)
        # What is promised is what the plan costs and gives behind its boxes.
        rates = [each.rate * x for each, x in zip(model.inputs, found.passes, strict=True)]
        behind = cost(model, full.plan, Constant(1.0), rates=rates)
        assert (behind.cpu, behind.output_rate) == pytest.approx((found.used, found.output))


def test_the_capacity_curve_is_concave_and_rises(seed: int) -> None:
    for instance in range(INSTANCES):
        rng = np.random.default_rng([seed, instance])
        a, v = drawn(rng)
        low = (rng.uniform(0, 0.6, len(a)) * (instance % 2)).tolist()
        corners = breakpoints(a.tolist(), v.tolist(), low)
        assert len(corners) <= len(a) + 1
        slopes = [(q.output - p.output) / (q.used - p.used) for p, q in pairwise(corners)]
        assert all(before >= after * (1 - 1e-9) > 0 for before, after in pairwise(slopes))
        assert corners[-1].output == pytest.approx(v.sum())
        for bound in rng.uniform(corners[0].used, corners[-1].used + 1e-9, 5):
            between = np.interp(bound, [p.used for p in corners], [p.output for p in corners])
            if bound > 0:
                found = shed(a.tolist(), v.tolist(), float(bound), low).output
                assert found == pytest.approx(between, rel=1e-9)


def test_one_box_at_the_source_is_best_for_filters(seed: int) -> None:
    for instance in range(INSTANCES // 3):
        rng = np.random.default_rng([seed, instance])
        count = int(rng.integers(1, 5))
        filters = [
            SelectionModel(input=0, selectivity=s, cost_s=c)
            for s, c in zip(
                rng.uniform(0.05, 1, count), rng.uniform(1e-4, 2e-3, count), strict=True
            )
        ]
        rate = float(rng.uniform(1000, 20000))
        orders = {
            order: sum(chain(rate, [filters[k] for k in order]))
            for order in permutations(range(count))
        }
        best = sum(chain(rate, ranked(filters)))
        assert best == pytest.approx(min(orders.values()), rel=1e-9)
        output = rate * float(np.prod([each.selectivity for each in filters]))
        for order, total in orders.items():
            if total <= 1.0:
                continue
            demands = chain(rate, [filters[k] for k in order])
            # What passes all boxes up to a filter never rises: y1 >= y2 >= ... >= y(n+1).
            falling = -np.eye(count, count + 1) + np.eye(count, count + 1, k=1)
            oracle = linprog(
                [0.0] * count + [-output],
                A_ub=np.vstack([[*demands, 0.0], falling]),
                b_ub=[1.0] + [0.0] * count,
                bounds=(0, 1),
            )
            found = shed_filters(demands, output, 1.0)
            assert found.output == pytest.approx(-oracle.fun, rel=1e-6)
            assert found.output == pytest.approx(output / total, rel=1e-9)
            assert found.output <= shed_filters([best], output, 1.0).output * (1 + 1e-9)


def test_programmes_reach_the_optimum_of_a_general_solver(seed: int) -> None:
    for instance in range(60):
        rng = np.random.default_rng([seed, instance])
        n = int(rng.integers(2, 6))
        exponents = np.vstack([np.eye(n), rng.integers(0, 3, (n, n))]).astype(float)
        costs = np.exp(rng.uniform(-2, 3, 2 * n))
        low = rng.uniform(0.01, 0.2, n) if instance % 2 else np.full(n, 1e-9)
        floors = np.log(low)
        gains = rng.uniform(0.2, 2, n)
        least = costs @ np.exp(exponents @ floors)
        bound = float(least + rng.uniform(0.02, 0.9) * (costs.sum() - least))
        y = most_product(gains, costs, exponents, bound, floors)
        assert costs @ np.exp(exponents @ y) <= bound * (1 + 1e-9)
        assert all(floors - 1e-9 <= y) and max(y) <= 0
        oracle = minimize(
            lambda at, gains=gains: -gains @ at,
            np.maximum(floors * 0.5, -3),
            jac=lambda at, gains=gains: -gains,
            bounds=list(zip(floors, np.zeros(n), strict=True)),
            constraints={
                "type": "ineq",
                "fun": lambda at, c=costs, e=exponents, b=bound: -np.log(c @ np.exp(e @ at) / b),
            },
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        if oracle.success and costs @ np.exp(exponents @ oracle.x) <= bound * (1 + 1e-9):
            assert gains @ y >= -oracle.fun - 1e-6


def flow(
    node: int | tuple, rates: np.ndarray, windows: np.ndarray, f: np.ndarray, boxes: dict
) -> tuple[float, float, float, frozenset[int]]:
    """Cost a tree with a box at every place: (rate behind its box, window, cost, inputs below)."""
    if isinstance(node, int):
        return rates[node] * boxes[node], windows[node], 0.0, frozenset([node])
    left, right = (flow(side, rates, windows, f, boxes) for side in node)
    share = float(np.prod([f[i, j] for i in left[3] for j in right[3]]))
    rate = boxes[node] * share * (left[0] * right[1] + right[0] * left[1])
    cost = left[2] + right[2] + left[0] + right[0]
    return rate, share * left[1] * right[1], cost, left[3] | right[3]


def inner(node: int | tuple) -> list[tuple]:
    """List the joins of a tree, from the top down."""
    if isinstance(node, int):
        return []
    return [node, *inner(node[0]), *inner(node[1])]


def test_boxes_at_the_inputs_are_enough(seed: int) -> None:
    for instance in range(100):
        rng = np.random.default_rng([seed, instance])
        n = int(rng.integers(2, 7))
        nodes: list[int | tuple] = list(range(n))
        while len(nodes) > 1:
            left = nodes.pop(int(rng.integers(len(nodes))))
            right = nodes.pop(int(rng.integers(len(nodes))))
            nodes.append((left, right))
        tree = nodes[0]
        rates, windows = np.exp(rng.uniform(0, 5, (2, n)))
        f = np.triu(rng.uniform(0.01, 1, (n, n)))
        f = f + np.triu(f, 1).T
        boxes = {place: float(rng.uniform(0.05, 1)) for place in [*range(n), *inner(tree)]}
        assert len(boxes) == 2 * n - 1
        before = flow(tree, rates, windows, f, boxes)
        moved = dict(boxes)
        for join in inner(tree):
            for side in join:
                moved[side] *= moved[join]
            moved[join] = 1.0
        after = flow(tree, rates, windows, f, moved)
        assert after[0] == pytest.approx(before[0], rel=1e-9)
        assert after[1] == pytest.approx(before[1], rel=1e-12)
        assert after[2] < before[2]
