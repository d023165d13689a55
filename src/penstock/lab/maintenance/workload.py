"""Curves and streams for experiments with schedules of maintenance."""

from __future__ import annotations

from typing import Literal

import numpy as np

from penstock.kernels.cost_curves import closed_subadditive
from penstock.views.maintenance.curves import CostCurve
from penstock.views.maintenance.problems import Freshness, Problem
from penstock.vocabulary.batches import Floats, Ints

CALIBRATIONS: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "A": ((0.24, 0.3), (0.01, 8.0)),
    "B": ((0.28, 0.3), (0.01, 6.0)),
    "C": ((0.20, 1.0), (0.01, 9.0)),
}
"""Cost per change and per batch, of Supplier and of PartSupp, in seconds: invented so that flushing
both at 20 s takes place some 20 times in 1,000 s, as was printed."""
STREAMS: dict[str, tuple[float, float]] = {
    "slow, stable": (0.5, 1.0),
    "fast, stable": (0.9, 1.0),
    "slow, unstable": (0.5, 5.0),
    "fast, unstable": (0.9, 5.0),
}
"""How likely something comes at a moment, and how much its number spreads about 1."""
MEAN = 1.0
Shape = Literal["linear", "concave", "any"]
Arrivals = Literal["unit", "bernoulli", "bulk"]


def calibrated(name: str, bound: float) -> Freshness:
    """Give the freshness of the view with one of the calibrations."""
    return Freshness.of(
        [CostCurve.linear(each=each, fixed=fixed) for each, fixed in CALIBRATIONS[name]], bound
    )


def stream_weights(spread: float) -> Floats:
    """Give how likely 1, 2, … changes are, if any come."""
    counts = np.arange(1, int(MEAN + 12 * spread) + 2)
    weights = np.exp(-((counts - MEAN) ** 2) / (2 * spread**2))
    return np.asarray(weights / weights.sum())


def drawn_stream(
    generator: np.random.Generator, likely: float, spread: float, last: int, *, level: bool = False
) -> Ints:
    """Draw what comes of two tables at moments 1 … last.

    `level` makes the mean 1 at a moment whatever the spread, as far as `likely` may be lowered.
    """
    weights = stream_weights(spread)
    counts = np.arange(1, len(weights) + 1)
    if level:
        likely = min(likely, 1.0 / float(weights @ counts))
    shape = (last + 1, 2)
    come = generator.choice(counts, size=shape, p=weights) * (generator.random(shape) < likely)
    come[0] = 0
    return np.asarray(come, np.int64)


def drawn_problem(
    generator: np.random.Generator,
    shape: Shape,
    arrivals: Arrivals,
    *,
    tables: int = 2,
    last: int = 6,
) -> Problem:
    """Draw a small problem whose costs are whole numbers, so that sums are exact."""
    come = _arrivals(generator, arrivals, (last + 1, tables))
    most = int(come.sum(axis=0).max(initial=1)) + 1
    curves = [_curve(generator, shape, most) for _ in range(tables)]
    top = sum(curve(int(generator.integers(1, 4))) for curve in curves)
    bound = float(max(1, int(generator.integers(1, int(top) + 2))))
    return Problem(freshness=Freshness.of(curves, bound), arrivals=come)


def _arrivals(generator: np.random.Generator, kind: Arrivals, shape: tuple[int, int]) -> Ints:
    least, beyond = {"unit": (1, 2), "bernoulli": (0, 2), "bulk": (0, 4)}[kind]
    come = generator.integers(least, beyond, shape)
    come[0] = 0
    return come


def _curve(generator: np.random.Generator, shape: Shape, most: int) -> CostCurve:
    if shape == "linear":
        return CostCurve.linear(
            each=float(generator.integers(1, 5)), fixed=float(generator.integers(0, 9))
        )
    steps = generator.integers(0, 6, most)
    steps[0] += 1
    if shape == "concave":
        steps = np.sort(steps)[::-1]
    values = np.concatenate([[0.0], np.cumsum(steps)])
    closed_subadditive(values)
    return CostCurve.table(np.minimum.accumulate(values[::-1])[::-1])
