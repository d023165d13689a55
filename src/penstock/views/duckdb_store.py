"""A view in a DuckDB file: embedded, in the home of the engine.

DuckDB has no index that its joins use: what it looks for it scans, in columns, so that a flush has
a fixed cost, which grows with the tables, and little more. Hence there are no indexes, and a change
costs nothing but its place at the end of a table. When a good part of a table are rows that went,
a turn nets it after its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from penstock.algebra.views import ViewDefinition
from penstock.expressions.allowances import CANDIDATE_S, EvaluationError, grant, limited
from penstock.expressions.connections import connect
from penstock.views.errors import StoreTextError
from penstock.views.flushes import FlushStatements
from penstock.views.open_files import IN_MEMORY, OpenFile, close_file, committed, open_file
from penstock.views.protocol import Chooser, Flush, Turn
from penstock.views.refusals import failed, gone, too_large, unreachable, unreadable
from penstock.views.sql_store import SqlStore
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.errors import PenstockError

GONE = (duckdb.OperationalError, duckdb.FatalException)
"""What is not about the view's words: a disk that is full, a file that is lost."""
SUNK_SHARE_MAX = 0.2
"""Which part of a table may be rows that went."""
HELD_S = 1e-6
"""What each row that the tables hold may take of a flush: looking through it takes a twentieth."""
READ_ROWS, READ_BYTES_MAX = 65_536, 1 << 30
"""What a reader is given at a time, and at most."""


