"""Changes: a subscription's share of the result log, read in order, with resume tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.logical import Output
from penstock.delivery.log import LoggedBatch, LoggedSection, ResultLog
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.errors import PenstockError

POLL_S = 0.02
MINUS = ("delete", "update_before", "-")
"""What a table's change column says when a row goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change to one standing query's answer.

    `sign` is +1 when the row joins the answer, -1 when it leaves (tables only). `token` resumes
    right after this change.
    """

    id: Any
    row: dict[str, Any]
    sign: int
    batch: int
    version: int
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What to read: whose pairs, and which columns of the events.

    `queries` gives the query numbers of interest in ascending order (asked anew for every batch,
    since registrations go on); None means the whole group. `ids` maps numbers to the user's ids.
    """

    group: str
    outputs: tuple[Output, ...]
    change_column: str | None
    queries: Callable[[], Ints] | None
    ids: Callable[[Ints], pa.Array]


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


class ChangeReader:
    """Reads selections from a result log."""

    def __init__(self, log: ResultLog) -> None:
        self._log = log
        self._duckdb: duckdb.DuckDBPyConnection | None = None

    def batch(self, logged: LoggedBatch, selection: Selection) -> pa.Table | None:
        """Read one batch's changes as a table: id, query, sign, batch, version, the outputs."""
        found = [
            table
            for section in logged.sections
            if selection.group in section.groups
            and (table := self._section(section, selection)) is not None
        ]
        return pa.concat_tables(found) if found else None

    def batches(
        self,
        selection: Selection,
        first: int,
        following: Callable[[], bool],
        timeout_s: float | None,
    ) -> Iterator[tuple[LoggedBatch, pa.Table | None]]:
        """Read batch after batch; wait for new ones as long as `following()` says so."""
        number = first
        waiting_since = monotonic()
        while True:
            more = following()
            logged = self._log.read(number)
            if logged is not None:
                yield logged, self.batch(logged, selection)
                number += 1
                waiting_since = monotonic()
            elif not more or (timeout_s is not None and monotonic() - waiting_since > timeout_s):
                return
            else:
                sleep(POLL_S)

    def changes(
        self,
        selection: Selection,
        since: str | None,
        following: Callable[[], bool],
        timeout_s: float | None = None,
    ) -> Iterator[Change]:
        """Read change after change, from a resume token on."""
        first, seen = parse_token(since)
        names = [output.name for output in selection.outputs]
        for logged, table in self.batches(selection, first, following, timeout_s):
            if table is None:
                continue
            skip = seen if logged.batch == first else 0
            rows = table.slice(skip)
            keys = zip(rows["_id"].to_pylist(), rows["_sign"].to_pylist(), strict=True)
            values = rows.select(range(3, 3 + len(names))).rename_columns(names).to_pylist()
            for number, ((id_, sign), row) in enumerate(zip(keys, values, strict=True)):
                yield Change(
                    id=id_,
                    row=row,
                    sign=sign,
                    batch=logged.batch,
                    version=logged.version,
                    token=f"{logged.batch}:{skip + number + 1}",
                )

    def _section(self, section: LoggedSection, selection: Selection) -> pa.Table | None:
        matches = section.matches(selection.group)
        query, event = matches["query"].to_numpy(), matches["event"].to_numpy()
        if selection.queries is not None:
            wanted = selection.queries()
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
        head = [selection.ids(query), pa.array(query), _signs(events, selection.change_column)]
        columns = self._outputs(events, selection.outputs)
        names = ["_id", "_query", "_sign", *(output.name for output in selection.outputs)]
        return pa.Table.from_arrays([*head, *columns], names=names)

    def _outputs(self, events: pa.Table, outputs: tuple[Output, ...]) -> list[pa.ChunkedArray]:
        """Compute the answer's columns; plain columns are handed on as they are."""
        plain = {f'"{name}"': name for name in events.column_names}
        if all(output.sql in plain for output in outputs):
            return [events[plain[output.sql]] for output in outputs]
        if self._duckdb is None:
            self._duckdb = duckdb.connect(":memory:", config={"threads": 1})
            self._duckdb.execute("SET TimeZone = 'UTC'")
        select = ", ".join(f"({output.sql}) AS o{i}" for i, output in enumerate(outputs))
        cursor = self._duckdb.cursor()
        cursor.register("events", events)
        table: pa.Table = cursor.sql(f"SELECT {select} FROM events").to_arrow_table()
        return list(table.columns)


def _signs(events: pa.Table, change_column: str | None) -> pa.Array:
    if change_column is None:
        return pa.array(np.ones(events.num_rows, dtype=np.int8))
    minus = pc.is_in(events[change_column], value_set=pa.array(MINUS))
    return pc.if_else(minus, pa.scalar(-1, pa.int8()), pa.scalar(1, pa.int8()))
