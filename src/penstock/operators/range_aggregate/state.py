"""The state of range aggregates: a table per book, partitions by their values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.operators.range_aggregate.books import MeasureBook, PlaceTable
from penstock.operators.range_aggregate.partitions import Partitions
from penstock.operators.shared.codec import Part, from_bytes, numbers_of, to_bytes

NOTHING = pa.table({})


def state_of(tables: Sequence[tuple[int, PlaceTable]], partitions: Partitions) -> bytes:
    """Write tables of books, by the numbers of these; equal content gives equal bytes."""
    parts: list[Part] = [(_sorted(table, partitions), NOTHING) for _, table in tables]
    return to_bytes(parts, {"books": [number for number, _ in tables]})


def merge_state(data: bytes, books: Sequence[MeasureBook], partitions: Partitions) -> None:
    """Let books take what was written."""
    parts, facts = from_bytes(data)
    for number, (table, _) in zip(facts["books"], parts, strict=True):
        keys = [name for name in table.column_names if name[0] == "e"]
        codes = np.zeros(table.num_rows, dtype=np.int64)
        if keys:
            codes = partitions.code([table.column(name).combine_chunks() for name in keys])
        rest = [name for name in table.column_names if name not in {*keys, "x"}]
        columns = {name: numbers_of(table, name) for name in rest}
        order = np.lexsort((*_further(columns), xs(table), codes))
        books[number].merge(
            PlaceTable(
                codes[order], xs(table)[order], {name: own[order] for name, own in columns.items()}
            )
        )


def _further(columns: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Give the columns that order rows behind x, the last first: y, and z before it."""
    return [columns[name] for name in ("y", "z") if name in columns]


def xs(table: pa.Table) -> np.ndarray:
    """Give the column of x."""
    found: np.ndarray = numbers_of(table, "x")
    return found


def _sorted(table: PlaceTable, partitions: Partitions) -> pa.Table:
    """Give a table in the order of the partitions' values, x, z and y."""
    ranks = partitions.ranks(table.partitions)
    order = np.lexsort((*_further(table.columns), table.xs, ranks))
    values = partitions.values(table.partitions[order]) if partitions.types else []
    return pa.table(
        {
            **{f"e{number}": own for number, own in enumerate(values)},
            "x": pa.array(table.xs[order]),
            **{name: pa.array(own[order]) for name, own in table.columns.items()},
        }
    )
