"""Policies that somebody wrote, each in one file: as those that are built in, row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.memories import Memory
from penstock.kernels.scores import table_score
from penstock.lab.caching.policies import Heeb
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.lookups import AutoLookup
from penstock.operators.bounded.policies import Candidates, CompiledPolicy, ScoredPolicy
from penstock.operators.bounded.policies_baselines import Lru
from penstock.operators.bounded.policies_named import check_policy, policy_class
from penstock.operators.bounded.weightings import Exponential
from tests.property.test_bounded_join_caches import (
    LAWS,
    TRENDS,
    WALKS,
    drawn,
    kinds,
    rows_of,
    seeds,
    sizes,
)
from tests.support import own_policies

MODELS = {"laws": LAWS, "trends": TRENDS, "walks": WALKS}


class Scored(ScoredPolicy):
    """A compiled rule's tables, looked up in Python."""

    name = "SCORED"

    def __init__(self, policy: CompiledPolicy) -> None:
        self._tables = policy.rule().tables
        self._lasts = np.zeros(2, dtype=np.int64)

    def see(self, streams: np.ndarray, keys: np.ndarray, now: int) -> None:
        for stream, key in zip(streams.tolist(), keys.tolist(), strict=True):
            self._lasts[stream] = key

    def scores(self, candidates: Candidates, now: int) -> np.ndarray:
        partners = (1 - candidates.streams).tolist()
        return np.array(
            [
                table_score(self._tables[partner], key, now, int(self._lasts[partner]))
                for partner, key in zip(partners, candidates.keys.tolist(), strict=True)
            ]
        )


def same(one: JoinCache, other: JoinCache) -> None:
    assert rows_of(one) == rows_of(other)
    assert one.account == other.account
    assert one.held == other.held
    assert one.oldest.tolist() == other.oldest.tolist()
    assert one.window_ticks() == other.window_ticks()


@given(
    seed=seeds, kinds=kinds, sizes=sizes, budget=st.integers(1, 9),
    others=st.sampled_from([0, 0.4]), case=st.sampled_from(sorted(MODELS)),
)  # fmt: skip
@settings(max_examples=40)
def test_python_joins_and_discards_as_machine_code_does(
    seed, kinds, sizes, budget, others, case
) -> None:
    """In windows of any measure, on one shard of several."""
    arrivals = drawn(seed, 40, kinds, trend=case == "trends", others=others)
    # Of rows that are worth the same, a scan discards the oldest.
    heeb = Heeb(laws=MODELS[case], weighting=Exponential(4.0), search="scan")
    fast, slow = (JoinCache(budget, each, windows=sizes) for each in (heeb, Scored(heeb)))
    for tick in np.unique(arrivals.ticks).tolist():
        part = slice(arrivals.at(tick), arrivals.at(tick + 1))
        one, other = arrivals.feed(fast, part), arrivals.feed(slow, part)
        assert one.pairs.tolist() == other.pairs.tolist()
        for name in ("made", "together", "held", "found"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
        same(fast, slow)


@given(seed=seeds, kinds=kinds, sizes=sizes, budget=st.integers(1, 9))
@settings(max_examples=60)
def test_lru_in_python_is_lru_in_a_join(seed, kinds, sizes, budget) -> None:
    arrivals = drawn(seed, 60, kinds, others=0.2)
    fast, slow = (
        JoinCache(budget, each, windows=sizes) for each in (Lru(), policy_class("RECENT")())
    )
    for tick in np.unique(arrivals.ticks).tolist():
        part = slice(arrivals.at(tick), arrivals.at(tick + 1))
        assert arrivals.feed(fast, part).pairs.tolist() == arrivals.feed(slow, part).pairs.tolist()
        same(fast, slow)


@given(seed=seeds, kinds=kinds, sizes=sizes, budget=st.integers(1, 9))
@settings(max_examples=20)
def test_lru_by_a_rule_is_lru_in_a_join(seed, kinds, sizes, budget) -> None:
    arrivals = drawn(seed, 60, kinds, others=0.2)
    caches = [
        JoinCache(budget, each, windows=sizes) for each in (Lru(), policy_class("SWIFT")())
    ]  # fmt: skip
    assert arrivals.feed(caches[0]).pairs.tolist() == arrivals.feed(caches[1]).pairs.tolist()
    same(*caches)


@pytest.mark.parametrize("name", ["RECENT", "SWIFT"])
@given(seed=seeds, budget=st.integers(1, 20), others=st.sampled_from([0, 0.4]))
@settings(max_examples=30)
def test_own_lru_is_lru_in_a_lookup(name, seed, budget, others) -> None:
    rng = np.random.default_rng(seed)
    keys = np.minimum(rng.zipf(1.3, 300), 60)
    owned = rng.random(61)[keys] >= others
    caches = [AutoLookup(Memory(rows=budget, policy=own), numeric=True) for own in ("LRU", name)]
    for part in np.array_split(np.arange(len(keys)), 7):
        (hits, left), (own_hits, own_left) = (
            each.trace(keys[part], owned[part]) for each in caches
        )
        assert hits.tolist() == own_hits.tolist()
        assert left.tolist() == own_left.tolist()
        assert sorted(caches[0].keys.tolist()) == sorted(caches[1].keys.tolist())
        assert len(caches[1]) <= budget
    assert caches[1].facts() == {"policy": name, "budget": budget, "held": len(caches[0])}


@pytest.mark.parametrize("streams", [1, 2])
@pytest.mark.parametrize("name", own_policies.NAMES)
def test_what_keeps_the_laws_is_let_in(name: str, streams: int) -> None:
    check_policy(Memory(rows=100, policy=name), streams)
