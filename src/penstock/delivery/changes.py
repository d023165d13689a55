"""Changes: a subscription's share of the result log, read in order, with resume tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.delivery.log import LoggedBatch, ResultLog
from penstock.delivery.log_files import ResultsExpiredError
from penstock.delivery.shares import Shares
from penstock.delivery.sheets import (
    DearOutputs,
    OutputLimits,
    OutputsFailed,
    Piece,
    Sheet,
    SheetSelection,
    lay_out,
)
from penstock.delivery.slots import SlotTable
from penstock.expressions.allowances import EvaluationError
from penstock.vocabulary.errors import PenstockError


@dataclass(frozen=True, slots=True)
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
        batch, seen = str(token).split(":")
        return int(batch), int(seen)
    except ValueError:
        raise PenstockError(
            "DEL-001",
            f"{token!r} is not a resume token.",
            "Pass the `token` of a change that you have seen, or None to begin at the start.",
        ) from None


def is_of_log(batch: int, seen: int, newest: int) -> bool:
    """Say whether a token may be of a log that ends with a batch: it may stand right behind it."""
    return min(batch, seen) >= 0 and (batch <= newest or (batch == newest + 1 and not seen))


def changes_of(
    pieces: Sequence[Piece], batch: int, version: int, seen: int = 0
) -> Iterator[Change]:
    """Give a batch's changes one by one, behind those that were seen."""
    number = 0
    for piece in pieces:
        skipped = 0
        if number < seen:
            skipped = min(seen - number, len(piece))
            number += skipped
        names = piece.sheet.names
        for id_, sign, row in piece.rows(skipped):
            number += 1
            yield Change(
                id=id_,
                row=dict(zip(names, row, strict=True)),
                sign=sign,
                batch=batch,
                version=version,
                token=f"{batch}:{number}",
            )


Failing = Callable[[str, int, int], None]
"""`(reader, batch, how many)`: told of outputs that failed on the values of a row and are NULL."""


TooDear = Callable[[str, EvaluationError], None]
"""`(reader, error)`: told whose outputs take too much, or cannot be computed at all."""


ONE_KIND = np.zeros(1, dtype=np.int64)


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
                    pairs = section.pairs(selection.group, selection.queries)
                    slot = np.where(selection.holds_all(pairs[0]), 0, -1)
                    own = lay_out(section, pairs, slot, [selection], ONE_KIND, told)
                    found += [Piece(each, 0, len(each.query), selection) for each in own]
        return found

    def shares(
        self,
        logged: LoggedBatch,
        slots: SlotTable,
        wanted: Callable[[str], bool] | None = None,
    ) -> Shares:
        """Read one batch's changes for all who have slots and are wanted, each group once."""
        shares = Shares()
        told = self._told(logged.batch)

        def unread(selection: SheetSelection, error: EvaluationError) -> None:
            shares.unread[selection.reader] = error
            self._too_dear(selection.reader, error)

        for section in (each.kept() for each in logged.sections):
            found: list[Sheet] = []
            for group in section.groups.keys() & slots.groups:
                try:
                    pairs = section.pairs(group)
                    slot = slots.of(group, pairs[0], shares.unread, wanted)
                    limits = OutputLimits(self._dear, unread)
                    found += lay_out(
                        section, pairs, slot, slots.selections, slots.kinds, told, limits
                    )
                except Exception as error:  # noqa: BLE001  # told to those who read the group
                    shares.unread_groups[group] = error
            shares.add(found, slots)
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
        has_begun = since is not None
        while True:
            try:
                logged = self._log.read(number)
                pieces = [] if logged is None else self.pieces(logged, selecting())
            except ResultsExpiredError as error:
                if has_begun:
                    raise
                number = error.first  # whoever begins at the start begins with what is kept
                continue
            if logged is None:
                if not waiting():
                    return
                continue
            has_begun = True
            yield logged, seen, pieces
            number, seen = number + 1, 0

    def changes(
        self, selecting: Selecting, since: str | None, waiting: Waiting = no_waiting
    ) -> Iterator[Change]:
        """Read change after change, from a resume token on, as far as the log goes."""
        for logged, seen, pieces in self.batches(selecting, since, waiting):
            yield from changes_of(pieces, logged.batch, logged.version, seen)

    def _told(self, batch: int) -> OutputsFailed:
        return lambda selection, count: self._failing(selection.reader, batch, count)
