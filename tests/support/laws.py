"""Laws and weightings that no SQL can say, to test what must hold for any."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.operators.bounded.laws_noise import Noise
from penstock.operators.bounded.weightings import EPSILON, FAR
from penstock.vocabulary.batches import Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Masses(Noise):
    """Any law on whole offsets: masses[i] is the probability of first + i.

    >>> Masses(first=-1, masses=np.array([1.0, 2.0, 1.0])).masses(np.array([0.0, 0.5, 3.0]))
    array([0.5  , 0.375, 0.   ])
    """

    first: int
    weights: Floats

    def __init__(self, *, first: int, masses: Floats) -> None:
        weights = np.asarray(masses, dtype=np.float64)
        if len(weights) == 0 or weights.min() < 0.0 or not 0.0 < weights.sum() < math.inf:
            raise ValueError("the masses are not numbers from 0 on with a sum above 0")
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "weights", weights / weights.sum())

    @property
    def low(self) -> int:
        """The least offset."""
        return self.first

    @property
    def high(self) -> int:
        """The greatest offset."""
        return self.first + len(self.weights) - 1

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        offsets = np.arange(self.low, self.high + 1)
        return math.sqrt(float(self.weights @ (offsets - self.weights @ offsets) ** 2))

    def masses(self, offsets: Floats) -> Floats:
        """Give the probability of each offset; between whole ones, on the straight line."""
        places = np.arange(self.low - 1, self.high + 2)
        heights = np.concatenate(([0.0], self.weights, [0.0]))
        found: Floats = np.interp(offsets, places, heights, left=0.0, right=0.0)
        return found


@dataclass(frozen=True, slots=True)
class Inverse:
    """1 / n, for caching only: the expected inverse of the wait."""

    def weights(self, count: int) -> Floats:
        """Give the first weights."""
        found: Floats = 1.0 / np.arange(1, count + 1)
        return found

    def horizon(self, epsilon: float = EPSILON) -> int:
        """Give where sums end."""
        return FAR

    @property
    def is_summable(self) -> bool:
        """It is not."""
        return False


def residence_of(alpha: float) -> float:
    """Give the mean residence that an exponential weighting predicts: 1 / (1 - e^(-1/alpha)).

    >>> round(residence_of(alpha_of(3.0)), 12)
    3.0
    """
    return -1.0 / math.expm1(-1.0 / alpha)
