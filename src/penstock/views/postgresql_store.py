"""A view in PostgreSQL: what flushes it are functions there, so that any client may refresh it.

One connection, made when it is first needed and after every failure. A turn is one transaction,
which begins by locking the view's row of `meta`: whoever else refreshes waits.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

import pyarrow as pa

from penstock.algebra.views import ViewDefinition
from penstock.views import postgresql_copy as copy
from penstock.views import postgresql_functions as functions
from penstock.views.flushes import FlushStatements
from penstock.views.layout import PREFIX
from penstock.views.owners import Owner
from penstock.views.postgresql_patience import attended, connected
from penstock.views.refusals import (
    copied,
    failed,
    gone,
    occupied,
    old_server,
    too_large,
    unkept,
    unreachable,
    unreadable,
    unsaid,
)
from penstock.views.sql_store import SqlStore
from penstock.vocabulary.errors import PenstockError

STATEMENT_MS = 600_000
"""How long one statement may take: the first flush of a large table is one."""
READ_MS = 30_000
"""How long a reader's may: batches wait for it."""
LIMITS = "54"
"""What the numbers of errors begin with that say what is too long, too large or too deep."""
UNSAID = {
    "0A000", "42601", "42704", "42725", "42803", "42804", "42809", "42846", "42883", "42P18",
    "42P21", "42P22",
}  # fmt: skip
"""Numbers of errors that say that there is no such word, or not for values of these types."""
NAME_BYTES_MAX = 63
WARMING = 32
"""Changes of the flush before a rehearsal, by which plans are made."""
VERSION_MIN = 15
SESSION = (
    "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET extra_float_digits = 1; "
    f"SET client_min_messages = 'warning'; SET statement_timeout = {STATEMENT_MS}; SET jit = off"
)


