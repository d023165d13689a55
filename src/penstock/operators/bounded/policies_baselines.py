"""Policies to compare with: chance, frequency, lifetime and recency.

Each knows less than HEEB: frequencies of the past, or the law of the next tick only, and nothing of
where a stream is heading. `Passing` tells the first ones when a stream with a trend and bounded
noise has passed a key, so that they do not hold rows that are dead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from penstock.algebra.memories import Memory
from penstock.kernels.bounded_victims import COUNTED, LASTING, PROBABLE, RANDOM, RECENT
from penstock.operators.bounded.laws import Law
from penstock.operators.bounded.laws_independent import LinearTrend
from penstock.operators.bounded.policies import CompiledPolicy, Rule
from penstock.vocabulary.batches import Floats

Passing = tuple[LinearTrend, ...]
"""The streams' trends, by stream; empty if nothing is known of when a key is passed."""


def lives_of(passing: Sequence[Law]) -> Floats:
    """Give slope, intercept and lower bound of streams with trends."""
    found = np.zeros((len(passing), 3))
    for stream, law in enumerate(passing):
        assert isinstance(law, LinearTrend)
        assert law.slope > 0
        found[stream] = law.slope, law.intercept, -law.noise.low
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Rand(CompiledPolicy):
    """RAND: any row, rows that its partner has passed first."""

    name: ClassVar[str] = "RAND"
    seed: int = 0
    passing: Passing = ()

    @classmethod
    def of(cls, memory: Memory, *, budget: int, streams: int) -> Self:  # noqa: ARG003
        """Make the policy of one cache."""
        return cls(seed=memory.seed)

    def rule(self) -> Rule:
        """Say how victims are found."""
        return Rule(mode=RANDOM, lives=lives_of(self.passing), seed=self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbPast(CompiledPolicy):
    """PROB_p: the key that came least often in the partner's past.

    With `ordered` ties go by recency instead of by chance and the victim is found in logarithmic
    time; trends are not looked at then.
    """

    name: ClassVar[str] = "PROB_p"
    seed: int = 0
    passing: Passing = ()
    ordered: bool = False
    keys_max: int | None = None

    @classmethod
    def of(cls, memory: Memory, *, budget: int, streams: int) -> Self:  # noqa: ARG003
        """Make the policy of one cache."""
        return cls(ordered=True, seed=memory.seed)

    def rule(self) -> Rule:
        """Say how victims are found."""
        assert not (self.ordered and self.passing)
        return Rule(
            mode=COUNTED if self.ordered else PROBABLE,
            lives=lives_of(self.passing),
            seed=self.seed,
            keys_max=self.keys_max,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LifePast(CompiledPolicy):
    """LIFE_p: the lowest product of ticks left and how often the key came (and once more)."""

    name: ClassVar[str] = "LIFE_p"
    seed: int = 0
    passing: Passing = ()
    keys_max: int | None = None

    @classmethod
    def of(cls, memory: Memory, *, budget: int, streams: int) -> Self:  # noqa: ARG003
        """Make the policy of one cache."""
        return cls(seed=memory.seed)

    def rule(self) -> Rule:
        """Say how victims are found."""
        return Rule(
            mode=LASTING, lives=lives_of(self.passing), seed=self.seed, keys_max=self.keys_max
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lru(CompiledPolicy):
    """LRU: the row that was used longest ago; what comes is always taken.

    In a lookup a row is used when it is referenced, in a join when it comes or is joined.
    """

    name: ClassVar[str] = "LRU"

    def rule(self) -> Rule:
        """Say how victims are found."""
        return Rule(mode=RECENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lfu(CompiledPolicy):
    """LFU: the key that was referenced least often, held or not; the oldest among equal ones.

    Counts are perfect up to `keys_max` keys; then all are halved and the rarest forgotten.
    """

    name: ClassVar[str] = "LFU"
    keys_max: int | None = None

    def rule(self) -> Rule:
        """Say how victims are found."""
        return Rule(mode=COUNTED, keys_max=self.keys_max)
