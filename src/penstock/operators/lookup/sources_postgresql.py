"""PostgreSQL as a source: one connection, made when it is first needed and after every failure.

Values come as texts, which say what a value is whatever its type; whoever reads them decides which
rows are broken. A server that has stopped does not even refuse: the line is cut when time is up.
"""

from __future__ import annotations

import importlib
import math
import os
import re
import socket
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.algebra.memories import Lookup
from penstock.expressions.quotation import quoted
from penstock.operators.lookup.sources import (
    forbidden,
    lossless,
    no_column,
    no_table,
    spelt,
    texts,
    too_late,
    unreachable,
    unreadable,
)
from penstock.vocabulary.errors import PenstockError

TYPES = {
    "int2": pa.int16(), "int4": pa.int32(), "int8": pa.int64(), "float4": pa.float32(),
    "float8": pa.float64(), "bool": pa.bool_(), "date": pa.date32(), "text": pa.string(),
    "varchar": pa.string(), "bpchar": pa.string(), "uuid": pa.string(),
    "timestamp": pa.timestamp("us"), "timestamptz": pa.timestamp("us", "UTC"),
}  # fmt: skip
"""Types whose values have texts that Arrow reads; all others are texts themselves."""
DIGITS_MAX = 38
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SESSION = (
    "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET default_transaction_read_only = on; "
    "SET statement_timeout = {}"
)
COLUMNS = """
SELECT a.attname, t.typname, a.atttypmod, a.attrelid::regclass::text
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as PostgreSQL has it."""

    name: str
    typname: str
    modifier: int

    @property
    def type(self) -> pa.DataType:
        """The type in which its values are read."""
        if self.typname != "numeric":
            return TYPES.get(self.typname, pa.string())
        if self.modifier < 0:
            # Without declared digits a number may have any: as a float it is near enough.
            return pa.float64()
        digits, scale = (self.modifier - 4) >> 16, ((self.modifier - 4) & 0x7FF ^ 1024) - 1024
        return pa.decimal128(min(max(digits, scale), DIGITS_MAX), scale)


@dataclass(frozen=True, slots=True)
class ServerTable:
    """What the server says of the table: its name there, and its columns."""

    table: str
    columns: tuple[Column, ...]


class PostgresqlSource:
    """A table of a PostgreSQL database; `names` are the columns to fetch."""

    def __init__(self, lookup: Lookup, names: Sequence[str] | None = None) -> None:
        self._lookup = lookup
        self._names = names
        self._connection: Any = None
        self._told: ServerTable | None = None
        self._closing: Callable[[], Any] | None = None
        self._psycopg = driver()

    def columns(self, timeout_s: float) -> pa.Schema:
        """Give the columns of the table; reading none of its rows shows that they may be read."""
        with self._connected(timeout_s) as connection:
            told = self._table(connection)
            names = ", ".join(quoted(column.name) for column in told.columns)
            connection.execute(f"SELECT {names} FROM {told.table} WHERE false")
        return pa.schema([(column.name, column.type) for column in told.columns])

    def fetch(self, keys: pa.Array, timeout_s: float) -> pa.Table:
        """Give the rows of some keys, all values as texts."""
        with self._connected(timeout_s) as connection:
            told = self._table(connection)
            names = self._names or [column.name for column in told.columns]
            key = self._column(told, self._lookup.key)
            asked = texts(lossless(keys, key.type).drop_null())
            if key.typname == "uuid":
                asked = [each for each in asked if UUID.fullmatch(each)]
            rows = connection.execute(self._query(told, key, names), [asked]).fetchall()
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        return pa.table([pa.array(column, pa.string()) for column in columns], names=list(names))

    def close(self) -> None:
        """Close the connection; the next question opens another."""
        self._connection, self._told = None, None
        if self._closing is not None:
            self._closing()

    def _query(self, told: ServerTable, key: Column, names: Sequence[str]) -> str:
        own = quoted(key.name)
        if key.typname in TYPES or key.typname == "numeric":
            condition = f"{own} = ANY(%s::text[]::{key.typname}[])"
        else:
            condition = f"{own}::text = ANY(%s::text[])"
        found = [quoted(self._column(told, name).name) for name in names]
        outer = ", ".join(f"c{number}" for number in range(len(names)))
        inner = ", ".join(f"{name}::text AS c{number}" for number, name in enumerate(found))
        return (
            f"SELECT {outer} FROM (SELECT {inner}, row_number() OVER (PARTITION BY {own}) AS nth "
            f"FROM {told.table} WHERE {condition}) AS found WHERE nth <= 2"
        )

    def _column(self, told: ServerTable, name: str) -> Column:
        names = [column.name for column in told.columns]
        found = spelt(name, names)
        if found is None:
            raise no_column(self._lookup, name, names)
        return told.columns[names.index(found)]

    def _table(self, connection: Any) -> ServerTable:
        if self._told is None:
            rows = connection.execute(COLUMNS, [self._lookup.table]).fetchall()
            if not rows:
                raise no_table(self._lookup)
            columns = tuple(Column(name, typname, modifier) for name, typname, modifier, _ in rows)
            self._told = ServerTable(rows[0][3], columns)
        return self._told

    @contextmanager
    def _connected(self, timeout_s: float) -> Iterator[Any]:
        """Give the connection; cut it when time is up, and leave none behind that failed."""
        errors = self._psycopg.errors
        late = threading.Event()
        done = False
        try:
            connection = self._connect(timeout_s)
            with _cut_after(connection, timeout_s, late):
                yield connection
            done = not late.is_set()
        except self._psycopg.DataError as error:
            # The connection is as good as before.
            done = not late.is_set()
            raise unreadable(self._lookup, str(error)) from None
        except self._psycopg.Error as error:
            if late.is_set() or isinstance(error, errors.QueryCanceled):
                raise too_late(self._lookup, timeout_s) from None
            if isinstance(error, errors.InsufficientPrivilege):
                raise forbidden(self._lookup, str(error)) from None
            if isinstance(error, errors.InvalidName | errors.SyntaxError):
                raise no_table(self._lookup, str(error)) from None
            raise unreachable(self._lookup, str(error)) from None
        finally:
            if not done:
                self.close()

    def _connect(self, timeout_s: float) -> Any:
        if self._connection is None:
            self._connection = self._psycopg.connect(
                self._lookup.source,
                autocommit=True,
                connect_timeout=math.ceil(timeout_s),
                application_name="penstock",
                prepare_threshold=None,
            )
            # Whoever lets the source go need not remember to close it.
            self._closing = weakref.finalize(self, _close, self._connection)
            with self._connection.cursor() as cursor:
                cursor.execute(SESSION.format(max(1, math.ceil(timeout_s * 1000))))
        return self._connection


def driver() -> Any:
    """Give PostgreSQL's driver, which not everybody needs."""
    try:
        return importlib.import_module("psycopg")
    except ImportError:
        raise PenstockError(
            "LKP-002",
            "Looking rows up in PostgreSQL needs the package psycopg.",
            "Install it: pip install 'penstock[postgresql]'.",
        ) from None


def _close(connection: Any) -> None:
    with suppress(driver().Error, OSError):
        connection.close()


@contextmanager
def _cut_after(connection: Any, seconds: float, late: threading.Event) -> Iterator[None]:
    """Cut a connection's line after a while: whoever waits for an answer is told at once."""

    def cut() -> None:
        late.set()
        with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
