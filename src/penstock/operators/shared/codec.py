"""The state codec: what operators keep of their data, as bytes that say their version.

A snapshot or a delta is some pairs of tables and some facts. A state of the version before is read
too: it is brought into today's form on the way in, so that no operator knows two forms.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.operators.shared.keys import whole
from penstock.storage.files import table_from_bytes, table_to_bytes
from penstock.vocabulary.errors import PenstockError

VERSION = 2
"""The version that is written. States of version 1 do not say theirs."""
FACTS, VERSION_KEY = b"facts", b"version"
NAME, DTYPE, SHAPE, DATA = "name", "dtype", "shape", "data"
Facts = dict[str, Any]
Part = tuple[pa.Table, pa.Table]
"""Two tables that belong together: rows, and what is known of them."""
Arrays = dict[str, npt.NDArray[Any]]
Renewal = Callable[[list[Part], Facts], tuple[list[Part], Facts]]
"""Brings the parts and facts of the version before into the form of today."""


def to_bytes(parts: list[Part], facts: Facts) -> bytes:
    """Serialise pairs of tables and some facts; equal content gives equal bytes."""
    blobs = [table_to_bytes(_plain(table)) for part in parts for table in part]
    said = {FACTS: json.dumps(facts, sort_keys=True), VERSION_KEY: str(VERSION)}
    schema = pa.schema([("blob", pa.large_binary())], metadata=said)
    return table_to_bytes(pa.table([pa.array(blobs, pa.large_binary())], schema=schema))


def from_bytes(data: bytes, renewed: Renewal | None = None) -> tuple[list[Part], Facts]:
    """Give back what `to_bytes` serialised, or did in the version before.

    >>> part = pa.table({"x": [1]}), pa.table({"n": [2]})
    >>> parts, facts = from_bytes(to_bytes([part], {"next": 3}))
    >>> parts[0][1].to_pydict(), facts
    ({'n': [2]}, {'next': 3})
    """
    table = table_from_bytes(data)
    said = table.schema.metadata
    version = int(said.get(VERSION_KEY, b"1"))
    if version > VERSION:
        raise PenstockError(
            "RUN-006",
            f"The state is of version {version}; this Penstock reads up to {VERSION}.",
            "Start the engine with the version of Penstock that wrote it, or a later one.",
        )
    tables = [table_from_bytes(blob) for blob in table.column("blob").to_pylist()]
    parts: list[Part] = list(zip(tables[0::2], tables[1::2], strict=True))
    facts: Facts = json.loads(said[FACTS])
    if version < VERSION and renewed is not None:
        return renewed(parts, facts)
    return parts, facts


def numbers_of(table: pa.Table, name: str) -> Any:
    """Give a column of numbers as an array of its own; None if it is not there."""
    if name not in table.column_names:
        return None
    return np.array(whole(table.column(name)).to_numpy(zero_copy_only=False))


def arrays_table(arrays: Arrays) -> pa.Table:
    """Write arrays of any kind into a table, by name; equal arrays give equal bytes.

    >>> given = {"b": np.zeros((2, 3)), "a": np.array([1, 2])}
    >>> [(name, own.shape) for name, own in arrays_of(arrays_table(given)).items()]
    [('a', (2,)), ('b', (2, 3))]
    """
    named = [(name, np.ascontiguousarray(array)) for name, array in sorted(arrays.items())]
    return pa.table(
        {
            NAME: pa.array([name for name, _ in named], pa.string()),
            DTYPE: pa.array([array.dtype.str for _, array in named], pa.string()),
            SHAPE: pa.array([list(array.shape) for _, array in named], pa.list_(pa.int64())),
            DATA: pa.array([array.tobytes() for _, array in named], pa.large_binary()),
        }
    )


def arrays_of(table: pa.Table) -> Arrays:
    """Give back the arrays of `arrays_table`, each as one that may be written to."""
    return {
        line[NAME]: np.frombuffer(line[DATA], dtype=line[DTYPE]).reshape(line[SHAPE]).copy()
        for line in table.to_pylist()
    }


def _plain(table: pa.Table) -> pa.Table:
    """Give the same table in buffers of its own: one chunk, no slices, zeros under NULLs."""
    table = table.combine_chunks()
    return table.take(pa.array(np.arange(table.num_rows)))
