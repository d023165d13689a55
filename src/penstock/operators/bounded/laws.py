"""What a law promises: the law of a stream's keys some ticks ahead, given what was seen.

A stream emits one key per tick. Keys are whole numbers; a law of real values counts them in
steps of its grid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from penstock.vocabulary.batches import Floats, Ints

Distribution = tuple[Ints, Floats]
"""Distinct keys and their probabilities; what is missing to 1 joins nothing."""


class History(NamedTuple):
    """What of a stream's past a law looks at: the present tick, and the key seen at it."""

    now: int
    last: int = 0


class Law(ABC):
    """The law of one stream's keys."""

    __slots__ = ()

    is_independent: ClassVar[bool]
    """Whether keys of different ticks are independent of each other, given the history."""

    @abstractmethod
    def masses(self, keys: Ints, ahead: int, history: History) -> Floats:
        """Give the probability of each of the keys `ahead` ticks from now; `ahead` is 1 or more."""

    @abstractmethod
    def distribution(self, ahead: int, history: History) -> Distribution:
        """List all keys that may come `ahead` ticks from now, with their probabilities."""

    @abstractmethod
    def draw(self, length: int, generator: np.random.Generator) -> Ints:
        """Draw the keys of the ticks 0, 1, 2... up to a length."""

    def pmf(self, key: int, ahead: int, history: History) -> float:
        """Give the probability of one key."""
        return float(self.masses(np.array([key], dtype=np.int64), ahead, history)[0])
