"""Several joins over several streams in one budget: a row is worth the sum over its partners."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.bounded_victims import EXTREMES, RANKED, SCANNED
from penstock.lab.caching.policies import Heeb
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.laws import History, Law
from penstock.operators.bounded.laws_independent import LinearTrend, Stationary
from penstock.operators.bounded.laws_markov import RandomWalk
from penstock.operators.bounded.laws_noise import BoundedNormal, Normal, Uniform
from penstock.operators.bounded.policies import CompiledPolicy
from penstock.operators.bounded.policies_baselines import Lfu, LifePast, Lru, ProbPast, Rand
from penstock.operators.bounded.policies_hist import Hist
from penstock.operators.bounded.weightings import Exponential
from tests.oracle.bounded_curves import joining_curve
from tests.oracle.bounded_scores import curve_score, direct_score
from tests.support.laws import Schedule

STREAMS, KEYS = 3, 12
CHAIN = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
"""The first joins the second, and the second the third."""
RING = ~np.eye(STREAMS, dtype=bool)
"""Every stream joins the other two."""
MODELS: dict[str, tuple[Law, ...]] = {
    # Far apart: the sum of two partners has two peaks, and its least may lie between them.
    "trends": (
        LinearTrend(slope=1, intercept=-7, noise=BoundedNormal(sigma=1.0, half_width=3)),
        LinearTrend(slope=1, intercept=0, noise=Uniform(half_width=3)),
        LinearTrend(slope=1, intercept=7, noise=BoundedNormal(sigma=1.0, half_width=3)),
    ),
    "walks": tuple(RandomWalk(drift=0, step=Normal(sigma=sigma)) for sigma in (1.0, 1.7, 0.6)),
    "laws": tuple(
        Stationary(keys=np.arange(KEYS), probabilities=np.roll(np.arange(1, KEYS + 1), turn) / 100)
        for turn in (0, 4, 9)
    ),
}
POLICIES: dict[str, Callable[[int], CompiledPolicy]] = {
    "rand": lambda seed: Rand(seed=seed),
    "prob": lambda seed: ProbPast(seed=seed),
    "prob ordered": lambda seed: ProbPast(seed=seed, ordered=True),
    "life": lambda seed: LifePast(seed=seed),
    "lru": lambda seed: Lru(),
    "lfu": lambda seed: Lfu(),
    "hist": lambda seed: Hist(seed=seed, range_ticks=(2, 8), learn_ticks=12, decay_every=7),
    "trends": lambda seed: Heeb(laws=MODELS["trends"], weighting=Exponential(4.0)),
    "laws": lambda seed: Heeb(laws=MODELS["laws"], weighting=Exponential(4.0)),
    "windows": lambda seed: Heeb(laws=MODELS["trends"], weighting=Exponential(4.0), window=6),
}


def arrivals(seed: int, ticks: int, moving: bool) -> tuple[np.ndarray, ...]:
    """Draw a row of every stream per tick, in any order."""
    rng = np.random.default_rng(seed)
    streams = np.concatenate([rng.permutation(STREAMS) for _ in range(ticks)])
    times = np.repeat(np.arange(ticks), STREAMS)
    keys = rng.integers(0, KEYS, len(times)) + (times - KEYS // 2 if moving else 0)
    return streams, keys, times


def rows_of(cache: JoinCache) -> list[tuple[int, int, int, int]]:
    rows = cache.rows
    columns = (rows.streams, rows.keys, rows.born, rows.numbers)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(
    seed=st.integers(0, 10**6), budget=st.integers(1, 9), joins=st.sampled_from((CHAIN, RING)),
    name=st.sampled_from(sorted(POLICIES)), window=st.none() | st.integers(1, 6),
)  # fmt: skip
def test_every_policy_serves_several_joins(seed, budget, joins, name, window) -> None:
    window = 6 if name == "windows" else window
    streams, keys, ticks = fed = arrivals(seed, 25, moving=seed % 2 == 0)
    cache = JoinCache(budget, POLICIES[name](seed), joins=joins, window=window)
    held: list[tuple[int, int, int, int]] = []
    found = []
    for at in range(0, len(ticks), STREAMS):
        part = slice(at, at + STREAMS)
        done = cache.feed(*(each[part] for each in fed), emit=True)
        fresh = [(int(streams[i]), int(keys[i]), int(ticks[i]), i) for i in range(at, at + STREAMS)]
        active = [row for row in held if window is None or row[2] >= ticks[at] - window]
        found += sorted(map(tuple, done.pairs.tolist()))
        expected = sorted(
            (new[3], old[3])
            for place, new in enumerate(fresh)
            for old in [*active, *fresh[:place]]
            if joins[new[0], old[0]] and new[1] == old[1]
        )
        assert found[len(found) - len(expected) :] == expected
        assert len(done.pairs) == len(expected)
        held = rows_of(cache)
        assert len(held) <= budget
        assert not set(held) - {*active, *fresh}
    if window is None:
        assert len(held) == budget


@pytest.mark.parametrize(
    ("case", "mode"), [("trends", SCANNED), ("walks", SCANNED), ("laws", RANKED)]
)
@pytest.mark.parametrize("joins", [CHAIN, RING], ids=["chain", "ring"])
def test_the_lowest_sum_over_partners_goes(case: str, mode: int, joins: np.ndarray) -> None:
    laws, weighting = MODELS[case], Exponential(4.0)
    policy = Heeb(laws=laws, weighting=weighting)
    assert policy.rule().mode == mode
    assert Heeb(laws=laws[:2], weighting=weighting).rule().mode in {EXTREMES, RANKED}
    streams, keys, ticks = fed = arrivals(11, 24, moving=case == "trends")
    cache, lasts, held = JoinCache(8, policy, joins=joins), np.zeros(STREAMS, np.int64), set()
    discards = 0
    for at in range(0, len(ticks), STREAMS):
        part, now = slice(at, at + STREAMS), int(ticks[at])
        cache.feed(*(each[part] for each in fed))
        lasts[streams[part]] = keys[part]
        held |= {(int(streams[i]), int(keys[i]), now, i) for i in range(at, at + STREAMS)}
        scores = {
            row: sum(
                direct_score(laws[p], weighting, row[1], History(now, int(lasts[p])))
                for p in range(STREAMS)
                if joins[row[0], p]
            )
            for row in held
        }  # fmt: skip
        stayed = set(rows_of(cache))
        went = held - stayed
        if went:
            highest = max(scores[row] for row in went)
            assert highest <= min(scores[row] for row in stayed) + 1e-9
            discards += len(went)
        held = stayed
    assert discards > 50


@given(seed=st.integers(0, 10**6), cut=st.integers(1, 24), name=st.sampled_from(sorted(POLICIES)))
def test_caches_of_several_joins_go_on_from_their_arrays(seed, cut, name) -> None:
    fed = arrivals(seed, 25, moving=True)
    window = 6 if name == "windows" else None
    live, again = (
        JoinCache(5, POLICIES[name](seed), joins=RING, window=window) for _ in range(2)
    )  # fmt: skip
    live.feed(*(each[: STREAMS * cut] for each in fed))
    again.restore(live.arrays())
    rest = [each[STREAMS * cut :] for each in fed]
    assert np.array_equal(live.feed(*rest, emit=True).pairs, again.feed(*rest, emit=True).pairs)
    assert rows_of(live) == rows_of(again)


def test_a_stream_of_two_joins_holds_more_of_the_budget() -> None:
    """All streams have one law, so that the second's rows meet twice as many partners."""
    law = Stationary(keys=np.arange(40), probabilities=np.full(40, 1 / 40))
    policy = Heeb(laws=(law,) * STREAMS, weighting=Exponential(8.0))
    rng = np.random.default_rng(2)
    keys, ticks = rng.integers(0, 40, 900), np.repeat(np.arange(300), STREAMS)
    cache = JoinCache(30, policy, joins=CHAIN)
    fed = cache.feed(np.tile(np.arange(STREAMS), 300), keys, ticks)
    assert cache.held == (0, 30, 0)
    assert fed.held[-1].tolist() == [0, 30, 0]


def test_curves_and_scores_add_over_partners() -> None:
    laws = [Schedule(distributions=({1: 0.5}, {1: 0.2, 2: 0.3}, {2: 1.0})) for _ in range(2)]
    history, weighting = History(now=-1), Exponential(2.0)
    for key in (1, 2):
        curves = [joining_curve(law, key, 3, history) for law in laws]
        apart = sum(direct_score(law, weighting, key, history) for law in laws)
        assert curve_score(curves[0] + curves[1], weighting) == pytest.approx(apart, abs=1e-12)
