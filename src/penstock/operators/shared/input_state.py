"""State: what joins of inputs keep of their data, as bytes: rows of inputs, never of joins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.operators.shared.codec import (
    Arrays,
    Part,
    arrays_table,
    from_bytes,
    numbers_of,
    to_bytes,
)
from penstock.operators.shared.inputs import Input, StreamInput, TableInput
from penstock.operators.shared.intake import Arrived, nothing
from penstock.operators.shared.readers import Signs
from penstock.vocabulary.batches import Ints

__all__ = ["Part", "Parts", "from_bytes", "numbers_of", "to_bytes"]

TIME, KEPT, SIGN, NUMBER = "time", "kept", "sign", "number"

Parts = dict[int, Part]
"""What came, by the number of the input."""


def arrived_part(rows: Arrived) -> Part:
    """Give rows of a stream that came: the contents of those kept, and when all came."""
    return rows.table, pa.table({TIME: rows.times, KEPT: rows.kept})


def arrived_of(part: Part) -> Arrived:
    """Give back the rows of `arrived_part`."""
    table, when = part
    kept = when.column(KEPT).to_numpy()
    return Arrived(times=numbers_of(when, TIME), kept=np.asarray(kept, dtype=np.bool_), table=table)


def changes_part(table: pa.Table, signs: Signs) -> Part:
    """Give the changes of a table that took effect."""
    return table, pa.table({SIGN: np.ascontiguousarray(signs)})


def changes_of(part: Part) -> tuple[pa.Table, Signs]:
    """Give back the changes of `changes_part`."""
    return part[0], numbers_of(part[1], SIGN)


def quiet_part(each: Input) -> Part:
    """Give what an input tells that met nothing."""
    if isinstance(each, StreamInput):
        return arrived_part(nothing(each.schema))
    return changes_part(each.schema.empty_table(), np.empty(0, dtype=np.int8))


def stream_parts(each: StreamInput, ids: Ints, sequences: Ints) -> list[Part]:
    """Give the rows of a stream's window with their places in it, and those that wait."""
    active = each.contents.take(ids), pa.table({NUMBER: sequences})
    return [active, arrived_part(each.intake.waiting)]


def rows_part(each: TableInput) -> Part:
    """Give the rows of a table in the order of their arrival."""
    slots = each.side.in_order()
    return each.side.contents.take(slots), pa.table({NUMBER: each.side.numbers[slots]})


def facts_of(inputs: Sequence[Input]) -> list[dict[str, Any]]:
    """Describe what inputs keep beside their rows."""
    return [
        each.intake.facts() if isinstance(each, StreamInput) else {"next": each.next}
        for each in inputs
    ]


def held_part(table: pa.Table, numbers: Ints) -> Part:
    """Give the rows of a stream that are held, and their numbers."""
    return table, pa.table({NUMBER: np.ascontiguousarray(numbers)})


def held_of(part: Part) -> tuple[pa.Table, Ints]:
    """Give back the rows of `held_part`."""
    return part[0], numbers_of(part[1], NUMBER)


def arrays_part(arrays: Arrays) -> Part:
    """Give arrays by name; equal arrays give equal bytes."""
    return arrays_table(arrays), pa.table({NUMBER: np.empty(0, dtype=np.int64)})
