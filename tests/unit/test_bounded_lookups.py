"""Lookup caches that choose their policy, beside those that do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from penstock.algebra.memories import FAMILIES, Memory, StreamLaw
from penstock.kernels.lookup_caches import keys_slice
from penstock.kernels.scores import table_score
from penstock.lab.caching.policies import Heeb, Prob, Search
from penstock.operators.bounded.contests_choice import Choice
from penstock.operators.bounded.laws_independent import LinearTrend, Stationary
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import BoundedNormal, Normal
from penstock.operators.bounded.lookups import AutoLookup
from penstock.operators.bounded.lookups_caches import FadingLfu, LookupCache
from penstock.operators.bounded.policies_baselines import Lfu, Lru
from penstock.operators.bounded.weightings import Exponential
from penstock.vocabulary.batches import Ints


def drawn(seed: int, length: int = 3000, keys: int = 200) -> Ints:
    rng = np.random.default_rng(seed)
    found: Ints = np.minimum(rng.zipf(1.3, length), keys).astype(np.int64) * 7 - 300
    return found


class Twin:
    """A cache of keys, each with the reference that brought it; the lowest rank goes."""

    def __init__(self, budget: int, rank: Callable[[int, int], Any]) -> None:
        self.budget, self.rank = budget, rank
        self.held: dict[int, int] = {}
        self.used: dict[int, int] = {}
        self.counts: Counter[int] = Counter()

    def trace(self, keys: Ints) -> tuple[list[bool], list[int]]:
        hits, left = [], []
        for now, key in enumerate(keys.tolist()):
            hits.append(key in self.held)
            self.held.setdefault(key, now)
            self.used[key] = now
            self.counts[key] += 1
            left.append(-1)
            if len(self.held) > self.budget:
                order = sorted(self.held, key=lambda each: (self.rank(each, now), self.held[each]))
                left[-1] = self.held.pop(order[0])
        return hits, left


def traced(cache: LookupCache | AutoLookup, keys: Ints) -> tuple[list[bool], list[int]]:
    hits, left = cache.trace(keys)
    return hits.tolist(), left.tolist()


@pytest.mark.parametrize("budget", [1, 7, 40])
def test_plain_policies_are_their_slow_twins(budget: int) -> None:
    keys = drawn(budget)
    lru = Twin(budget, lambda key, _now: lru.used[key])
    assert traced(LookupCache(budget, Lru()), keys) == lru.trace(keys)
    lfu = Twin(budget, lambda key, _now: (lfu.counts[key], lfu.used[key]))
    assert traced(LookupCache(budget, Lfu(keys_max=5000)), keys) == lfu.trace(keys)


MODELS = (
    LinearTrend(slope=1, intercept=0, noise=BoundedNormal(sigma=6.0, half_width=20)),
    RandomWalk(drift=0, step=Normal(sigma=3.0)),
    Ar1(phi0=5.59, phi1=0.72, sigma=4.22, grid=0.5),
    Stationary(keys=np.arange(40), probabilities=np.arange(1, 41) / 820),
)


@pytest.mark.parametrize("search", ["auto", "scan"])
@pytest.mark.parametrize("law", MODELS, ids=lambda law: type(law).__name__)
def test_the_lowest_score_goes_however_it_is_found(law: Ar1, search: Search) -> None:
    keys = law.draw(1500, np.random.default_rng(4))
    policy = Heeb(laws=(law,), weighting=Exponential(12.0), caching=True, search=search)
    (table,) = policy.rule().tables
    twin = Twin(12, lambda key, now: table_score(table, key, now, int(keys[now])))
    found, expected = traced(LookupCache(12, policy), keys), twin.trace(keys)
    # Of rows that are all worth nothing, an end's goes instead of the oldest.
    assert found[0] == expected[0]
    assert search == "auto" or found == expected


def test_the_chance_of_the_next_reference_orders_rows_too() -> None:
    law = MODELS[1]
    keys = law.draw(1500, np.random.default_rng(6))
    policy = Prob(laws=(law,), caching=True)
    (table,) = policy.rule().tables
    twin = Twin(9, lambda key, now: table_score(table, key, now, int(keys[now])))
    hits = LookupCache(9, policy).feed(keys)
    assert hits.tolist() == twin.trace(keys)[0]


def test_references_fade() -> None:
    keys, budget = drawn(3, 800, 60), 6
    half_life = 8.0 * budget
    cache = LookupCache(budget, FadingLfu(), half_life=half_life)
    weights: dict[int, float] = {}
    held: set[int] = set()
    expected = []
    for now, key in enumerate(keys.tolist()):
        weights[key] = weights.get(key, 0.0) + 2.0 ** (now / half_life)
        expected.append(key in held)
        held.add(key)
        if len(held) > budget:
            held.remove(min(held, key=lambda each: weights[each]))
    assert cache.feed(keys).tolist() == expected


def test_a_cache_remembers_no_more_than_it_may_and_never_loses_rows() -> None:
    cache = LookupCache(20, Lfu(), remembered=64)
    keys = np.arange(5000) * 31
    keys[::3] = keys[0:60:3].repeat(84)[: len(keys[::3])]
    hits = np.concatenate([cache.feed(keys[i : i + 50]) for i in range(0, 5000, 50)])
    assert cache.remembered <= 64
    assert len(cache) == 20 and len(set(cache.keys.tolist())) == 20
    assert hits.sum() > 1000


def test_a_declared_law_is_in_force_at_once() -> None:
    law = Ar1(phi0=5.0, phi1=0.8, sigma=9.0)
    keys = law.draw(2000, np.random.default_rng(2))
    declared = StreamLaw(family="ar1", parameters={"phi0": 5.0, "phi1": 0.8, "sigma": 9.0})
    cache = AutoLookup(Memory(rows=15, laws=(declared,)), numeric=True)
    assert (cache.in_force, FAMILIES[cache.family]) == ("HEEB", "ar1")
    policy = Heeb(laws=(law,), weighting=Exponential(15.0), caching=True)
    hits, left = LookupCache(15, policy).trace(keys)
    found = cache.trace(keys)
    assert (found[0].tolist(), found[1].tolist()) == (hits.tolist(), left.tolist())
    assert "hit_rates" not in cache.facts()


@pytest.mark.parametrize(("name", "policy"), [("LRU", Lru()), ("LFU", Lfu(keys_max=5000))])
def test_a_named_policy_is_taken_at_its_word(name: str, policy: Lru | Lfu) -> None:
    keys = drawn(9)
    cache = AutoLookup(Memory(rows=25, policy=name), numeric=True)
    assert cache.feed(keys).tolist() == LookupCache(25, policy).feed(keys).tolist()
    assert cache.facts() == {"policy": name, "budget": 25, "held": 25}


def test_chance_is_a_matter_of_the_seed() -> None:
    keys = drawn(5)

    def hits(seed: int) -> list[bool]:
        cache = AutoLookup(Memory(rows=10, policy="RAND", options={"seed": seed}), numeric=False)
        found: list[bool] = cache.feed(keys).tolist()
        assert len(cache) == 10
        return found

    assert hits(1) == hits(1) != hits(2)


def test_a_walk_is_found_and_followed() -> None:
    walk = RandomWalk(drift=0, step=Normal(sigma=2.0))
    keys = walk.draw(20_000, np.random.default_rng(8))
    cache = AutoLookup(Memory(rows=20), numeric=True)
    hits = cache.feed(keys)
    best = LookupCache(20, Heeb(laws=(walk,), weighting=Exponential(20.0), caching=True))
    assert cache.in_force == "HEEB"
    assert FAMILIES[cache.family] == "random walk"
    assert hits.sum() >= 0.97 * best.feed(keys).sum()
    facts = cache.facts()
    assert facts["law"]["family"] == "random walk" and facts["law_in_force"]
    assert facts["hit_rates"]["HEEB"] > facts["hit_rates"]["LFU"]


def test_a_change_of_habits_changes_the_policy() -> None:
    rng = np.random.default_rng(11)
    steady = np.minimum(rng.zipf(1.2, 30_000), 3000)
    # Each key comes in a burst and never again: recency is all there is.
    bursts = 10**6 + np.arange(30_000) // 40 * 10 + rng.integers(0, 10, 30_000)
    cache = AutoLookup(Memory(rows=30), numeric=False)
    cache.feed(steady)
    assert cache.in_force in {"LFU", "fading LFU"}
    cache.feed(bursts)
    assert cache.in_force in {"LRU", "fading LFU"}
    late = cache.feed(bursts[-4000:] + 10**6)
    assert late.mean() > 0.6


def test_text_keys_have_no_law() -> None:
    cache = AutoLookup(Memory(rows=8), numeric=False)
    cache.feed(drawn(1))
    assert "law" not in cache.facts() and FAMILIES[cache.family] == "auto"


def test_a_large_budget_has_small_miniatures() -> None:
    cache = AutoLookup(Memory(rows=10_000), numeric=False)
    cache.feed(drawn(2, 30_000, 20_000))
    assert cache.facts()["slice"] == 1 / 32
    assert len(cache) <= 10_000


def test_a_slice_has_its_share_of_the_keys() -> None:
    keys = np.arange(200_000)
    taken = np.zeros(len(keys), dtype=np.bool_)
    keys_slice(keys, 4, taken)
    assert taken.mean() == pytest.approx(1 / 16, rel=0.03)
    again = np.zeros(1000, dtype=np.bool_)
    keys_slice(keys[5000:6000], 4, again)
    assert (again == taken[5000:6000]).all()


def test_a_policy_that_cannot_go_on_gives_way() -> None:
    choice = Choice(("LFU", "HEEB"), memory=1000.0)
    for _ in range(6):
        choice.record([5, 50], 100)
    assert choice.settle([True, True]) and choice.chosen == 1
    assert choice.settle([True, False]) and choice.chosen == 0
    assert not choice.settle([True, False])


def test_a_lead_of_one_burst_is_not_enough() -> None:
    able = [True, True]
    choice = Choice(("LFU", "LRU"), memory=10_000.0)
    choice.record([100, 160], 400)
    assert not choice.settle(able)
    for _ in range(4):
        choice.record([100, 100], 400)
        assert not choice.settle(able)
    for _ in range(12):
        choice.record([100, 110], 400)
    assert choice.settle(able)


def test_a_lead_that_comes_and_goes_is_not_enough() -> None:
    able = [True, True]
    choice = Choice(("LFU", "LRU"), memory=10_000.0)
    for _ in range(8):
        choice.record([100, 120], 400)
        choice.record([118, 100], 400)
        assert not choice.settle(able)


def test_a_favoured_policy_need_not_be_better_and_is_left_if_clearly_worse() -> None:
    able = [True, True]
    choice = Choice(("LFU", "HEEB"), memory=10_000.0)
    choice.record([100, 100], 400)
    assert not choice.settle(able)
    assert choice.settle(able, favoured=1) and choice.chosen == 1
    choice.record([105, 100], 400)
    assert not choice.settle(able, favoured=1)
    for _ in range(6):
        choice.record([300, 100], 400)
    assert choice.settle(able, favoured=1) and choice.chosen == 0
