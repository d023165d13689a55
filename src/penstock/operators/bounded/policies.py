"""Policies: who goes when a bounded join or lookup is above its budget.

A policy is added in one file. The short way is a `SteppedPolicy`: it is shown every arrival and
names the candidates to discard. The fast way is a `CompiledPolicy`: it gives a `Rule` of tables and
settings, and whole runs stay in machine code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from penstock.kernels.bounding_victims import (
    AGED,
    COUNTED,
    EXTREMES,
    LASTING,
    LEARNED,
    PROBABLE,
    RANDOM,
    RANKED,
    RECENT,
    SCANNED,
    TOSSED,
)
from penstock.kernels.scoring import ScoreTable
from penstock.operators.bounded.models import Floats, Ints

__all__ = [
    "AGED",
    "COUNTED",
    "EXTREMES",
    "LASTING",
    "LEARNED",
    "PROBABLE",
    "RANDOM",
    "RANKED",
    "RECENT",
    "SCANNED",
    "TOSSED",
    "Candidates",
    "CompiledPolicy",
    "Policy",
    "Rule",
    "ScoredPolicy",
    "SteppedPolicy",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Rows that may stay: those held and the arrivals of this tick, oldest first.

    Attributes
    ----------
    streams, keys
        Where each row came from, and its key.
    born, numbers
        The tick of its arrival, and its number among all arrivals.
    """

    streams: Ints
    keys: Ints
    born: Ints
    numbers: Ints

    def __len__(self) -> int:
        return len(self.keys)


class Policy(ABC):
    """What all policies have: a name."""

    __slots__ = ()
    name: ClassVar[str]


class SteppedPolicy(Policy):
    """A policy in Python, asked once per tick."""

    __slots__ = ()

    def see(self, streams: Ints, keys: Ints, now: int) -> None:
        """Look at the arrivals of a tick, before the decision."""

    @abstractmethod
    def choose_victims(self, candidates: Candidates, count: int, now: int) -> Ints:
        """Name the places of the `count` candidates that go, each once."""


class ScoredPolicy(SteppedPolicy):
    """A policy in Python that discards the lowest scores, the oldest first among equal ones."""

    __slots__ = ()

    @abstractmethod
    def scores(self, candidates: Candidates, now: int) -> Floats:
        """Give every candidate's score."""

    def choose_victims(self, candidates: Candidates, count: int, now: int) -> Ints:
        """Name the candidates with the lowest scores."""
        return np.argsort(self.scores(candidates, now), kind="stable")[:count]


def _no_floats() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How compiled runs find their victims.

    Attributes
    ----------
    mode
        SCANNED, EXTREMES, RANKED, COUNTED, PROBABLE, LASTING, RANDOM, LEARNED, RECENT, TOSSED,
        AGED.
    tables
        What rows are worth that are joined with stream 0, 1, ...; empty if the mode asks none.
    windowed
        Whether tables are looked up by what is left of a row's window too.
    lives
        Slope, intercept and lower bound of the keys of stream 0, 1, ...: rows that a stream has
        passed go first. Empty if streams pass nothing.
    settings, buckets
        Of LEARNED: see `kernels.bounding_histograms`.
    seed
        Where chance begins.
    keys_max
        Keys that are counted before counts are halved; None: sixteen per row of the budget.
    """

    mode: int
    tables: tuple[ScoreTable, ...] = ()
    windowed: bool = False
    lives: Floats = field(default_factory=_no_floats)
    settings: Floats = field(default_factory=_no_floats)
    buckets: int = 1
    seed: int = 0
    keys_max: int | None = None


class CompiledPolicy(Policy):
    """A policy whose runs are compiled."""

    __slots__ = ()

    @abstractmethod
    def rule(self) -> Rule:
        """Say how victims are found."""
