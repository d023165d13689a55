"""The theorems on FlowExpect: flows are plans, plans are worth what all futures give on average."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from penstock.lab.caching.flow_expect import FlowExpect, flow_expect, slices
from penstock.lab.kernels.flows import flow_push
from penstock.operators.bounded.laws_independent import NOTHING
from penstock.operators.bounded.policies import Candidates
from tests.support.bounded import random_laws
from tests.support.laws import Schedule

Law = dict[int, float]
Row = tuple[int, int]
"""A row by its stream and key; of rows to come, by its stream and the tick at which it comes."""
Plan = tuple[frozenset[int], ...]
"""The rows held at the end of this tick and of those ahead, fixed now."""
SIZES = [(1, 1), (1, 2), (1, 3), (2, 2), (3, 2), (2, 3)]


class Instance:
    """Candidates, and the laws of the ticks to come; the first law is that of the next tick."""

    def __init__(self, seed: int, budget: int, ahead: int) -> None:
        chance = np.random.default_rng(seed)
        self.budget, self.ahead = budget, ahead
        self.laws = [random_laws(chance, ahead, 2) for _ in range(2)]
        held = [(int(chance.integers(2)), int(chance.integers(2))) for _ in range(budget)]
        self.candidates: list[Row] = [*held, (0, int(chance.integers(2))), (1, NOTHING)]

    def benefit(self, row: int, tick: int) -> float:
        """Say what a row is expected to bring at a tick: the sum of the definition."""
        known = len(self.candidates)
        if row < known:
            stream, key = self.candidates[row]
            return self.laws[1 - stream][tick].get(key, 0.0)
        stream, came = (row - known) % 2, (row - known) // 2
        own, other = self.laws[stream][came], self.laws[1 - stream][tick]
        return sum(mass * other.get(key, 0.0) for key, mass in own.items()) if came < tick else 0.0

    @property
    def benefits(self) -> np.ndarray:
        rows = len(self.candidates) + 2 * (self.ahead - 1)
        return np.array([[self.benefit(x, u) for u in range(self.ahead)] for x in range(rows)])

    def plans(self) -> Iterator[Plan]:
        """Give every way to hold `budget` rows: who was let go does not come back."""
        known = len(self.candidates)

        def longer(plan: Plan) -> Iterator[Plan]:
            if len(plan) == self.ahead:
                yield plan
                return
            new = {known + 2 * (len(plan) - 1), known + 2 * (len(plan) - 1) + 1}
            for kept in itertools.combinations(sorted(plan[-1] | new), self.budget):
                yield from longer((*plan, frozenset(kept)))

        for kept in itertools.combinations(range(known), self.budget):
            yield from longer((frozenset(kept),))

    def worth(self, plan: Plan) -> float:
        """Give a plan's results, averaged over all futures there are."""
        outcomes = [[self._outcomes(law) for law in laws] for laws in self.laws]
        ticks = [list(itertools.product(*pair)) for pair in zip(*outcomes, strict=True)]
        total = 0.0
        for future in itertools.product(*ticks):
            keys = [[key for key, _ in pair] for pair in future]
            chance = float(np.prod([mass for pair in future for _, mass in pair]))
            total += chance * self._results(plan, keys)
        return total

    @staticmethod
    def _outcomes(law: Law) -> list[tuple[int, float]]:
        return [*law.items(), (NOTHING, 1.0 - sum(law.values()))]

    def _results(self, plan: Plan, keys: list[list[int]]) -> int:
        known, made = len(self.candidates), 0
        for tick, kept in enumerate(plan):
            for row in kept:
                stream, key = (row - known) % 2, NOTHING
                if row < known:
                    stream, key = self.candidates[row]
                else:
                    key = keys[(row - known) // 2][stream]
                made += key != NOTHING and key == keys[tick][1 - stream]
        return made


@pytest.mark.parametrize(("budget", "ahead"), SIZES)
def test_a_plan_is_worth_the_sum_of_its_benefits(budget: int, ahead: int, seed: int) -> None:
    instance = Instance(seed, budget, ahead)
    benefits = instance.benefits
    for plan in itertools.islice(instance.plans(), 0, None, 7):
        summed = sum(benefits[row, tick] for tick, kept in enumerate(plan) for row in kept)
        assert summed == pytest.approx(instance.worth(plan), abs=1e-12)


@pytest.mark.parametrize(("budget", "ahead"), SIZES)
def test_flows_find_the_best_of_all_plans(budget: int, ahead: int, seed: int) -> None:
    for turn in range(8):
        instance = Instance(seed + turn, budget, ahead)
        benefits = instance.benefits
        worth = {
            plan: sum(float(benefits[row, tick]) for tick, kept in enumerate(plan) for row in kept)
            for plan in instance.plans()
        }
        keeps, value = flow_expect(benefits, budget)
        assert value == pytest.approx(max(worth.values()), abs=1e-12)
        begun = [own for plan, own in worth.items() if plan[0] == frozenset(keeps.tolist())]
        assert max(begun) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("budget", "ahead"), SIZES)
