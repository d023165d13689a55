"""Charts: what rings, what does not, and that nothing depends on how rows are batched."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penstock.algebra.memories import AUTO, Memory
from penstock.kernels.law_fits import (
    CHART_WORDS,
    LEVEL,
    MEASURED,
    SHORTS,
    TREND,
    WALK,
    charts_watch,
)
from penstock.lab.caching.model_fitting import CHANGES, STEADY, drawn
from penstock.lab.caching.workload import FLOOR, Configuration, alternating
from penstock.lab.caching.workload import WALK as WALKS
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.fitted_laws import NOISES, FittedLaw
from penstock.operators.bounded.policy_control import Steering
from penstock.vocabulary.batches import Floats, Ints

BUDGET = 10


def rung(rests: Floats, marks: Floats | None = None) -> int:
    ticks, streams = np.arange(len(rests)), np.zeros(len(rests), dtype=np.int64)
    marks = np.abs(rests) if marks is None else marks
    return int(charts_watch(np.zeros((1, CHART_WORDS)), streams, ticks, rests, marks, SHORTS))


def begun() -> tuple[JoinCache, Steering]:
    steering = Steering(Memory(rows=BUDGET, laws=(AUTO, AUTO)), numeric=True, budget=BUDGET)
    return JoinCache(BUDGET, steering.policy()), steering


def same(one: Steering, other: Steering) -> bool:
    told = [each.arrays() for each in (one, other)]
    return told[0].keys() == told[1].keys() and all(
        array.tobytes() == told[1][name].tobytes() for name, array in told[0].items()
    )


def test_a_chart_rings_soon_after_a_change_and_seldom_before() -> None:
    generator = np.random.default_rng(7)
    still = generator.normal(size=400)
    slow = np.empty(60)
    slow[0] = 0.0
    for i in range(1, 60):
        slow[i] = 0.95 * slow[i - 1] + math.sqrt(1 - 0.95**2) * generator.normal()
    after = {
        "higher": (generator.normal(size=60) + 3.0, 12),
        "wider": (4.0 * generator.normal(size=60), 12),
        "narrower": (0.1 * generator.normal(size=60), 30),
        "following": (slow, 60),
    }
    assert rung(still) == -1
    for name, (changed, most) in after.items():
        at = rung(np.concatenate((still, changed)))
        assert 400 <= at < 400 + most, name


def test_means_of_long_and_short_are_those_of_the_keys() -> None:
    values = np.random.default_rng(3).normal(2.0, 0.5, size=20)
    charts = np.zeros((1, CHART_WORDS))
    streams = np.zeros(20, dtype=np.int64)
    charts_watch(charts, streams, np.arange(20), values, values, SHORTS)
    mean, variance = charts[0, MEASURED : MEASURED + 2]
    assert mean == pytest.approx(values.mean())
    assert variance == pytest.approx(values.var())
    short = 0.0
    for i in range(1, 20):
        short += SHORTS[0] * (values[i] - values[:i].mean() - short)
    assert charts[0, MEASURED + 2] == pytest.approx(short)


def test_a_stream_that_no_law_fits_rings_no_oftener() -> None:
    """Its means wander; what is usual of them is measured."""
    generator = np.random.default_rng(9)
    rests, at, rings = np.empty(20_000), 0.0, 0
    for i in range(len(rests)):
        at = 0.98 * at + 0.2 * generator.normal()
        rests[i] = at
    charts = np.zeros((1, CHART_WORDS))
    begin = 0
    while begin < len(rests):
        part = slice(begin, len(rests))
        ticks = np.arange(begin, len(rests))
        streams = np.zeros(len(ticks), dtype=np.int64)
        tick = charts_watch(charts, streams, ticks, rests[part], np.abs(rests[part]), SHORTS)
        if tick < 0:
            break
        rings += 1
        charts[0, MEASURED:].reshape(3, -1)[:, 2::2] = 0.0
        begin = tick + 1
    assert rings < 200


@pytest.mark.parametrize("case", STEADY, ids=lambda case: case.name)
def test_steady_streams_are_steered_seldom(case: Configuration) -> None:
    cache, steering = begun()
    rows = alternating(*case.draw(6000, 31))
    parts = sum(1 for _ in steering.feed(cache, *rows))
    # Twelfths of what is known from 12 to 6,000 ticks are some eighty.
    assert parts < 160


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change[0].name}{change[1].name}")
def test_batches_and_restarts_change_nothing(
    change: tuple[Configuration, Configuration],
) -> None:
    keys = drawn(*change, 400, 77)
    rows: tuple[Ints, Ints, Ints] = alternating(*keys)
    cache, steering = begun()
    whole = np.concatenate([fed.made for _, fed in steering.feed(cache, *rows)])
    generator = np.random.default_rng(5)
    other_cache, other = begun()
    made, at = [], 0
    while at < 400:
        until = min(at + int(generator.integers(1, 40)), 400)
        part = [each[2 * at : 2 * until] for each in rows]
        made += [fed.made for _, fed in other.feed(other_cache, *part)]
        at = until
        if generator.random() < 0.3:
            kept, kept_rows = other.arrays(), other_cache.arrays()
            _, other = begun()
            other.restore(kept)
            other_cache = JoinCache(BUDGET, other.policy())
            other_cache.restore(kept_rows)
    assert np.array_equal(whole, np.concatenate(made))
    assert same(steering, other)


def test_a_snapshot_between_the_ring_and_the_steering_keeps_the_ring() -> None:
    rows = alternating(*drawn(FLOOR, WALKS, 800, 4))
    cache, steering = begun()
    for tick in range(800):
        part = [each[2 * tick : 2 * tick + 2] for each in rows]
        list(steering.feed(cache, *part))
        if tick > 400 and steering.next == tick + 1 and steering.arrays()["steering_flags"][1]:
            break
    assert 400 < tick < 420
    _, other = begun()
    other.restore(steering.arrays())
    other_cache = JoinCache(BUDGET, other.policy())
    other_cache.restore(cache.arrays())
    rest = [each[2 * tick + 2 :] for each in rows]
    ends = [
        np.concatenate([fed.made for _, fed in each.feed(held, *rest)])
        for each, held in ((steering, cache), (other, other_cache))
    ]
    assert np.array_equal(ends[0], ends[1])
    assert same(steering, other)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("sigma", "bound"), [(2.0, 9.0), (9.0, 15.0), (30.0, 12.0)])
def test_the_spread_of_a_law_is_that_of_its_noise(noise: str, sigma: float, bound: float) -> None:
    for kind in (LEVEL, TREND):
        law = FittedLaw(kind=kind, numbers={"sigma": sigma, "bound": bound}, noise=noise)
        offsets = np.arange(-300, 301)
        masses = law.noise_law().masses(offsets.astype(np.float64))
        assert law.spread == pytest.approx(math.sqrt(masses @ offsets**2), rel=0.01)
    assert FittedLaw(kind=WALK, numbers={"sigma": 3.0}).spread == pytest.approx(3.014, abs=1e-3)


def test_a_law_with_tight_bounds_is_not_left_for_itself() -> None:
    """Noise of a wide normal law within narrow bounds is no wider than the bounds."""
    cache, steering = begun()
    list(steering.feed(cache, *alternating(*FLOOR.draw(6000, 777))))
    assert [fact["since_tick"] for fact in steering.facts()["streams"]] == [0, 0]