class DuckdbViewStore(SqlStore):
    """One view in a DuckDB file of its own, or in memory."""

    settle_after = 1_000
    """Changes that are flushed before tables are looked at for rows that went."""

    def __init__(self, definition: ViewDefinition, path: str | Path) -> None:
        super().__init__(definition)
        inputs = range(len(definition.inputs))
        self._flushes = [FlushStatements(self._layout, each) for each in inputs]
        self._path = str(path)
        self._is_open = True
        self._unsettled = self.settle_after
        self._held: int | None = None
        """How many rows its tables hold, about; None if they are to be counted again."""
        try:
            own = OpenFile(connect()) if self._path == IN_MEMORY else open_file(self._path)
        except PenstockError as error:  # the disk is full, or may not be written to
            raise unreachable(str(path), error.fact) from None
        except (duckdb.Error, OSError) as error:
            raise unreachable(str(path), str(error)) from None
        self._db, self._alone = own.connection, own.alone

    def turn(self, number: int, changes: Mapping[int, pa.Table], choose: Chooser) -> Turn:
        """Take a turn, or give what came of it if it is the last that was taken."""
        turn = super().turn(number, changes, choose)
        self._unsettled += sum(flush.changes for flush in turn.flushes)
        if self._unsettled >= self.settle_after:
            self._unsettled, self._held = 0, None
            self._settle()
        return turn

    def refresh(self) -> tuple[Flush, ...]:
        """Flush everything that waits; rows that went are netted by the next turn: nobody waits."""
        flushes = super().refresh()
        self._unsettled += sum(flush.changes for flush in flushes)
        return flushes

    def close(self) -> None:
        """Let go of the file."""
        if self._is_open and self._path != IN_MEMORY:
            close_file(self._path)
        elif self._is_open:
            self._db.close()
        self._is_open = False

    def indexes(self) -> tuple[str, ...]:
        """Give no indexes: DuckDB's joins would use none."""
        return ()

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> pa.Table:
        """Run a reader's SELECT, in which the view has its own name; nothing else is run.

        Through an engine it is run within what a batch allows: batches wait for it.
        """
        with self._alone:
            try:
                kinds = [each.type for each in self._db.extract_statements(sql)]
                if kinds != [duckdb.StatementType.SELECT]:
                    raise unreadable(self.definition, "it is not one SELECT")
                if not self._is_ahead:
                    self._db.begin()
                with limited(self._db):
                    return self._read_through(sql, parameters)
            except duckdb.Error as error:
                raise unreadable(self.definition, str(error)) from None
            finally:
                if not self._is_ahead:
                    self._undo()

    def rehearse(self, input_: int, size: int, draw: int = 0) -> float:
        """Flush so many changes, say how long it took, and undo all of it."""
        with self._limited():
            return super().rehearse(input_, size, draw)

    def _flushed(self, inputs: Sequence[int], pending: Ints) -> tuple[Flush, ...]:
        """Flush inputs, within what a batch allows for the changes and for what is looked through.

        Changes that join with very many rows each would hold up everybody, and fill the disk.
        """
        waiting = int(pending.sum())
        if not waiting:
            return ()
        if self._held is None:
            held = "SELECT coalesce(sum(estimated_size), 0) FROM duckdb_tables()"
            ((self._held,),) = self._db.execute(held).fetchall()
        self._held += waiting
        grant(CANDIDATE_S * waiting + HELD_S * self._held)
        with self._limited():
            return super()._flushed(inputs, pending)

    @contextmanager
    def _limited(self) -> Iterator[None]:
        try:
            with limited(self._db):
                yield
        except EvaluationError as error:
            raise StoreTextError(error.code, error.fact, error.remedy) from error

    def _read_through(self, sql: str, parameters: Sequence[Any]) -> pa.Table:
        """Give the rows of a SELECT, unless they are too many to be handed over."""
        batches, size = [], 0
        with self._db.sql(sql, params=list(parameters)).to_arrow_reader(READ_ROWS) as reader:
            for batch in reader:
                batches.append(batch)
                size += batch.nbytes
                if size > READ_BYTES_MAX:
                    fact = f"its rows take more than {READ_BYTES_MAX >> 20:,} MB"
                    raise unreadable(self.definition, fact)
            return pa.Table.from_batches(batches, reader.schema)

    def _settle(self) -> None:
        """Net the tables in which many rows went."""
        for table in self._layout.weighted():
            with self._transaction():
                count = "SELECT count(*), count(*) FILTER (WHERE _n < 0) FROM "
                name = self._layout.table(table.name)
                ((rows, sunk),) = self._db.execute(count + name).fetchall()
                if sunk > SUNK_SHARE_MAX * rows:
                    for sql in self._flushes[0].settled(table):
                        self._run(sql)

    @contextmanager
    def _transaction(self, *, is_kept: bool = True) -> Iterator[None]:
        with self._alone:
            try:
                self._db.begin()
                yield
                if is_kept:
                    self._db.commit()
                    if self._path != IN_MEMORY:
                        committed(self._path)
                else:
                    self._db.rollback()
            except BaseException as error:
                self._undo()
                if isinstance(error, duckdb.OutOfMemoryException):
                    raise too_large(self.definition, str(error)) from error
                if isinstance(error, GONE):
                    raise gone(self.definition, self._path, str(error)) from error
                if isinstance(error, duckdb.Error):
                    raise failed(self.definition, str(error)) from error
                raise

    def _undo(self) -> None:
        # None may have been begun.
        with suppress(duckdb.Error):
            self._db.rollback()

    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        self._db.execute(sql, parameters)

    def _fetch(
        self, sql: str, schema: pa.Schema | None, parameters: Sequence[Any] = ()
    ) -> pa.Table:
        found = self._db.sql(sql, params=list(parameters)).to_arrow_table()
        return found if schema is None else found.rename_columns(schema.names).cast(schema)

    def _is_there(self) -> bool:
        sql = "SELECT 1 FROM information_schema.schemata WHERE schema_name = $1"
        name = self._layout.schema[1:-1].replace('""', '"')
        return bool(self._db.execute(sql, [name]).fetchall())

    def _refuse_others(self) -> None:
        """What lies in a home is its own."""

    def _keep(self) -> None:
        """What lies in a home is copied with it."""

    def _make(self) -> None:
        for sql in self._sql.created():
            self._run(sql)

    def _meta(self) -> tuple[int, str, Sequence[int], Sequence[int] | None, int]:
        meta, now = self._layout.table("meta"), self._layout.dialect.now
        sql = f"SELECT taken, memo, pending, since, {now} FROM {meta}"
        ((taken, memo, pending, since, now),) = self._db.execute(sql).fetchall()
        return taken, memo, pending, since, now

    def _append(self, table: str, rows: pa.Table) -> None:
        arrived = self._layout.work("arrived")
        self._db.register(arrived, rows)
        try:
            self._run(f"INSERT INTO {table} SELECT * FROM {arrived}")
        finally:
            self._db.unregister(arrived)

    def _has_rows(self, sql: str) -> bool:
        return bool(self._db.execute(f"{sql} LIMIT 1").fetchall())

    def _flush(self, input_: int) -> None:
        flush = self._flushes[input_]
        for step in flush.view():
            if step.guard is not None and not self._has_rows(step.guard):
                continue
            if step.makes is None:
                self._run(step.sql)
                continue
            made = self._db.execute(f"CREATE OR REPLACE TEMP TABLE {step.makes} AS {step.sql}")
            ((count,),) = made.fetchall()
            if step.decides and not count:
                break
        self._run(flush.merge())
        self._run(flush.emptied())
