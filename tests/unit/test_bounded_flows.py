"""Solvers that know the law or the future: flows, exhaustive searches, farthest references."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from penstock.lab.caching.flow_expect import FlowExpect, expectimax, flow_expect, slices
from penstock.lab.caching.look_ahead import (
    EXAMPLE,
    EXAMPLE_TICKS,
    exhaustive,
    flow_from_nothing,
)
from penstock.lab.caching.workload import FLOOR, results
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.offline import lfd, next_uses, opt_offline
from penstock.operators.bounded.policies import Candidates
from tests.support.laws import Schedule


def test_the_published_example_is_kept_by_the_flow_and_lost_by_it() -> None:
    keeps, value = flow_expect(EXAMPLE, 1)
    assert keeps.tolist() == [0]
    assert value == pytest.approx(1.6, abs=1e-12)
    found = expectimax([(0, 1), (0, None), (1, 2)], EXAMPLE_TICKS, 1)
    assert found == {((0, 1),): pytest.approx(1.6), ((1, 2),): pytest.approx(1.75)}


def test_the_policy_reads_the_example_from_its_laws() -> None:
    first = Schedule(distributions=({}, {2: 1.0}, {3: 1.0}, {2: 0.5}))
    second = Schedule(distributions=({2: 1.0}, {3: 0.5}, {1: 0.8}, {1: 0.8}))
    policy = FlowExpect(laws=(first, second), ahead=3)
    rows = Candidates(
        streams=np.array([0, 0, 1]),
        keys=np.array([1, -9, 2]),
        born=np.zeros(3, dtype=np.int64),
        numbers=np.arange(3),
    )
    assert policy.choose_victims(rows, 2, 0).tolist() == [1, 2]


@pytest.mark.parametrize("budget", [1, 2, 5])
@pytest.mark.parametrize("ahead", [1, 2, 3, 6])
def test_the_graph_has_the_size_of_its_formula(budget: int, ahead: int) -> None:
    graph = slices(budget, ahead)
    assert graph.nodes == ahead**2 + (budget + 2) * ahead + 1
    inner = sum(budget + 2 + 2 * (j - 1) for j in range(1, ahead))
    stays = sum(budget + 2 + 2 * j for j in range(ahead))
    assert graph.arcs == budget + 2 + stays + inner + 2 * (ahead - 1)
    tails = np.repeat(np.arange(graph.nodes), np.diff(graph.graph.starts))
    forward = graph.graph.arcs % 2 == 0
    assert (tails < graph.graph.heads[graph.graph.arcs])[forward].all()


def test_the_flow_is_the_linear_programmes_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(30):
        budget, ahead = int(rng.integers(1, 5)), int(rng.integers(1, 6))
        benefits = rng.random((budget + 2 + 2 * (ahead - 1), ahead)).round(3)
        plan = slices(budget, ahead)
        graph = plan.graph
        balance = np.zeros((plan.nodes, plan.arcs))
        arcs = np.arange(plan.arcs)
        np.add.at(balance, (graph.heads[2 * arcs + 1], arcs), 1.0)
        np.add.at(balance, (graph.heads[2 * arcs], arcs), -1.0)
        supply = np.zeros(plan.nodes)
        supply[0], supply[-1] = budget, -budget
        costs = np.where(plan.arc_rows >= 0, -benefits[plan.arc_rows, plan.arc_slices], 0.0)
        best = linprog(costs, A_eq=balance, b_eq=supply, bounds=(0, 1))
        keeps, value = flow_expect(benefits, budget)
        assert value == pytest.approx(-best.fun, abs=1e-9)
        assert len(keeps) == budget


def test_both_solvers_equal_trying_everything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(60):
        budget = int(rng.integers(1, 4))
        first, second = rng.integers(0, int(rng.integers(2, 5)), (2, 7))
        best = [exhaustive(first, second, k) for k in range(1, budget + 1)]
        assert opt_offline(first, second, budget).values.tolist() == [0, *best]
        assert flow_from_nothing(first, second, budget) == pytest.approx(best[-1], abs=1e-9)


def test_the_optimum_can_be_carried_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for length, budget, warm_up in ((1, 1, 0), (30, 2, 0), (200, 7, 50), (400, 40, 100)):
        keys = np.cumsum(rng.integers(-1, 2, (2, length)), axis=1)
        found = opt_offline(keys[0], keys[1], budget, warm_up)
        held = np.zeros(length + 1, dtype=np.int64)
        made = 0
        for stream in range(2):
            for tick in np.flatnonzero(found.until[stream] >= 0):
                last = found.until[stream, tick]
                assert last > tick
                held[tick:last] += 1
                met = np.flatnonzero(keys[1 - stream, : last + 1] == keys[stream, tick])
                made += int(np.count_nonzero(met[met > tick] >= warm_up))
        assert held.max() <= budget
        assert made == found.values[budget]
        gains = np.diff(found.values)
        assert (gains >= 0).all()
        assert (np.diff(gains) <= 0).all()


def test_no_keys_no_results() -> None:
    none = np.empty(0, dtype=np.int64)
    assert opt_offline(none, none, 3).values.tolist() == [0, 0, 0, 0]
    assert not len(lfd(none, 1))


def test_farthest_references_are_optimal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        keys = rng.integers(0, 5, 9)
        budget = int(rng.integers(1, 4))
        assert lfd(keys, budget).sum() == _most_hits(keys, budget)


def _most_hits(keys: np.ndarray, budget: int) -> int:
    @cache
    def best(held: frozenset[int], at: int) -> int:
        if at == len(keys):
            return 0
        key = int(keys[at])
        if key in held:
            return 1 + best(held, at + 1)
        choices = [*held, key]
        keeps = combinations(choices, min(budget, len(choices)))
        return max(best(frozenset(keep), at + 1) for keep in keeps)

    return best(frozenset(), 0)


def test_next_uses_of_repeated_keys() -> None:
    assert next_uses(np.array([3, 3, 1, 3, 1])).tolist() == [1, 3, 4, 5, 5]


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_flow_expect_fills_a_cache_of_any_size(budget: int) -> None:
    policy = FlowExpect(laws=FLOOR.laws, ahead=2)
    cache_ = JoinCache(budget, policy)
    first, second = FLOOR.draw(12, 0)
    for tick in range(12):
        cache_.step(int(first[tick]), int(second[tick]), tick)
        assert len(cache_) == min(budget, 2 * tick + 2)


def test_looking_ahead_gains() -> None:
    made = {ahead: 0 for ahead in (1, 8)}
    best = 0
    for seed in range(3):
        keys = FLOOR.draw(500, seed)
        best += int(opt_offline(keys[0], keys[1], 20, 80).values[20])
        for ahead in made:
            made[ahead] += results(FlowExpect(laws=FLOOR.laws, ahead=ahead), keys, 20, 80)
    assert made[1] < made[8] < best
