"""Laws of streams: their laws against the formulas, their draws against their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penstock.operators.bounded.laws import History, Law
from penstock.operators.bounded.laws_independent import (
    NOTHING,
    HistogramLaw,
    LinearTrend,
    Offline,
    Stationary,
)
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import BoundedNormal, Gaussian, Noise, Normal, Uniform
from penstock.operators.bounded.weightings import Exponential, Fixed, alpha_of
from tests.oracle.bounded import bounded_normal
from tests.support.laws import Chain, Masses, Schedule, chain_of, horizon_of, residence_of

NOISES = (
    Uniform(half_width=4),
    Uniform(half_width=0),
    BoundedNormal(sigma=2.0, half_width=7),
    BoundedNormal(sigma=0.3, half_width=2),
    Normal(sigma=1.5),
    Masses(first=-2, masses=np.array([1.0, 0.0, 3.0, 2.0])),
)
MODELS: tuple[Law, ...] = (
    Schedule(distributions=({1: 0.5, 2: 0.5}, {3: 1.0}, {2: 0.3, 9: 0.5})),
    Stationary(keys=np.array([40, 2, 7]), probabilities=np.array([0.2, 0.5, 0.3])),
    HistogramLaw(first=-10, width=5, buckets=np.array([1.0, 0.0, 4.0])),
    LinearTrend(slope=1, intercept=-1, noise=BoundedNormal(sigma=2.0, half_width=7)),
    LinearTrend(slope=0.37, intercept=0.2, noise=Normal(sigma=1.5)),
    LinearTrend(slope=-0.5, intercept=3.0, noise=Uniform(half_width=3)),
    RandomWalk(drift=1, step=Masses(first=-1, masses=np.array([1.0, 2.0, 2.0])), start=3),
    RandomWalk(drift=0.25, step=Gaussian(sigma=1.2)),
    Ar1(phi0=2.0, phi1=0.6, sigma=1.5, grid=0.5),
    chain_of(Ar1(phi0=2.0, phi1=0.6, sigma=1.5, grid=0.5), -6, 26),
)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("shift", [0.0, 0.25, 0.9])
def test_noise_seen_from_anywhere_adds_up_to_one(noise: Noise, shift: float) -> None:
    offsets = np.arange(noise.low - 2, noise.high + 3, dtype=np.float64) - shift
    masses = noise.masses(offsets)
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert masses.min() >= 0.0


def test_bounded_normal_is_the_discretised_law() -> None:
    expected = bounded_normal(3.3, 10)
    noise = BoundedNormal(sigma=3.3, half_width=10)
    found = noise.masses(np.array([float(key) for key in expected]))
    np.testing.assert_allclose(found, list(expected.values()), atol=1e-15)
    assert noise.masses(np.array([11.0, -11.0])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("law", MODELS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("ahead", [1, 2, 3])
def test_law_and_masses_agree(law: Law, ahead: int) -> None:
    history = History(now=-1, last=2)
    keys, masses = law.distribution(ahead, history)
    assert len(set(keys.tolist())) == len(keys)
    np.testing.assert_array_equal(law.masses(keys, ahead, history), masses)
    missing = 0.2 if isinstance(law, Schedule) and ahead == 3 else 0.0
    assert masses.sum() == pytest.approx(1.0 - missing, abs=1e-12)
    outside = np.array([keys.min() - 1, keys.max() + 1])
    assert law.masses(outside, ahead, history).max() < 1e-12
    assert law.pmf(int(keys[0]), ahead, history) == masses[0]


@pytest.mark.parametrize("law", MODELS, ids=lambda law: type(law).__name__)
def test_draws_follow_the_law(law: Law) -> None:
    generator = np.random.default_rng(11)
    runs = np.array([law.draw(3, generator) for _ in range(4000)])
    if law.is_independent:
        expected = law.distribution(2, History(now=-1))
        sample = runs[:, 1]
    else:
        # Of walks that were at the commonest key, the next.
        keys, counts = np.unique(runs[:, 1], return_counts=True)
        last = int(keys[np.argmax(counts)])
        expected = law.distribution(1, History(now=1, last=last))
        sample = runs[runs[:, 1] == last, 2]
    for key, mass in zip(*expected, strict=True):
        share = float(np.mean(sample == key))
        # A real walk has forgotten the fraction that its shown key has lost.
        blur = 0.05 if isinstance(law, Ar1) or getattr(law, "is_real", False) else 0.0
        assert abs(share - mass) < 5 * math.sqrt(mass * (1 - mass) / len(sample)) + 1e-9 + blur


def test_what_a_law_leaves_over_joins_nothing() -> None:
    law = Schedule(distributions=({1: 0.5},))
    drawn = {int(law.draw(2, np.random.default_rng(seed))[0]) for seed in range(20)}
    assert drawn == {1, NOTHING}
    assert law.draw(2, np.random.default_rng(0))[1] == NOTHING
    known = Offline(keys=np.array([5, NOTHING]))
    assert known.pmf(NOTHING, 1, History(now=0)) == 0.0
    assert known.draw(3, np.random.default_rng(0)).tolist() == [5, NOTHING, NOTHING]
    assert len(known.distribution(5, History(now=0))[0]) == 0


def test_a_walk_convolves_its_steps() -> None:
    step = np.array([0.2, 0.5, 0.3])
    walk = RandomWalk(drift=2, step=Masses(first=-1, masses=step))
    expected = np.convolve(np.convolve(step, step), step)
    keys = np.arange(7) + 10 + 3 * 2 - 3
    np.testing.assert_allclose(walk.masses(keys, 3, History(now=4, last=10)), expected, atol=1e-15)


def test_an_autoregression_expands_as_stated() -> None:
    law = Ar1(phi0=5.59, phi1=0.72, sigma=4.22, grid=0.1)
    assert law.mean == pytest.approx(19.96, abs=0.01)
    assert law.deviation == pytest.approx(6.08, abs=0.01)
    mean, deviation = law.ahead(3, 300)
    by_hand = 5.59 + 0.72 * (5.59 + 0.72 * (5.59 + 0.72 * 30.0))
    assert mean == pytest.approx(by_hand, abs=1e-12)
    variance = 4.22**2 * (1 + 0.72**2 + 0.72**4)
    assert deviation == pytest.approx(math.sqrt(variance), abs=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Uniform(half_width=-1),
        lambda: Normal(sigma=0.0),
        lambda: BoundedNormal(sigma=1.0, half_width=-1),
        lambda: Masses(first=0, masses=np.array([])),
        lambda: Masses(first=0, masses=np.array([1.0, -1.0])),
        lambda: Stationary(keys=np.array([1, 1]), probabilities=np.array([0.5, 0.5])),
        lambda: Stationary(keys=np.array([1, 2]), probabilities=np.array([0.9, 0.9])),
        lambda: HistogramLaw(first=0, width=0, buckets=np.array([1.0])),
        lambda: LinearTrend(slope=math.nan, intercept=0.0, noise=Uniform(half_width=1)),
        lambda: RandomWalk(drift=0.5, step=Uniform(half_width=1)),
        lambda: Ar1(phi0=0.0, phi1=1.0, sigma=1.0),
        lambda: Ar1(phi0=0.0, phi1=0.5, sigma=0.0),
        lambda: Chain(first=0, matrix=np.array([[0.5, 0.4], [0.5, 0.5]])),
        lambda: Exponential(0.0),
        lambda: Fixed(0),
        lambda: alpha_of(1.0),
    ],
)
def test_what_is_no_law_is_refused(make) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        make()


@pytest.mark.parametrize(
    ("residence", "alpha"), [(2, 1.443), (3, 2.466), (4, 3.476), (8.3, 7.789), (12.5, 11.993)]
)
def test_alpha_predicts_the_residence(residence: float, alpha: float) -> None:
    found = alpha_of(residence)
    assert found == pytest.approx(alpha, abs=5e-4)
    assert 1.0 / (1.0 - math.exp(-1.0 / found)) == pytest.approx(residence, abs=1e-12)
    assert residence_of(found) == pytest.approx(residence, abs=1e-12)


def test_horizons_leave_out_no_more_than_epsilon() -> None:
    for alpha in (0.1, 1.0, 10.0, 1000.0):
        weighting = Exponential(alpha)
        shrink, ticks = math.exp(-1.0 / alpha), horizon_of(weighting, 1e-9)
        assert shrink**ticks / (1.0 - shrink) < 1e-9
        assert ticks == 1 or shrink ** (ticks - 1) / (1.0 - shrink) >= 1e-9 * (1 - 1e-9)
        assert weighting.total == pytest.approx(shrink / (1.0 - shrink))
    assert Fixed(3).weights(5).tolist() == [1, 1, 1, 0, 0]
    assert Fixed(3).total == 3.0
