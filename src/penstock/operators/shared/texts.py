"""Texts of parameters, read as what they are compared with."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from penstock.expressions.evaluation import connection
from penstock.operators.shared.keys import validity, whole
from penstock.vocabulary.batches import Flags
from penstock.vocabulary.types import ColumnKind, kind_of

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""A number as it is written; DuckDB would take 1_000 and 0x1f as well."""
WORDS = r"[+-]?(inf|infinity)|nan"
TRUTHS = "CASE lower(t) WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END"
PLACES_MAX = 18
"""Of numbers for columns whose own have no more; 20 digits before the point are left."""


def read_texts(texts: pa.Array, type_: pa.DataType) -> tuple[pa.Array, Flags]:
    """Read texts as values of a type, or as numbers that can be placed among them.

    Empty texts are NULL; the flags say which texts are no value at all.

    >>> values, bad = read_texts(pa.array(["1.50", "NA", "", None]), pa.decimal128(9, 2))
    >>> [None if v is None else str(v) for v in values.to_pylist()], bad.tolist()
    (['1.5', None, None, None], [False, True, False, False])
    """
    trimmed = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    trimmed = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
    if kind_of(type_) in {ColumnKind.INTEGER, ColumnKind.DECIMAL}:
        found = _decimals(trimmed)
    else:
        found = _asked(trimmed, _reading(type_)).cast(type_)
    return found, validity(trimmed) & ~validity(found)


def _reading(type_: pa.DataType) -> str:
    kind = kind_of(type_)
    if kind is ColumnKind.FLOAT:
        width = "FLOAT" if type_ == pa.float32() else "DOUBLE"
        fits = f"regexp_full_match(t, '{NUMBER}') OR regexp_full_match(lower(t), '{WORDS}')"
        return f"CASE WHEN {fits} THEN TRY_CAST(t AS {width}) END"
    if kind is ColumnKind.BOOLEAN:
        return TRUTHS
    if kind is ColumnKind.DATE:
        return "TRY_CAST(t AS DATE)"
    if type_.tz is not None:
        return "TRY_CAST(t AS TIMESTAMPTZ)"
    names = {"s": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}
    return f"TRY_CAST(t AS {names[type_.unit]})"


def _decimals(texts: pa.Array) -> pa.Array:
    """Read numbers exactly, with as many places as the longest has."""
    places = (
        f"CASE WHEN regexp_full_match(t, '{NUMBER}') THEN greatest(0, "
        "length(rtrim(regexp_extract(t, '[.]([0-9]*)', 1), '0')) "
        "- coalesce(TRY_CAST(regexp_extract(t, '[eE](.*)$', 1) AS INTEGER), 0)) END"
    )
    needed = _asked(texts, places)
    most = min(pc.max(needed).as_py() or 0, PLACES_MAX)
    fitting = pc.if_else(pc.less_equal(needed, most), texts, pa.scalar(None, pa.string()))
    return _asked(fitting, f"TRY_CAST(t AS DECIMAL(38, {most}))")


def _asked(texts: pa.Array, reading: str) -> pa.Array:
    """Ask DuckDB what it makes of every text `t`."""
    given = connection().from_arrow(pa.table({"t": texts}))
    return whole(given.project(f"{reading} AS value").to_arrow_table()["value"])
