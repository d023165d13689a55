"""What DuckDB knows: types, functions, and whether an expression binds.

An in-memory database without tables, files or network answers; no user data comes near it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa

from penstock.expressions.connections import connect
from penstock.expressions.quotation import quoted

_LOCAL = threading.local()

REFUSALS = (
    duckdb.ProgrammingError,
    duckdb.DataError,
    duckdb.NotSupportedError,
    duckdb.PermissionException,
)
"""What an expression can be blamed for. Other errors of DuckDB are ours, and pass through."""

CLOCKS = frozenset({"current_localtime", "current_localtimestamp"})
"""Clocks that DuckDB's catalogue takes for functions of their arguments."""

AMBIENT = re.compile(r"\b(current_\w+|get_current\w*|now|today|localtime\w*|unnest)\b")
"""What macros may call without brackets or as a table, and we must not."""


def _connection() -> duckdb.DuckDBPyConnection:
    """Give this thread's connection: one connection must not serve two threads at once."""
    connection: duckdb.DuckDBPyConnection | None = getattr(_LOCAL, "connection", None)
    if connection is None:
        connection = connect(threads=1)
        _LOCAL.connection = connection
    return connection


class DuckError(Exception):
    """DuckDB refuses an expression; `fact` is the first line of its message."""

    def __init__(self, error: duckdb.Error) -> None:
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
    return _run(f"SELECT {sql}")


def types_of(expressions: Sequence[str], names: Mapping[str, pa.DataType]) -> tuple[str, ...]:
    """Type expressions over typed names (columns, parameters), or raise `DuckError`.

    They run once on a row of NULLs: that also finds casts and patterns that cannot work.
    """
    rows = ", ".join(f"NULL::{duck_type(type_)} AS {quoted(name)}" for name, type_ in names.items())
    return _run(f"SELECT {', '.join(expressions)} FROM (SELECT {rows or '0 AS nothing'})")[1]


def check_query(sql: str) -> tuple[str, ...]:
    """Run a query that brings its own row of NULLs; give its columns' types or `DuckError`."""
    return _run(sql)[1]


def _run(sql: str) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    connection = _connection()
    try:
        # All rows, though there is one: a result that is not read to its end blocks the next.
        rows = connection.execute(sql).fetchall()
    except REFUSALS as error:
        raise DuckError(error) from None
    return tuple(rows[0]), tuple(str(column[1]) for column in connection.description or ())


@lru_cache(maxsize=1_024)
def arrow_type(duck_sql: str) -> pa.DataType | None:
    """Give the Arrow type of a DuckDB type, or None if DuckDB does not know it.

    >>> arrow_type("TIMESTAMPTZ"), arrow_type("DECIMAL(10,2)"), arrow_type("FOO")
    (TimestampType(timestamp[us, tz=UTC]), Decimal128Type(decimal128(10, 2)), None)
    """
    try:
        relation = _connection().sql(f"SELECT CAST(NULL AS {duck_sql}) AS x")
        table: pa.Table = relation.to_arrow_table()
    except REFUSALS:
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


@lru_cache(maxsize=1)
def functions() -> Mapping[str, str]:
    """Say of every function whether it is `scalar`, `volatile`, `aggregate`, `window` or `table`.

    A scalar function gives the same value for the same arguments, at any time. A name that is
    scalar in one form and something else in another counts as scalar: DuckDB picks the form.
    """
    rows = (
        _connection()
        .execute(
            "SELECT lower(function_name), function_type, stability, macro_definition "
            "FROM duckdb_functions() ORDER BY ALL"
        )
        .fetchall()
    )
    known: dict[str, str] = {}
    for name, kind, stability, _ in rows:
        if kind == "scalar":
            steady = stability == "CONSISTENT" and name not in CLOCKS
            known[name] = "scalar" if steady else "volatile"
    for name, kind, _, _ in rows:
        if kind not in {"scalar", "macro"}:
            known.setdefault(name, kind if kind in {"aggregate", "window"} else "table")
    plain = frozenset(known)
    macros = {name: definition or "" for name, kind, _, definition in rows if kind == "macro"}
    # Twice, because a macro may call one that stands after it.
    for _ in range(2):
        known.update((name, _macro_kind(macros[name], known)) for name in macros.keys() - plain)
    return known


def _macro_kind(definition: str, known: Mapping[str, str]) -> str:
    called = re.findall(r"(\w+)\s*\(", definition.lower())
    kinds = {known.get(name, "scalar") for name in called} - {"scalar"}
    if "aggregate" in kinds:
        return "aggregate"
    return "volatile" if kinds or AMBIENT.search(definition.lower()) else "scalar"