class PostgresqlViewStore(SqlStore):
    """One view in a PostgreSQL database."""

    def __init__(self, definition: ViewDefinition, url: str, owner: Owner | None = None) -> None:
        super().__init__(definition, owner)
        self._driver = driver()
        self._url = url
        self._connection: Any = None
        self._kept: str | None = None
        """Which home kept the view when it was opened; views of before do not say."""
        self._noted: str | None = None
        self._moves = False
        _check_names(definition)

    def close(self) -> None:
        """Let go of the connection; the next question opens another."""
        if self._connection is not None:
            with suppress(self._driver.Error, OSError):
                self._connection.close()
        self._connection = None

    def indexes(self) -> tuple[str, ...]:
        """Give the SQL of the indexes that were made for flushes."""
        return tuple(functions.indexes(self._layout))

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> pa.Table:
        """Run a reader's SELECT, in which the view has its own name; it can change nothing."""
        self._open()
        errors, begun = self._driver, monotonic()
        try:
            with (
                attended(errors, self._url, self._connection),
                self._connection.cursor() as cursor,
            ):
                begun_here = "SET TRANSACTION" if self._is_ahead else "BEGIN"
                cursor.execute(f"{begun_here} READ ONLY; SET LOCAL statement_timeout = {READ_MS}")
                asked = sql.strip().removesuffix(";")
                cursor.execute(f"SELECT * FROM (\n{asked}\n) AS asked", list(parameters) or None)
                columns = [(each.name, _type_of(each)) for each in cursor.description]
                values = list(zip(*cursor.fetchall(), strict=True)) or [()] * len(columns)
                if not self._is_ahead:
                    cursor.execute("ROLLBACK")
        except errors.Error as error:
            if _is_gone(errors, error, begun, READ_MS):
                self.close()
                raise gone(self.definition, self._url, str(error)) from None
            self._undo()
            raise unreadable(self.definition, str(error)) from None
        return pa.table(
            [pa.array(own, type_) for own, (_, type_) in zip(values, columns, strict=True)],
            names=[name for name, _ in columns],
        )

    def rehearse(self, input_: int, size: int, draw: int = 0) -> float:
        """Flush so many changes of rows that are there, say how long it took, and undo all of it.

        What is undone stays in PostgreSQL's tables until it is swept away: the next rehearsal
        would stumble over it. Sweeping makes the server forget its plans, so a small flush, which
        counts for nothing, comes before.
        """
        with self._transaction():
            self._run(f"SELECT {self._layout.table(f'prepare{input_}')}()")
        super().rehearse(input_, WARMING, -1 - draw)
        seconds = super().rehearse(input_, size, draw)
        with self._transaction():
            # A transaction that has seen one of them empties the tables of a flush.
            made = next(FlushStatements(self._layout, input_).view()).makes
            self._run(f"SELECT FROM {made} LIMIT 0")
        touched = [each.name for each in self._layout.weighted()]
        tables = [self._layout.table(name) for name in (*touched, f"queue{input_}")]
        with self._errors():
            self._run(f"VACUUM {', '.join(tables)}")
        return seconds

    def _open(self) -> None:
        if self._connection is not None and not self._connection.closed:
            return
        try:
            self._connection = connected(
                self._driver,
                self._url,
                autocommit=True,
                application_name="penstock",
                prepare_threshold=None,
                cursor_factory=self._driver.RawCursor,
            )
            self._connection.execute(SESSION)
        except self._driver.Error as error:
            self.close()
            raise unreachable(self._url, str(error)) from None
        version = self._connection.info.server_version // 10_000
        if version < VERSION_MIN:
            self.close()
            raise old_server(self._url, version, VERSION_MIN)

    @contextmanager
    def _transaction(self, *, is_kept: bool = True) -> Iterator[None]:
        with self._errors():
            self._connection.execute("BEGIN")
            yield
            self._connection.execute("COMMIT" if is_kept else "ROLLBACK")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Open the connection if need be; leave what was begun if something fails, and tell why."""
        self._open()
        driver_, begun = self._driver, monotonic()
        try:
            with attended(driver_, self._url, self._connection):
                yield
        except driver_.errors.CharacterNotInRepertoire as error:
            self._undo()
            raise unkept(self.definition, str(error)) from None
        except driver_.Error as error:
            if _is_gone(driver_, error, begun, STATEMENT_MS):
                self.close()
                raise gone(self.definition, self._url, str(error)) from None
            self._undo()
            # What a server calls operational, and says of a statement, is what that asks too much.
            told = too_large if isinstance(error, driver_.OperationalError) else failed
            raise told(self.definition, str(error)) from error
        except pa.ArrowInvalid as error:
            # PostgreSQL has no types of eight bits and none without a sign: it kept a wider one.
            self._undo()
            raise failed(self.definition, f"a value is beyond its type: {error}") from error
        except BaseException:
            self._undo()
            raise

    def _undo(self) -> None:
        """Leave a transaction; a connection that cannot do that is of no more use."""
        if self._connection is None:
            return
        try:
            self._connection.execute("ROLLBACK")
        except self._driver.Error:
            self.close()

    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        self._connection.execute(sql, list(parameters) or None)

    def _fetch(
        self, sql: str, schema: pa.Schema | None, parameters: Sequence[Any] = ()
    ) -> pa.Table:
        if schema is None:
            rows = self._connection.execute(sql, list(parameters) or None).fetchall()
            return pa.table([pa.array(own) for own in zip(*rows, strict=True)], names=["found"])
        names = [f"c{number}" for number in range(len(schema))]
        listed = ", ".join(
            copy.asked(name, field.type) for name, field in zip(names, schema, strict=True)
        )
        asked = (
            f"COPY (SELECT {listed} FROM ({sql}) AS found({', '.join(names)})) "
            "TO STDOUT (FORMAT csv)"
        )
        with self._connection.cursor() as cursor, cursor.copy(asked) as blocks:
            return copy.read(blocks, schema)

    def _is_there(self) -> bool:
        sql, name = "SELECT 1 FROM pg_namespace WHERE nspname = $1", PREFIX + self.definition.name
        if self._connection.execute(sql, [name]).fetchone() is None:
            # Of two that make views at once, the second waits until it sees what the first made.
            self._run("SELECT pg_advisory_xact_lock(hashtext($1))", [PREFIX])
        return self._connection.execute(sql, [name]).fetchone() is not None

    def _refuse_others(self) -> None:
        # Views of before have no such column, and are nobody's.
        asked = f"SELECT to_jsonb(meta) ->> 'owner' FROM {self._layout.table('meta')} AS meta"
        (found,) = self._connection.execute(asked).fetchone()
        if found is None or self._owner is None:
            return
        noted = Owner.of(found)
        if noted.name != self._owner.name:
            by = f"a view {self.definition.name!r} that another home keeps"
            raise occupied(self.definition, by)
        if self._owner.is_beside(noted):
            raise copied(self.definition, noted.place)
        self._kept, self._moves = found, not self._owner.is_at(noted)

    def _keep(self) -> None:
        # Only who takes turns notes its place: others may read a view from wherever they stand.
        if self._kept is None:
            return
        mine = str(self._owner)
        if self._noted not in {self._kept, mine}:
            raise copied(self.definition, Owner.of(str(self._noted)).place)
        if self._moves and self._noted != mine:
            self._run(f"UPDATE {self._layout.table('meta')} SET owner = $1", [mine])

    def _make(self) -> None:
        self._kept = None if self._owner is None else str(self._owner)
        try:
            self._make_all()
        except self._driver.Error as error:
            if error.sqlstate not in UNSAID:
                raise
            raise unsaid(self.definition, error.diag.message_primary) from error

    def _make_all(self) -> None:
        for sql in self._sql.created():
            self._run(sql)
        for sql in (*functions.settings(self._layout), *self.indexes()):
            self._run(sql)
        for sql in functions.functions(self._layout):
            self._run(sql)
        name = f"{functions.REFRESH}(text)"
        found = self._connection.execute("SELECT to_regprocedure($1)", [name]).fetchone()
        if found[0] is None:
            self._run(functions.common())

    def _meta(self) -> tuple[int, str, Sequence[int], Sequence[int] | None, int]:
        meta, now = self._layout.table("meta"), self._layout.dialect.now
        owner = "NULL" if self._kept is None else "owner"
        sql = f"SELECT taken, memo, pending, since, {now}, {owner} FROM {meta} FOR UPDATE"
        *found, self._noted = self._connection.execute(sql).fetchone()
        taken, memo, pending, since, now = found
        return taken, memo, pending, since, now

    def _append(self, table: str, rows: pa.Table) -> None:
        asked = f"COPY {table} FROM STDIN (FORMAT csv)"
        with self._connection.cursor() as cursor, cursor.copy(asked) as target:
            target.write(copy.written(rows).to_pybytes())

    def _flush(self, input_: int) -> None:
        self._run(f"SELECT {self._layout.table(f'flush{input_}')}()")


def _is_gone(errors: Any, error: Exception, begun: float, allowed_ms: int) -> bool:
    """Say whether an error is of the server or of the way to it, and not of what was asked.

    `begun` is when it was asked: whoever cancels a statement before its time is not its rows.
    """
    if isinstance(error, errors.errors.ReadOnlySqlTransaction):
        return True  # a standby that may become the first
    if not isinstance(error, errors.OperationalError | errors.InterfaceError):
        return False
    if isinstance(error, errors.errors.QueryCanceled):
        return monotonic() - begun < allowed_ms / 1_000
    return not (error.sqlstate or "").startswith(LIMITS)


def driver() -> Any:
    """Give PostgreSQL's driver, which not everybody needs."""
    try:
        return importlib.import_module("psycopg")
    except ImportError:
        raise PenstockError(
            "VIEW-009",
            "A view in PostgreSQL needs the package psycopg.",
            "Install it: pip install 'penstock[postgresql]'.",
        ) from None


