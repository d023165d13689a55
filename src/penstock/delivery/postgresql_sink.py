"""A table in PostgreSQL: the rows of a batch and its token in one transaction."""

from __future__ import annotations

import importlib
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import pyarrow as pa

from penstock.delivery.row_texts import copy_lines
from penstock.delivery.sink_kinds import SinkAddress, batch_of
from penstock.vocabulary.errors import PenstockError

TOKENS = "penstock_tokens"
"""The table in which sinks keep how far they have come, beside their rows."""
CONNECT_S = 10
STATEMENT_MS = 60_000
TYPES = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_uint64, "numeric"),
    (pa.types.is_integer, "bigint"),
    (pa.types.is_floating, "double precision"),
    (pa.types.is_decimal, "numeric"),
    (pa.types.is_date, "date"),
    (pa.types.is_binary, "bytea"),
)


def column_type(type_: pa.DataType) -> str:
    """Give PostgreSQL's type of a column; what has none is kept as text.

    >>> column_type(pa.int8()), column_type(pa.timestamp("us", "UTC"))
    ('bigint', 'timestamp with time zone')
    """
    if pa.types.is_timestamp(type_):
        return f"timestamp with{'' if type_.tz else 'out'} time zone"
    return next((name for is_it, name in TYPES if is_it(type_)), "text")


class PostgresqlSink:
    """Appends to the table that `?table=` names, by default the subscription's name.

    A table that is not there is made. A batch that comes again is known by its token, and left out.
    """

    def __init__(self, address: SinkAddress) -> None:
        try:
            self._driver: Any = importlib.import_module("psycopg")
        except ImportError:
            raise PenstockError(
                "DEL-006",
                "A sink in PostgreSQL needs the package psycopg.",
                "Install penstock with it: pip install 'psycopg[binary]'.",
            ) from None
        parts = urlsplit(address.resolved())
        query = dict(parse_qsl(parts.query))
        self._table = query.pop("table", address.subscription)
        self._place = urlunsplit(parts._replace(query=urlencode(query)))
        self._whose = f"{address.engine}/{address.subscription}/{self._table}"
        self._connection: Any = None

    def write(self, table: pa.Table, token: str) -> None:
        """Append a batch, unless it is there."""
        try:
            with self._connected().transaction(), self._connection.cursor() as cursor:
                if self._is_new(cursor, token):
                    self._copy(cursor, table)
        except self._driver.Error:
            # A connection that failed may be of no more use: the next trial opens another.
            self.close()
            raise

    def close(self) -> None:
        """Let the connection go; the next batch opens another."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connected(self) -> Any:
        if self._connection is None:
            self._connection = self._driver.connect(
                self._place,
                autocommit=True,
                connect_timeout=CONNECT_S,
                options=f"-c statement_timeout={STATEMENT_MS}",
            )
            self._connection.execute(
                f"CREATE TABLE IF NOT EXISTS {TOKENS} (sink text PRIMARY KEY, token text NOT NULL)"
            )
        return self._connection

    def _is_new(self, cursor: Any, token: str) -> bool:
        """Take a token as the newest; say whether it was not there, nor a later one."""
        sql = f"SELECT token FROM {TOKENS} WHERE sink = %s FOR UPDATE"
        found = cursor.execute(sql, (self._whose,)).fetchone()
        if found is not None and batch_of(found[0]) >= batch_of(token):
            return False
        cursor.execute(
            f"INSERT INTO {TOKENS} VALUES (%s, %s) "
            "ON CONFLICT (sink) DO UPDATE SET token = excluded.token",
            (self._whose, token),
        )
        return True

    def _copy(self, cursor: Any, table: pa.Table) -> None:
        sql = self._driver.sql
        name = sql.Identifier(self._table)
        names = [sql.Identifier(each) for each in table.column_names]
        columns = sql.SQL(", ").join(
            sql.SQL("{} " + column_type(field.type)).format(own)
            for own, field in zip(names, table.schema, strict=True)
        )
        cursor.execute(sql.SQL("CREATE TABLE IF NOT EXISTS {} ({})").format(name, columns))
        asked = sql.SQL("COPY {} ({}) FROM STDIN").format(name, sql.SQL(", ").join(names))
        with cursor.copy(asked) as copy:
            copy.write(copy_lines(table).whole())
