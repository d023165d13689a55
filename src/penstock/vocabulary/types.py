"""Column types: Arrow's, sorted into the few kinds that the engine tells apart."""

from __future__ import annotations

import base64
import re
from enum import Enum
from functools import lru_cache

import pyarrow as pa

SERIALISED = "arrow:"


class ColumnKind(Enum):
    """What a column's values are, as far as predicates care."""

    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    STRING = "string"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    DATE = "date"
    OTHER = "other"


NUMBERS = frozenset({ColumnKind.INTEGER, ColumnKind.FLOAT, ColumnKind.DECIMAL})
DECIMAL_DIGITS_MAX = 18
"""Decimals of more digits do not fit an int64 key: predicates on them are residual."""


@lru_cache(maxsize=1024)
def kind_of(type_: pa.DataType) -> ColumnKind:
    """Sort an Arrow type into its kind.

    >>> kind_of(pa.int32()), kind_of(pa.large_string())
    (<ColumnKind.INTEGER: 'integer'>, <ColumnKind.STRING: 'string'>)
    """
    checks = (
        (pa.types.is_boolean, ColumnKind.BOOLEAN),
        (pa.types.is_integer, ColumnKind.INTEGER),
        (pa.types.is_floating, ColumnKind.FLOAT),
        (pa.types.is_decimal, ColumnKind.DECIMAL),
        (pa.types.is_string, ColumnKind.STRING),
        (pa.types.is_large_string, ColumnKind.STRING),
        (pa.types.is_timestamp, ColumnKind.TIMESTAMP),
        (pa.types.is_date32, ColumnKind.DATE),
    )
    return next((kind for check, kind in checks if check(type_)), ColumnKind.OTHER)


def is_ordered(type_: pa.DataType) -> bool:
    """Say whether values map to int64 keys of the same order, so that ranges can be indexed."""
    kind = kind_of(type_)
    if kind is ColumnKind.DECIMAL:
        return bool(type_.precision <= DECIMAL_DIGITS_MAX)
    return kind in {
        ColumnKind.INTEGER,
        ColumnKind.FLOAT,
        ColumnKind.TIMESTAMP,
        ColumnKind.DATE,
        ColumnKind.BOOLEAN,
    }


def scale_of(type_: pa.DataType) -> int:
    """Give the digits behind the point that values of a type have.

    >>> scale_of(pa.decimal128(9, 2)), scale_of(pa.int64())
    (2, 0)
    """
    return type_.scale if kind_of(type_) is ColumnKind.DECIMAL else 0


def type_name(type_: pa.DataType) -> str:
    """Name a type in the registry's files; `type_named` is the inverse.

    >>> type_name(pa.timestamp("us", "UTC"))
    'timestamp[us, tz=UTC]'
    >>> nested = pa.list_(pa.struct([("a", pa.int8())]))
    >>> type_named(type_name(nested)) == nested
    True
    """
    name = str(type_)
    try:
        plain = type_named(name) == type_
    except (KeyError, ValueError):
        plain = False
    if plain:
        return name
    # Nested types have no name that Arrow reads back: they are kept as Arrow writes a schema.
    data = pa.schema([("", type_)]).serialize().to_pybytes()
    return SERIALISED + base64.b64encode(data).decode()


def type_named(name: str) -> pa.DataType:
    """Give back the type that `type_name` named.

    >>> type_named("decimal128(10, 2)"), type_named("timestamp[us, tz=UTC]")
    (Decimal128Type(decimal128(10, 2)), TimestampType(timestamp[us, tz=UTC]))
    """
    if name.startswith(SERIALISED):
        data = base64.b64decode(name.removeprefix(SERIALISED))
        return pa.ipc.read_schema(pa.py_buffer(data)).field(0).type
    if match := re.fullmatch(r"decimal128\((\d+), (-?\d+)\)", name):
        return pa.decimal128(int(match[1]), int(match[2]))
    if match := re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", name):
        return pa.timestamp(match[1], match[2])
    plain = {"date32[day]": pa.date32(), "double": pa.float64(), "float": pa.float32()}
    return plain[name] if name in plain else pa.type_for_alias(name)


WRITTEN = b"penstock.written"


def written(field: pa.Field, guess: pa.DataType) -> pa.Field:
    """Mark a column of texts that stood in a file without types, and say what they seem to be.

    Such a text is whatever it is compared with; compared with nothing, it is what it seems to be.

    >>> field = written(pa.field("low", pa.string()), pa.float64())
    >>> is_written(field), seeming(field)
    (True, DataType(double))
    """
    return field.with_metadata({WRITTEN: type_name(guess).encode()})


def is_written(field: pa.Field) -> bool:
    """Say whether a column is marked by `written`."""
    return WRITTEN in (field.metadata or {})


def seeming(field: pa.Field) -> pa.DataType:
    """Give what a column seems to be: its own type, if it is not of texts without types."""
    return type_named(field.metadata[WRITTEN].decode()) if is_written(field) else field.type
