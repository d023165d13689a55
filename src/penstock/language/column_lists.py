"""Columns that are given in Python: a schema of Arrow, or names with types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pyarrow as pa

from penstock.language.duckdb_checks import arrow_type, type_names
from penstock.language.places import suggestion
from penstock.vocabulary.errors import PenstockError

Columns: TypeAlias = "pa.Schema | Mapping[str, str | pa.DataType]"


def columns_of(given: Columns) -> pa.Schema:
    """Give the schema that columns make, or refuse what is none.

    >>> columns_of({"at": "TIMESTAMPTZ", "n": pa.int64()}).field("at").type
    TimestampType(timestamp[us, tz=UTC])
    """
    if isinstance(given, pa.Schema):
        return given
    if not isinstance(given, Mapping):
        raise PenstockError(
            "SRC-016",
            f"A schema cannot be a {type(given).__name__}.",
            "Give a schema of Arrow, or names with types, such as {'price': 'DOUBLE'}.",
        )
    return pa.schema([(str(name), _type_of(str(name), type_)) for name, type_ in given.items()])


def _type_of(name: str, given: object) -> pa.DataType:
    if isinstance(given, pa.DataType):
        return given
    found = arrow_type(given) if isinstance(given, str) else None
    if found is None:
        raise PenstockError(
            "SRC-016",
            f"Column {name!r} has the type {given}, which is not known.",
            suggestion(str(given), type_names(), "Use one of DuckDB's types, such as DOUBLE."),
        )
    return found
