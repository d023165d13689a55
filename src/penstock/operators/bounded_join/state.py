"""State: what a bounded join keeps of its data, as bytes: rows, and who would go next."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.operators.shared.codec import Arrays, arrays_table
from penstock.operators.shared.codec import arrays_of as arrays_from
from penstock.operators.shared.input_state import (
    NUMBER,
    Part,
    arrived_of,
    arrived_part,
    facts_of,
    from_bytes,
    numbers_of,
    quiet_part,
    to_bytes,
)
from penstock.vocabulary.batches import Ints

__all__ = [
    "Part",
    "Parts",
    "arrays_of",
    "arrays_part",
    "arrived_of",
    "arrived_part",
    "facts_of",
    "from_bytes",
    "held_of",
    "held_part",
    "quiet_part",
    "to_bytes",
]  # fmt: skip

Parts = dict[int, Part]
"""What came, by the number of the input."""


def held_part(table: pa.Table, numbers: Ints) -> Part:
    """Give the rows of a stream that are held, and their numbers."""
    return table, pa.table({NUMBER: np.ascontiguousarray(numbers)})


def held_of(part: Part) -> tuple[pa.Table, Ints]:
    """Give back the rows of `held_part`."""
    return part[0], numbers_of(part[1], NUMBER)


def arrays_part(arrays: Arrays) -> Part:
    """Give arrays by name; equal arrays give equal bytes."""
    return arrays_table(arrays), pa.table({NUMBER: np.empty(0, dtype=np.int64)})


def arrays_of(part: Part) -> Arrays:
    """Give back the arrays of `arrays_part`."""
    return arrays_from(part[0])
