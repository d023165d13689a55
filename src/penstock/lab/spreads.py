"""Spreads: a mean over several series, and how far chance may have moved it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A mean with its standard error, over a number of series.

    >>> str(Spread(mean=1.1934, error=0.0081, count=240)), str(Spread(mean=3, error=0, count=1))
    ('1.193 ± 0.008', '3')
    """

    mean: float
    error: float
    count: int

    def __str__(self) -> str:
        if self.error <= 0.0:
            return f"{self.mean:.4g}"
        digits = max(0, -math.floor(math.log10(self.error)))
        return f"{self.mean:,.{digits}f} ± {self.error:,.{digits}f}"


def spread_of(values: Sequence[float]) -> Spread:
    """Give the mean of one value per series, and its standard error.

    >>> spread_of([1.0, 2.0, 3.0])
    Spread(mean=2.0, error=0.5773502691896258, count=3)
    """
    own = np.asarray(values, dtype=np.float64)
    error = float(own.std(ddof=1)) / math.sqrt(len(own)) if len(own) > 1 else 0.0
    return Spread(mean=float(own.mean()), error=error, count=len(own))


def ratio_of(above: Sequence[float], below: Sequence[float]) -> Spread:
    """Give the ratio of two sums over the same series, and its standard error.

    Both sides of a series meet the same luck: what counts is how far each series is from the ratio.

    >>> ratio_of([11, 22], [10, 20])
    Spread(mean=1.1, error=0.0, count=2)
    """
    one, other = (np.asarray(each, dtype=np.float64) for each in (above, below))
    mean = float(one.sum() / max(other.sum(), 1e-300))
    count = len(one)
    if count < 2 or not other.any():
        return Spread(mean=mean, error=0.0, count=count)
    apart = one - mean * other
    error = math.sqrt(float(apart @ apart) / (count - 1) / count) / float(other.mean())
    return Spread(mean=mean, error=round(error, 12), count=count)
