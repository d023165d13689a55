"""Interval histograms: buckets are the best there are, and all kinds tell what they promise."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.lab.joins.interval_histograms import (
    Steps,
    counted,
    histogram_equal_width,
    histogram_optimal,
    histogram_ssi,
    sides,
)
from penstock.lab.kernels.histograms import budget_split, cuts_trace, split_steps
from tests.oracle.histograms import best_clusters, best_split, best_step_function, count
from tests.oracle.partitions import Range

a_range = st.tuples(st.integers(0, 30), st.integers(0, 12)).map(lambda r: (r[0], r[0] + r[1]))
some_ranges = st.lists(a_range, min_size=1, max_size=15)


def columns(ranges: list[Range]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([r[0] for r in ranges]), np.array([r[1] for r in ranges])


def square_error(truth: Steps, told: Steps, keys: np.ndarray) -> float:
    true = truth.at(keys)
    met = true > 0
    return float((((told.at(keys) - true)[met] / true[met]) ** 2).sum())


@given(some_ranges)
def test_counts_are_exact_and_sides_add_up_to_them(ranges: list[Range]) -> None:
    lows, highs = columns(ranges)
    keys = np.arange(-2, 45)
    expected = [count(ranges, int(key)) for key in keys]
    assert counted(lows, highs).at(keys).tolist() == expected
    found, sizes = sides(lows, highs)
    assert np.sum([side.at(keys) for side in found], axis=0).tolist() == expected
    assert sizes.sum() == 2 * len(ranges)
    for number, side in enumerate(found):
        slopes = np.diff(side.values[:-1])
        assert (slopes > 0).all() if number % 2 == 0 else (slopes < 0).all()
    sums = counted(lows, highs).integral(keys)
    assert sums.tolist() == np.concatenate([[0], np.cumsum(expected)[:-1]]).tolist()


def test_buckets_of_monotone_steps_are_the_best_of_all(seed: int) -> None:
    """L5: the weighted k-means of the levels, against every assignment; so are any steps."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        levels = np.cumsum(rng.integers(1, 9, rng.integers(1, 8))).astype(float)
        weights = rng.integers(1, 9, len(levels)) / levels**2
        costs, cuts = split_steps(weights, levels, 3, True)
        for k in range(1, len(costs)):
            expected = best_clusters(weights.tolist(), levels.tolist(), k)
            assert costs[k] == pytest.approx(expected, abs=1e-9)
            starts = cuts_trace(cuts, k)
            parts = pairwise(starts)
            told = sum(best_split(weights[a:b].tolist(), levels[a:b].tolist(), 1) for a, b in parts)
            assert told == pytest.approx(expected, abs=1e-9)
        mixed = rng.permutation(levels)
        costs, _ = split_steps(weights, mixed, 3, False)
        for k in range(1, len(costs)):
            assert costs[k] == pytest.approx(best_split(weights.tolist(), mixed.tolist(), k))


def test_boundaries_elsewhere_than_at_steps_never_gain(seed: int) -> None:
    """L4: on a finer grid, up to 7 steps and 3 buckets."""
    rng = np.random.default_rng(seed)
    for _ in range(25):
        levels = np.cumsum(rng.integers(1, 9, rng.integers(1, 8))).astype(float)
        costs, _ = split_steps(levels**-2.0, levels, 3, True)
        for k in range(1, len(costs)):
            assert costs[k] <= best_step_function(levels.tolist(), k, 3) + 1e-9


def test_costs_are_convex_from_the_first_bucket_on(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(50):
        levels = np.cumsum(rng.integers(1, 50, 60)).astype(float)
        costs, _ = split_steps(rng.random(60) / levels**2, levels, 12, True)
        gains = -np.diff(costs[1:])
        assert (np.diff(gains) <= 1e-9).all()


def test_a_budget_is_shared_at_the_least_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(100):
        costs = -np.sort(-rng.random((3, 5)), axis=1)
        shares = budget_split(costs, 6)
        spent = sum(costs[part, share] for part, share in enumerate(shares))
        grid = [(a, b, c) for a in range(5) for b in range(5) for c in range(5) if a + b + c <= 6]
        assert spent == pytest.approx(
            min(costs[0, a] + costs[1, b] + costs[2, c] for a, b, c in grid)
        )


@given(some_ranges, st.integers(1, 6))
def test_the_optimum_is_never_worse_than_equal_widths(ranges: list[Range], buckets: int) -> None:
    lows, highs = columns(ranges)
    keys = np.arange(0, 43)
    truth = counted(lows, highs)
    best = square_error(truth, histogram_optimal(lows, highs, buckets), keys)
    first, last = int(lows.min()), int(highs.max())
    plain = histogram_equal_width(lows, highs, buckets, (first, last))
    assert best <= square_error(truth, plain, keys) + 1e-9


@given(some_ranges)
def test_with_a_bucket_per_step_nothing_is_lost(ranges: list[Range]) -> None:
    lows, highs = columns(ranges)
    keys = np.arange(0, 43)
    truth = counted(lows, highs)
    for told in (
        histogram_ssi(lows, highs, 40),
        histogram_ssi(lows, highs, 40, "own", "least"),
        histogram_optimal(lows, highs, 40),
        histogram_equal_width(lows, highs, 43, (0, 42)),
        histogram_equal_width(lows, highs, 43, (0, 42), "overlap"),
    ):
        assert told.at(keys) == pytest.approx(truth.at(keys))


def test_more_buckets_and_better_weights_help(seed: int) -> None:
    rng = np.random.default_rng(seed)
    middles, lengths = rng.normal(5_000, 40, 5_000), np.abs(rng.normal(1_000, 2_000, 5_000)) + 10
    lows = np.clip(middles - lengths / 2, 0, 10_000).astype(np.int64)
    highs = np.clip(middles + lengths / 2, 0, 10_000).astype(np.int64)
    truth, keys = counted(lows, highs), np.arange(0, 10_001)
    errors = [square_error(truth, histogram_ssi(lows, highs, k), keys) for k in (10, 20, 40)]
    assert errors[0] > errors[1] > errors[2]
    best = square_error(truth, histogram_optimal(lows, highs, 20), keys)
    equal = square_error(truth, histogram_equal_width(lows, highs, 20, (0, 10_000)), keys)
    assert errors[1] < 1.3 * best
    assert errors[1] < equal
