"""Reading: rows as a source gave them, in the declared types; some are broken."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from penstock.operators.lookup.sources import UNREADABLE, readable
from penstock.operators.shared.keys import whole
from penstock.vocabulary.errors import PenstockError

Ask = Callable[[pa.Array], pa.Table | None]
SHOWN_MAX = 40
"""Characters of a broken value that are shown."""


def asked(
    ask: Ask, keys: pa.Array, schema: pa.Schema, refused: dict[int, str], first: int = 0
) -> pa.Table | None:
    """Give the rows of keys in any types; None if the source does not answer.

    If it cannot be read for some keys, halves are asked until those stand alone: they are noted
    down by place, with the reason.
    """
    try:
        return ask(keys)
    except PenstockError as error:
        if error.code != UNREADABLE:
            raise
        if len(keys) == 1:
            refused[first] = error.fact
            return schema.empty_table()
    middle = len(keys) // 2
    halves = ((keys.slice(0, middle), first), (keys.slice(middle), first + middle))
    parts = []
    for half, start in halves:
        part = asked(ask, half, schema, refused, start)
        if part is None:
            return None
        parts.append(part)
    told = [part for part in parts if part.num_rows]
    return pa.concat_tables(told) if told else parts[0]


def conformed(raw: pa.Table, schema: pa.Schema) -> tuple[pa.Table, dict[int, str]]:
    """Give rows in declared types, and why the broken ones are, by place; theirs are NULLs.

    >>> raw = pa.table({"id": [1, 2], "price": ["3.5", "dear"]})
    >>> table, broken = conformed(raw, pa.schema([("id", pa.int64()), ("price", pa.float64())]))
    >>> table["price"].to_pylist(), broken
    ([3.5, None], {1: "price is 'dear', not double"})
    """
    arrays = []
    reasons: dict[int, str] = {}
    for field in schema:
        given = whole(raw.column(field.name))
        column, broken = readable(given, field.type)
        for at in broken:
            reasons.setdefault(at, f"{field.name} is {_shown(given[at])}, not {field.type}")
        arrays.append(column)
    return pa.table(arrays, schema=schema), reasons


def _shown(value: pa.Scalar) -> str:
    text = repr(value.as_py())
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"
