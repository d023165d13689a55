"""What a store of views does: keep base rows, queues and the view, and flush in transactions.

For every input of a view the store holds its rows as of the last flush, and a queue of the changes
that have come since. So a flush joins the queue of one input with the others as the view has seen
them, and the view is at every moment the query over a prefix of every input's changes.

A store takes *turns*: each is one transaction, with a number. A turn that was committed is never
taken again; whoever comes with its number once more is given what came of it. Between turns anybody
may refresh; what that changes in the view is told in the next turn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from penstock.algebra.views import ViewDefinition
from penstock.vocabulary.batches import Ints

WEIGHT = "_n"
"""The column of changes that says how often a row comes (above zero) or goes (below)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flush:
    """One input's queue, brought into the view: how many changes, and how long that took."""

    input: int
    changes: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What came of a turn.

    `changes` are the view's columns and `_n`: how often each row came or went since the turn
    before, netted; no row does both. `memo` is what the chooser wanted remembered.
    """

    number: int
    changes: pa.Table
    pending: Ints
    """Changes that wait after the turn, by input."""
    memo: str
    flushes: tuple[Flush, ...] = ()
    """None, if the turn had been taken before."""


class Chooser(Protocol):
    """Decides what a turn flushes."""

    def __call__(self, pending: Ints, memo: str) -> tuple[Collection[int], str]:
        """Give the inputs to flush, and what to remember until the next turn.

        `pending` counts the changes that wait, by input, those of this turn included; `memo` is
        what was remembered in the turn before, at first nothing.
        """


class ViewStore(Protocol):
    """One view in one store. Not for several threads at once."""

    definition: ViewDefinition
    clock: Callable[[], float]
    """What flushes are timed by."""

    def create(self) -> None:
        """Make what the view needs; change nothing if it is there already."""

    def drop(self) -> None:
        """Take everything of the view away."""

    def begin(self, life: int) -> None:
        """Let the view begin anew, unless this life of it, whose number rises, has begun before."""

    def renew(self) -> None:
        """Empty the view: its next turn is the first, and tells that what was told went."""

    def turn(self, number: int, changes: Mapping[int, pa.Table], choose: Chooser) -> Turn:
        """Take a turn: queue changes by input, and flush what is chosen, in one transaction.

        Turns are numbered 1, 2, …. The last one may be asked for again, and is then not taken
        again. VIEW-… if the store is at another number: it is not the one that this home knows.
        """

    def refresh(self) -> tuple[Flush, ...]:
        """Flush everything that waits, between turns."""

    def taken(self) -> int:
        """Give the number of the last turn; 0 before the first."""

    def pending(self) -> Ints:
        """Count the changes that wait, by input."""

    def age(self) -> float:
        """Say how long the oldest change that waits has waited, in seconds by the store's clock.

        0 if nothing waits, or of changes that came when this was not noted yet.
        """

    def rows(self, turn: int | None = None) -> pa.Table:
        """Give the rows of the view as of the last flushes; a row that is there twice, twice.

        With `turn`, as they are by what was told up to that one: without what later ones tell.
        """

    def untold(self) -> pa.Table:
        """Give what the next turn tells already: what refreshes since the last one changed.

        The view's columns and `_n`, as `Turn.changes` has them.
        """

    def ahead(self, changes: Mapping[int, pa.Table]) -> AbstractContextManager[None]:
        """Let the view be read as it will be when these changes, too, have come and are flushed.

        In the end all of it is undone: they come with a turn of their own.
        """

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> pa.Table:
        """Run a reader's SELECT, in the store's SQL, in which the view has its own name."""

    def recomputed(self) -> pa.Table:
        """Compute the view anew from the rows of its inputs that have been flushed."""

    def rehearse(self, input_: int, size: int, draw: int = 0) -> float:
        """Flush so many changes of rows that are there, say how long it took, and undo all of it.

        Changes are counted as `pending` counts them: an update of a row is two, one that goes and
        one that comes, and by turns they do. `draw` decides which rows: what a flush costs hangs on
        them too. NaN if the input has no rows to change, or, for many changes, not one for each.
        """

    def statements(self, input_: int) -> tuple[str, ...]:
        """Give the SQL that flushes an input, for people to read."""

    def indexes(self) -> tuple[str, ...]:
        """Give the SQL of the indexes that were made for flushes."""

    def close(self) -> None:
        """Let go of the connection."""