def _check_names(definition: ViewDefinition) -> None:
    """Refuse names that PostgreSQL would cut off."""
    named = [(PREFIX + definition.name, definition.name)]
    named += [(each.name, each.name) for each in definition.outputs]
    named += [(name, name) for each in definition.inputs for name, _ in each.columns]
    for kept, name in named:
        if len(kept.encode()) > NAME_BYTES_MAX or "\0" in name:
            raise PenstockError(
                "VIEW-010",
                f"PostgreSQL cannot keep the name {name!r}.",
                f"Choose names of at most {NAME_BYTES_MAX} bytes, for a view "
                f"{NAME_BYTES_MAX - len(PREFIX)}.",
            )


def _type_of(column: Any) -> pa.DataType | None:
    """Give the type of a reader's column, if its values alone might not tell it."""
    return TYPES.get(column.type_code)


TYPES = {
    16: pa.bool_(), 17: pa.binary(), 20: pa.int64(), 21: pa.int16(), 23: pa.int32(),
    25: pa.string(), 700: pa.float32(), 701: pa.float64(), 1043: pa.string(), 1082: pa.date32(),
    1114: pa.timestamp("us"), 1184: pa.timestamp("us", "UTC"),
}  # fmt: skip
"""PostgreSQL's types by their numbers, which never change."""
