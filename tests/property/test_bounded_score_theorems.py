"""The theorems on scores: what they follow, how they are carried on, and with whom they agree."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernels.scores import table_score
from penstock.operators.bounded.laws import History
from penstock.operators.bounded.laws_independent import Offline, Stationary
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import Gaussian, Noise, Normal, Uniform
from penstock.operators.bounded.scores import score_table
from penstock.operators.bounded.weightings import Exponential, Fixed
from tests.oracle.bounded import (
    curve,
    trend_score,
)
from tests.oracle.bounded_curves import (
    caching_curve,
    dominance,
    dominates,
    joining_curve,
    strongly_dominates,
)
from tests.oracle.bounded_scores import (
    curve_score,
    direct_score,
    lookup_back,
    lookup_forward,
    score_back,
    score_forward,
    shifted_score,
)
from tests.support.bounded import random_laws, trend
from tests.support.laws import Infinite, Inverse, Masses, Schedule, any_table, chain_of

alphas = st.floats(0.3, 60.0)
seeds = st.integers(0, 2**32 - 1)


# ── scores ──────────────────────────────────────────────────────────────────────────────────────


class Given:
    """Weights as they are given."""

    def __init__(self, weights: np.ndarray) -> None:
        self._weights = weights

    def weights(self, count: int) -> np.ndarray:
        return self._weights[:count]


def test_scores_follow_dominance_under_any_weighting() -> None:
    generator = np.random.default_rng(29)
    plain = strong = 0
    for _ in range(2000):
        ticks = int(generator.integers(1, 12))
        lower = np.cumsum(generator.random(ticks) * (generator.random(ticks) < 0.6))
        lift = generator.random(ticks) * (generator.random(ticks) < 0.5)
        upper = np.maximum.accumulate(lower + lift)
        weights = np.sort(generator.random(ticks))[::-1] * (generator.random() < 0.9)
        weighting = Given(weights)
        assert dominates(upper, lower)
        high, low = curve_score(upper, weighting), curve_score(lower, weighting)
        assert high >= low - 1e-12
        plain += 1
        if strongly_dominates(upper, lower) and weights[0] > 0.0:
            assert high > low
            strong += 1
        # Abel's form of the same sum.
        falls = weights - np.append(weights[1:], 0.0)
        assert high == pytest.approx(float(upper @ falls), abs=1e-9)
    assert plain == 2000
    assert strong > 100


def test_weights_that_never_fall_do_not_tell_apart() -> None:
    partner = Stationary(keys=np.array([1, 2]), probabilities=np.array([0.3, 0.2]))
    x, y = (caching_curve(partner, key, 60, History(now=0)) for key in (1, 2))
    assert strongly_dominates(x[:50], y[:50])
    for key in (1, 2):
        flat = direct_score(partner, Infinite(), key, History(now=0), caching=True)
        assert flat == pytest.approx(1.0)
    now = History(now=0)
    one, other = (direct_score(partner, Inverse(), key, now, caching=True) for key in (1, 2))
    assert one > other
    for weighting in (Exponential(9.0), Fixed(9)):
        table = score_table(partner, weighting, caching=True)
        assert table_score(table, 1, 0, 0) > table_score(table, 2, 0, 0)


@given(seeds, alphas)
@settings(deadline=None, max_examples=60)
def test_scores_are_carried_from_tick_to_tick(seed: int, alpha: float) -> None:
    laws = random_laws(np.random.default_rng(seed), 9, 3)
    law, weighting = Schedule(distributions=tuple(laws)), Exponential(alpha)
    growth, shrink = math.exp(1.0 / alpha), math.exp(-1.0 / alpha)
    for caching, forward, back in (
        (False, score_forward, score_back),
        (True, lookup_forward, lookup_back),
    ):
        table = any_table(law, weighting, caching=caching)
        for key, now in itertools.product(range(3), range(7)):
            mass = law.pmf(key, 1, History(now=now))
            here, there = (table_score(table, key, tick, 0) for tick in (now, now + 1))
            sums = np.diff(curve(laws[now + 1 :], key, caching), prepend=0.0)
            assert here == pytest.approx(sums @ weighting.weights(len(sums)), abs=1e-12)
            assert back(there, mass, shrink) == pytest.approx(here, abs=1e-12)
            if mass < 1.0 and not (caching and mass > 0.99):
                # The way forward multiplies the rounding error.
                slack = 1e-12 * growth / (1.0 - mass if caching else 1.0)
                assert forward(here, mass, growth) == pytest.approx(there, abs=slack)


@given(
    alphas, st.sampled_from((1, 2, -1, -3)), st.integers(-6, 6), st.integers(-3, 3), st.booleans()
)
@settings(deadline=None, max_examples=120)
def test_scores_are_carried_from_key_to_key(
    alpha: float, slope: int, offset: int, ticks: int, caching: bool
) -> None:
    half, now = 5, 11
    law, weighting = trend(Uniform(half_width=half), slope), Exponential(alpha)
    masses = {i: 1.0 / (2 * half + 1) for i in range(-half, half + 1)}
    key = slope * now + offset
    neighbour = key + slope * ticks
    score = trend_score(masses, slope, offset + slope * ticks, alpha, caching)
    found = shifted_score(law, weighting, key, neighbour, score, now, caching=caching)
    exact = trend_score(masses, slope, offset, alpha, caching)
    growth = math.exp(max(ticks, 0) / alpha) * (1.2 ** max(ticks, 0))
    assert found == pytest.approx(exact, abs=1e-12 * growth)
    # The curves themselves are shifted.
    make = caching_curve if caching else joining_curve
    mine = make(law, key, 20, History(now=now))
    np.testing.assert_allclose(make(law, neighbour, 20, History(now=now + ticks)), mine, atol=1e-12)


@given(st.integers(-50, 50), st.integers(0, 1000), st.integers(-6, 6), st.booleans())
@settings(deadline=None, max_examples=30)
def test_scores_know_no_time_where_the_law_knows_none(
    last: int, now: int, distance: int, caching: bool
) -> None:
    weighting = Exponential(2.0)
    walk = RandomWalk(drift=1, step=Uniform(half_width=2))
    chain = chain_of(Ar1(phi0=0.0, phi1=-0.7, sigma=2.0), -9, 9)
    score = lambda law, key, tick, x: direct_score(  # noqa: E731
        law, weighting, key, History(now=tick, last=x), caching=caching
    )
    assert score(walk, last + distance, now, last) == score(walk, distance, 0, 0)
    place = last % 10
    assert score(chain, distance, now, place) == score(chain, distance, 0, place)


# ── agreements ──────────────────────────────────────────────────────────────────────────────────


def lowest(scores: dict[int, float]) -> int:
    return min(scores, key=lambda key: scores[key])


@given(seeds, alphas)
@settings(deadline=None, max_examples=60)
def test_scores_of_a_known_stream_evict_the_farthest_reference(seed: int, alpha: float) -> None:
    keys = np.random.default_rng(seed).integers(0, 6, size=30)
    table = score_table(Offline(keys=keys), Exponential(alpha), caching=True)
    for now in range(30):
        after = keys[now + 1 :].tolist()
        wait = {key: after.index(key) if key in after else 10**6 for key in range(6)}
        victim = lowest({key: table_score(table, key, now, 0) for key in range(6)})
        assert wait[victim] == max(wait.values())


@given(st.lists(st.integers(0, 30), min_size=2, max_size=12), alphas)
@settings(deadline=None, max_examples=60)
def test_scores_of_a_stationary_stream_evict_the_least_likely(
    weights: list[int], alpha: float
) -> None:
    chances = np.array(weights, dtype=np.float64) / max(sum(weights), 1)
    partner = Stationary(keys=np.arange(len(weights)), probabilities=chances)
    for caching in (False, True):
        for weighting in (Exponential(alpha), Fixed(3)):
            table = score_table(partner, weighting, caching=caching)
            victim = lowest({key: table_score(table, key, 0, 0) for key in range(len(weights))})
            assert weights[victim] == min(weights)


@given(seeds, alphas)
@settings(deadline=None, max_examples=40)
def test_almost_stationary_streams_evict_the_least_likely(seed: int, alpha: float) -> None:
    generator = np.random.default_rng(seed)
    # The order of keys by probability never changes, the probabilities do.
    laws = [
        {key: float(mass) for key, mass in enumerate(np.sort(generator.random(5)) / 5.0)}
        for _ in range(12)
    ]
    table = any_table(Schedule(distributions=tuple(laws)), Exponential(alpha), caching=True)
    for now in range(-1, 10):
        assert lowest({key: table_score(table, key, now, 0) for key in range(5)}) == 0


@given(alphas, st.integers(1, 9), st.sampled_from((1, 2)))
@settings(deadline=None, max_examples=40)
def test_lookups_of_a_rising_trend_evict_the_smallest_key(
    alpha: float, half: int, slope: int
) -> None:
    rising = Masses(first=-half, masses=np.arange(1.0, 2 * half + 2))
    for noise in (Uniform(half_width=half), rising):
        table = score_table(trend(noise, slope), Exponential(alpha), caching=True)
        scores = [table_score(table, key, 0, 0) for key in range(-half - 3, half + 1)]
        assert np.all(np.diff(scores) >= -1e-15)


def test_lookups_of_a_crooked_trend_evict_the_smallest_key() -> None:
    means = [0, 0, 1, 1, 4, 5, 5, 5, 9, 9, 10, 14, 14]
    noise = {-3: 0.1, -2: 0.1, -1: 0.2, 0: 0.2, 1: 0.4}
    laws = tuple({mean + i: mass for i, mass in noise.items()} for mean in means)
    table = any_table(Schedule(distributions=laws), Exponential(5.0), caching=True)
    for now, mean in enumerate(means):
        scores = [table_score(table, key, now, 0) for key in range(mean - 5, mean + 2)]
        assert np.all(np.diff(scores) >= -1e-15)


@pytest.mark.parametrize(
    "step", [Normal(sigma=1.0), Gaussian(sigma=2.0), Uniform(half_width=3)], ids=repr
)
@pytest.mark.parametrize("caching", [False, True])
def test_scores_of_a_symmetric_walk_evict_the_farthest(step: Noise, caching: bool) -> None:
    for alpha in (1.0, 10.0, 200.0):
        walk = RandomWalk(drift=0, step=step)
        table = score_table(walk, Exponential(alpha), caching=caching)
        scores = [table_score(table, 5 + d, 0, 5) for d in range(80)]
        mirror = [table_score(table, 5 - d, 0, 5) for d in range(80)]
        np.testing.assert_allclose(scores, mirror, rtol=1e-12)
        assert np.all(np.diff(scores) < 0.0)


def test_dominance_is_a_strict_order_among_equals() -> None:
    over = dominance(np.ones((3, 4)))
    assert over.tolist() == [[True, True, True], [False, True, True], [False, False, True]]
