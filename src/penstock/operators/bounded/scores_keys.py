"""Score tables of streams whose law depends on the key alone, or on the key and the tick."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from penstock.kernels.score_tables import times_fill
from penstock.kernels.scores import KEYED, STEPS, TIMED, ScoreTable
from penstock.operators.bounded.laws_independent import (
    NOTHING,
    HistogramLaw,
    Offline,
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
    return np.concatenate(([0.0], sums / recipe.weighting.total))


def offline_table(law: Offline, recipe: Recipe) -> ScoreTable:
    """Make the table of a stream that is known beforehand."""
    ticks = np.flatnonzero(law.keys != NOTHING)
    return timed_table(law.keys[ticks].astype(np.int64), ticks, np.ones(len(ticks)), recipe)


def timed_table(keys: Ints, ticks: Ints, masses: Floats, recipe: Recipe) -> ScoreTable:
    """Make the table of keys that come at known ticks, each with its probability."""
    if recipe.shrink is None:
        raise ValueError("streams known tick by tick are weighted with Exponential")
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
