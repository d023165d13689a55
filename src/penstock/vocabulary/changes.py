"""What the change column of a table says."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

MINUS = ("delete", "update_before", "-")
"""What a table's change column says when a row goes."""


def signs_of(changes: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Give the signs of changes: -1 where a row goes, else +1.

    >>> signs_of(pa.array(["insert", "delete"])).to_pylist()
    [1, -1]
    """
    goes = pc.is_in(changes, value_set=pa.array(MINUS, pa.string()))
    return pc.if_else(goes, pa.scalar(-1, pa.int8()), pa.scalar(1, pa.int8()))
