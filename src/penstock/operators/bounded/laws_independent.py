"""Laws whose keys at different ticks are independent: known, stationary, trends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.operators.bounded.laws import Distribution, History, Law
from penstock.operators.bounded.laws_noise import Noise
from penstock.vocabulary.batches import Floats, Ints

NOTHING = np.iinfo(np.int64).min
"""The key that a stream draws where its law leaves mass over: it joins nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Offline(Law):
    """A stream that is known beforehand; nothing comes after its end.

    >>> Offline(keys=np.array([4, 7])).pmf(7, 1, History(now=0))
    1.0
    """

    is_independent: ClassVar[bool] = True
    keys: Ints

    def masses(self, keys: Ints, ahead: int, history: History) -> Floats:
        """Give 1 for the key that comes then."""
        tick = history.now + ahead
        if not 0 <= tick < len(self.keys) or self.keys[tick] == NOTHING:
            return np.zeros(len(keys))
        found: Floats = (keys == self.keys[tick]).astype(np.float64)
        return found

    def distribution(self, ahead: int, history: History) -> Distribution:
        """Give the key that comes then."""
        tick = history.now + ahead
        if not 0 <= tick < len(self.keys) or self.keys[tick] == NOTHING:
            return np.empty(0, dtype=np.int64), np.empty(0)
        return self.keys[tick : tick + 1].astype(np.int64), np.ones(1)

    def draw(self, length: int, generator: np.random.Generator) -> Ints:  # noqa: ARG002
        """Give the keys as they are."""
        found = np.full(length, NOTHING, dtype=np.int64)
        known = self.keys[:length]
        found[: len(known)] = known
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stationary(Law):
    """Always the same law; `probabilities[i]` is that of `keys[i]`.

    >>> Stationary(keys=np.array([5, 2]), probabilities=np.array([0.3, 0.7])).keys
    array([2, 5])
    """

    is_independent: ClassVar[bool] = True
    keys: Ints
    probabilities: Floats

    def __init__(self, *, keys: Ints, probabilities: Floats) -> None:
        found, places = np.unique(np.asarray(keys, dtype=np.int64), return_index=True)
        chances = np.asarray(probabilities, dtype=np.float64)
        if len(found) != len(keys) or len(chances) != len(keys):
            raise ValueError("the keys are not distinct, each with one probability")
        if chances.min(initial=0.0) < 0.0 or chances.sum() > 1.0 + 1e-9:
            raise ValueError("the probabilities are not numbers from 0 on with a sum up to 1")
        object.__setattr__(self, "keys", found)
        object.__setattr__(self, "probabilities", chances[places])

    def masses(self, keys: Ints, ahead: int, history: History) -> Floats:  # noqa: ARG002
        """Give the probabilities of keys."""
        if len(self.keys) == 0:
            return np.zeros(len(keys))
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.probabilities[places], 0.0)

    def distribution(self, ahead: int, history: History) -> Distribution:  # noqa: ARG002
        """List the keys."""
        return self.keys, self.probabilities

    def draw(self, length: int, generator: np.random.Generator) -> Ints:
        """Draw a key per tick."""
        sums = np.cumsum(self.probabilities)
        places = np.searchsorted(sums, generator.random(length), side="right")
        # Rounding must not leave over what adds up to 1.
        if len(sums) and sums[-1] > 1.0 - 1e-9:
            places = np.minimum(places, len(sums) - 1)
        return np.concatenate((self.keys, [NOTHING]))[places]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HistogramLaw(Law):
    """A stationary law known by buckets of equal width; within a bucket all keys are equal.

    >>> HistogramLaw(first=0, width=10, buckets=np.array([1.0, 3.0])).pmf(12, 1, History(now=0))
    0.075
    """

    is_independent: ClassVar[bool] = True
    first: int
    width: int
    buckets: Floats

    def __init__(self, *, first: int, width: int, buckets: Floats) -> None:
        heights = np.asarray(buckets, dtype=np.float64)
        if width < 1 or len(heights) == 0 or heights.min() < 0.0 or heights.sum() <= 0.0:
            raise ValueError("a histogram has buckets of a width from 1 on, not all of them empty")
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "width", width)
        object.__setattr__(self, "buckets", heights / heights.sum())

    def masses(self, keys: Ints, ahead: int, history: History) -> Floats:  # noqa: ARG002
        """Give the probabilities of keys."""
        places = (keys - self.first) // self.width
        inside = (places >= 0) & (places < len(self.buckets))
        heights = self.buckets[np.clip(places, 0, len(self.buckets) - 1)] / self.width
        return np.where(inside, heights, 0.0)

    def distribution(self, ahead: int, history: History) -> Distribution:
        """List the keys of all buckets."""
        keys = np.arange(self.first, self.first + self.width * len(self.buckets), dtype=np.int64)
        return keys, self.masses(keys, ahead, history)

    def draw(self, length: int, generator: np.random.Generator) -> Ints:
        """Draw a key per tick."""
        sums = np.cumsum(self.buckets)
        places = np.searchsorted(sums, generator.random(length) * sums[-1], side="right")
        inner = generator.integers(self.width, size=length)
        found: Ints = self.first + np.minimum(places, len(sums) - 1) * self.width + inner
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearTrend(Law):
    """A mean that moves by `slope` every tick, with independent noise around it.

    The key is the rounded sum of mean and noise; with whole means that is the sum itself.
    """

    is_independent: ClassVar[bool] = True
    slope: float
    intercept: float
    noise: Noise

    def __post_init__(self) -> None:
        if not (math.isfinite(self.slope) and math.isfinite(self.intercept)):
            raise ValueError(f"a trend of {self.slope} t + {self.intercept} has no mean")

    def mean(self, tick: int) -> float:
        """Give the mean at a tick."""
        return self.slope * tick + self.intercept

    def masses(self, keys: Ints, ahead: int, history: History) -> Floats:
        """Give the probabilities of keys then."""
        return self.noise.masses(keys.astype(np.float64) - self.mean(history.now + ahead))

    def distribution(self, ahead: int, history: History) -> Distribution:
        """List the keys within the noise's reach."""
        mean = self.mean(history.now + ahead)
        low, high = math.floor(mean) + self.noise.low, math.ceil(mean) + self.noise.high
        keys = np.arange(low, high + 1, dtype=np.int64)
        return keys, self.noise.masses(keys.astype(np.float64) - mean)

    def draw(self, length: int, generator: np.random.Generator) -> Ints:
        """Draw a key per tick."""
        means = self.slope * np.arange(length) + self.intercept
        if np.all(means == np.floor(means)):
            return means.astype(np.int64) + self.noise.draw(length, generator)
        # A whole offset stands for all that rounds to it.
        real = self.noise.draw(length, generator) + generator.random(length) - 0.5
        return np.floor(means + real + 0.5).astype(np.int64)
