"""Broken lines: rows of text files that do not parse, and the column that holds them.

A broken line is no row of its relation: its other columns are NULL, and only filters that ask for
the column itself see it. The column is known by a mark in its schema, so that a column of the same
name in somebody's Parquet files is a column like any other.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

MARK = {b"penstock": b"broken lines"}
"""The metadata of the column, in the schema of its relation and in its batches."""


def broken_column(schema: pa.Schema) -> str | None:
    """Name the column that holds lines which do not parse, else NULL.

    >>> broken_column(marked(pa.schema([("x", pa.int64()), ("bad", pa.string())]), "bad"))
    'bad'
    """
    return next((field.name for field in schema if field.metadata == MARK), None)


def marked(schema: pa.Schema, name: str | None) -> pa.Schema:
    """Mark the column of a schema that holds broken lines."""
    if name is None:
        return schema
    place = schema.names.index(name)
    return schema.set(place, schema.field(place).with_metadata(MARK))


def sound_rows(table: pa.Table) -> pa.Array | None:
    """Say which rows are no broken lines; None: all are."""
    name = broken_column(table.schema)
    if name is None or table[name].null_count == table.num_rows:
        return None
    return pc.is_null(table[name]).combine_chunks()
