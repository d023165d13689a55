"""Who goes next is found at an end of an order; so does a look at every row."""

from __future__ import annotations

from bisect import insort

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernels.bounded_heaps import ITEM, RANK, heap_pop, heap_put
from penstock.kernels.bounded_prefetch import is_far
from penstock.kernels.bounded_slots import ORDERED, STALE, YOUNG, stale_most, stream_at
from penstock.kernels.bounded_victims import EXTREMES, RANKED
from penstock.kernels.interval_heaps import HIGH, LOW, end_key, extremes_pop, extremes_push
from penstock.lab.caching.policies import Heeb
from penstock.operators.bounded.caches import JoinCache, memory_of
from penstock.operators.bounded.laws import Law
from penstock.operators.bounded.laws_independent import LinearTrend, Stationary
from penstock.operators.bounded.laws_noise import Normal
from penstock.operators.bounded.weightings import Exponential

MODES = {"trends": EXTREMES, "laws": RANKED}


def laws_of(case: str, width: int, slope: float) -> tuple[Law, Law]:
    """Give two laws, so unlike that no two keys are worth the same."""
    if case == "trends":
        return (
            LinearTrend(slope=slope, intercept=0, noise=Normal(sigma=width / 2)),
            LinearTrend(slope=slope, intercept=-width // 3, noise=Normal(sigma=width / 2 + 3)),
        )
    chances = np.random.default_rng(4).permutation(2 * width) + 1.0
    keys = np.arange(2 * width)
    shares = chances / chances.sum()
    return (
        Stationary(keys=keys, probabilities=shares),
        Stationary(keys=keys, probabilities=0.93 * shares[::-1]),
    )


@given(steps=st.lists(st.tuples(st.sampled_from("+-^"), st.integers(-9, 9)), max_size=150))
def test_the_smallest_and_the_largest_key_are_known_whatever_goes(steps) -> None:
    nodes, keys = np.zeros((80, 2), dtype=np.int64), list[int]()
    for step, key in steps:
        if step == "+":
            extremes_push(nodes, len(keys), key)
            insort(keys, key)
        elif keys and step == "-":
            extremes_pop(nodes, len(keys), LOW, 0)
            keys.pop(0)
        elif keys:
            extremes_pop(nodes, len(keys), HIGH, 0)
            keys.pop()
        if keys:
            assert [end_key(nodes, 0, end) for end in (LOW, HIGH)] == [keys[0], keys[-1]]
            used = nodes[: (len(keys) + 1) // 2] ^ [0, -1]
            found = used.ravel()[: len(keys)]
            assert sorted(found.tolist()) == keys


@given(steps=st.lists(st.none() | st.integers(-9, 9), max_size=150))
def test_a_heap_gives_the_lowest_rank_first(steps) -> None:
    heap, held = np.zeros((160, 2), dtype=np.int64), list[tuple[int, int]]()
    for item, rank in enumerate(steps):
        if rank is not None:
            heap_put(heap, len(held), rank, item)
            held.append((rank, item))
        elif held:
            first = int(heap[0, RANK]), int(heap[0, ITEM])
            assert first in held
            assert first[0] == min(held)[0]
            heap_pop(heap, len(held), 0)
            held.remove(first)


@pytest.mark.parametrize("case", sorted(MODES))
@given(
    seed=st.integers(0, 10**6), sizes=st.tuples(*[st.none() | st.integers(20, 400)] * 2),
    budget=st.sampled_from([5, 60, 200]),
)  # fmt: skip
@settings(max_examples=15)
def test_rows_that_windows_end_change_nothing_of_who_goes(case, seed, sizes, budget) -> None:
    """Groups leave from the middle of the order, come again, and leave by the policy."""
    rng = np.random.default_rng(seed)
    ticks = np.repeat(np.arange(1500), 2)
    streams = np.tile([0, 1], 1500)
    keys = rng.integers(0, 80, 3000) + (ticks // 10 - 40 if case == "trends" else 0)
    # Measures stand still for a while, and then run: windows hold much, then nothing.
    times = np.cumsum(np.where(ticks % 500 < 350, 0, rng.integers(0, 9, 3000)))
    nows = np.stack([times, times], axis=1)
    caches = [
        JoinCache(
            budget,
            Heeb(laws=laws_of(case, 40, 0.1), weighting=Exponential(30.0), search=search),
            windows=sizes,
        )
        for search in ("auto", "scan")
    ]
    assert memory_of(caches[0]).rule.mode == MODES[case]
    for begin in range(0, 3000, 100):
        part = slice(begin, begin + 100)
        fed = [
            cache.feed(
                streams[part], keys[part], ticks[part], stamps=times[part], nows=nows[part],
                emit=True,
            )
            for cache in caches
        ]  # fmt: skip
        assert np.array_equal(fed[0].pairs, fed[1].pairs)
        assert np.array_equal(caches[0].rows.numbers, caches[1].rows.numbers)
        meta, held = memory_of(caches[0]).pool.meta, caches[0].rows
        for stream in range(2 if case == "trends" else 1):
            ordered, stale = (int(meta[stream_at(stream, word)]) for word in (ORDERED, STALE))
            own = held.streams == stream if case == "trends" else held.streams >= 0
            groups = len(set(zip(held.streams[own].tolist(), held.keys[own].tolist(), strict=True)))
            young = 0 if case == "trends" else int(meta[YOUNG])
            assert ordered + young - stale == groups
            room = memory_of(caches[0]).capacity
            assert 0 <= stale <= stale_most(room)


@pytest.mark.parametrize("case", sorted(MODES))
def test_large_pools_discard_what_a_scan_does(case: str) -> None:
    """Large pools ask for memory ahead, which decides nothing."""
    budget, length = 17_000, 10_000
    rng = np.random.default_rng(3)
    streams, ticks = np.tile([0, 1], length), np.repeat(np.arange(length), 2)
    keys = rng.integers(0, 30_000, 2 * length) + (ticks - 15_000 if case == "trends" else 0)
    laws = laws_of(case, 15_000, 1)
    caches = []
    for search in ("auto", "scan"):
        policy = Heeb(laws=laws, weighting=Exponential(9_000.0), search=search)
        cache = JoinCache(budget, policy)
        fed = cache.feed(streams, keys, ticks, emit=True)
        caches.append((cache, fed.pairs))
    assert is_far(memory_of(caches[0][0]).pool)
    assert memory_of(caches[0][0]).rule.mode == MODES[case]
    assert len(caches[0][1]) > 1_000
    assert np.array_equal(caches[0][1], caches[1][1])
    assert np.array_equal(caches[0][0].rows.numbers, caches[1][0].rows.numbers)
