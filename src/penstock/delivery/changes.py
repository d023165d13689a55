"""Changes: a subscription's share of the result log, read in order, with resume tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.logical import Output
from penstock.delivery.log import LoggedBatch, LoggedSection, ResultLog
from penstock.expressions.evaluating import evaluate
from penstock.expressions.quoting import quoted
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.changes import signs_of
from penstock.vocabulary.errors import PenstockError

POLL_S = 0.02
HEAD = ("_id", "_query", "_sign")
HEAD_COLUMNS = len(HEAD)
"""Id, query number and sign come before a text's own columns."""
MADE_SIGN = "_sign"
"""The column in which rows that an operator made carry their sign."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What to read in one group: whose pairs, and which columns of the events.

    `change_column` tells the signs of a table's own rows; rows that an operator made carry theirs.
    `queries` are the query numbers of interest in ascending order; None means the whole group.
    `ids` maps numbers to the user's ids. `reader` is who hears of outputs that fail.
    """

    group: str
    outputs: tuple[Output, ...]
    change_column: str | None
    queries: Ints | None
    ids: Callable[[Ints], pa.Array]
    reader: str = ""


Selecting = Callable[[], Sequence[Selection]]
"""What to read, asked anew for every batch, since registrations go on. A subscription whose text
or parameter types changed has several selections: results keep the columns of their own text."""


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


Failing = Callable[[str, int, int], None]
"""`(reader, batch, how many)`: told of outputs that failed on the values of a row and are NULL."""


class ChangeReader:
    """Reads selections from a result log; an output that fails is NULL in its row, and is told."""

    def __init__(self, log: ResultLog, failing: Failing) -> None:
        self._log = log
        self._failing = failing

    def batch(self, logged: LoggedBatch, selections: Sequence[Selection]) -> list[pa.Table]:
        """Read one batch's changes as tables: id, query, sign, the outputs."""
        return [
            table
            for section in logged.sections
            for selection in selections
            if selection.group in section.groups
            and (table := self._section(logged.batch, section, selection)) is not None
        ]

    def batches(
        self,
        selecting: Selecting,
        since: str | None,
        following: Callable[[], bool],
        timeout_s: float | None = None,
    ) -> Iterator[tuple[LoggedBatch, int, list[pa.Table]]]:
        """Read batch after batch; wait for new ones as long as `following()` says so.

        Gives the batch, how many of its changes the token has seen, and those that it has not.
        """
        number, seen = parse_token(since)
        waiting_since = monotonic()
        while True:
            more = following()
            logged = self._log.read(number)
            if logged is not None:
                yield logged, seen, _behind(self.batch(logged, selecting()), seen)
                number, seen = number + 1, 0
                waiting_since = monotonic()
            elif not more or (timeout_s is not None and monotonic() - waiting_since > timeout_s):
                return
            else:
                sleep(POLL_S)

    def changes(
        self,
        selecting: Selecting,
        since: str | None,
        following: Callable[[], bool],
        timeout_s: float | None = None,
    ) -> Iterator[Change]:
        """Read change after change, from a resume token on."""
        for logged, seen, tables in self.batches(selecting, since, following, timeout_s):
            number = seen
            for table in tables:
                values = table.select(range(HEAD_COLUMNS, table.num_columns)).to_pylist()
                # By place: an output may be called as one of these.
                keys = zip(table.column(0).to_pylist(), table.column(2).to_pylist(), strict=True)
                for (id_, sign), row in zip(keys, values, strict=True):
                    number += 1
                    yield Change(
                        id=id_,
                        row=row,
                        sign=sign,
                        batch=logged.batch,
                        version=logged.version,
                        token=f"{logged.batch}:{number}",
                    )

    def _section(self, batch: int, section: LoggedSection, selection: Selection) -> pa.Table | None:
        matches = section.matches(selection.group)
        query, event = matches["query"].to_numpy(), matches["event"].to_numpy()
        if selection.queries is not None:
            wanted = selection.queries
            at = np.searchsorted(wanted, query)
            at[at == len(wanted)] = 0
            mine = wanted[at] == query if len(wanted) else np.zeros(len(query), np.bool_)
            query, event = query[mine], event[mine]
        if not len(query):
            return None
        # The order in which an operator found pairs is its own affair; readers see a fixed one.
        order = np.lexsort((query, event))
        query, event = query[order], event[order]
        events = section.events().take(pa.array(event))
        # Rows that an operator made are the group's own section, and carry their signs.
        made = section.relation == selection.group
        signs = events[MADE_SIGN] if made else _signs(events, selection.change_column)
        head = [selection.ids(query), pa.array(query), signs]
        columns = self._outputs(batch, events, selection)
        names = [*HEAD, *(output.name for output in selection.outputs)]
        return pa.Table.from_arrays([*head, *columns], names=names)

    def _outputs(self, batch: int, events: pa.Table, selection: Selection) -> list[pa.ChunkedArray]:
        """Compute the answer's columns; plain columns are handed on as they are."""
        plain = {quoted(name): name for name in events.column_names}
        computed = [each.sql for each in selection.outputs if each.sql not in plain]
        found = dict(zip(computed, evaluate(computed, events), strict=True)) if computed else {}
        failures = sum(each.failures for each in found.values())
        if failures:
            self._failing(selection.reader, batch, failures)
        return [
            events[plain[each.sql]] if each.sql in plain else found[each.sql].values
            for each in selection.outputs
        ]


def _behind(tables: list[pa.Table], seen: int) -> list[pa.Table]:
    """Leave out the first rows of several tables."""
    left = []
    for table in tables:
        if seen < table.num_rows:
            left.append(table.slice(seen) if seen else table)
        seen = max(0, seen - table.num_rows)
    return left


def _signs(events: pa.Table, change_column: str | None) -> pa.Array:
    if change_column is None:
        return pa.array(np.ones(events.num_rows, dtype=np.int8))
    # A line that does not parse has no word, and is told to who asks for it.
    signs = signs_of(events[change_column])
    return pc.if_else(pc.equal(signs, 0), pa.scalar(1, pa.int8()), signs)
