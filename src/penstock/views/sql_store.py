"""What the stores of views have in common: turns over SQL, whatever runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from math import nan
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.physical import Typed
from penstock.algebra.views import ViewDefinition
from penstock.views.errors import StoreTurnError
from penstock.views.flushes import FlushStatements
from penstock.views.layout import COUNTED, ViewLayout, names
from penstock.views.owners import Owner
from penstock.views.protocol import WEIGHT, Chooser, Flush, Turn
from penstock.views.refusals import occupied
from penstock.views.tables import TableStatements
from penstock.vocabulary.batches import Ints

AGAIN_MAX = 1_024
"""Changes of a rehearsal in which a row may change more than once: it is then netted to one."""


@dataclass(frozen=True, slots=True)
class Meta:
    """How far a view has come."""

    taken: int
    memo: str
    pending: Ints
    since: Ints
    """When the first of them came, by input, in microseconds; 0: nobody knows."""
    now: int


class SqlStore(ABC):
    """A view in a database. What differs from one to the other are a few methods.

    Attributes
    ----------
    clock
        What flushes are timed by; whoever compares them on a busy machine gives another.
    """

    def __init__(self, definition: ViewDefinition, owner: Owner | None = None) -> None:
        self.definition = definition
        self._owner = owner
        self.clock: Callable[[], float] = perf_counter
        self._layout = ViewLayout(definition)
        self._sql = TableStatements(self._layout)
        self._is_ahead = False
        """Whether questions are asked within a transaction that will be undone."""

    # -- what a database does --------------------------------------------------------------------

    @abstractmethod
    def _transaction(self, *, is_kept: bool = True) -> AbstractContextManager[None]:
        """Do all or nothing; nothing too if it shall not be kept. Errors get their codes here."""

    @abstractmethod
    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """Run a statement."""

    @abstractmethod
    def _fetch(
        self, sql: str, schema: pa.Schema | None, parameters: Sequence[Any] = ()
    ) -> pa.Table:
        """Run a SELECT; give its rows, with the names and types of a schema if one is given."""

    @abstractmethod
    def _is_there(self) -> bool:
        """Say whether the tables of the view are there."""

    @abstractmethod
    def _make(self) -> None:
        """Make the tables of the view."""

    @abstractmethod
    def _meta(self) -> tuple[int, str, Sequence[int], Sequence[int] | None, int]:
        """Read how far the view has come, and keep others from changing it until the end."""

    @abstractmethod
    def _append(self, table: str, rows: pa.Table) -> None:
        """Append rows to a table with columns of these names."""

    @abstractmethod
    def _flush(self, input_: int) -> None:
        """Bring an input's queue into the view and into its rows."""

    @abstractmethod
    def _refuse_others(self) -> None:
        """Refuse a view that another home keeps."""

    @abstractmethod
    def _keep(self) -> None:
        """Refuse a turn of a view that a copy of this home keeps by now."""

    @abstractmethod
    def indexes(self) -> tuple[str, ...]:
        """Give the SQL of the indexes that were made for flushes."""

    # -- what every store does -------------------------------------------------------------------

    def create(self) -> None:
        """Make what the view needs; change nothing if it is there already."""
        layout = self._layout
        with self._transaction():
            if not self._is_there():
                self._make_anew()
                return
            meta = self._layout.table("meta")
            kept = self._fetch(f"SELECT definition FROM {meta}", None)[0][0].as_py()
            if kept != layout.described:
                raise occupied(self.definition, f"another view {self.definition.name!r}")
            self._refuse_others()
            self._complete()

    def _make_anew(self) -> None:
        layout = self._layout
        self._make()
        none = f"ARRAY[{', '.join('0' for _ in layout.inputs)}]"
        self._run(
            f"INSERT INTO {layout.table('meta')} VALUES ($1, 0, '', {none}, $2, {none}, NULL)",
            [layout.described, None if self._owner is None else str(self._owner)],
        )
        for sql in self._sql.opened():
            self._run(sql)

    def _complete(self) -> None:
        """Add what views of before have not: since when changes wait, and which life it is."""
        name = self._layout.schema[1:-1].replace('""', '"')
        known = (
            "SELECT count(*) FROM information_schema.columns "
            "WHERE table_schema = $1 AND table_name = 'meta' AND column_name = 'life'"
        )
        if not self._fetch(known, None, [name])[0][0].as_py():
            meta, whole = self._layout.table("meta"), self._layout.dialect.type(COUNTED)
            self._run(f"ALTER TABLE {meta} ADD COLUMN since {whole}[]")
            self._run(f"ALTER TABLE {meta} ADD COLUMN life {whole}")

    def drop(self) -> None:
        """Take everything of the view away."""
        with self._transaction():
            self._remove()

    def _remove(self) -> None:
        self._run(f"DROP VIEW IF EXISTS {self._layout.shown}")
        self._run(f"DROP SCHEMA IF EXISTS {self._layout.schema} CASCADE")

    def begin(self, life: int) -> None:
        """Let the view begin anew, unless this life of it has begun before."""
        meta = self._layout.table("meta")
        with self._transaction():
            taken = self._read().taken
            known = self._fetch(f"SELECT coalesce(life, -1) FROM {meta}", None)[0][0].as_py()
            # Of a view of before nobody knows whether its first turn was of this life.
            if known != life and taken > int(known < 0):
                self._empty(taken)
            self._run(f"UPDATE {meta} SET life = $1", [life])

    def renew(self) -> None:
        """Empty the view: its next turn is the first, and tells that all rows went."""
        with self._transaction():
            self._empty(self._read().taken)

    def _empty(self, taken: int) -> None:
        """Make the view anew, and note for its first turn that what was told went."""
        gone = self._rows(taken)
        self._remove()
        self._make_anew()
        ones = pa.array([1] * gone.num_rows, COUNTED)
        told = [*gone.columns, ones, pc.negate(ones)]
        outputs = self._layout.outputs
        schema = pa.schema([*outputs, ("_turn", COUNTED), (WEIGHT, COUNTED)])
        if gone.num_rows:
            self._append(self._layout.table("outbox"), pa.table(told, schema=schema))

    def turn(self, number: int, changes: Mapping[int, pa.Table], choose: Chooser) -> Turn:
        """Take a turn, or give what came of it if it is the last that was taken."""
        with self._transaction():
            meta = self._read()
            self._keep()
            if number == meta.taken and number > 0:
                return Turn(
                    number=number,
                    changes=self._told(number),
                    pending=meta.pending,
                    memo=meta.memo,
                )
            if number != meta.taken + 1:
                raise StoreTurnError(
                    "VIEW-004",
                    f"View {self.definition.name!r} has taken turn {meta.taken} in its store, and "
                    f"turn {number} is asked of it.",
                    "The store belongs to another home, or to another state of this one: bring "
                    "back the one that it belongs to, or drop the view and create it anew.",
                )
            self._run(f"DELETE FROM {self._layout.table('outbox')} WHERE _turn < {number}")
            pending = meta.pending
            for input_, table in changes.items():
                if not pending[input_]:
                    meta.since[input_] = meta.now
                pending[input_] += self._queued(input_, table)
            chosen, memo = choose(pending.copy(), meta.memo)
            flushes = self._flushed(sorted(set(chosen)), pending)
            told = self._told(number)
            self._write(replace(meta, taken=number, memo=memo))
        return Turn(number=number, changes=told, pending=pending, memo=memo, flushes=flushes)

    def refresh(self) -> tuple[Flush, ...]:
        """Flush everything that waits, between turns."""
        with self._transaction():
            meta = self._read()
            flushes = self._flushed(range(len(meta.pending)), meta.pending)
            if flushes:
                self._write(meta)
        return flushes

    @contextmanager
    def ahead(self, changes: Mapping[int, pa.Table]) -> Iterator[None]:
        """Let the view be read as it will be with these changes, and undo them in the end."""
        with self._transaction(is_kept=False):
            pending = self._read().pending
            for input_, table in changes.items():
                pending[input_] += self._queued(input_, table)
            self._flushed(range(len(pending)), pending)
            self._is_ahead = True
            try:
                yield
            finally:
                self._is_ahead = False

    def _asked(self) -> AbstractContextManager[None]:
        """Give a transaction to read in: that which is open, or one of its own."""
        return nullcontext() if self._is_ahead else self._transaction()

    def taken(self) -> int:
        """Give the number of the last turn; 0 before the first."""
        with self._asked():
            return self._read().taken

    def pending(self) -> Ints:
        """Count the changes that wait, by input."""
        with self._asked():
            return self._read().pending

    def age(self) -> float:
        """Say how long the oldest change that waits has waited, in seconds."""
        with self._asked():
            meta = self._read()
        known = meta.since[(meta.pending > 0) & (meta.since > 0)]
        return max(meta.now - int(known.min()), 0) / 1e6 if len(known) else 0.0

    def untold(self) -> pa.Table:
        """Give what the next turn tells already: what refreshes since the last one changed."""
        with self._asked():
            return self._told(self._read().taken + 1)

    def rows(self, turn: int | None = None) -> pa.Table:
        """Give the rows of the view as of the last flushes, or as they were told up to a turn."""
        with self._asked():
            return self._rows(turn)

    def _rows(self, turn: int | None) -> pa.Table:
        asked = f"SELECT * FROM {self._layout.shown}"
        if turn is not None:
            later = f"SELECT count(*) FROM {self._layout.table('outbox')} WHERE _turn > {turn}"
            if self._fetch(later, None)[0][0].as_py():
                asked = self._sql.shape.known(turn)
        return self._fetch(asked, self.definition.schema)

    def recomputed(self) -> pa.Table:
        """Compute the view anew from the rows of its inputs that have been flushed."""
        with self._transaction():
            return self._fetch(self._sql.shape.recomputed(), self.definition.schema)

    def rehearse(self, input_: int, size: int, draw: int = 0) -> float:
        """Flush so many changes of rows that are there, say how long it took, and undo all of it.

        By turns they go and come. NaN if the input has no rows to change, or, for many changes,
        not one for each.
        """
        queue = self._layout.table(f"queue{input_}")
        with self._transaction(is_kept=False):
            self._read()
            self._run(f"DELETE FROM {queue}")
            count = self._fetch(self._sql.counted(input_, size, draw), None)[0][0].as_py()
            if not count or (count < size and size > AGAIN_MAX):
                return nan
            self._run(self._sql.sampled(input_, size, draw, count))
            begun = self.clock()
            self._flush(input_)
            return self.clock() - begun

    def statements(self, input_: int) -> tuple[str, ...]:
        """Give the SQL that flushes an input, for people to read."""
        return FlushStatements(self._layout, input_).texts()

    def _read(self) -> Meta:
        taken, memo, pending, since, now = self._meta()
        waiting = np.array(pending, dtype=np.int64)
        known = np.zeros_like(waiting) if since is None else np.array(since, np.int64)
        return Meta(taken, memo, waiting, known, now)

    def _write(self, meta: Meta) -> None:
        self._run(
            f"UPDATE {self._layout.table('meta')} "
            "SET taken = $1, memo = $2, pending = $3, since = $4",
            [meta.taken, meta.memo, meta.pending.tolist(), meta.since.tolist()],
        )

    def _queued(self, input_: int, table: pa.Table) -> int:
        """Put changes into an input's queue; give how many they are."""
        rows = arrived(table, self.definition.inputs[input_].columns, self._layout.inputs[input_])
        if rows.num_rows:
            self._append(self._layout.table(f"queue{input_}"), rows)
        return int(pc.sum(pc.abs(rows[WEIGHT])).as_py() or 0)

    def _flushed(self, inputs: Sequence[int], pending: Ints) -> tuple[Flush, ...]:
        flushes = []
        for input_ in inputs:
            if pending[input_]:
                begun = self.clock()
                self._flush(input_)
                seconds = self.clock() - begun
                flushes.append(Flush(input=input_, changes=int(pending[input_]), seconds=seconds))
                pending[input_] = 0
        return tuple(flushes)

    def _told(self, number: int) -> pa.Table:
        """Give how the view's rows changed in a turn, netted."""
        listed = ", ".join(names(self._layout.outputs))
        return self._fetch(
            f"SELECT {listed}, {self._sql.shape.summed('_n')} FROM {self._layout.table('outbox')} "
            f"WHERE _turn = {number} GROUP BY {listed} HAVING sum(_n) <> 0",
            self.definition.schema.append(pa.field(WEIGHT, COUNTED)),
        )


def arrived(table: pa.Table, columns: Typed, numbered: Typed) -> pa.Table:
    """Give changes under the names and types that a queue has; those that change nothing left out.

    A zero is a zero: what a sign could be made of it would hang on which of equal rows is kept.
    """
    given = [*names(columns), WEIGHT]
    if table.column_names != given:
        table = table.select(given)
    wanted = pa.schema([*numbered, (WEIGHT, COUNTED)])
    found = [
        pc.add(column.cast(field.type), pa.scalar(0, field.type))
        if pa.types.is_floating(field.type)
        else column.cast(field.type)
        for column, field in zip(table.columns, wanted, strict=True)
    ]
    rows = pa.table(found, schema=wanted)
    return rows.filter(pc.not_equal(rows.columns[-1], 0))
