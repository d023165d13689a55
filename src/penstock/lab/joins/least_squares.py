"""Least squares with coefficients from zero on, their confidence, and how much they explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.vocabulary.batches import Floats

SURE = 1.96
"""Standard errors on either side that hold the true coefficient in 95 of 100 fits."""
ROUNDS = 5
EPSILON = 1e-12
STEPS_PER_TERM = 6
FAR = 100.0
"""A prediction so many times below the measure is not taken for a weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostFit:
    """Coefficients with half the width of their 95 % intervals, and what they explain.

    `explained` is 1 - residual / variation, of the logarithm of the costs.
    """

    coefficients: Floats
    margins: Floats
    explained: float


def fit(terms: Floats, measured: Floats) -> CostFit:
    """Fit measured = terms @ coefficients, with no coefficient below zero.

    Errors count in proportion to what was measured: a router compares costs, so 10 % of a cheap
    tuple matters as much as 10 % of a dear one.

    >>> x = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 4.0]])
    >>> fit(x, x @ np.array([3.0, 2.0])).coefficients.round(6).tolist()
    [3.0, 2.0]
    >>> fit(x, np.array([4.0, 2.0, 1.0])).coefficients[1]
    np.float64(0.0)
    """
    predicted = measured
    best, kept, least = _nonnegative(terms / predicted[:, None], measured / predicted)
    for _ in range(ROUNDS):
        # Weights of what was measured favour predictions too low, of what is predicted too high.
        predicted = np.sqrt(np.maximum(terms @ best, measured / FAR) * measured)
        best, kept, least = _nonnegative(terms / predicted[:, None], measured / predicted)
    x = terms / predicted[:, None]
    margins = np.zeros(terms.shape[1])
    freedom = max(len(x) - len(kept), 1)
    part = x[:, kept]
    spread = np.linalg.pinv(part.T @ part) * least / freedom
    margins[list(kept)] = SURE * np.sqrt(np.maximum(np.diag(spread), 0.0))
    return CostFit(coefficients=best, margins=margins, explained=explained(measured, terms @ best))


def _nonnegative(x: Floats, y: Floats) -> tuple[Floats, tuple[int, ...], float]:
    """Give the coefficients without a negative one, which are not zero, the squared error.

    Lawson and Hanson's active set: the term that would help most comes in, and those that it
    drives below zero go out again.
    """
    columns = x.shape[1]
    scale = np.maximum(np.abs(x).max(axis=0), 1e-300)
    scaled = x / scale
    found, kept = np.zeros(columns), np.zeros(columns, dtype=np.bool_)
    for _ in range(STEPS_PER_TERM * columns):
        gain = np.where(kept, -np.inf, scaled.T @ (y - scaled @ found))
        if gain.max() <= EPSILON * max(float(np.abs(scaled.T @ y).max()), 1e-300):
            break
        kept[int(gain.argmax())] = True
        while True:
            wanted = np.zeros(columns)
            wanted[kept] = np.linalg.lstsq(scaled[:, kept], y, rcond=None)[0]
            below = kept & (wanted <= 0.0)
            if not below.any():
                found = wanted
                break
            # As far towards what is wanted as nothing falls below zero.
            reach = float((found[below] / (found[below] - wanted[below])).min())
            found = found + reach * (wanted - found)
            kept &= ~(below & (found <= EPSILON))
            found[~kept] = 0.0
    residual = float(((scaled @ found - y) ** 2).sum())
    return found / scale, tuple(int(each) for each in np.flatnonzero(kept)), residual


def explained(measured: Floats, predicted: Floats) -> float:
    """Give R²: the share of the variation of log cost that predictions explain.

    >>> explained(np.array([1.0, 10.0, 100.0]), np.array([1.0, 10.0, 100.0]))
    1.0
    """
    logs, guesses = np.log(measured), np.log(np.maximum(predicted, 1e-12))
    variation = float(((logs - logs.mean()) ** 2).sum())
    return 1.0 - float(((logs - guesses) ** 2).sum()) / max(variation, 1e-12)
