"""Sweeps: one query asked with many values of its parameters, of rows that have come already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from penstock.algebra.catalog import Catalog
from penstock.vocabulary.batches import Ints

SEGMENTS = "segments"
"""The directory of a home in which sweeps keep what they made of rows."""
SweepProgress = Callable[[str, int, int], None]
"""Called with what is being done, how many pieces of it are done, and how many there are."""
ANSWERS = pa.schema(
    [
        ("answers", pa.int64()),
        ("seconds", pa.float64()),
        ("first", pa.timestamp("us", tz="UTC")),
        ("last", pa.timestamp("us", tz="UTC")),
    ]
)
"""What is told of every combination: how many answers, for how long in all, from when to when."""


class PastRows(Protocol):
    """Rows that have come: those that a home recorded, or those of sources as they are now."""

    batches: int
    """In how many batches they came."""

    def read(self, relation: str) -> tuple[pa.Table, Ints]:
        """Give a relation's rows in the order in which they came, and the batch of each.

        Their names have dots: ours come beside them.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Variants:
    """Some combinations that are bound together: what they ask, and their rows of parameters."""

    logical: Any
    parameters: pa.Table
    places: Ints
    """The numbers of the combinations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """One subscription's query in all its combinations, and the rows that it is asked of.

    What is made of rows may be kept in `directory`, for the next sweep.
    """

    subscription: str
    catalog: Catalog
    variants: Sequence[Variants]
    combinations: int
    past: PastRows
    directory: Path
    progress: SweepProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOutcome:
    """What a sweep found: a row of `ANSWERS` for every combination, and what there is to say."""

    answers: pa.Table
    notes: tuple[str, ...] = ()
