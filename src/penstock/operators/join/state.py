"""State: what a join keeps of its data, as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.operators.shared.codec import Facts, Part
from penstock.operators.shared.readers import SideArrivals
from penstock.operators.shared.sides import Side
from penstock.vocabulary.batches import Ints

SIGN, PRINT, NUMBER = "_sign", "_print", "_number"


def changes_table(side: Side, arrivals: SideArrivals | None) -> pa.Table:
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


def renewed(parts: list[Part], facts: Facts) -> tuple[list[Part], Facts]:
    """Read a snapshot of version 1: it noted of births the first row that a query sees."""
    births = facts["births"]
    born = {**births, "births": [[first - 1] for first in births["births"]]}
    return parts, {**facts, "births": born}
