"""Laws and weightings that no SQL can say, to test what must hold for any."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from penstock.kernels.scores import ScoreTable
from penstock.operators.bounded.laws import Distribution, History, Law
from penstock.operators.bounded.laws_independent import NOTHING
from penstock.operators.bounded.laws_markov import Ar1, normal_law
from penstock.operators.bounded.laws_noise import Noise
from penstock.operators.bounded.scores import score_table
from penstock.operators.bounded.scores_blank import Recipe
from penstock.operators.bounded.scores_keys import timed_table
from penstock.operators.bounded.weightings import Exponential, Fixed
from penstock.vocabulary.batches import Floats, Ints

EPSILON = 1e-9
"""What a sum over all ticks to come may leave out."""
FAR = 1 << 16
"""Where sums end whose weights do not."""


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Schedule(Law):
    """A law of its own for every tick; nothing comes after the last.

    >>> Schedule(distributions=({3: 0.5}, {1: 0.8})).pmf(1, 2, History(now=-1))
    0.8
    """

    is_independent: ClassVar[bool] = True
    distributions: tuple[Mapping[int, float], ...]

    def masses(self, keys: Ints, ahead: int, history: History) -> Floats:
        """Give the probabilities of keys then."""
        tick = history.now + ahead
        if not 0 <= tick < len(self.distributions):
            return np.zeros(len(keys))
        distribution = self.distributions[tick]
        return np.array([distribution.get(int(key), 0.0) for key in keys], dtype=np.float64)

    def distribution(self, ahead: int, history: History) -> Distribution:
        """List the keys that may come then."""
        tick = history.now + ahead
        distribution = self.distributions[tick] if 0 <= tick < len(self.distributions) else {}
        keys = np.array(sorted(distribution), dtype=np.int64)
        return keys, np.array([distribution[int(key)] for key in keys], dtype=np.float64)

    def draw(self, length: int, generator: np.random.Generator) -> Ints:
        """Draw a key per tick."""
        before = History(now=-1)
        distributions = (self.distribution(tick + 1, before) for tick in range(length))
        return np.array(
            [drawn(distribution, generator, NOTHING) for distribution in distributions],
            dtype=np.int64,
        )


def drawn(distribution: Distribution, generator: np.random.Generator, nothing: int) -> int:
    """Draw a key from a law, `nothing` with the probability that is missing to 1."""
    keys, masses = distribution
    place = int(np.searchsorted(np.cumsum(masses), generator.random(), side="right"))
    return int(keys[place]) if place < len(keys) else nothing


def any_table(law: Law, weighting: Exponential | Fixed, **wishes: Any) -> ScoreTable:
    """Make the table of a law; of a schedule, as of a stream that is known with some chance."""
    if not isinstance(law, Schedule):
        return score_table(law, weighting, **wishes)
    rows = [
        (key, tick, mass)
        for tick, distribution in enumerate(law.distributions)
        for key, mass in distribution.items()
        if mass
    ]
    keys, ticks, masses = (np.array([row[place] for row in rows]) for place in range(3))
    recipe = Recipe(weighting=weighting, **wishes)
    return timed_table(keys.astype(np.int64), ticks.astype(np.int64), masses, recipe)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chain(Law):
    """Any chain on the keys first, first + 1...: matrix[i, j] leads from first + i to first + j."""

    is_independent: ClassVar[bool] = False
    first: int
    matrix: Floats

    def __post_init__(self) -> None:
        sums = self.matrix.sum(axis=1)
        square = self.matrix.ndim == 2 and self.matrix.shape[0] == self.matrix.shape[1]
        if not square or self.matrix.min() < 0.0 or np.abs(sums - 1.0).max() > 1e-9:
            raise ValueError("a chain's matrix is not square with lines that add up to 1")

    def masses(self, keys: Ints, ahead: int, history: History) -> Floats:
        """Give the probabilities of keys then."""
        line = self._ahead(ahead, history.last)
        places = np.asarray(keys) - self.first
        inside = (places >= 0) & (places < len(line))
        return np.where(inside, line[np.clip(places, 0, len(line) - 1)], 0.0)

    def distribution(self, ahead: int, history: History) -> Distribution:
        """List all keys."""
        keys = np.arange(self.first, self.first + len(self.matrix), dtype=np.int64)
        return keys, self._ahead(ahead, history.last)

    def draw(self, length: int, generator: np.random.Generator) -> Ints:
        """Draw from the first key on."""
        sums = np.cumsum(self.matrix, axis=1)
        found = np.empty(length, dtype=np.int64)
        place = 0
        for tick in range(length):
            found[tick] = self.first + place
            step = int(np.searchsorted(sums[place], generator.random(), side="right"))
            place = min(step, len(sums) - 1)
        return found

    def _ahead(self, ahead: int, last: int) -> Floats:
        line = np.zeros(len(self.matrix))
        line[last - self.first] = 1.0
        for _ in range(ahead):
            line = line @ self.matrix
        return line


def chain_of(law: Ar1, low: int, high: int) -> Chain:
    """Give the chain of keys from low to high; what would leave them stays at the ends."""
    keys = np.arange(low, high + 1, dtype=np.int64)
    matrix = np.array([normal_law(keys, *law.ahead(1, int(key)), law.grid) for key in keys])
    for line, key in zip(matrix, keys, strict=True):
        mean, deviation = law.ahead(1, int(key))
        below = ((low - 0.5) * law.grid - mean) / deviation
        above = ((high + 0.5) * law.grid - mean) / deviation
        line[0] += 0.5 * math.erfc(-below * math.sqrt(0.5))
        line[-1] += 0.5 * math.erfc(above * math.sqrt(0.5))
    return Chain(first=low, matrix=matrix)


class AnyWeighting(Protocol):
    """The weights L(1), L(2)... of the ticks ahead, with a sum or without."""

    def weights(self, count: int) -> Floats: ...


@dataclass(frozen=True, slots=True)
class Inverse:
    """1 / n, for caching only: the expected inverse of the wait."""

    def weights(self, count: int) -> Floats:
        found: Floats = 1.0 / np.arange(1, count + 1)
        return found


@dataclass(frozen=True, slots=True)
class Infinite:
    """Always 1, for caching only: the chance of ever being referenced."""

    def weights(self, count: int) -> Floats:
        return np.ones(count)


def horizon_of(weighting: AnyWeighting, epsilon: float = EPSILON) -> int:
    """Give the ticks after which less than epsilon of all weight is left, or where sums end."""
    if isinstance(weighting, Fixed):
        return weighting.ticks
    if isinstance(weighting, Exponential):
        left = -math.log(epsilon) - math.log(-math.expm1(-1.0 / weighting.alpha))
        return max(1, math.floor(left * weighting.alpha) + 1)
    return FAR


def residence_of(alpha: float) -> float:
    """Give the mean residence that an exponential weighting predicts: 1 / (1 - e^(-1/alpha)).

    >>> round(residence_of(alpha_of(3.0)), 12)
    3.0
    """
    return -1.0 / math.expm1(-1.0 / alpha)
