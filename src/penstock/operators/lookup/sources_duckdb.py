"""DuckDB as a source: a file that is open only while it is asked.

Whoever writes the file finds it free between two questions, and the next question sees what was
written.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import pyarrow as pa

from penstock.algebra.memories import Lookup
from penstock.expressions.connections import connect
from penstock.expressions.quotation import quoted
from penstock.operators.lookup.sources import (
    DUCKDB,
    lossless,
    no_column,
    no_table,
    spelt,
    too_late,
    unreachable,
    unreadable,
)
from penstock.operators.shared.keys import whole

ATTACHED = "looked_up"
ASKED = "penstock_asked"
IN_USE = "file handle conflict"
"""What DuckDB says of a file that the same process has open already."""
_PART = re.compile(r'"((?:[^"]|"")*)"|([^."]+)')


class DuckdbSource:
    """A table of a DuckDB file; `names` are the columns to fetch."""

    def __init__(self, lookup: Lookup, names: Sequence[str] | None = None) -> None:
        self._lookup = lookup
        self._names = names
        self._path = Path(lookup.source.removeprefix(DUCKDB)).expanduser()
        self._table = name_parts(lookup.table)
        self._memory: duckdb.DuckDBPyConnection | None = None

    def columns(self, timeout_s: float) -> pa.Schema:
        """Give the columns of the table."""
        with self._open(timeout_s) as (connection, table):
            return self._schema(connection, table)

    def fetch(self, keys: pa.Array, timeout_s: float) -> pa.Table:
        """Give the rows of some keys."""
        with self._open(timeout_s) as (connection, table):
            schema = self._schema(connection, table)
            key = self._spelt(self._lookup.key, schema)
            names = [self._spelt(name, schema) for name in self._names or schema.names]
            asked = lossless(keys, _plain(schema.field(key).type)).drop_null()
            connection.register(ASKED, pa.table({"asked": asked}))
            columns = ", ".join(quoted(name) for name in names)
            found = connection.sql(
                f"SELECT {columns} FROM {table} WHERE {quoted(key)} IN (SELECT asked FROM {ASKED}) "
                f"QUALIFY row_number() OVER (PARTITION BY {quoted(key)}) <= 2"
            ).to_arrow_table()
            connection.unregister(ASKED)
        arrays = [whole(column) for column in found.columns]
        return pa.table(arrays, names=list(self._names or schema.names))

    def close(self) -> None:
        """Let go of the engine; the file is free already."""
        memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()

    def _spelt(self, name: str, schema: pa.Schema) -> str:
        found = spelt(name, schema.names)
        if found is None:
            raise no_column(self._lookup, name, schema.names)
        return found

    def _schema(self, connection: duckdb.DuckDBPyConnection, table: str) -> pa.Schema:
        try:
            schema = connection.sql(f"SELECT * FROM {table} LIMIT 0").to_arrow_table().schema
        except duckdb.CatalogException:
            there = connection.execute(
                "SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE NOT internal"
            ).fetchall()
            raise no_table(self._lookup, tables=[name for (name,) in there]) from None
        return pa.schema([(field.name, _plain(field.type)) for field in schema])

    @contextmanager
    def _open(self, timeout_s: float) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
        """Give a connection and the table's name there; what takes too long is broken off."""
        late = threading.Event()
        try:
            with self._attached() as (connection, place):

                def interrupt() -> None:
                    late.set()
                    connection.interrupt()

                timer = threading.Timer(timeout_s, interrupt)
                timer.daemon = True
                timer.start()
                try:
                    yield connection, ".".join([*place, *map(quoted, self._table)])
                finally:
                    timer.cancel()
                    timer.join()
        except duckdb.Error as error:
            self.close()
            if late.is_set():
                raise too_late(self._lookup, timeout_s) from None
            if isinstance(error, duckdb.DataError | duckdb.InvalidInputException):
                raise unreadable(self._lookup, str(error)) from None
            raise unreachable(self._lookup, str(error)) from None

    @contextmanager
    def _attached(self) -> Iterator[tuple[duckdb.DuckDBPyConnection, list[str]]]:
        """Open the file for as long as it is asked; give where its tables are."""
        if not self._path.exists():
            raise unreachable(self._lookup, "there is no such file")
        if self._memory is None:
            self._memory = connect(threads=1, files=True)
        path = str(self._path).replace("'", "''")
        try:
            self._memory.execute(f"ATTACH '{path}' AS {ATTACHED} (READ_ONLY)")
        except duckdb.Error as error:
            if IN_USE not in str(error):
                raise
            # This process has the file open, perhaps to write: there is one database to share.
            with duckdb.connect(str(self._path)) as shared:
                shared.execute("SET TimeZone = 'UTC'")
                yield shared, []
            return
        try:
            yield self._memory, [ATTACHED]
        finally:
            # A connection that was broken off may hold on to the file: it is closed then.
            with suppress(duckdb.Error):
                self._memory.execute(f"DETACH {ATTACHED}")


def _plain(type_: pa.DataType) -> pa.DataType:
    """Give the type of a dictionary's values; times without a zone's name other than UTC."""
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_timestamp(type_) and type_.tz is not None:
        return pa.timestamp(type_.unit, "UTC")
    return type_


def name_parts(name: str) -> list[str]:
    """Take a table's name apart at its dots; those in double quotes are part of a name.

    >>> name_parts('main.prices'), name_parts('"a.b"."c""d"')
    (['main', 'prices'], ['a.b', 'c"d'])
    """
    return [plain or inside.replace('""', '"') for inside, plain in _PART.findall(name)]
