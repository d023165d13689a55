"""State: what a join keeps of its data, as bytes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.operators.filter.keys import whole
from penstock.operators.join.rows import Arrivals
from penstock.operators.join.sides import Side
from penstock.storage.files import table_from_bytes, table_to_bytes
from penstock.vocabulary.batches import Ints

SIGN, PRINT, NUMBER = "_sign", "_print", "_number"
FACTS = b"facts"
Part = tuple[pa.Table, pa.Table]
"""The rows of the left and of the right side."""


def changes_table(side: Side, arrivals: Arrivals | None) -> pa.Table:
    """Give the changes that took effect, as another copy can repeat them."""
    if arrivals is None:
        table, signs, prints = side.reader.schema.empty_table(), np.empty(0, np.int8), _NONE
    else:
        table = arrivals.table.select(list(side.reader.kept))
        signs, prints = arrivals.signs, arrivals.prints
    return _with(table, {SIGN: signs, **({PRINT: prints} if side.is_table else {})})


def rows_table(side: Side) -> pa.Table:
    """Give all rows of a side in the order of their arrival."""
    slots = side.in_order()
    extra = {NUMBER: side.numbers[slots]}
    if side.is_table:
        extra[PRINT] = side.prints[slots]
    return _with(side.contents.take(slots), extra)


_NONE: Ints = np.empty(0, dtype=np.int64)


def _with(table: pa.Table, extra: dict[str, Any]) -> pa.Table:
    for name, array in extra.items():
        table = table.append_column(name, pa.array(np.ascontiguousarray(array)))
    return table


def apart(side: Side, table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Tell the columns of the rows, whatever they are called, from what stands behind them."""
    size = len(side.reader.kept)
    return table.select(range(size)), table.select(range(size, table.num_columns))


def to_bytes(parts: list[Part], facts: dict[str, Any]) -> bytes:
    """Serialise pairs of tables and some facts; equal content gives equal bytes."""
    blobs = [table_to_bytes(_plain(table)) for part in parts for table in part]
    schema = pa.schema(
        [("blob", pa.large_binary())], metadata={FACTS: json.dumps(facts, sort_keys=True)}
    )
    return table_to_bytes(pa.table([pa.array(blobs, pa.large_binary())], schema=schema))


def from_bytes(data: bytes) -> tuple[list[Part], dict[str, Any]]:
    """Give back what `to_bytes` serialised."""
    table = table_from_bytes(data)
    tables = [table_from_bytes(blob) for blob in table.column("blob").to_pylist()]
    parts = list(zip(tables[0::2], tables[1::2], strict=True))
    return parts, json.loads(table.schema.metadata[FACTS])


def numbers_of(table: pa.Table, name: str) -> Any:
    """Give a column of numbers as an array of its own; None if it is not there."""
    if name not in table.column_names:
        return None
    return np.array(whole(table.column(name)).to_numpy())


def _plain(table: pa.Table) -> pa.Table:
    """Give the same table in buffers of its own: one chunk, no slices, zeros under NULLs."""
    table = table.combine_chunks()
    return table.take(pa.array(np.arange(table.num_rows)))
