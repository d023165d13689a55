"""The state codec: what operators keep of their data, as bytes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.operators.shared.keys import whole
from penstock.storage.files import table_from_bytes, table_to_bytes

FACTS = b"facts"
Part = tuple[pa.Table, pa.Table]
"""Two tables that belong together: rows, and what is known of them."""


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
