"""Pictures: what a subscription's rows, models and answers are over time, before it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from penstock.vocabulary.batches import Floats

Times = npt.NDArray[np.datetime64]
CrossingState = Literal["confirmed", "withdrawn", "expected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a user wants to see: the values of a key, a standing query by number, how much time."""

    key: tuple[str, ...] = ()
    query: int | None = None
    last_us: int | None = None
    """So long before the newest row; None: all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCurve:
    """A piece of a line: values at instants, and how far rows may be from them."""

    at: Times
    value: Floats
    allowed: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Strand:
    """One key's rows and models: what held, what was withdrawn of it, what is ahead."""

    name: str
    at: Times
    value: Floats
    segments: Sequence[ModelCurve]
    withdrawn: Sequence[ModelCurve]
    ahead: Sequence[ModelCurve]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCrossing:
    """A time at which an answer was expected to begin, and what became of it."""

    at: np.datetime64
    value: float | None
    state: CrossingState


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One attribute over time, and the numbers that it is compared with."""

    name: str
    strands: Sequence[Strand]
    limits: Sequence[float] = ()
    crossings: Sequence[ExpectedCrossing] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A whole picture: panels above each other, and when answers held."""

    title: str
    panels: Sequence[Panel]
    held: Sequence[tuple[np.datetime64, np.datetime64]] = ()
    notes: Sequence[str] = ()
    since: np.datetime64 | None = None
    """Where the picture begins; None: with the first that is drawn."""
