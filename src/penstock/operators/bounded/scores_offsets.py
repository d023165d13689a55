"""Score tables of linear trends: the score depends on the distance from the partner's mean alone.

One pass from the side that the trend has passed fills the table, and it is the stable direction:
h(d) = q (p(d - a) + h(d - a)). With a trend through whole numbers every distance that occurs has a
cell of its own; otherwise cells are a fraction of the slope wide.
"""

from __future__ import annotations

import math

import numpy as np

from penstock.kernels.score_tables import offsets_blocks, offsets_fill, offsets_sum
from penstock.kernels.scores import LINEAR, ScoreTable
from penstock.operators.bounded.laws_independent import LinearTrend
from penstock.operators.bounded.scores_blank import (
    CELLS_MAX,
    Recipe,
    lifetimes_of,
    steady_scores,
    table_of,
)
from penstock.operators.bounded.weightings import Fixed
from penstock.vocabulary.batches import Floats

FINENESS = 32
"""Cells per deviation of the noise, for trends that are not whole."""


def trend_table(law: LinearTrend, recipe: Recipe) -> ScoreTable:
    """Make the table of a linear trend; one that falls is the mirror of one that rises."""
    if law.slope == 0.0:
        return _level_table(law, recipe)
    is_rising = law.slope > 0.0
    sign = 1.0 if is_rising else -1.0
    slope = abs(law.slope)
    low = law.noise.low if is_rising else -law.noise.high
    high = law.noise.high if is_rising else -law.noise.low
    first = low - 2.0
    if slope == math.floor(slope):
        first += (-sign * law.intercept) % 1.0
        back, ticks, stride, width = int(slope), 1, 1, 1.0
    else:
        wanted = max(law.noise.deviation, 0.5) / FINENESS
        back = max(1, math.ceil(slope / wanted))
        ticks = max(1, math.floor(wanted / slope)) if back == 1 else 1
        # Weights that are no geometric series are summed tick by tick.
        stride = ticks if recipe.shrink is None else 1
        width = slope * ticks / stride / back
    # Beyond the noise by one tick the scores fall by a factor per tick: one more tick is enough.
    length = high + 2.0 - first + 2.0 * slope + (high - low)
    if isinstance(recipe.weighting, Fixed):
        length += slope * recipe.weighting.ticks
    count = math.ceil(length / (width * stride)) * stride + 1
    if count > 16 * CELLS_MAX or count // stride > CELLS_MAX:
        raise ValueError(f"a trend of slope {law.slope} needs {count:,} cells; take wider keys")
    offsets = first + width * np.arange(count, dtype=np.float64)
    masses = law.noise.masses(sign * offsets)
    layers = [layer[::stride] for layer in _layers(masses, back, ticks, recipe)]
    cells = np.array(layers)[:, None, :] * recipe.rate
    if not is_rising:
        cells, first = cells[:, :, ::-1], -(first + width * (count - 1))
    return table_of(
        LINEAR,
        cells,
        lifetimes=lifetimes_of(recipe.window) if len(layers) > 1 else (),
        first=first,
        width=width * stride,
        slope=law.slope,
        intercept=law.intercept,
        decay=recipe.decay,
    )


def _layers(masses: Floats, back: int, ticks: int, recipe: Recipe) -> list[Floats]:
    if recipe.shrink is not None:
        scores = np.empty(len(masses))
        if ticks > 1:
            offsets_blocks(masses, float(ticks), recipe.shrink, recipe.caching, scores)
        else:
            offsets_fill(masses, back, recipe.shrink, recipe.caching, scores)
        return [scores]
    weights = recipe.weighting.weights(len(masses) // back + 1)
    lifetimes = lifetimes_of(recipe.window)
    found = []
    for lifetime in lifetimes if len(lifetimes) else [len(weights)]:
        scores = np.empty(len(masses))
        offsets_sum(masses, back, weights[:lifetime], recipe.caching, scores)
        found.append(scores)
    # A window of one tick has one layer, which is the score itself.
    return found


def _level_table(law: LinearTrend, recipe: Recipe) -> ScoreTable:
    if recipe.window is not None and recipe.shrink is None:
        raise ValueError("a trend without slope and with a window is weighted with Exponential")
    first = law.noise.low - 2.0 + (-law.intercept) % 1.0
    offsets = first + np.arange(law.noise.high - law.noise.low + 5, dtype=np.float64)
    scores = steady_scores(law.noise.masses(offsets), recipe)
    return table_of(LINEAR, scores, first=first, intercept=law.intercept, decay=recipe.decay)
