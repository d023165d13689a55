"""The theorems on curves and dominance, on drawn streams, beside every future there is."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.operators.bounded.laws import History, Law
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import BoundedNormal, Noise, Normal, Uniform
from penstock.operators.bounded.weightings import Exponential
from tests.oracle.bounded import (
    cache_hits,
    caching_values,
    curve,
    is_dominated,
    joining_values,
    reduced_results,
    walk_law,
)
from tests.oracle.bounded_curves import (
    caching_curve,
    comparable,
    dominated_subset,
    dominates,
    joining_curve,
    strongly_dominates,
    uniform_category,
    uniform_curve,
    uniform_lookup_curve,
    windowed_curve,
)
from tests.oracle.bounded_reduction import paired, reduced
from tests.oracle.bounded_scores import curve_score
from tests.support.bounded import random_laws, trend
from tests.support.laws import Masses, Schedule, chain_of

seeds = st.integers(0, 2**32 - 1)


# ── the reduction ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("policy", ["random", "least recent", "farthest"])
def test_hits_are_results_of_the_reduced_join(policy: str) -> None:
    generator = np.random.default_rng(7)
    for case in range(300):
        keys, budget = int(generator.integers(2, 7)), int(generator.integers(1, 4))
        references = generator.integers(0, keys, size=25)
        initial = generator.permutation(keys + 2)[:budget].tolist()
        demand, supply = reduced(references)
        known = references.tolist()

        def choose(cached: list[int], fetched: int, tick: int, case=case, known=known) -> int:
            pool = sorted({*cached, fetched})
            if policy == "random":
                return pool[(case * 31 + tick * 17 + sum(pool)) % len(pool)]
            if policy == "least recent":
                before = known[: tick + 1]
                return min(
                    pool,
                    key=lambda key: max((i for i, v in enumerate(before) if v == key), default=-1),
                )
            after = known[tick + 1 :]
            return max(pool, key=lambda key: after.index(key) if key in after else 99)

        hits = cache_hits(initial, known, choose)
        lines = [tuple(line) for line in demand.tolist()]
        offers = [tuple(line) for line in supply.tolist()]
        assert hits == reduced_results(initial, lines, offers, choose)


@given(st.lists(st.integers(-3, 3), max_size=30))
@settings(deadline=None)
def test_the_reduced_streams_hold_no_duplicates(references: list[int]) -> None:
    demand, supply = reduced(np.array(references, dtype=np.int64))
    asked = [tuple(line) for line in demand.tolist()]
    offered = [tuple(line) for line in supply.tolist()]
    assert len(set(asked)) == len(asked)
    assert len(set(offered)) == len(offered)
    for tick, row in enumerate(asked):
        assert row not in offered[tick:]
        if row[1]:
            assert row in offered[:tick]
    numbers = paired(np.concatenate((demand, supply)))
    everything = asked + offered
    same = [a == b for a in everything for b in everything]
    assert same == [a == b for a in numbers.tolist() for b in numbers.tolist()]


def test_the_reduction_example() -> None:
    a, b, c = 1, 2, 3
    demand, supply = reduced(np.array([a, b, a, c, a]))
    assert demand.tolist() == [[a, 0], [b, 0], [a, 1], [c, 0], [a, 2]]
    assert supply.tolist() == [[a, 1], [b, 1], [a, 2], [c, 1], [a, 3]]


# ── curves ──────────────────────────────────────────────────────────────────────────────────────


@given(seeds)
@settings(deadline=None, max_examples=40)
def test_curves_are_the_sums(seed: int) -> None:
    laws = random_laws(np.random.default_rng(seed), 6, 4)
    law = Schedule(distributions=tuple(laws))
    for key in range(5):
        before = History(now=-1)
        joining = joining_curve(law, key, 6, before)
        caching = caching_curve(law, key, 6, before)
        np.testing.assert_allclose(joining, curve(laws, key, False), atol=1e-12)
        np.testing.assert_allclose(caching, curve(laws, key, True), atol=1e-12)
        assert np.all(np.diff(joining) >= 0.0)
        assert np.all(np.diff(caching) >= -1e-15)
        assert caching[-1] <= 1.0


@pytest.mark.parametrize(
    "law",
    [
        trend(BoundedNormal(sigma=2.0, half_width=5)),
        RandomWalk(drift=0, step=Normal(sigma=1.0)),
        RandomWalk(drift=1, step=Uniform(half_width=2)),
        chain_of(Ar1(phi0=0.5, phi1=0.8, sigma=1.0), -8, 12),
    ],
    ids=["trend", "walk", "drift", "chain"],
)
def test_curves_are_what_draws_give(law: Law) -> None:
    generator = np.random.default_rng(3)
    runs = np.array([law.draw(7, generator) for _ in range(6000)])
    assert law.is_independent or len(set(runs[:, 0].tolist())) == 1
    history = History(now=0, last=int(runs[0, 0]))
    for key in (-8, -7, 0, 1, 3):
        found = runs[:, 1:] == key
        for sample, expected in (
            (np.cumsum(found, axis=1), joining_curve(law, key, 6, history)),
            (np.maximum.accumulate(found, axis=1), caching_curve(law, key, 6, history)),
        ):
            error = sample.std(axis=0) / math.sqrt(len(runs))
            assert np.all(np.abs(sample.mean(axis=0) - expected) <= 5 * error + 1e-3)


@given(seeds, st.integers(0, 8))
@settings(deadline=None, max_examples=40)
def test_windowed_curves_stop_at_the_window(seed: int, remaining: int) -> None:
    laws = random_laws(np.random.default_rng(seed), 6, 3)
    whole = joining_curve(Schedule(distributions=tuple(laws)), 1, 6, History(now=-1))
    cut = [law if tick < remaining else {} for tick, law in enumerate(laws)]
    np.testing.assert_allclose(windowed_curve(whole, remaining), curve(cut, 1, False), atol=1e-12)


# ── dominance ───────────────────────────────────────────────────────────────────────────────────


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=6), st.data()
)
@settings(deadline=None, max_examples=200)
def test_dominated_subsets_are_the_largest_there_are(steps: list[list[int]], data: Any) -> None:
    curves = np.cumsum(np.array(steps, dtype=np.float64), axis=1)
    discards = data.draw(st.integers(0, len(steps)))
    chosen = set(dominated_subset(curves, discards))
    lines = curves.tolist()
    sizes = [
        count
        for count in range(discards + 1)
        for each in itertools.combinations(range(len(steps)), count)
        if is_dominated(lines, set(each))
    ]
    assert is_dominated(lines, chosen)
    assert len(chosen) == max(sizes)


def test_the_illustration_of_dominated_subsets() -> None:
    w, x, y, z = [4.0, 5.0], [2.0, 2.5], [1.0, 1.0], [1.5, 3.0]
    curves = np.array([w, x, y, z])
    assert not comparable(curves[1], curves[3])
    assert dominated_subset(curves, 3) == [1, 2, 3]
    assert dominated_subset(curves, 2) == [2]


def decisions_hold(
    values: dict[tuple[int, ...], Any], upper: int, lower: int, is_strong: bool, slack: float
) -> bool:
    """Say whether some best choice (every one, if strong) keeps the upper or drops the lower."""
    best = max(values.values())
    good = [kept for kept, value in values.items() if value >= best - slack]
    held = [upper in kept or lower not in kept for kept in good]
    return all(held) if is_strong else any(held)


def test_dominance_decides_joins_of_independent_keys() -> None:
    generator = np.random.default_rng(17)
    pairs = strong = subsets = 0
    for _ in range(60):
        ticks, budget = int(generator.integers(2, 4)), int(generator.integers(1, 3))
        r_laws, s_laws = (random_laws(generator, ticks, 3) for _ in "RS")
        laws = {
            "R": Schedule(distributions=tuple(s_laws)),
            "S": Schedule(distributions=tuple(r_laws)),
        }
        rows = [
            ("RS"[int(generator.integers(2))], int(generator.integers(3))) for _ in range(budget)
        ]
        rows += [("R", int(generator.integers(3))), ("S", int(generator.integers(3)))]
        curves = [joining_curve(laws[side], key, ticks, History(now=-1)) for side, key in rows]
        values = joining_values(tuple(rows), budget, r_laws, s_laws)
        for upper, lower in itertools.permutations(range(len(rows)), 2):
            if not dominates(curves[upper], curves[lower]):
                continue
            assert decisions_hold(values, upper, lower, False, 1e-12)
            pairs += 1
            if strongly_dominates(curves[upper], curves[lower] + 1e-9):
                assert decisions_hold(values, upper, lower, True, 1e-12)
                strong += 1
        gone = set(dominated_subset(np.array(curves), len(rows) - budget))
        best = max(values.values())
        assert any(not gone & set(kept) for kept, value in values.items() if value >= best - 1e-12)
        subsets += bool(gone)
    assert min(pairs, strong, subsets) > 20


def tick_law(laws: list[dict[int, float]], tick: int, _last: int | None) -> dict[int, float]:
    return laws[tick]


def test_dominance_decides_caches_of_independent_keys() -> None:
    generator = np.random.default_rng(23)
    pairs = strong = 0
    for _ in range(80):
        ticks, budget = int(generator.integers(2, 5)), int(generator.integers(1, 4))
        laws = random_laws(generator, ticks, 5)
        # A reference always comes: what is left over is a key that nobody holds.
        full = [{**law, 99: 1.0 - sum(law.values())} for law in laws]
        candidates = sorted(generator.permutation(5)[: budget + 1].tolist())
        law = Schedule(distributions=tuple(laws))
        curves = {key: caching_curve(law, key, ticks, History(now=-1)) for key in candidates}
        values = caching_values(candidates, budget, ticks, partial(tick_law, full))
        for upper, lower in itertools.permutations(candidates, 2):
            if not dominates(curves[upper], curves[lower]):
                continue
            assert decisions_hold(values, upper, lower, False, 1e-12)
            pairs += 1
            if strongly_dominates(curves[upper], curves[lower] + 1e-9):
                assert decisions_hold(values, upper, lower, True, 1e-12)
                strong += 1
    assert min(pairs, strong) > 50


def test_dominance_fails_for_a_walk() -> None:
    """The published theorem claims more than holds: keys of a walk depend on each other."""
    step = {move: Fraction(1, 7) for move in range(-3, 4)}
    values = caching_values((-6, 0, 1, 5), 3, 2, walk_law(step), last=0)
    assert values[0, 1, 5] == Fraction(32, 49)
    assert values[-6, 0, 1] == Fraction(33, 49)
    walk = RandomWalk(drift=0, step=Uniform(half_width=3))
    near, far = (caching_curve(walk, key, 2, History(now=0)) for key in (5, -6))
    assert dominates(near, far)
    # The theorem on scores holds all the same: the score follows the curves.
    assert curve_score(near, Exponential(3.0)) >= curve_score(far, Exponential(3.0))


def test_strong_dominance_fails_for_a_walk() -> None:
    raw = {move: Fraction(1) for move in range(-3, 4)}
    raw |= {sign * size: Fraction(7 - size, 1000) for size in (4, 5, 6) for sign in (-1, 1)}
    total = sum(raw.values())
    step = {move: mass / total for move, mass in sorted(raw.items())}
    masses = np.array([float(mass) for mass in step.values()])
    walk = RandomWalk(drift=0, step=Masses(first=-6, masses=masses))
    near, far = (caching_curve(walk, key, 2, History(now=0)) for key in (5, -6))
    assert strongly_dominates(near, far)
    np.testing.assert_allclose([near[0], far[0]], (2.85e-4, 1.43e-4), rtol=5e-3)
    np.testing.assert_allclose([near[1], far[1]], (0.0412, 0.0207), rtol=5e-3)
    values = caching_values((-6, 0, 1, 5), 3, 2, walk_law(step), last=0)
    assert float(values[0, 1, 5]) == pytest.approx(0.6522, abs=5e-5)
    assert float(values[-6, 0, 1]) == pytest.approx(0.6722, abs=5e-5)


# ── curves of the case studies ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("narrow", "wide"), [(3, 6), (2, 3), (1, 7), (4, 12)])
def test_uniform_categories(narrow: int, wide: int) -> None:
    now, horizon = 20, 3 * wide + 3
    partner = {True: trend(Uniform(half_width=wide)), False: trend(Uniform(half_width=narrow))}
    rows: dict[str, dict[int, np.ndarray]] = {name: {} for name in ("R1", "R2", "S1", "S2", "S3")}
    for is_narrow, reach in ((True, narrow), (False, wide)):
        for key in range(now - wide - 4, now + reach + 1):
            exact = joining_curve(partner[is_narrow], key, horizon, History(now=now))
            closed = uniform_curve(is_narrow, key, now, narrow, wide, horizon)
            np.testing.assert_allclose(closed, exact, atol=1e-12)
            category, _, _ = uniform_category(is_narrow, key, now, narrow, wide)
            rows[category][key] = np.round(closed, 12)
    for name in ("R1", "S1"):
        assert not any(each.any() for each in rows[name].values())
    for name in ("R2", "S2"):
        for small, large in itertools.combinations(sorted(rows[name]), 2):
            assert dominates(rows[name][large], rows[name][small])
    for small, large in itertools.combinations(sorted(rows["S3"]), 2):
        assert dominates(rows["S3"][small], rows["S3"][large])
    top = rows["S2"].get(now + narrow + 1)
    if top is not None:
        for each in (*rows["S1"].values(), *rows["S2"].values(), *rows["S3"].values()):
            assert dominates(top, each)
    over = apart = 0
    for (x, x_curve), (y, y_curve) in itertools.product(rows["R2"].items(), rows["S2"].items()):
        left = (y - (now - narrow)) * (2 * wide + 1) >= (x - (now - wide)) * (2 * narrow + 1)
        assert dominates(y_curve, x_curve) == left
        assert not dominates(x_curve, y_curve)
        over += left
        apart += not left
    if (narrow, wide) == (3, 6):
        assert (over, apart) == (43, 20)


@pytest.mark.parametrize("slope", [1, 2])
def test_uniform_lookups(slope: int) -> None:
    law = trend(Uniform(half_width=4), slope)
    now, horizon = 10, 14
    mean = [int(law.mean(now + n)) for n in range(horizon + 9)]
    for key in range(mean[0] - 7, mean[0] + 5):
        exact = caching_curve(law, key, horizon, History(now=now))
        np.testing.assert_allclose(uniform_lookup_curve(key, mean, 4, horizon), exact, atol=1e-12)


def test_normal_trends_order_what_lies_behind_the_mean() -> None:
    width, horizon = 8, 40
    noise = BoundedNormal(sigma=3.0, half_width=width)
    law = trend(noise)
    curves = {d: joining_curve(law, d, horizon, History(now=0)) for d in range(-8, 16)}
    # Equal on paper may differ in the last digit.
    curves = {d: np.round(each, 13) for d, each in curves.items()}
    for x, y in itertools.permutations(range(-8, 16), 2):
        if y < 0 and abs(y) > abs(x):
            assert dominates(curves[x], curves[y])
            if law.pmf(x, 1, History(now=0)) > law.pmf(y, 1, History(now=0)):
                assert strongly_dominates(curves[x], curves[y])
    for near, far in itertools.combinations(range(2, width + 1), 2):
        assert not comparable(curves[near], curves[far])
    for near, far in itertools.combinations(range(width + 1, 16), 2):
        assert dominates(curves[near], curves[far])
    for d in range(-8, 16):
        total = sum(noise.masses(np.arange(-width, d, dtype=float)))
        assert curves[d][-1] == pytest.approx(total, abs=1e-12)


def test_the_motivating_example() -> None:
    law = trend(BoundedNormal(sigma=3.0, half_width=10))
    now = 50
    y, x, z = (joining_curve(law, now + d, 30, History(now=now)) for d in (-4, 2, 6))
    assert dominates(x, y)
    assert not comparable(x, z)
    # The past frequency of a key says the contrary: the trend has met y oftenest.
    met = {
        d: sum(law.pmf(now + d, 1, History(now=t - 1)) for t in range(now + 1)) for d in (-4, 2, 6)
    }
    assert met[-4] > met[2] > met[6]


@pytest.mark.parametrize(
    "step", [Normal(sigma=1.0), Masses(first=-2, masses=np.array([1.0, 2, 3, 2, 1]))]
)
def test_symmetric_walks_order_by_distance(step: Noise) -> None:
    walk = RandomWalk(drift=0, step=step)
    for make in (joining_curve, caching_curve):
        curves = [np.round(make(walk, 10 + d, 12, History(now=0, last=10)), 12) for d in range(12)]
        mirror = [np.round(make(walk, 10 - d, 12, History(now=0, last=10)), 12) for d in range(12)]
        np.testing.assert_array_equal(curves, mirror)
        # A key's own curve comes back only: for caching it still lies above all others.
        for near, far in itertools.combinations(range(12), 2):
            assert dominates(curves[near], curves[far]), (make.__name__, near, far)
    drifting = RandomWalk(drift=2, step=step)
    early, late = (joining_curve(drifting, key, 12, History(now=0)) for key in (1, 8))
    assert not comparable(early, late)
