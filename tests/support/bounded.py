"""Streams for tests of bounded joins."""

from __future__ import annotations

import numpy as np

from penstock.operators.bounded.laws_independent import LinearTrend
from penstock.operators.bounded.laws_noise import Noise


def trend(noise: Noise, slope: float = 1.0, intercept: float = 0.0) -> LinearTrend:
    """Give a trend that rises by one key a tick."""
    return LinearTrend(slope=slope, intercept=intercept, noise=noise)


def random_laws(generator: np.random.Generator, ticks: int, keys: int) -> list[dict[int, float]]:
    """Draw laws with few keys, some of them impossible and some mass left over."""
    laws = []
    for _ in range(ticks):
        weights = generator.integers(0, 4, size=keys + 1).astype(float)
        weights[0] += weights.sum() == 0
        laws.append({key: weights[key] / weights.sum() for key in range(keys) if weights[key]})
    return laws
