"""What DuckDB knows: types, and whether an expression binds.

An in-memory database without tables, files or network answers; no user data comes near it. It is
given nothing that `admit` has not seen, and no more time than a registration has.
"""

from __future__ import annotations

import atexit
import re
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa

from penstock.expressions.admission import AdmissionError
from penstock.expressions.catalogue import admit
from penstock.expressions.connections import ROWS_MEMORY, connect
from penstock.expressions.deadlines import watched
from penstock.expressions.quotation import quoted

_LOCAL = threading.local()
KNOWN_LENGTH_MAX = 4_096
"""Characters of a question whose answer is kept."""

REFUSALS = (
    duckdb.ProgrammingError,
    duckdb.DataError,
    duckdb.NotSupportedError,
    duckdb.PermissionException,
)
"""What an expression can be blamed for, and no more than it: the connection goes on."""


@atexit.register
def _let_go() -> None:
    """Let connections go before DuckDB is taken apart, those of threads that still stand too."""
    global _LOCAL  # noqa: PLW0603 - with it goes what every thread has in it
    _LOCAL = threading.local()


def _connection() -> duckdb.DuckDBPyConnection:
    """Give this thread's connection: one connection must not serve two threads at once."""
    connection: duckdb.DuckDBPyConnection | None = getattr(_LOCAL, "connection", None)
    if connection is None:
        connection = connect(threads=1, memory=ROWS_MEMORY)
        _LOCAL.connection = connection
    return connection


class DuckError(Exception):
    """DuckDB refuses an expression, or is not given it; `fact` is the first line of the message.

    `refusal` is ours, if it is we who refuse.
    """

    def __init__(self, error: duckdb.Error | AdmissionError) -> None:
        self.refusal = error if isinstance(error, AdmissionError) else None
        message = str(error).strip().split("\n")[0]
        self.fact = re.sub(r"^[\w ]+ Error: ", "", message)
        super().__init__(self.fact)

    @property
    def unknown_function(self) -> str | None:
        """The function that does not exist, if that is the trouble."""
        match = re.search(r"Function with name \"?(\w+)\"? does not exist", self.fact)
        return match[1] if match else None


def evaluate(sql: str) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Compute constant expressions: their values, and DuckDB's names of their types."""
    return _run([sql])


def types_of(expressions: Sequence[str], names: Mapping[str, pa.DataType]) -> tuple[str, ...]:
    """Type expressions over typed names (columns, parameters), or raise `DuckError`.

    They run once on a row of NULLs: that also finds casts and patterns that cannot work.
    """
    rows = ", ".join(f"NULL::{duck_type(type_)} AS {quoted(name)}" for name, type_ in names.items())
    return _types(tuple(expressions), f"(SELECT {rows or '0 AS nothing'})")


def type_over(sql: str, rows: str) -> str:
    """Type an expression over rows of NULLs, as FROM names them, or raise `DuckError`."""
    return _types((f"({sql})",), rows)[0]


def _types(expressions: tuple[str, ...], rows: str) -> tuple[str, ...]:
    """Give the types of expressions; very many texts say the same, and short ones are known."""
    if len(rows) + sum(map(len, expressions)) > KNOWN_LENGTH_MAX:
        return _run(expressions, rows)[1]
    return _known_types(expressions, rows)


@lru_cache(maxsize=1_024)
def _known_types(expressions: tuple[str, ...], rows: str) -> tuple[str, ...]:
    return _run(expressions, rows)[1]


def _run(
    expressions: Sequence[str], rows: str | None = None
) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Evaluate users' expressions over a row of our own; give their values and their types."""
    connection = _connection()
    from_ = "" if rows is None else f" FROM {rows}"
    try:
        for each in expressions:
            admit(each)
        # All rows, though there is one: a result that is not read to its end blocks the next.
        found = watched(
            connection,
            lambda: connection.execute(f"SELECT {', '.join(expressions)}{from_}").fetchall(),
        )
    except (duckdb.Error, AdmissionError) as error:
        if not isinstance(error, (*REFUSALS, AdmissionError)):
            # Too large for the memory, or a fault of DuckDB's own, after which it answers nothing.
            _LOCAL.__dict__.clear()
        raise DuckError(error) from None
    return tuple(found[0]), tuple(str(column[1]) for column in connection.description or ())


@lru_cache(maxsize=1_024)
def arrow_type(duck_sql: str) -> pa.DataType | None:
    """Give the Arrow type of a DuckDB type, or None if DuckDB does not know it.

    >>> arrow_type("TIMESTAMPTZ"), arrow_type("DECIMAL(10,2)"), arrow_type("FOO")
    (TimestampType(timestamp[us, tz=UTC]), Decimal128Type(decimal128(10, 2)), None)
    """
    sql = f"CAST(NULL AS {duck_sql})"
    try:
        admit(sql)
        table: pa.Table = _connection().sql(f"SELECT {sql} AS x").to_arrow_table()
    except (*REFUSALS, AdmissionError):
        return None
    return table.schema.field("x").type


@lru_cache(maxsize=1_024)
def duck_type(type_: pa.DataType) -> str:
    """Give the DuckDB type of an Arrow type; what DuckDB cannot read becomes its nearest.

    >>> duck_type(pa.timestamp("us", "UTC")), duck_type(pa.large_string())
    ('TIMESTAMP WITH TIME ZONE', 'VARCHAR')
    """
    empty = pa.table({"x": pa.array([], type=type_)})
    try:
        return str(_connection().from_arrow(empty).types[0])
    except duckdb.NotSupportedError:
        # Half floats and 256-bit decimals: compared as the numbers they stand for.
        return "FLOAT" if pa.types.is_floating(type_) else "DOUBLE"


@lru_cache(maxsize=1)
def type_names() -> tuple[str, ...]:
    """Names of DuckDB's types, for suggestions."""
    rows = _connection().execute("SELECT DISTINCT type_name FROM duckdb_types()").fetchall()
    return tuple(sorted(str(row[0]).upper() for row in rows))
