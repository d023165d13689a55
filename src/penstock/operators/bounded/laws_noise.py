"""Noise: the laws of deviations from a trend and of a walk's steps, on whole numbers.

A noise is a law on the line that is seen through rounding: the probability of the offset d is the
mass between d - 1/2 and d + 1/2. For whole d that is the discretised law; for others it is what a
trend between two whole numbers gives.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.kernels.score_tables import normal_mass, normal_masses
from penstock.vocabulary.batches import Floats, Ints

REACH = 9.2
"""Beyond so many deviations a normal law has less mass than a float can add to 1."""
CELLS_MAX = 1 << 20
"""A law of more offsets is drawn by cells of several."""


class Noise(ABC):
    """A law of deviations."""

    @property
    def low(self) -> int:
        """The least whole offset with a probability above 0."""
        return -self.high

    @property
    @abstractmethod
    def high(self) -> int:
        """The greatest whole offset with a probability above 0."""

    @property
    @abstractmethod
    def deviation(self) -> float:
        """The standard deviation."""

    @abstractmethod
    def masses(self, offsets: Floats) -> Floats:
        """Give the probability of each offset."""

    @cached_property
    def lattice(self) -> Floats:
        """The probabilities of the whole offsets from `low` to `high`."""
        return self.masses(np.arange(self.low, self.high + 1, dtype=np.float64))

    @cached_property
    def mean(self) -> float:
        """The mean of the whole offsets."""
        return float(self.lattice @ np.arange(self.low, self.high + 1))

    def draw(self, count: int, generator: np.random.Generator) -> Ints:
        """Draw whole offsets; of a wide law, first a cell of some offsets and then one of them."""
        stride = (self.high - self.low) // CELLS_MAX + 1
        lattice = self.masses(np.arange(self.low, self.high + 1, stride, dtype=np.float64))
        sums = np.cumsum(lattice)
        places = np.searchsorted(sums, generator.random(count) * sums[-1], side="right")
        found: Ints = np.minimum(places, len(sums) - 1).astype(np.int64) * stride + self.low
        if stride > 1:
            found += generator.integers(-(stride // 2), stride - stride // 2, count)
        return found


def cells(offsets: Floats) -> tuple[Floats, Floats]:
    """Give the ends of what rounds to each offset."""
    offsets = np.asarray(offsets, dtype=np.float64)
    return offsets - 0.5, offsets + 0.5


def _normal(lows: Floats, highs: Floats) -> Floats:
    found = np.empty(len(lows))
    normal_masses(lows, highs, found)
    return found


@dataclass(frozen=True, kw_only=True)
class Uniform(Noise):
    """All whole offsets from -half_width to half_width, equally likely."""

    half_width: int

    def __post_init__(self) -> None:
        if self.half_width < 0:
            raise ValueError(f"half_width is {self.half_width}, not a number from 0 on")

    @property
    def high(self) -> int:
        """The greatest offset."""
        return self.half_width

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.half_width * (self.half_width + 1) / 3.0)

    def masses(self, offsets: Floats) -> Floats:
        """Give the share of the whole width that rounds to each offset."""
        lows, highs = cells(offsets)
        end = self.half_width + 0.5
        covered = np.minimum(highs, end) - np.maximum(lows, -end)
        found: Floats = np.maximum(covered, 0.0) / (2 * self.half_width + 1)
        return found


@dataclass(frozen=True, kw_only=True)
class Normal(Noise):
    """A normal law, discretised: p(i) = Phi((i + 1/2) / sigma) - Phi((i - 1/2) / sigma)."""

    sigma: float

    def __post_init__(self) -> None:
        if not 0.0 < self.sigma < math.inf:
            raise ValueError(f"sigma is {self.sigma}, not a number above 0")

    @property
    def high(self) -> int:
        """The greatest offset."""
        return math.ceil(REACH * self.sigma)

    @property
    def deviation(self) -> float:
        """The standard deviation, before rounding."""
        return self.sigma

    def masses(self, offsets: Floats) -> Floats:
        """Give the probability of each offset."""
        lows, highs = cells(offsets)
        return _normal(lows / self.sigma, highs / self.sigma)


@dataclass(frozen=True, kw_only=True)
class Gaussian(Normal):
    """A normal law of real steps: a walk adds them up unrounded and shows the rounded sum."""


@dataclass(frozen=True, kw_only=True)
class BoundedNormal(Normal):
    """A discretised normal law on -half_width to half_width, brought to 1 again.

    Its deviation is that of the law without bounds.
    """

    half_width: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.half_width < 0:
            raise ValueError(f"half_width is {self.half_width}, not a number from 0 on")

    @property
    def high(self) -> int:
        """The greatest offset."""
        return self.half_width

    def masses(self, offsets: Floats) -> Floats:
        """Give the probability of each offset."""
        lows, highs = cells(offsets)
        end = self.half_width + 0.5
        lows, highs = np.maximum(lows, -end), np.minimum(highs, end)
        found = _normal(lows / self.sigma, np.maximum(highs, lows) / self.sigma)
        return found / normal_mass(-end / self.sigma, end / self.sigma)
