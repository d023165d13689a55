"""Dialects: the few words in which the SQL of the stores differs.

DuckDB scans columns fast and finds no single row fast. So what is kept there are *logs* of weights:
a change is appended, and who reads adds up; a store nets its logs when they have grown. PostgreSQL
finds rows by indexes: there a row is kept once, with its weight, and a *fingerprint* of all its
columns, NULLs too, by which it is found.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from penstock.algebra.views import is_kept
from penstock.vocabulary.errors import PenstockError

WHOLE = {
    pa.bool_(): ("BOOLEAN", "boolean"),
    pa.int8(): ("TINYINT", "smallint"),
    pa.int16(): ("SMALLINT", "smallint"),
    pa.int32(): ("INTEGER", "integer"),
    pa.int64(): ("BIGINT", "bigint"),
    pa.uint8(): ("UTINYINT", "smallint"),
    pa.uint16(): ("USMALLINT", "integer"),
    pa.uint32(): ("UINTEGER", "bigint"),
    pa.uint64(): ("UBIGINT", "numeric(20, 0)"),
    pa.float32(): ("FLOAT", "real"),
    pa.float64(): ("DOUBLE", "double precision"),
    pa.string(): ("VARCHAR", "text"),
    pa.large_string(): ("VARCHAR", "text"),
    pa.binary(): ("BLOB", "bytea"),
    pa.large_binary(): ("BLOB", "bytea"),
    pa.date32(): ("DATE", "date"),
    pa.time64("us"): ("TIME", "time"),
    pa.timestamp("s"): ("TIMESTAMP_S", "timestamp"),
    pa.timestamp("ms"): ("TIMESTAMP_MS", "timestamp"),
    pa.timestamp("us"): ("TIMESTAMP", "timestamp"),
}
"""The types that stores keep: in DuckDB, in PostgreSQL."""
ZONED = ("TIMESTAMPTZ", "timestamptz")


def is_text(type_: pa.DataType) -> bool:
    """Say whether values are texts."""
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def is_long(type_: pa.DataType) -> bool:
    """Say whether a value may be longer than an ordered index takes."""
    return is_text(type_) or pa.types.is_binary(type_) or pa.types.is_large_binary(type_)


def _names(type_: pa.DataType) -> tuple[str, str]:
    if not is_kept(type_):
        raise PenstockError(
            "VIEW-001",
            f"Stores of views keep no values of type {type_}.",
            "Cast the column to a number, a text, a date or a timestamp in microseconds.",
        )
    if pa.types.is_timestamp(type_) and type_.tz:
        return ZONED
    if pa.types.is_decimal128(type_):
        digits = f"({type_.precision}, {type_.scale})"
        return f"DECIMAL{digits}", f"numeric{digits}"
    return WHOLE[type_]


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the SQL of a store is made of."""

    place: int
    """Which of the names of a type are this dialect's."""
    is_log: bool
    """Whether changes of weights are appended, so that one row may stand in a table many times."""
    exact: str
    """The type of exact sums of integers."""
    float: str
    """The type of sums of floats."""
    finite: str
    """Whether a number `{}` is neither NaN nor infinite."""
    numbers: str
    """A FROM that gives `_n` rows for each row that stands before it."""
    frequent: str
    """A condition `{}`, in words by which no planner takes it for rare.

    Between flushes no group lacks its extreme or its rows, and that is what statistics say; within
    one all groups may. PostgreSQL would look through all that changed for each."""
    now: str
    """The time by the store's clock, in microseconds."""

    def type(self, type_: pa.DataType) -> str:
        """Name an Arrow type."""
        return _names(type_)[self.place]

    def cast(self, sql: str, type_: pa.DataType) -> str:
        """Give an expression as a value of a type."""
        return f"CAST({sql} AS {self.type(type_)}){self._order(type_)}"

    def column(self, name: str, type_: pa.DataType) -> str:
        """Declare a column."""
        return f"{name} {self.type(type_)}{self._order(type_)}"

    def extreme(self, function: str, sql: str, type_: pa.DataType, where: str = "true") -> str:
        """Give the least or greatest value of a column, also of types for which SQL has none."""
        narrowed = f"FILTER (WHERE {where})"
        if self.place and pa.types.is_boolean(type_):
            return f"{'bool_and' if function == 'min' else 'bool_or'}({sql}) {narrowed}"
        if self.place and is_long(type_) and not is_text(type_):
            order = "" if function == "min" else " DESC"
            return f"(array_agg({sql} ORDER BY {sql}{order} NULLS LAST) {narrowed})[1]"
        return f"{function}({sql}) {narrowed}"

    def _order(self, type_: pa.DataType) -> str:
        """Let texts be ordered by their bytes in both stores."""
        return ' COLLATE "C"' if self.place and is_text(type_) else ""

    def sum_type(self, type_: pa.DataType) -> str:
        """Name the type in which values of a type are added up."""
        if pa.types.is_floating(type_):
            return self.float
        if self.place:
            return "numeric"
        return f"DECIMAL(38, {type_.scale})" if pa.types.is_decimal(type_) else self.exact


DUCKDB = Dialect(
    place=0,
    is_log=True,
    exact="HUGEINT",
    float="DOUBLE",
    finite="isfinite({})",
    numbers="unnest(system.main.range({}))",
    frequent="{}",
    now="epoch_us(now())",
)
POSTGRESQL = Dialect(
    place=1,
    is_log=False,
    exact="numeric",
    float="double precision",
    finite="{} NOT IN ('NaN', 'Infinity', '-Infinity')",
    numbers="generate_series(1, {})",
    frequent="CAST({} AS integer) > 0",
    now="CAST(1000000 * extract(epoch FROM clock_timestamp()) AS bigint)",
)
DIALECTS = {"duckdb": DUCKDB, "postgresql": POSTGRESQL}
