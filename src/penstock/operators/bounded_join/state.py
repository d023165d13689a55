"""State: what a bounded join keeps of its data, as bytes: rows, and who would go next."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.operators.bounded.caches_state import Arrays
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
    "Part", "Parts", "arrays_of", "arrays_part", "arrived_of", "arrived_part", "facts_of",
    "from_bytes", "held_of", "held_part", "quiet_part", "to_bytes",
]  # fmt: skip

Parts = dict[int, Part]
"""What came, by the number of the input."""
NAME, DTYPE, SHAPE, DATA = "name", "dtype", "shape", "data"


def held_part(table: pa.Table, numbers: Ints) -> Part:
    """Give the rows of a stream that are held, and their numbers."""
    return table, pa.table({NUMBER: np.ascontiguousarray(numbers)})


def held_of(part: Part) -> tuple[pa.Table, Ints]:
    """Give back the rows of `held_part`."""
    return part[0], numbers_of(part[1], NUMBER)


def arrays_part(arrays: Arrays) -> Part:
    """Give arrays by name; equal arrays give equal bytes."""
    named = [(name, np.ascontiguousarray(array)) for name, array in sorted(arrays.items())]
    table = pa.table(
        {
            NAME: pa.array([name for name, _ in named], pa.string()),
            DTYPE: pa.array([array.dtype.str for _, array in named], pa.string()),
            SHAPE: pa.array([list(array.shape) for _, array in named], pa.list_(pa.int64())),
            DATA: pa.array([array.tobytes() for _, array in named], pa.large_binary()),
        }
    )
    return table, pa.table({NUMBER: np.empty(0, dtype=np.int64)})


def arrays_of(part: Part) -> Arrays:
    """Give back the arrays of `arrays_part`, each as one that may be written to."""
    return {
        line[NAME]: np.frombuffer(line[DATA], dtype=line[DTYPE]).reshape(line[SHAPE]).copy()
        for line in part[0].to_pylist()
    }
