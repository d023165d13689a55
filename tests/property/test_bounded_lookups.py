"""Lookup caches that choose: their answers are a function of the references' order alone."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.memories import LOOKUP_POLICIES, Memory, PolicyName, StreamLaw
from penstock.operators.bounded.lookups import AutoLookup
from penstock.vocabulary.batches import Ints
from tests.support import own_policies

LENGTH = 700
KINDS = ("zipf", "walk", "trend", "loop", "shift")
DECLARED = (
    StreamLaw(),
    StreamLaw(family="ar1"),
    StreamLaw(family="random walk", parameters={"drift": 0, "sigma": 2.0}),
    StreamLaw(family="stationary"),
)


def draw(kind: str, seed: int) -> Ints:
    rng = np.random.default_rng(seed)
    ticks = np.arange(LENGTH)
    if kind == "zipf":
        return np.minimum(rng.zipf(1.4, LENGTH), 300)
    if kind == "walk":
        return np.cumsum(rng.integers(-2, 3, LENGTH))
    if kind == "trend":
        return ticks + rng.integers(-9, 10, LENGTH)
    if kind == "loop":
        return ticks % 37
    return np.where(ticks < LENGTH // 2, rng.integers(0, 30, LENGTH), ticks + rng.integers(-3, 4))


@st.composite
def memories(draw_: st.DrawFn) -> Memory:
    policy: PolicyName = draw_(st.sampled_from(("HEEB", *LOOKUP_POLICIES, *own_policies.NAMES)))
    law = draw_(st.sampled_from(DECLARED)) if policy == "HEEB" else StreamLaw()
    return Memory(rows=draw_(st.integers(1, 60)), policy=policy, laws=(law,))


def same(one: AutoLookup, other: AutoLookup) -> None:
    first, second = one.arrays(), other.arrays()
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert array.dtype == second[name].dtype, name
        assert array.tobytes() == second[name].tobytes(), name


@settings(deadline=None, max_examples=20)
@given(
    memory=memories(),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 99),
    cuts=st.lists(st.integers(0, LENGTH), max_size=5),
)
def test_batches_and_restarts_change_nothing(
    memory: Memory, kind: str, seed: int, cuts: list[int]
) -> None:
    keys = draw(kind, seed)
    whole = AutoLookup(memory, numeric=True)
    hits, left = whole.trace(keys)
    cache = AutoLookup(memory, numeric=True)
    parts = []
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), LENGTH], strict=True):
        parts.append(cache.trace(keys[begin:end]))
        fresh = AutoLookup(memory, numeric=True)
        fresh.restore(cache.arrays())
        same(cache, fresh)
        assert cache.facts() == fresh.facts()
        cache = fresh
    assert np.concatenate([part[0] for part in parts]).tolist() == hits.tolist()
    assert np.concatenate([part[1] for part in parts]).tolist() == left.tolist()
    same(whole, cache)


@settings(deadline=None, max_examples=20)
@given(memory=memories(), kind=st.sampled_from(KINDS), seed=st.integers(0, 99))
def test_what_is_told_is_what_is_held(memory: Memory, kind: str, seed: int) -> None:
    keys = draw(kind, seed).tolist()
    cache = AutoLookup(memory, numeric=True)
    hits, left = cache.trace(np.array(keys))
    held: dict[int, int] = {}
    for now, (key, hit, gone) in enumerate(zip(keys, hits.tolist(), left.tolist(), strict=True)):
        assert hit == (key in held)
        if not hit:
            held[key] = now
        if gone >= 0:
            assert held[keys[gone]] == gone
            del held[keys[gone]]
        assert len(held) <= memory.rows
    assert sorted(held) == sorted(cache.keys.tolist())


@settings(deadline=None, max_examples=30)
@given(
    keys=st.lists(st.integers(-20, 20), max_size=200),
    rows=st.integers(1, 25),
)
def test_least_recently_used(keys: list[int], rows: int) -> None:
    held: OrderedDict[int, None] = OrderedDict()
    expected = []
    for key in keys:
        expected.append(key in held)
        held[key] = None
        held.move_to_end(key)
        if len(held) > rows:
            held.popitem(last=False)
    cache = AutoLookup(Memory(rows=rows, policy="LRU"), numeric=False)
    assert cache.feed(np.array(keys, dtype=np.int64)).tolist() == expected
    assert sorted(cache.keys.tolist()) == sorted(held)
