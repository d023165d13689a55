"""Score tables of streams whose law depends on the key alone, or on the key and the tick."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from penstock.kernels.score_tables import times_fill
from penstock.kernels.scores import KEYED, STEPS, TIMED, ScoreTable
from penstock.operators.bounded.laws_independent import (
    NOTHING,
    HistogramLaw,
    Offline,
    Schedule,
    Stationary,
)
from penstock.operators.bounded.scores_blank import CELLS_MAX, Recipe, steady_scores, table_of
from penstock.operators.bounded.weightings import Exponential
from penstock.vocabulary.batches import Floats, Ints

LOOSE = 16
"""Keys may stand so thinly that this many cells go to one."""


def stationary_table(law: Stationary, recipe: Recipe) -> ScoreTable:
    """Make the table of a stationary stream: an array by key where keys stand close together."""
    scores = steady_scores(law.probabilities, recipe)
    shares = window_shares(recipe)
    if len(law.keys) == 0:
        return table_of(KEYED, np.zeros(1), decay=recipe.decay, shares=shares)
    first = int(law.keys[0])
    span = int(law.keys[-1]) - first + 1
    if span <= CELLS_MAX and span <= LOOSE * len(law.keys) + 4096:
        cells = np.zeros(span)
        cells[law.keys - first] = scores
        return table_of(STEPS, cells, first=first, decay=recipe.decay, shares=shares)
    return table_of(KEYED, scores, keys=law.keys, decay=recipe.decay, shares=shares)


def histogram_table(law: HistogramLaw, recipe: Recipe) -> ScoreTable:
    """Make the table of a stationary stream that is known by buckets."""
    return table_of(
        STEPS,
        steady_scores(law.buckets / law.width, recipe),
        first=law.first,
        width=law.width,
        decay=recipe.decay,
        shares=window_shares(recipe),
    )


def window_shares(recipe: Recipe) -> Floats:
    """Give which share of a score is earned within 0, 1, 2... ticks; exponential ones know it."""
    if recipe.window is None or isinstance(recipe.weighting, Exponential):
        return np.empty(0)
    sums = np.cumsum(recipe.weighting.weights(recipe.window))
    total = float(recipe.weighting.weights(recipe.weighting.horizon()).sum())
    return np.concatenate(([0.0], sums / total))


def offline_table(law: Offline, recipe: Recipe) -> ScoreTable:
    """Make the table of a stream that is known beforehand."""
    ticks = np.flatnonzero(law.keys != NOTHING)
    return _timed(law.keys[ticks].astype(np.int64), ticks, np.ones(len(ticks)), recipe)


def schedule_table(law: Schedule, recipe: Recipe) -> ScoreTable:
    """Make the table of a stream with a law for every tick."""
    distributions: list[Mapping[int, float]] = list(law.distributions)
    rows = [
        (key, tick, mass)
        for tick, distribution in enumerate(distributions)
        for key, mass in distribution.items()
        if mass
    ]
    keys = np.array([row[0] for row in rows], dtype=np.int64)
    ticks = np.array([row[1] for row in rows], dtype=np.int64)
    return _timed(keys, ticks, np.array([row[2] for row in rows], dtype=np.float64), recipe)


def _timed(keys: Ints, ticks: Ints, masses: Floats, recipe: Recipe) -> ScoreTable:
    if recipe.shrink is None:
        raise ValueError("streams known tick by tick are weighted with Exponential or Infinite")
    order = np.lexsort((ticks, keys))
    keys, ticks, masses = keys[order], ticks[order], masses[order] * recipe.rate
    distinct, places = np.unique(keys, return_index=True)
    places = np.append(places, len(keys))
    cells = np.zeros(max(len(keys), 1))
    for start, end in pairwise(places.tolist()):
        times_fill(
            ticks[start:end], masses[start:end], recipe.decay, recipe.caching, cells[start:end]
        )
    return table_of(TIMED, cells, keys=distinct, places=places, times=ticks, decay=recipe.decay)
