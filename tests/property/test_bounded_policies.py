"""Bounded joins and lookups under every policy: right results, the right victims, the budget."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.bounded_heaps import BRANCHES, heap_fix, heap_push, heap_remove
from penstock.kernels.bounded_victims import EXTREMES, RANKED, SCANNED
from penstock.kernels.scores import table_score, window_score
from penstock.lab.caching.policies import Heeb, Life, Prob
from penstock.lab.caching.workload import TOWER, WALK, alternating, results, trends
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.laws_independent import LinearTrend, Offline, Stationary
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import BoundedNormal, Normal, Uniform
from penstock.operators.bounded.lookups_caches import LookupCache
from penstock.operators.bounded.offline import lfd
from penstock.operators.bounded.policies import Candidates, Policy, ScoredPolicy
from penstock.operators.bounded.policies_baselines import Lfu, LifePast, Lru, ProbPast, Rand
from penstock.operators.bounded.policies_hist import Hist
from penstock.operators.bounded.weightings import Exponential, alpha_of
from tests.oracle.bounded_dominance import DominanceHeeb

KEYS = 12
LAWS = (
    Stationary(keys=np.arange(KEYS), probabilities=np.arange(1, KEYS + 1) / 100),
    Stationary(keys=np.arange(KEYS), probabilities=(np.arange(KEYS)[::-1] + 1.5) / 100),
)
TRENDS = (
    LinearTrend(slope=1, intercept=-1, noise=BoundedNormal(sigma=1.5, half_width=4)),
    LinearTrend(slope=1, intercept=0, noise=Uniform(half_width=5)),
)
WALKS = (
    RandomWalk(drift=0, step=Normal(sigma=1.0)),
    RandomWalk(drift=0, step=Normal(sigma=1.7)),
)
BLIND: dict[str, Callable[[int], Policy]] = {
    "rand": lambda seed: Rand(seed=seed),
    "rand passing": lambda seed: Rand(seed=seed, passing=TRENDS),
    "prob past": lambda seed: ProbPast(seed=seed),
    "prob past ordered": lambda seed: ProbPast(seed=seed, ordered=True),
    "life past": lambda seed: LifePast(seed=seed, passing=TRENDS),
    "hist": lambda seed: Hist(seed=seed, range_ticks=(2, 8), learn_ticks=12, decay_every=7),
    "hist walk": lambda seed: Hist(seed=seed, form="walk", range_ticks=(2, 8), learn_ticks=12),
    "stepped": lambda seed: Newest(),
}


class Newest(ScoredPolicy):
    """A policy in one file: small keys go first."""

    __slots__ = ()
    name = "small keys first"

    def scores(self, candidates: Candidates, now: int) -> np.ndarray:
        return candidates.keys.astype(np.float64)


def arrivals(seed: int, length: int, trend: bool) -> tuple[np.ndarray, ...]:
    """Draw ticks with none to three rows of two streams."""
    rng = np.random.default_rng(seed)
    ticks = np.repeat(np.arange(length), rng.integers(0, 4, length))
    keys = rng.integers(0, KEYS, len(ticks)) + (ticks - KEYS // 2 if trend else 0)
    return rng.integers(0, 2, len(ticks)), keys, ticks


def rows_of(cache: JoinCache) -> list[tuple[int, int, int, int]]:
    rows = cache.rows
    columns = (rows.streams, rows.keys, rows.born, rows.numbers)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def ticks_of(
    cache: JoinCache, fed: tuple[np.ndarray, ...], window: int | None = None
) -> list[tuple[int, list[tuple[int, int, int, int]], list[tuple[int, int, int, int]]]]:
    """Feed tick by tick, check results and budget; give per tick who stayed and who went."""
    streams, keys, ticks = fed
    found = []
    number = 0
    for now in np.unique(ticks).tolist():
        here = ticks == now
        before = [r for r in rows_of(cache) if window is None or r[2] >= now - window]
        fresh = [
            (int(s), int(k), now, number + i)
            for i, (s, k) in enumerate(zip(streams[here], keys[here], strict=True))
        ]
        number += len(fresh)
        expected = Counter(
            (new[3], old[3])
            for i, new in enumerate(fresh)
            for old in [*before, *fresh[:i]]
            if new[0] != old[0] and new[1] == old[1]
        )
        done = cache.feed(streams[here], keys[here], ticks[here], emit=True)
        assert Counter(map(tuple, done.pairs.tolist())) == expected
        among = sum(pair[1] >= number - len(fresh) for pair in expected.elements())
        assert done.together.tolist() == [among]
        assert done.made.tolist() == [expected.total() - among]
        stayed = rows_of(cache)
        assert len(stayed) == len(cache) <= cache.budget
        assert done.held.sum() == len(stayed)
        alive = [r for r in [*before, *fresh] if window is None or r[2] + window > now]
        assert len(stayed) == min(len(alive), cache.budget)
        went = sorted(set(alive) - set(stayed))
        assert not set(stayed) - set(alive)
        found.append((now, stayed, went))
    return found


@given(
    changes=st.lists(
        st.tuples(
            st.sampled_from(["push", "remove", "fix"]), st.integers(0, 59), st.integers(0, 99)
        ),
        min_size=60,
        max_size=300,
    )
)
def test_heaps_give_the_lowest_rank_whatever_leaves(changes) -> None:
    heap, places = np.zeros((60, 2), dtype=np.int64), np.zeros((60, 1), dtype=np.int64)
    ranks = dict(zip(range(40), np.random.default_rng(1).permutation(40).tolist(), strict=True))
    for size, (item, rank) in enumerate(ranks.items()):
        heap_push(heap, places, 0, size, rank, item)
    for change, item, rank in changes:
        size = len(ranks)
        if change == "push" and item not in ranks:
            heap_push(heap, places, 0, size, rank, item)
            ranks[item] = rank
        elif change == "remove" and item in ranks:
            heap_remove(heap, places, 0, size, item)
            del ranks[item]
        elif change == "fix" and item in ranks:
            heap_fix(heap, places, 0, size, rank, item)
            ranks[item] = rank
        nodes = heap[: len(ranks)]
        assert dict(nodes[:, ::-1].tolist()) == ranks
        parents = nodes[(np.arange(1, len(nodes)) - 1) // BRANCHES, 0]
        assert (parents <= nodes[1:, 0]).all()
        assert (places[nodes[:, 1], 0] == np.arange(len(nodes))).all()


@given(seed=st.integers(0, 10**6), budget=st.integers(1, 9), data=st.data())
def test_every_policy_joins_rightly_and_keeps_the_budget(seed, budget, data) -> None:
    policy = BLIND[data.draw(st.sampled_from(sorted(BLIND)))](seed)
    window = data.draw(st.none() | st.integers(1, 6))
    fed = arrivals(seed, 40, trend=data.draw(st.booleans()))
    cache = JoinCache(budget, policy, window=window)
    ticks_of(cache, fed, window)


@given(
    seed=st.integers(0, 10**6),
    budget=st.integers(1, 12),
    case=st.sampled_from(["laws", "trends", "walks"]),
    search=st.sampled_from(["auto", "scan"]),
)
def test_heeb_discards_the_lowest_scores(seed, budget, case, search) -> None:
    laws = {"laws": LAWS, "trends": TRENDS, "walks": WALKS}[case]
    policy = Heeb(laws=laws, weighting=Exponential(4.0), search=search)
    rule = policy.rule()
    modes = {"laws": RANKED, "trends": EXTREMES, "walks": EXTREMES}
    assert rule.mode == (SCANNED if search == "scan" else modes[case])
    fed = arrivals(seed, 50, trend=case == "trends")
    lasts = {}
    for stream, key, now in zip(*(part.tolist() for part in fed), strict=True):
        lasts[stream, now] = key

    def score(row: tuple[int, int, int, int], now: int) -> float:
        partner = 1 - row[0]
        seen = [key for (stream, tick), key in lasts.items() if stream == partner and tick <= now]
        return table_score(rule.tables[partner], row[1], now, seen[-1] if seen else 0)

    for now, stayed, went in ticks_of(JoinCache(budget, policy), fed):
        if went:
            highest = max(score(row, now) for row in went)
            assert highest <= min(score(row, now) for row in stayed) * (1 + 1e-12)


@given(seed=st.integers(0, 10**6), budget=st.integers(1, 8), window=st.integers(1, 9))
def test_heeb_in_windows_discards_the_lowest_scores(seed, budget, window) -> None:
    for policy in (
        Heeb(laws=LAWS, weighting=Exponential(3.0), window=window),
        Heeb(laws=TRENDS, weighting=Exponential(3.0), window=window),
        Prob(laws=LAWS, window=window),
        Life(laws=LAWS, window=window),
    ):
        rule = policy.rule()
        fed = arrivals(seed, 30, trend=policy.laws is TRENDS)

        def score(row: tuple[int, int, int, int], now: int, tables=rule.tables) -> float:
            table = tables[1 - row[0]]
            return window_score(table, row[1], now, 0, row[2] + window - now)

        for now, stayed, went in ticks_of(JoinCache(budget, policy, window=window), fed, window):
            if went:
                highest = max(score(row, now) for row in went)
                assert highest <= min(score(row, now) for row in stayed) * (1 + 1e-12)


@given(seed=st.integers(0, 10**6), budget=st.integers(1, 8), ordered=st.booleans())
def test_frequency_discards_what_its_partner_brought_least(seed, budget, ordered) -> None:
    fed = arrivals(seed, 40, trend=False)
    came: Counter[tuple[int, int]] = Counter()
    streams, keys, ticks = fed
    cache = JoinCache(budget, ProbPast(seed=seed, ordered=ordered))
    for now, stayed, went in ticks_of(cache, fed):
        here = ticks == now
        came.update(zip(streams[here].tolist(), keys[here].tolist(), strict=True))
        if went:
            highest = max(came[1 - row[0], row[1]] for row in went)
            assert highest <= min(came[1 - row[0], row[1]] for row in stayed)


@given(seed=st.integers(0, 10**6), cut=st.integers(0, 60), name=st.sampled_from(sorted(BLIND)))
def test_where_a_feed_ends_changes_nothing(seed, cut, name) -> None:
    streams, keys, ticks = fed = arrivals(seed, 60, trend=True)
    whole, parts = JoinCache(5, BLIND[name](seed)), JoinCache(5, BLIND[name](seed))
    at = int(np.searchsorted(ticks, cut))
    pairs = whole.feed(*fed, emit=True).pairs
    first = parts.feed(streams[:at], keys[:at], ticks[:at], emit=True).pairs
    second = parts.feed(streams[at:], keys[at:], ticks[at:], emit=True).pairs
    assert np.array_equal(pairs, np.concatenate([first, second]))
    assert rows_of(whole) == rows_of(parts)
    assert whole.account == parts.account


@given(seed=st.integers(0, 10**6), budget=st.integers(1, 6))
def test_a_policy_can_be_replaced_without_losing_a_row(seed, budget) -> None:
    cache = JoinCache(budget, Rand(seed=seed))
    streams, keys, ticks = arrivals(seed, 40, trend=True)
    half = int(np.searchsorted(ticks, 20))
    cache.feed(streams[:half], keys[:half], ticks[:half])
    before, account = rows_of(cache), cache.account
    policy = Heeb(laws=TRENDS, weighting=Exponential(4.0))
    for each in (policy, policy.retuned(7.5)):
        cache.replace(each)
        assert rows_of(cache) == before
        assert cache.account == account
    cache.feed(streams[half:], keys[half:], ticks[half:])
    assert len(cache) <= budget


@given(seed=st.integers(0, 10**6), budget=st.integers(1, 10))
def test_several_streams_share_one_budget(seed, budget) -> None:
    joins = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]], dtype=bool)
    laws = (*LAWS, LAWS[0])
    rng = np.random.default_rng(seed)
    streams, keys = rng.integers(0, 3, 60), rng.integers(0, KEYS, 60)
    ticks = np.arange(60) // 2
    chances = [dict(zip(m.keys.tolist(), m.probabilities.tolist(), strict=True)) for m in laws]
    for search in ("auto", "scan"):
        policy = Heeb(laws=laws, weighting=Exponential(5.0), search=search)
        cache = JoinCache(budget, policy, joins=joins)
        fed = cache.feed(streams, keys, ticks, emit=True)
        assert all(joins[streams[new], streams[old]] for new, old in fed.pairs)
        assert all(keys[new] == keys[old] for new, old in fed.pairs)
        assert fed.held.sum(axis=1).max() <= budget
        rows = rows_of(cache)
        worth = [sum(chances[p][key] for p in range(3) if joins[s, p]) for s, key, *_ in rows]
        numbers = {row[3] for row in rows}
        assert len(worth) == min(budget, 60)
        gone = [i for i in range(60) if i not in numbers]
        lost = [
            sum(chances[p][int(keys[i])] for p in range(3) if joins[streams[i], p]) for i in gone
        ]
        assert max(lost, default=0.0) <= min(worth) + 1e-12


def test_the_budget_holds_over_a_stream_a_hundred_times_longer() -> None:
    for budget in (1, 10, 300):
        length = 50 * budget
        for policy in (TOWER.heeb(budget), *TOWER.baselines(0), Hist()):
            fed = JoinCache(budget, policy).feed(*alternating(*TOWER.draw(length, 4)))
            assert fed.held.sum(axis=1).max() == budget


@given(seed=st.integers(0, 10**6), budget=st.integers(1, 9))
def test_recency_and_frequency_equal_their_slow_twins(seed, budget) -> None:
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 15, 120)
    recent: OrderedDict[int, None] = OrderedDict()
    came: Counter[int] = Counter()
    moments: dict[int, int] = {}
    lru, lfu = [], []
    for now, key in enumerate(keys.tolist()):
        lru.append(key in recent)
        recent[key] = None
        recent.move_to_end(key)
        if len(recent) > budget:
            recent.popitem(last=False)
        came[key] += 1
        lfu.append(key in moments)
        moments[key] = now
        if len(moments) > budget:
            del moments[min(moments, key=lambda each: (came[each], moments[each]))]
    assert LookupCache(budget, Lru()).feed(keys).tolist() == lru
    assert LookupCache(budget, Lfu()).feed(keys).tolist() == lfu


@given(seed=st.integers(0, 10**6), budget=st.integers(1, 6), keys_max=st.integers(1, 20))
def test_counts_that_are_halved_still_hold_the_budget(seed, budget, keys_max) -> None:
    rng = np.random.default_rng(seed)
    keys = rng.zipf(1.4, 300) % 60
    cache = LookupCache(budget, Lfu(keys_max=keys_max))
    held: dict[int, int] = {}
    hits, left = cache.trace(keys)
    for now, key in enumerate(keys.tolist()):
        assert hits[now] == (key in held)
        if key not in held:
            held[key] = now
        if left[now] >= 0:
            held = {each: born for each, born in held.items() if born != left[now]}
        assert len(held) <= budget
    assert sorted(held) == sorted(cache.keys.tolist())


@given(seed=st.integers(0, 10**6), budget=st.integers(1, 8))
def test_heeb_with_the_future_known_has_the_most_hits(seed, budget) -> None:
    keys = np.random.default_rng(seed).integers(0, 12, 80)
    policy = Heeb(laws=(Offline(keys=keys),), weighting=Exponential(9.0), caching=True)
    assert LookupCache(budget, policy).feed(keys).sum() == lfd(keys, budget).sum()


@given(seed=st.integers(0, 10**6), budget=st.integers(2, 25))
def test_a_lookup_discards_the_lowest_score(seed, budget) -> None:
    law = Ar1(phi0=2.0, phi1=0.7, sigma=3.0, grid=1.0)
    keys = np.random.default_rng(seed).normal(6.7, 4.0, 80).round().astype(np.int64)
    policy = Heeb(laws=(law,), weighting=Exponential(float(budget)), caching=True)
    table = policy.rule().tables[0]
    cache = LookupCache(budget, policy)
    hits, left = cache.trace(keys)
    held: dict[int, int] = {}
    for now, key in enumerate(keys.tolist()):
        held.setdefault(key, now)
        if left[now] >= 0:
            (victim,) = (each for each, born in held.items() if born == left[now])
            scores = {each: table_score(table, each, now, key) for each in held}
            assert scores[victim] <= min(scores.values()) * (1 + 1e-12)
            del held[victim]
    assert hits.any()


def test_dominated_rows_go_first_and_heeb_decides_the_rest() -> None:
    laws = trends((1.0, 2.0))
    weighting = Exponential(alpha_of(3.0))
    keys = TOWER.draw(120, 1)
    policy = DominanceHeeb(laws=laws, weighting=weighting, horizon=60)
    made = results(policy, keys, 5, 20)
    assert made == pytest.approx(results(TOWER.heeb(5), keys, 5, 20), rel=0.03)


def test_learning_nears_heeb_and_leaves_chance_behind() -> None:
    for streams, share in ((TOWER, 0.95), (WALK, 0.0)):
        made = np.zeros(3)
        for seed in range(3):
            keys = streams.draw(2500, seed)
            form = "walk" if streams is WALK else "trend"
            chance = Rand(seed=seed, passing=streams.passing)
            policies = (streams.heeb(10), Hist(form=form, seed=seed), chance)
            made += [results(policy, keys, 10, 200) for policy in policies]
        assert share * made[0] <= made[1]
        assert made[1] > 1.2 * made[2]
