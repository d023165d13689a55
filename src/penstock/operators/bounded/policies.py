"""Policies: who goes when a bounded join or lookup is above its budget.

A policy is added in one file, `penstock_policies/<name>.py` on the Python path: see
`policies_named`. The short way is a `ScoredPolicy` or a `SteppedPolicy` in Python: it is shown
every arrival, and scores or names the candidates to discard. The fast way is a `CompiledPolicy`: it
gives a `Rule` of tables and settings, and whole runs stay in machine code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from penstock.algebra.memories import Memory
from penstock.kernels.bounded_victims import (
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
from penstock.kernels.scores import ScoreTable
from penstock.vocabulary.batches import Floats, Ints
from penstock.vocabulary.errors import PenstockError

__all__ = [
    "AGED",
    "COUNTED",
    "EXTREMES",
    "LASTING",
    "LEARNED",
    "MODES",
    "PROBABLE",
    "RANDOM",
    "RANKED",
    "RECENT",
    "SCANNED",
    "TOSSED",
    "Arrays",
    "Candidates",
    "CompiledPolicy",
    "Policy",
    "Rule",
    "ScoredPolicy",
    "SteppedPolicy",
]

Arrays = dict[str, npt.NDArray[Any]]
MODES = frozenset({AGED, COUNTED, EXTREMES, LASTING, LEARNED, PROBABLE, RANDOM, RANKED, RECENT,
                   SCANNED, TOSSED})  # fmt: skip
"""How compiled joins find their victims."""


def _no_ints() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Rows that may stay: those held and the arrivals of this tick, oldest first.

    Of a lookup every reference is an arrival and a tick.

    Attributes
    ----------
    streams, keys
        Where each row came from, and its key.
    born, numbers
        The tick of its arrival, and its number among all arrivals.
    used
        The number of the last arrival that joined with it or asked for it; its own, if none did.
        Not told of rows that no policy in Python is asked about.
    """

    streams: Ints
    keys: Ints
    born: Ints
    numbers: Ints
    used: Ints = field(default_factory=_no_ints)

    def __len__(self) -> int:
        return len(self.keys)


class Policy(ABC):
    """What all policies have: a name, and a way to be made for a cache."""

    __slots__ = ()
    name: ClassVar[str]

    @classmethod
    def of(cls, memory: Memory, *, budget: int, streams: int) -> Self:  # noqa: ARG003
        """Make the policy of one cache: `budget` rows of two streams that join, or of a lookup's.

        `memory` is what was declared; chance begins at its `seed`.
        """
        return cls()


class SteppedPolicy(Policy):
    """A policy in Python, asked once per tick.

    What it does must be a function of what it was shown: copies in other processes, and a run after
    a restart, have to discard the same rows. What it remembers of the past is in its `arrays`.
    """

    __slots__ = ()

    def see(self, streams: Ints, keys: Ints, now: int) -> None:
        """Look at the arrivals of a tick, before the decision."""

    @abstractmethod
    def choose_victims(self, candidates: Candidates, count: int, now: int) -> Ints:
        """Name the places of the `count` candidates that go, each once."""

    def arrays(self) -> Arrays:
        """Give all that it remembers; nothing, unless it says otherwise."""
        return {}

    def restore(self, arrays: Arrays) -> None:
        """Go on from what `arrays` gave, as the other would."""
        assert not arrays, "what has arrays can be restored"


class ScoredPolicy(SteppedPolicy):
    """A policy in Python that discards the lowest scores, the oldest first among equal ones."""

    __slots__ = ()

    @abstractmethod
    def scores(self, candidates: Candidates, now: int) -> Floats:
        """Give every candidate's score."""

    def choose_victims(self, candidates: Candidates, count: int, now: int) -> Ints:
        """Name the candidates with the lowest scores."""
        scores = np.asarray(self.scores(candidates, now), dtype=np.float64)
        if scores.shape != (len(candidates),) or np.isnan(scores).any():
            raise PenstockError(
                "ENG-045",
                f"{self.name} does not give each of {len(candidates):,} rows a score: it gives "
                f"{scores.size:,}, {np.count_nonzero(np.isnan(scores)):,} of them NaN.",
                "Let `scores` give a number for every candidate.",
            )
        return np.argsort(scores, kind="stable")[:count]


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
