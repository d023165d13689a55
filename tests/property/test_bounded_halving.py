"""Counts that are halved when keys are too many: what came least often goes all the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.lookups_caches import LookupCache
from penstock.operators.bounded.policies_baselines import Lfu, ProbPast


class Counted:
    """How often keys came, of so many keys at most."""

    def __init__(self, keys_max: int) -> None:
        self.keys_max = keys_max
        self.counts: dict[int, list[int]] = {}

    def add(self, stream: int, key: int) -> None:
        if key not in self.counts:
            while len(self.counts) >= self.keys_max:
                halves = {k: [own // 2 for own in each] for k, each in self.counts.items()}
                self.counts = {k: each for k, each in halves.items() if any(each)}
            self.counts[key] = [0, 0]
        self.counts[key][stream] += 1

    def of(self, stream: int, key: int) -> int:
        return self.counts.get(key, [0, 0])[stream]


@given(seed=st.integers(0, 10**6), budget=st.integers(1, 6), keys_max=st.integers(1, 12))
def test_joins_discard_what_their_partner_brought_least(seed, budget, keys_max) -> None:
    rng = np.random.default_rng(seed)
    # Each key comes some times in a row: counts are high when a new key asks for room.
    keys = np.repeat(rng.integers(0, 20, 200), rng.integers(1, 6, 200))[:200]
    streams = rng.integers(0, 2, 200)
    cache = JoinCache(budget, ProbPast(ordered=True, keys_max=keys_max))
    counted, held = Counted(keys_max), set[tuple[int, int, int]]()
    for now in range(200):
        one = slice(now, now + 1)
        cache.feed(streams[one], keys[one], np.array([now]))
        counted.add(int(streams[now]), int(keys[now]))
        held.add((int(streams[now]), int(keys[now]), now))
        stayed = set(zip(cache.rows.streams.tolist(), cache.rows.keys.tolist(),
                         cache.rows.numbers.tolist(), strict=True))  # fmt: skip
        often = {row: counted.of(1 - row[0], row[1]) for row in held}
        for victim in held - stayed:
            assert often[victim] == min(often.values())
        held = stayed


@given(seed=st.integers(0, 10**6), budget=st.integers(1, 6), beyond=st.integers(2, 8))
def test_lookups_forget_keys_that_came_least_often(seed, budget, beyond) -> None:
    """Counts are halved until there is room; keys that are held keep one."""
    rng = np.random.default_rng(seed)
    keys = np.repeat(rng.zipf(1.3, 300) % 25, rng.integers(1, 6, 300))[:300]
    counts, used = dict[int, int](), dict[int, int]()
    expected = []
    for now, key in enumerate(keys.tolist()):
        while key not in counts and len(counts) >= budget + beyond:
            halves = {each: max(own // 2, int(each in used)) for each, own in counts.items()}
            counts = {each: own for each, own in halves.items() if own}
        counts[key] = counts.get(key, 0) + 1
        expected.append(key in used)
        used[key] = now
        if len(used) > budget:
            del used[min(used, key=lambda each: (counts[each], used[each]))]
    cache = LookupCache(budget, Lfu(keys_max=budget + beyond))
    assert cache.feed(keys).tolist() == expected
    assert sorted(cache.keys.tolist()) == sorted(used)
