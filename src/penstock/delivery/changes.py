"""Changes: a subscription's share of the result log, read in order, with resume tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from penstock.delivery.log import LoggedBatch, ResultLog
from penstock.delivery.sheets import (
    DearOutputs,
    OutputLimits,
    OutputsFailed,
    Piece,
    SheetSelection,
    lay_out,
)
from penstock.expressions.allowances import EvaluationError
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.errors import PenstockError


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change to one standing query's answer.

    `sign` is +1 when the row joins the answer, -1 when it leaves (tables and their joins only).
    `token` resumes right after this change.
    """

    id: Any
    row: dict[str, Any]
    sign: int
    batch: int
    version: int
    token: str


Selecting = Callable[[], Sequence[SheetSelection]]
"""What to read, asked anew for every batch, since registrations go on. A subscription whose text
or parameter types changed has several selections: results keep the columns of their own text."""


Waiting = Callable[[], bool]
"""Asked where the log ends: waits a moment and says whether to look again."""


def no_waiting() -> bool:
    """End where the log ends."""
    return False


def parse_token(token: str | None) -> tuple[int, int]:
    """Take a token apart: the batch, and how many of its changes were seen.

    >>> parse_token("17:3"), parse_token(None)
    ((17, 3), (0, 0))
    """
    if token is None:
        return 0, 0
    try:
        batch, seen = token.split(":")
        return int(batch), int(seen)
    except ValueError:
        raise PenstockError(
            "DEL-001",
            f"{token!r} is not a resume token.",
            "Pass the `token` of a change that you have seen, or None to begin at the start.",
        ) from None


def changes_of(
    pieces: Sequence[Piece], batch: int, version: int, seen: int = 0
) -> Iterator[Change]:
    """Give a batch's changes one by one, behind those that were seen."""
    number = 0
    for piece in pieces:
        skipped = min(max(seen - number, 0), len(piece))
        number += skipped
        for id_, sign, row in piece.rows(skipped):
            number += 1
            yield Change(
                id=id_,
                row=row,
                sign=sign,
                batch=batch,
                version=version,
                token=f"{batch}:{number}",
            )


class Claims(Protocol):
    """Says whose the pairs of a group are, as of now."""

    @property
    def version(self) -> int:
        """What changes whenever an answer may change."""

    def selections(self, name: str) -> Sequence[SheetSelection]:
        """Give what a subscription reads."""

    def owners(self, queries: Ints) -> tuple[Ints, list[tuple[str, int]]]:
        """Say who registered queries: a list of (name, one such query), and each one's place.

        The place of a query that nobody is known to have registered is -1.
        """


Failing = Callable[[str, int, int], None]
"""`(reader, batch, how many)`: told of outputs that failed on the values of a row and are NULL."""


TooDear = Callable[[str, EvaluationError], None]
"""`(reader, error)`: told whose outputs take too much, or cannot be computed at all."""


@dataclass(frozen=True, slots=True)
class Shares:
    """What a batch has for subscriptions, by name; what could not be read, by name and by group."""

    pieces: dict[str, list[Piece]] = field(default_factory=dict)
    unread: dict[str, Exception] = field(default_factory=dict)
    unread_groups: dict[str, Exception] = field(default_factory=dict)


