"""Sources: databases that rows are looked up in.

A source is asked for the rows of some keys and for nothing else. What goes wrong is told without
passwords.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

import pyarrow as pa

from penstock.algebra.memories import Lookup
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import ColumnKind, kind_of

DUCKDB = "duckdb:"
POSTGRESQL = ("postgresql://", "postgres://")
TABLES_SHOWN = 10
"""Tables of a source that an error lists."""
HIDDEN = "***"
UNREADABLE = "LKP-011"
_AUTHORITY = re.compile(r"(?<=://)([^:/@]*):(.*)@")
_NAMED = re.compile(r"(?i)\b((?:ssl)?password=)([^&\s]*)")
_UNFIT = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, OverflowError)


class LookupSource(Protocol):
    """A table of another database.

    Everything raises PenstockError if the source does not answer as it should; the next call may
    try again. An error with the code UNREADABLE is about some of the keys alone.
    """

    def columns(self, timeout_s: float) -> pa.Schema:
        """Give all columns of the table, having checked that they may be read."""

    def fetch(self, keys: pa.Array, timeout_s: float) -> pa.Table:
        """Give the rows of some keys, in no order: of each key none, one, or two if there are more.

        Keys that the key's type cannot hold have no row. Values come as the source has them, or as
        texts.
        """

    def close(self) -> None:
        """Give back what the source holds on to."""


def masked(source: str) -> str:
    """Give a source as it may be shown.

    >>> masked("postgresql://me:secret@db:5432/shop?password=other&x=1")
    'postgresql://me:***@db:5432/shop?password=***&x=1'
    """
    hidden = _AUTHORITY.sub(rf"\1:{HIDDEN}@", source)
    return _NAMED.sub(rf"\1{HIDDEN}", hidden)


def scrubbed(text: str, source: str) -> str:
    """Take the source's password out of what a database says; make one line of it.

    >>> scrubbed("no route: postgresql://me:a%20b@db, 'a b'", "postgresql://me:a%20b@db")
    "no route: postgresql://me:***@db, '***'"
    """
    secrets = [found[2] for found in (*_AUTHORITY.finditer(source), *_NAMED.finditer(source))]
    for secret in sorted({*secrets, *map(unquote, secrets)} - {""}, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return " ".join(text.split()).rstrip(".!?")


def resolved(source: str) -> str:
    """Give a source that means the same wherever a process runs: with the whole path of a file."""
    if not source.startswith(DUCKDB):
        return source
    return f"{DUCKDB}{Path(source.removeprefix(DUCKDB)).expanduser().resolve()}"


def unknown_source(source: str) -> PenstockError:
    """Say that a source is of no known kind."""
    return PenstockError(
        "LKP-001",
        f"Rows cannot be looked up in {masked(source)!r}.",
        "Write 'duckdb:<path>' or 'postgresql://user@host:port/database'.",
    )


def unreachable(lookup: Lookup, reason: str) -> PenstockError:
    """Say that a source cannot be opened."""
    is_file = lookup.source.startswith(DUCKDB)
    return PenstockError(
        "LKP-003",
        f"{masked(lookup.source)!r} cannot be opened: {scrubbed(reason, lookup.source)}.",
        "Correct the path." if is_file else "Correct the source, or start its server.",
    )


def no_table(lookup: Lookup, reason: str = "", tables: Sequence[str] = ()) -> PenstockError:
    """Say that the source has no such table, and which it has."""
    why = f" ({scrubbed(reason, lookup.source)})" if reason else ""
    listed = f"; it has: {', '.join(tables[:TABLES_SHOWN])}" if tables else ""
    return PenstockError(
        "LKP-004",
        f"{masked(lookup.source)!r} has no table {lookup.table!r}{why}{listed}.",
        "Name one of its tables: OPTIONS (table = 'schema.table').",
    )


def no_column(lookup: Lookup, name: str, columns: Sequence[str]) -> PenstockError:
    """Say that the table has no such column."""
    return PenstockError(
        "LKP-005",
        f"Table {lookup.table!r} of {masked(lookup.source)!r} has no column {name!r}.",
        f"Choose one of: {', '.join(columns)}.",
    )


def forbidden(lookup: Lookup, reason: str) -> PenstockError:
    """Say that the table may not be read."""
    return PenstockError(
        "LKP-006",
        f"Table {lookup.table!r} of {masked(lookup.source)!r} may not be read: "
        f"{scrubbed(reason, lookup.source)}.",
        "Grant SELECT on it, or come as another user.",
    )


def too_late(lookup: Lookup, timeout_s: float) -> PenstockError:
    """Say that no answer came in time."""
    return PenstockError(
        "LKP-010",
        f"{masked(lookup.source)!r} did not answer within {timeout_s:g} s.",
        "Give it longer: OPTIONS (timeout = '10 seconds'); or an index on the key.",
    )


def unreadable(lookup: Lookup, reason: str) -> PenstockError:
    """Say that the source fails at a value: at one that was asked for, or at one of a row."""
    return PenstockError(
        UNREADABLE,
        f"Table {lookup.table!r} of {masked(lookup.source)!r} cannot be read for a key: "
        f"{scrubbed(reason, lookup.source)}.",
        "Repair the value there.",
    )


# Values of one type in another.


def lossless(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Give values in another type; NULL where it cannot hold one exactly.

    Whole numbers become the nearest float, as comparisons take them.

    >>> lossless(pa.array([1.0, 1.5, 3e10]), pa.int32()).to_pylist()
    [1, None, None]
    >>> lossless(pa.array([7, 10**9]), pa.decimal128(10, 2)).to_pylist()
    [Decimal('7.00'), None]
    """
    return _cast(values, type_, [])


def readable(column: pa.Array, type_: pa.DataType) -> tuple[pa.Array, list[int]]:
    """Give a column in another type, and the places of values that it cannot hold.

    >>> readable(pa.array(["1", "x", None]), pa.int64())[1]
    [1]
    """
    broken: list[int] = []
    return _cast(column, type_, broken), broken


def _cast(values: pa.Array, type_: pa.DataType, broken: list[int], first: int = 0) -> pa.Array:
    """Cast; of what cannot be cast, halve until the values stand alone."""
    if values.type == type_:
        return values
    if kind_of(type_) is ColumnKind.DECIMAL and kind_of(values.type) is ColumnKind.INTEGER:
        # Arrow asks a decimal for room for any whole number, whatever the values are.
        values = values.cast(pa.decimal128(38, type_.scale))
    try:
        return values.cast(type_, safe=kind_of(type_) is not ColumnKind.FLOAT)
    except _UNFIT:
        if len(values) <= 1:
            broken.append(first)
            return pa.nulls(len(values), type_)
    middle = len(values) // 2
    return pa.concat_arrays(
        [
            _cast(values.slice(0, middle), type_, broken, first),
            _cast(values.slice(middle), type_, broken, first + middle),
        ]
    )


def spelt(name: str, names: Sequence[str]) -> str | None:
    """Find a name as a source spells it: exactly, or else but for case."""
    if name in names:
        return name
    return next((each for each in names if each.casefold() == name.casefold()), None)


def texts(values: pa.Array) -> list[Any]:
    """Give values as texts that databases read; there is no NULL among them."""
    written: list[Any] = values.cast(pa.string(), safe=False).to_pylist()
    return written
