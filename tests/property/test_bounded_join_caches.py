"""Caches in windows of any measure, divided among shards, kept as arrays: as in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernels.bounded_victims import AGED, SCANNED
from penstock.lab.caching.policies import Heeb
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.laws import History, Law
from penstock.operators.bounded.laws_independent import LinearTrend, Stationary
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import BoundedNormal, Normal, Uniform
from penstock.operators.bounded.lookups_caches import LookupCache
from penstock.operators.bounded.policies import CompiledPolicy, Policy
from penstock.operators.bounded.policies_baselines import Lfu, LifePast, Lru, ProbPast, Rand
from penstock.operators.bounded.policies_hist import Hist
from penstock.operators.bounded.policies_named import policy_class
from penstock.operators.bounded.weightings import Exponential
from tests.oracle.bounded_scores import direct_score
from tests.oracle.boundedjoins import CacheTwin, Candidate
from tests.support import own_policies

KEYS = 12
LAWS = (
    Stationary(keys=np.arange(KEYS), probabilities=np.arange(1, KEYS + 1) / 100),
    Stationary(keys=np.arange(KEYS), probabilities=(np.arange(KEYS)[::-1] + 1.5) / 100),
)
TRENDS = (
    LinearTrend(slope=1, intercept=-1, noise=BoundedNormal(sigma=1.5, half_width=4)),
    LinearTrend(slope=1, intercept=0, noise=Uniform(half_width=5)),
)
SLOW = LinearTrend(slope=0.5, intercept=0, noise=Uniform(half_width=3))
WALKS = (
    RandomWalk(drift=0, step=Normal(sigma=1.0)),
    RandomWalk(drift=0, step=Normal(sigma=1.7)),
)
POLICIES: dict[str, Callable[[int], CompiledPolicy]] = {
    "rand": lambda seed: Rand(seed=seed),
    "prob": lambda seed: ProbPast(seed=seed, ordered=True),
    "prob, any": lambda seed: ProbPast(seed=seed),
    "life": lambda seed: LifePast(seed=seed),
    "lru": lambda seed: Lru(),
    "lfu": lambda seed: Lfu(keys_max=7),
    "hist": lambda seed: Hist(seed=seed, range_ticks=(2, 8), learn_ticks=12, decay_every=7),
    "walks": lambda seed: Heeb(laws=WALKS, weighting=Exponential(4.0)),
    "trends": lambda seed: Heeb(laws=TRENDS, weighting=Exponential(4.0)),
    "laws": lambda seed: Heeb(laws=LAWS, weighting=Exponential(4.0)),
    "walks, windows": lambda seed: Heeb(laws=WALKS, weighting=Exponential(4.0), window=30),
    "trends, windows": lambda seed: Heeb(laws=TRENDS, weighting=Exponential(4.0), window=30),
    "laws, windows": lambda seed: Heeb(laws=LAWS, weighting=Exponential(4.0), window=30),
}
EVERY: dict[str, Callable[[int], Policy]] = {
    **POLICIES,
    **{name: lambda seed, name=name: policy_class(name)() for name in own_policies.NAMES},  # type: ignore[misc]
}
"""Those that somebody wrote in Python too."""


@dataclass
class Drawn:
    """Arrivals in ticks of one or two, with the measures of two streams, some of other shards."""

    streams: np.ndarray
    keys: np.ndarray
    ticks: np.ndarray
    stamps: np.ndarray
    nows: np.ndarray
    owned: np.ndarray

    def feed(self, cache: JoinCache, part: slice = slice(None), emit: bool = True):
        return cache.feed(
            self.streams[part], self.keys[part], self.ticks[part], stamps=self.stamps[part],
            nows=self.nows[part], owned=self.owned[part], emit=emit,
        )  # fmt: skip

    def at(self, tick: int) -> int:
        return int(np.searchsorted(self.ticks, tick))


def drawn(
    seed: int, length: int, kinds: tuple[str, str], trend: bool = False, others: float = 0.0
) -> Drawn:
    """Draw rows: of a stream of kind "rows" the measure counts them, of "range" it is the time."""
    rng = np.random.default_rng(seed)
    ticks = np.repeat(np.arange(length), rng.integers(1, 3, length))
    streams = rng.integers(0, 2, len(ticks))
    times = np.cumsum(rng.integers(0, 4, len(ticks)))
    measures = {"range": times}
    nows = np.stack(
        [measures.get(kind, np.cumsum(streams == s)) for s, kind in enumerate(kinds)], axis=1
    )
    keys = rng.integers(0, KEYS, len(ticks)) + (ticks - KEYS // 2 if trend else 0)
    owned = rng.random(KEYS)[keys % KEYS] >= others
    stamps = nows[np.arange(len(ticks)), streams]
    return Drawn(streams, keys, ticks, stamps, nows, owned)


def rows_of(cache: JoinCache) -> list[tuple[int, int, int, int]]:
    rows = cache.rows
    columns = (rows.streams, rows.keys, rows.born, rows.numbers)
    return list(zip(*(column.tolist() for column in columns), strict=True))


seeds = st.integers(0, 10**6)
kinds = st.tuples(*[st.sampled_from(["rows", "range"])] * 2)
sizes = st.tuples(*[st.none() | st.integers(1, 25)] * 2)


@given(
    seed=seeds, kinds=kinds, sizes=sizes, budget=st.integers(1, 9),
    others=st.sampled_from([0, 0.4]), name=st.sampled_from(sorted(EVERY)),
)  # fmt: skip
def test_every_policy_joins_rightly_in_any_window(seed, kinds, sizes, budget, others, name) -> None:
    """Results are what the twin finds that lets the same rows go; the twin checks who may."""
    arrivals = drawn(seed, 40, kinds, trend=seed % 2 == 0, others=others)
    cache = JoinCache(budget, EVERY[name](seed), windows=sizes)
    twin = CacheTwin(budget, sizes)
    for tick in np.unique(arrivals.ticks).tolist():
        part = slice(arrivals.at(tick), arrivals.at(tick + 1))
        done = arrivals.feed(cache, part)
        found, pairs = twin.arrive(
            tick, arrivals.streams[part].tolist(), arrivals.keys[part].tolist(),
            arrivals.stamps[part].tolist(), arrivals.nows[part].tolist(),
            arrivals.owned[part].tolist(),
        )  # fmt: skip
        assert done.found.tolist() == found
        assert sorted(map(tuple, done.pairs.tolist())) == sorted(pairs)
        twin.keep({row[3] for row in rows_of(cache)})
        assert cache.held == tuple(sum(c.stream == s for c in twin.held) for s in range(2))
    account = cache.account
    assert account.expired == twin.expired
    assert account.refused + account.evicted == twin.discarded
    assert arrivals.owned.sum() == len(cache) + twin.expired + twin.discarded


def lowest_first(laws: tuple[Law, Law], alpha: float, twin: CacheTwin):
    """Score candidates by the sum itself."""

    def score(row: Candidate) -> float:
        partner = 1 - row.stream
        remaining = twin.ticks_remaining(row)
        return direct_score(
            laws[partner], Exponential(alpha), row.key, History(twin.now, twin.lasts[partner]),
            remaining=None if remaining is None else int(remaining),
        )  # fmt: skip

    return score


@given(
    seed=seeds, kinds=kinds, sizes=sizes, budget=st.integers(1, 8),
    case=st.sampled_from(["laws", "trends", "walks"]), search=st.sampled_from(["auto", "scan"]),
)  # fmt: skip
@settings(max_examples=40)
def test_heeb_in_any_window_discards_the_lowest_scores(
    seed, kinds, sizes, budget, case, search
) -> None:
    laws = {"laws": LAWS, "trends": TRENDS, "walks": WALKS}[case]
    policy = Heeb(laws=laws, weighting=Exponential(3.0), window=200, search=search)
    aged = search == "auto" and case != "walks"
    assert policy.rule().mode == (AGED if aged else SCANNED)
    arrivals = drawn(seed, 30, kinds, trend=case == "trends", others=0.2)
    cache, twin = JoinCache(budget, policy, windows=sizes), CacheTwin(budget, sizes)
    score = lowest_first(laws, 3.0, twin)
    for tick in np.unique(arrivals.ticks).tolist():
        part = slice(arrivals.at(tick), arrivals.at(tick + 1))
        arrivals.feed(cache, part)
        twin.arrive(
            tick, arrivals.streams[part].tolist(), arrivals.keys[part].tolist(),
            arrivals.stamps[part].tolist(), arrivals.nows[part].tolist(),
            arrivals.owned[part].tolist(),
        )  # fmt: skip
        scores = {row.number: score(row) for row in twin.held}
        stayed = {row[3] for row in rows_of(cache)}
        went = [own for number, own in scores.items() if number not in stayed]
        if went:
            least = min(scores[number] for number in stayed)
            # Layers of lifetimes have straight lines between them.
            assert max(went) <= least * (1 + 1e-6) + (2e-3 if case == "walks" else 1e-12)
        twin.keep(stayed)


@given(
    seed=seeds, kinds=kinds, sizes=sizes, case=st.sampled_from(["laws", "trends", "slow trends"])
)  # fmt: skip
@settings(max_examples=30)
def test_bounds_find_the_same_victims_as_a_scan(seed, kinds, sizes, case) -> None:
    """Long enough for many epochs, and for measures that suddenly run."""
    laws = {"laws": LAWS, "trends": TRENDS, "slow trends": (SLOW, SLOW)}[case]
    wide = tuple(size and 20 * size for size in sizes)
    arrivals = drawn(seed, 600, kinds, trend=case == "trends")
    if case == "slow trends":
        arrivals.keys[:] += arrivals.ticks // 2 - KEYS // 2
    arrivals.keys[:] += np.random.default_rng(seed).integers(0, 3, len(arrivals.keys))
    for s in range(2):
        if kinds[s] == "range":
            arrivals.nows[:, s] += 100 * (arrivals.ticks // 97)
    arrivals.stamps[:] = arrivals.nows[np.arange(len(arrivals.ticks)), arrivals.streams]
    caches = [
        JoinCache(
            60 if seed % 2 else 3,
            Heeb(laws=laws, weighting=Exponential(40.0), window=500, search=search),
            windows=wide,
        )
        for search in ("auto", "scan")
    ]  # fmt: skip
    pairs = [arrivals.feed(cache).pairs for cache in caches]
    assert np.array_equal(*pairs)
    assert rows_of(caches[0]) == rows_of(caches[1])


@given(seed=seeds, budget=st.integers(1, 8), windowed=st.booleans())
def test_recency_in_a_join_equals_its_slow_twin(seed, budget, windowed) -> None:
    arrivals = drawn(seed, 50, ("rows", "range"))
    sizes = (9, 30) if windowed else (None, None)
    cache, twin = JoinCache(budget, Lru(), windows=sizes), CacheTwin(budget, sizes)
    used: dict[int, int] = {}
    for tick in np.unique(arrivals.ticks).tolist():
        part = slice(arrivals.at(tick), arrivals.at(tick + 1))
        arrivals.feed(cache, part)
        _, pairs = twin.arrive(
            tick, arrivals.streams[part].tolist(), arrivals.keys[part].tolist(),
            arrivals.stamps[part].tolist(), arrivals.nows[part].tolist(),
            arrivals.owned[part].tolist(),
        )  # fmt: skip
        used |= {old: new for new, old in pairs}
        last = {row.number: max(row.number, used.get(row.number, -1)) for row in twin.held}
        order = sorted(twin.held, key=lambda row: (last[row.number], row.number))
        kept = {row.number for row in order[max(0, len(order) - budget) :]}
        stayed = {row[3] for row in rows_of(cache)}
        assert stayed == kept
        twin.keep(stayed)


@given(seed=seeds, cut=st.integers(0, 60), name=st.sampled_from(sorted(EVERY)), kinds=kinds)
def test_a_cache_goes_on_from_its_arrays(seed, cut, name, kinds) -> None:
    arrivals = drawn(seed, 60, kinds, trend=True, others=0.3)
    sizes = (11, 25)
    live = JoinCache(5, EVERY[name](seed), windows=sizes)
    arrivals.feed(live, slice(0, arrivals.at(cut)))
    again = JoinCache(5, EVERY[name](seed), windows=sizes)
    again.restore({name: array.copy() for name, array in live.arrays().items()})
    same_arrays(live.arrays(), again.arrays())
    assert rows_of(again) == rows_of(live)
    assert again.window_ticks() == live.window_ticks()
    middle = arrivals.at((cut + 60) // 2)
    for part in (slice(arrivals.at(cut), middle), slice(middle, None)):
        assert np.array_equal(arrivals.feed(live, part).pairs, arrivals.feed(again, part).pairs)
        assert rows_of(again) == rows_of(live)
        assert again.account == live.account
        same_arrays(live.arrays(), again.arrays())


def same_arrays(one, other) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert array.dtype == other[name].dtype
        assert array.shape == other[name].shape
        assert array.tobytes() == other[name].tobytes(), name


@given(seed=seeds, cut=st.integers(0, 200), name=st.sampled_from(["prob", *own_policies.NAMES]))
def test_arrays_do_not_depend_on_where_feeds_end(seed, cut, name) -> None:
    arrivals = drawn(seed, 200, ("rows", "range"), others=0.2)
    whole, parts = (JoinCache(30, EVERY[name](0), windows=(50, None)) for _ in range(2))
    arrivals.feed(whole)
    arrivals.feed(parts, slice(0, arrivals.at(cut)))
    arrivals.feed(parts, slice(arrivals.at(cut), None), emit=False)
    same_arrays(whole.arrays(), parts.arrays())


LOOKUPS: dict[str, Callable[[], CompiledPolicy]] = {
    "lru": Lru,
    "lfu": lambda: Lfu(keys_max=6),
    "rand": lambda: Rand(seed=3),
    "heeb": lambda: Heeb(
        laws=(Ar1(phi0=2.0, phi1=0.7, sigma=3.0, grid=1.0),), weighting=Exponential(5.0),
        caching=True,
    ),
}  # fmt: skip


@given(seed=seeds, cut=st.integers(0, 120), name=st.sampled_from(sorted(LOOKUPS)))
@settings(max_examples=30)
def test_a_lookup_goes_on_from_its_arrays(seed, cut, name) -> None:
    keys = np.random.default_rng(seed).normal(6.7, 4.0, 120).round().astype(np.int64)
    live, again = (LookupCache(7, LOOKUPS[name]()) for _ in range(2))
    live.feed(keys[:cut])
    again.restore(live.arrays())
    for one, other in zip(live.trace(keys[cut:]), again.trace(keys[cut:]), strict=True):
        assert np.array_equal(one, other)
    same_arrays(live.arrays(), again.arrays())


@pytest.mark.parametrize("first", sorted(POLICIES))
@pytest.mark.parametrize("second", ["prob", "lru", "laws, windows", "trends", "hist", "walks"])
def test_policies_follow_each_other_without_losing_a_row(first: str, second: str) -> None:
    arrivals = drawn(5, 60, ("rows", "range"), trend=True)
    cache, twin = JoinCache(6, POLICIES[first](1), windows=(20, 40)), CacheTwin(6, (20, 40))
    for tick in np.unique(arrivals.ticks).tolist():
        if tick in (20, 40):
            before, account = rows_of(cache), cache.account
            recent = arrivals.streams[:10], arrivals.keys[:10]
            cache.replace(POLICIES[second](2), recent if tick == 40 else None)
            assert rows_of(cache) == before
            assert cache.account == account
        part = slice(arrivals.at(tick), arrivals.at(tick + 1))
        done = arrivals.feed(cache, part)
        found, _ = twin.arrive(
            tick, arrivals.streams[part].tolist(), arrivals.keys[part].tolist(),
            arrivals.stamps[part].tolist(), arrivals.nows[part].tolist(),
            arrivals.owned[part].tolist(),
        )  # fmt: skip
        assert done.found.tolist() == found
        twin.keep({row[3] for row in rows_of(cache)})
