"""Laws whose next key depends on the last: random walks and autoregressions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from penstock.kernels.score_tables import normal_masses
from penstock.operators.bounded.laws import Distribution, History, Law
from penstock.operators.bounded.laws_noise import REACH, Gaussian, Noise
from penstock.vocabulary.batches import Floats, Ints


def normal_law(keys: Ints, mean: float, deviation: float, grid: float = 1.0) -> Floats:
    """Give the normal law's masses of what rounds to each key, on a grid of values."""
    centres = np.asarray(keys, dtype=np.float64) * grid
    found = np.empty(len(centres))
    half = 0.5 * grid
    normal_masses((centres - half - mean) / deviation, (centres + half - mean) / deviation, found)
    return found


@lru_cache(maxsize=4096)
def steps_law(step: Noise, count: int) -> Floats:
    """Give the law of a sum of whole steps, from count * low on: convolutions by halves."""
    if count == 1:
        return step.lattice
    half = steps_law(step, count // 2)
    found = np.convolve(half, half)
    return np.convolve(found, step.lattice) if count % 2 else found


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomWalk(Law):
    """The last key, plus a drift, plus an independent step.

    With a `Gaussian` step the walk is real and shows its rounded place; any drift will do. With
    any other the walk stays on whole numbers and so must its drift.
    """

    is_independent: ClassVar[bool] = False
    drift: float
    step: Noise
    start: int = 0

    def __post_init__(self) -> None:
        if not math.isfinite(self.drift):
            raise ValueError(f"drift is {self.drift}, not a number")
        if not self.is_real and self.drift != math.floor(self.drift):
            raise ValueError(f"drift {self.drift} is not whole; take Gaussian steps")

    @property
    def is_real(self) -> bool:
        """Whether places between whole numbers count."""
        return isinstance(self.step, Gaussian)

    def masses(self, keys: Ints, ahead: int, history: History) -> Floats:
        """Give the probabilities of keys then."""
        moved = np.asarray(keys, dtype=np.int64) - history.last
        if self.is_real:
            spread = self.step.deviation * math.sqrt(ahead)
            return normal_law(moved, self.drift * ahead, spread)
        distribution = steps_law(self.step, ahead)
        places = moved - (int(self.drift) + self.step.low) * ahead
        inside = (places >= 0) & (places < len(distribution))
        return np.where(inside, distribution[np.clip(places, 0, len(distribution) - 1)], 0.0)

    def distribution(self, ahead: int, history: History) -> Distribution:
        """List the keys within the steps' reach."""
        reach = self.step.high * ahead
        low = math.floor(history.last + self.drift * ahead) + self.step.low * ahead
        if self.is_real:
            reach = math.ceil(REACH * self.step.deviation * math.sqrt(ahead))
            low = math.floor(history.last + self.drift * ahead) - reach
        high = math.ceil(history.last + self.drift * ahead) + reach
        keys = np.arange(low, high + 1, dtype=np.int64)
        return keys, self.masses(keys, ahead, history)

    def draw(self, length: int, generator: np.random.Generator) -> Ints:
        """Walk from the start, which is the key of tick 0."""
        if self.is_real:
            steps = generator.normal(self.drift, self.step.deviation, size=length)
        else:
            steps = self.step.draw(length, generator).astype(np.float64) + self.drift
        steps[:1] = 0
        return np.floor(self.start + np.cumsum(steps) + 0.5).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ar1(Law):
    """X' = phi0 + phi1 X + N(0, sigma^2); the key of X is X / grid, rounded."""

    is_independent: ClassVar[bool] = False
    phi0: float
    phi1: float
    sigma: float
    grid: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < abs(self.phi1) < 1.0:
            raise ValueError(f"phi1 is {self.phi1}, not between -1 and 1 and other than 0")
        if not (self.sigma > 0.0 and self.grid > 0.0 and math.isfinite(self.phi0)):
            raise ValueError("sigma and grid are not above 0, or phi0 is no number")

    @property
    def mean(self) -> float:
        """The mean in the long run, as a value."""
        return self.phi0 / (1.0 - self.phi1)

    @property
    def deviation(self) -> float:
        """The standard deviation in the long run, as a value."""
        return self.sigma / math.sqrt(1.0 - self.phi1**2)

    def ahead(self, ahead: int, last: int) -> tuple[float, float]:
        """Give mean and deviation some ticks ahead."""
        power = self.phi1**ahead
        mean = power * last * self.grid + self.mean * (1.0 - power)
        return mean, self.deviation * math.sqrt(1.0 - power * power)

    def masses(self, keys: Ints, ahead: int, history: History) -> Floats:
        """Give the probabilities of keys then."""
        return normal_law(keys, *self.ahead(ahead, history.last), self.grid)

    def distribution(self, ahead: int, history: History) -> Distribution:
        """List the keys within reach."""
        mean, deviation = self.ahead(ahead, history.last)
        low = math.floor((mean - REACH * deviation) / self.grid)
        high = math.ceil((mean + REACH * deviation) / self.grid)
        keys = np.arange(low, high + 1, dtype=np.int64)
        return keys, normal_law(keys, mean, deviation, self.grid)

    def draw(self, length: int, generator: np.random.Generator) -> Ints:
        """Draw from the stationary law on."""
        noise = generator.normal(0.0, self.sigma, size=length)
        values = np.empty(length)
        value = self.mean + generator.normal(0.0, self.deviation)
        for tick in range(length):
            value = self.phi0 + self.phi1 * value + noise[tick]
            values[tick] = value
        return np.floor(values / self.grid + 0.5).astype(np.int64)
