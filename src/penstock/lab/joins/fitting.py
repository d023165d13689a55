"""Least squares with coefficients from zero on, their confidence, and how much they explain."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
SURE = 1.96
"""Standard errors on either side that hold the true coefficient in 95 of 100 fits."""
ROUNDS = 5
FAR = 10.0
"""A prediction so many times below the measure is not taken for a weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Coefficients with half the width of their 95 % intervals, and what they explain.

    `explained` is 1 - residual / variation, of the logarithm of the costs.
    """

    coefficients: Floats
    margins: Floats
    explained: float


def fit(terms: Floats, measured: Floats) -> Fit:
    """Fit measured = terms @ coefficients, with no coefficient below zero.

    Errors count in proportion to what was measured: a router compares costs, so 10 % of a cheap
    tuple matters as much as 10 % of a dear one. There are few terms, so all their subsets are
    tried: the best one without a negative coefficient is the optimum.

    >>> x = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 4.0]])
    >>> fit(x, x @ np.array([3.0, 2.0])).coefficients.round(6).tolist()
    [3.0, 2.0]
    >>> fit(x, np.array([4.0, 2.0, 1.0])).coefficients[1]
    np.float64(0.0)
    """
    predicted = measured
    best, kept, least = _best_subset(terms / predicted[:, None], measured / predicted)
    for _ in range(ROUNDS):
        # Weighted with what is predicted: weights of what was measured would favour low outliers.
        predicted = np.maximum(terms @ best, measured / FAR)
        best, kept, least = _best_subset(terms / predicted[:, None], measured / predicted)
    x = terms / predicted[:, None]
    margins = np.zeros(terms.shape[1])
    freedom = max(len(x) - len(kept), 1)
    part = x[:, kept]
    spread = np.linalg.pinv(part.T @ part) * least / freedom
    margins[list(kept)] = SURE * np.sqrt(np.maximum(np.diag(spread), 0.0))
    return Fit(coefficients=best, margins=margins, explained=explained(measured, terms @ best))


def _best_subset(x: Floats, y: Floats) -> tuple[Floats, tuple[int, ...], float]:
    """Give the coefficients without a negative one, which are not zero, the squared error."""
    columns = x.shape[1]
    kept: tuple[int, ...] = ()
    best, least = np.zeros(columns), float("inf")
    for count in range(1, columns + 1):
        for subset in combinations(range(columns), count):
            part = x[:, subset]
            scale = np.maximum(np.abs(part).max(axis=0), 1e-300)
            found = np.linalg.lstsq(part / scale, y, rcond=None)[0] / scale
            residual = float(((part @ found - y) ** 2).sum())
            if (found >= 0).all() and residual < least:
                best, kept, least = np.zeros(columns), subset, residual
                best[list(subset)] = found
    return best, kept, least


def explained(measured: Floats, predicted: Floats) -> float:
    """Give R²: the share of the variation of log cost that predictions explain.

    >>> explained(np.array([1.0, 10.0, 100.0]), np.array([1.0, 10.0, 100.0]))
    1.0
    """
    logs, guesses = np.log(measured), np.log(np.maximum(predicted, 1e-12))
    variation = float(((logs - logs.mean()) ** 2).sum())
    return 1.0 - float(((logs - guesses) ** 2).sum()) / max(variation, 1e-12)
