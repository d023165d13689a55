"""Weightings: how much a result counts that comes so many ticks from now.

L(n) estimates the chance that a row is still kept n ticks ahead. It lies between 0 and 1 and does
not increase. One weighting for all rows keeps the order of dominating curves (Xie, Yang and Chen
2005, theorem 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.vocabulary.batches import Floats


@dataclass(frozen=True, slots=True)
class Exponential:
    """Weights e^(-n / alpha): the default; it always converges and is carried from tick to tick."""

    alpha: float

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < math.inf:
            raise ValueError(f"alpha is {self.alpha}, not a number above 0")

    @property
    def shrink(self) -> float:
        """The factor from tick to tick: q."""
        return math.exp(-1.0 / self.alpha)

    @property
    def total(self) -> float:
        """The sum of all weights: q / (1 - q)."""
        return 1.0 / math.expm1(1.0 / self.alpha)

    def weights(self, count: int) -> Floats:
        """Give the first weights."""
        found: Floats = np.exp(-np.arange(1, count + 1) / self.alpha)
        return found


@dataclass(frozen=True, slots=True)
class Fixed:
    """1 up to a number of ticks, then 0: the benefit within a fixed time."""

    ticks: int

    def __post_init__(self) -> None:
        if self.ticks < 1:
            raise ValueError(f"ticks is {self.ticks}, not a number from 1 on")

    def weights(self, count: int) -> Floats:
        """Give the first weights."""
        return (np.arange(1, count + 1) <= self.ticks).astype(np.float64)

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self.ticks)


Weighting = Exponential | Fixed
"""The weights L(1), L(2)... of the ticks ahead."""


def alpha_of(residence: float) -> float:
    """Give the alpha whose exponential weighting predicts a mean residence, in ticks above 1.

    >>> round(alpha_of(12.5), 3)
    11.993
    """
    if not 1.0 < residence < math.inf:
        raise ValueError(f"residence is {residence}, not a number of ticks above 1")
    return -1.0 / math.log1p(-1.0 / residence)