class ChangeReader:
    """Reads selections from a result log; an output that fails is NULL in its row, and is told."""

    def __init__(
        self,
        log: ResultLog,
        failing: Failing,
        too_dear: TooDear = lambda _reader, _error: None,
    ) -> None:
        self._log = log
        self._failing = failing
        self._too_dear = too_dear
        self._dear = DearOutputs()

    def batch(self, logged: LoggedBatch, selections: Sequence[SheetSelection]) -> list[pa.Table]:
        """Read one batch's changes as tables: id, query, sign, the outputs."""
        return [piece.table() for piece in self.pieces(logged, selections)]

    def pieces(self, logged: LoggedBatch, selections: Sequence[SheetSelection]) -> list[Piece]:
        """Read one batch's changes for one reader."""
        told = self._told(logged.batch)
        found: list[Piece] = []
        for section in logged.sections:
            for selection in selections:
                if selection.group in section.groups:
                    pairs = section.pairs(selection.group)
                    slot = np.where(selection.holds_all(pairs[0]), 0, -1)
                    found += lay_out(section, pairs, slot, [selection], told).values()
        return found

    def shares(
        self,
        logged: LoggedBatch,
        claims: Claims,
        groups: frozenset[str],
        wanted: Callable[[str], bool],
    ) -> Shares:
        """Read one batch's changes for all subscriptions that are wanted, each group once."""
        shares = Shares()
        told = self._told(logged.batch)

        def unread(selection: SheetSelection, error: EvaluationError) -> None:
            shares.unread[selection.reader] = error
            self._too_dear(selection.reader, error)

        for section in (each.kept() for each in logged.sections):
            # By name the pieces of its selections, in the order of these.
            found: dict[str, list[tuple[int, Piece]]] = {}
            for group in section.groups.keys() & groups:
                try:
                    pairs = section.pairs(group)
                    slot, selections, whose = _slots(group, pairs[0], claims, wanted, shares)
                    limits = OutputLimits(self._dear, unread)
                    laid = lay_out(section, pairs, slot, selections, told, limits)
                    for at, piece in laid.items():
                        name, number = whose[at]
                        found.setdefault(name, []).append((number, piece))
                except Exception as error:  # noqa: BLE001  # told to those who read the group
                    shares.unread_groups[group] = error
            for name, own in found.items():
                own.sort(key=itemgetter(0))
                shares.pieces.setdefault(name, []).extend(piece for _, piece in own)
        return shares

    def try_again(self, selections: Sequence[SheetSelection]) -> bool:
        """Compute outputs again that took too much; say whether there were any."""
        return any([self._dear.pop(each.outputs, None) is not None for each in selections])

    def batches(
        self, selecting: Selecting, since: str | None, waiting: Waiting = no_waiting
    ) -> Iterator[tuple[LoggedBatch, int, list[Piece]]]:
        """Read batch after batch, as far as the log goes, and as long as `waiting` says.

        Gives the batch, how many of its changes the token has seen, and all of them.
        """
        number, seen = parse_token(since)
        while True:
            logged = self._log.read(number)
            if logged is None:
                if not waiting():
                    return
                continue
            yield logged, seen, self.pieces(logged, selecting())
            number, seen = number + 1, 0

    def changes(
        self, selecting: Selecting, since: str | None, waiting: Waiting = no_waiting
    ) -> Iterator[Change]:
        """Read change after change, from a resume token on, as far as the log goes."""
        for logged, seen, pieces in self.batches(selecting, since, waiting):
            yield from changes_of(pieces, logged.batch, logged.version, seen)

    def _told(self, batch: int) -> OutputsFailed:
        return lambda selection, count: self._failing(selection.reader, batch, count)


def _slots(
    group: str, query: Ints, claims: Claims, wanted: Callable[[str], bool], shares: Shares
) -> tuple[Ints, list[SheetSelection], list[tuple[str, int]]]:
    """Say of every pair which selection's it is; and of these, whose and which of theirs."""
    place, owners = claims.owners(query)
    slots: dict[tuple[str, int], int] = {}
    selections: list[SheetSelection] = []
    of_owner = np.full(len(owners) + 1, -1, dtype=np.int64)  # the last is for those of nobody
    for at, (name, sample) in enumerate(owners):
        if not wanted(name):
            continue
        try:
            own = claims.selections(name)
        except PenstockError as error:
            shares.unread[name] = error
            continue
        for number, selection in enumerate(own):
            if selection.group == group and selection.holds(sample):
                key = (name, number)
                if key not in slots:
                    slots[key] = len(selections)
                    selections.append(selection)
                of_owner[at] = slots[key]
    return of_owner[place], selections, list(slots)
