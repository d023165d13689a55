"""Storage: segments as tables, so that they can be kept as Parquet and asked again and again.

A table has, for each segment, its key columns (their values), `reference` (its event time), `low`
and `high` (seconds after it), a list of coefficients for each attribute by ascending powers of the
seconds after `reference`, `sign` and `serial`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.models.segments import WIDTH, Segments
from penstock.vocabulary.errors import PenstockError

OWN = ("reference", "low", "high", "sign", "serial")
TIME = pa.timestamp("us", tz="UTC")


def to_table(segments: Segments, key: pa.Table, attributes: Sequence[str]) -> pa.Table:
    """Give segments as a table; `key` has their key columns as users know them, row by row."""
    columns = {name: key[name] for name in key.column_names}
    columns["reference"] = pa.array(segments.reference, TIME)
    columns["low"] = pa.array(segments.low)
    columns["high"] = pa.array(segments.high)
    for place, name in enumerate(attributes):
        own = segments.coefficients[:, place]
        used = np.where(own != 0.0, np.arange(WIDTH), 0).max(axis=1, initial=0) + 1
        flat = own[np.arange(WIDTH) < used[:, np.newaxis]]
        offsets = np.concatenate(([0], np.cumsum(used)))
        columns[name] = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat))
    columns["sign"] = pa.array(segments.sign)
    columns["serial"] = pa.array(segments.serial)
    return pa.table(columns)


def from_table(table: pa.Table, key: np.ndarray, attributes: Sequence[str]) -> Segments:
    """Give the segments of a table; `key` has the codes (n, key columns) of its key columns."""
    missing = [name for name in (*OWN, *attributes) if name not in table.column_names]
    if missing:
        raise PenstockError(
            "MDL-056",
            f"A table of segments lacks the column '{missing[0]}'.",
            "Give a table that was written from segments of the same attributes.",
        )
    coefficients = np.zeros((len(table), len(attributes), WIDTH))
    for place, name in enumerate(attributes):
        lists = table[name].combine_chunks()
        sizes = lists.value_lengths().to_numpy(zero_copy_only=False)
        if len(sizes) and sizes.max() > WIDTH:
            raise PenstockError(
                "MDL-057",
                f"A segment's '{name}' has {sizes.max()} coefficients; {WIDTH} are the most.",
                "Fit models of a lower degree.",
            )
        mask = np.arange(WIDTH) < sizes[:, np.newaxis]
        coefficients[:, place][mask] = lists.flatten().to_numpy()
    reference = table["reference"].cast(pa.int64())
    return Segments(
        np.ascontiguousarray(key, np.int64), reference.to_numpy(),
        table["low"].to_numpy(), table["high"].to_numpy(), coefficients,
        table["sign"].to_numpy(), table["serial"].to_numpy(),
    )  # fmt: skip


def read_table(path: Path) -> pa.Table:
    """Read a table of segments that was kept as Parquet."""
    return pq.read_table(path)


def write_table(table: pa.Table, path: Path) -> None:
    """Keep a table of segments as Parquet."""
    pq.write_table(table, path, compression="zstd")