def test_the_optimal_flow_is_a_plan_and_costs_what_that_is_worth(
    budget: int, ahead: int, seed: int
) -> None:
    instance = Instance(seed, budget, ahead)
    benefits, graph = instance.benefits, slices(budget, ahead)
    earning = graph.arc_rows >= 0
    costs, room = np.zeros(2 * graph.arcs), np.tile([1, 0], graph.arcs)
    costs[::2][earning] = -benefits[graph.arc_rows[earning], graph.arc_slices[earning]]
    costs[1::2] = -costs[::2]
    total = flow_push(graph.graph, room, costs, budget)
    # Nothing is divided, and no two paths share an arc.
    assert set(room.tolist()) <= {0, 1}
    flows = room[1::2] == 1
    heads, tails = graph.graph.heads[::2][flows], graph.graph.heads[1::2][flows]
    for node in range(1, graph.nodes - 1):
        assert np.count_nonzero(heads == node) == np.count_nonzero(tails == node)
    plan = tuple(
        frozenset(graph.arc_rows[flows & (graph.arc_slices == tick)].tolist())
        for tick in range(ahead)
    )
    assert all(len(kept) == budget for kept in plan)
    assert plan in set(instance.plans())
    assert -total == pytest.approx(instance.worth(plan), abs=1e-12)


@pytest.mark.parametrize(("budget", "ahead"), SIZES)
def test_the_policy_reads_benefits_from_the_laws(budget: int, ahead: int, seed: int) -> None:
    for turn in range(5):
        instance = Instance(seed + turn, budget, ahead)
        streams, keys = np.array(instance.candidates).T
        rows = Candidates(
            streams=streams, keys=keys, born=np.zeros(budget + 2, dtype=np.int64),
            numbers=np.arange(budget + 2),
        )  # fmt: skip
        laws = tuple(Schedule(distributions=({}, *laws)) for laws in instance.laws)
        victims = FlowExpect(laws=(laws[0], laws[1]), ahead=ahead).choose_victims(rows, 2, 0)
        kept = frozenset(range(budget + 2)) - set(victims.tolist())
        benefits = instance.benefits
        worth: dict[frozenset[int], float] = {}
        for plan in instance.plans():
            own = sum(float(benefits[row, tick]) for tick, ids in enumerate(plan) for row in ids)
            worth[plan[0]] = max(own, worth.get(plan[0], 0.0))
        assert worth[kept] == pytest.approx(max(worth.values()), abs=1e-12)


def test_looking_farther_does_not_mend_the_published_example() -> None:
    """Plans that are fixed now miss the best decision, however far they look."""
    rows = Candidates(
        streams=np.array([0, 0, 1]), keys=np.array([1, NOTHING, 2]),
        born=np.zeros(3, dtype=np.int64), numbers=np.arange(3),
    )  # fmt: skip
    first = Schedule(distributions=({}, {2: 1.0}, {3: 1.0}, {2: 0.5}))
    second = Schedule(distributions=({2: 1.0}, {3: 0.5}, {1: 0.8}, {1: 0.8}))
    for ahead in (3, 4, 5, 8):
        policy = FlowExpect(laws=(first, second), ahead=ahead)
        assert policy.choose_victims(rows, 2, 0).tolist() == [1, 2]
