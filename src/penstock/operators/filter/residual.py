"""Residuals: what no index understands, asked of DuckDB for candidate pairs only.

A residual is a predicate over `c0`, `c1`, … (columns of events) and `r0`, `r1`, … (parameters).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.operators.filter.keys import whole
from penstock.vocabulary.types import Kind, kind_of

CANDIDATES_MAX = 1 << 18
"""How many candidate pairs are evaluated at a time: it bounds the memory of a slow path."""


def nan_to_null(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Give the column as one array with NULL for NaN."""
    array = whole(column)
    if kind_of(array.type) is not Kind.FLOAT:
        return array
    return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)


def pair_table(
    columns: list[pa.Array], rows: npt.NDArray[np.int32],
    parameters: pa.Table | None, ranks: npt.NDArray[np.int64],
) -> pa.Table:  # fmt: skip
    """Put the event columns at `rows` beside the parameters at `ranks`."""
    table: dict[str, pa.Array | pa.ChunkedArray] = {}
    index = pa.array(rows)
    for i, column in enumerate(columns):
        table[f"c{i}"] = column.take(index)
    if parameters is not None:
        at = pa.array(ranks)
        for name in parameters.column_names:
            table[name] = parameters.column(name).take(at)
    if not table:
        table["nothing"] = pa.nulls(len(rows), pa.int8())
    return pa.table(table)
