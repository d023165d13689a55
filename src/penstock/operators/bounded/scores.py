"""Scores: the expected results of a row, each weighted by the chance that the row is still there.

HEEB (Xie, Yang and Chen 2005) discards the row with the lowest score
H = B(1) L(1) + (B(2) - B(1)) L(2) + ..., where B is the row's curve and L the weighting. A row is
scored with its partner's law; scores of both sides are on one scale, expected results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.kernels.scores import LINEAR, ScoreTable
from penstock.operators.bounded.laws import Law
from penstock.operators.bounded.laws_independent import (
    HistogramLaw,
    LinearTrend,
    Offline,
    Stationary,
)
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.scores_blank import Recipe
from penstock.operators.bounded.scores_keys import (
    histogram_table,
    offline_table,
    stationary_table,
)
from penstock.operators.bounded.scores_markov import ar1_table, walk_table
from penstock.operators.bounded.scores_offsets import trend_table
from penstock.operators.bounded.weightings import Weighting


def score_table(
    law: Law,
    weighting: Weighting,
    *,
    caching: bool = False,
    window: int | None = None,
    rate: float = 1.0,
    control_points: int | None = None,
) -> ScoreTable:
    """Make the table of all scores against a partner, to be looked up in loops.

    Build it anew when the law or the weighting changes. With a window, rows are looked up by
    their remaining lifetime too.

    >>> from penstock.kernels.scores import table_score
    >>> from penstock.operators.bounded.laws_noise import Uniform
    >>> from penstock.operators.bounded.weightings import Fixed
    >>> trend = LinearTrend(slope=1, intercept=0, noise=Uniform(half_width=1))
    >>> table = score_table(trend, Fixed(5))
    >>> round(table_score(table, 12, 10, 0), 3)
    1.0
    """
    recipe = Recipe(
        weighting=weighting,
        caching=caching,
        window=window,
        rate=rate,
        control_points=control_points,
    )
    for kind, make in _MAKERS:
        if isinstance(law, kind):
            return make(law, recipe)
    raise ValueError(f"{type(law).__name__} has no score table; score it with direct_score")


def is_unimodal(table: ScoreTable) -> bool:
    """Say whether scores rise and then fall with the distance from the partner's centre.

    Then the lowest score of one side stands at its smallest or its largest key.
    """
    if table.kind != LINEAR or len(table.lifetimes):
        return False
    steps = np.diff(table.cells[0, 0])
    # Sums that are equal on paper differ in the last digits.
    steps[np.abs(steps) <= 1e-13 * table.cells.max(initial=0.0)] = 0.0
    rising = np.flatnonzero(steps > 0.0)
    falling = np.flatnonzero(steps < 0.0)
    return len(rising) == 0 or len(falling) == 0 or bool(rising[-1] < falling[0])


_MAKERS: tuple[tuple[type[Law], Callable[[Any, Recipe], ScoreTable]], ...] = (
    (LinearTrend, trend_table),
    (Stationary, stationary_table),
    (HistogramLaw, histogram_table),
    (Offline, offline_table),
    (RandomWalk, walk_table),
    (Ar1, ar1_table),
)
