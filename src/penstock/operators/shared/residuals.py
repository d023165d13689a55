"""Residuals: what no index understands, asked of DuckDB for candidate pairs only.

A residual is a predicate over `c0`, `c1`, … (columns of events) and `r0`, `r1`, … (parameters).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.expressions.conditions import Predicate
from penstock.operators.shared.chunks import Contents
from penstock.operators.shared.keys import whole
from penstock.vocabulary.batches import Flags, Ints, Rows
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import FAILED_CONDITIONS
from penstock.vocabulary.types import ColumnKind, kind_of

CANDIDATES_MAX = 1 << 18
"""How many candidate pairs are evaluated at a time: it bounds the memory of a slow path."""
Take = Callable[[str, Any], pa.ChunkedArray]
"""Gives the values of a column at some items."""


def nan_to_null(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Give the column as one array with NULL for NaN."""
    array = whole(column)
    if kind_of(array.type) is not ColumnKind.FLOAT:
        return array
    return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)


def without_nan(table: pa.Table) -> pa.Table:
    """Give the table with NULL for NaN; columns without NaN are handed on as they are.

    >>> without_nan(pa.table({"x": [1.0, float("nan")], "n": [1, 2]}))["x"].to_pylist()
    [1.0, None]
    """
    for number, field in enumerate(table.schema):
        if kind_of(field.type) is ColumnKind.FLOAT:
            column = table.column(number)
            odd = pc.is_nan(column)
            if pc.any(odd).as_py():
                empty = pa.scalar(None, field.type)
                table = table.set_column(
                    number, field.with_nullable(True), pc.if_else(odd, empty, column)
                )
    return table


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


def residual_holds(
    test: Predicate, columns: Sequence[tuple[Take, str, Any]],
    parameters: Contents, names: tuple[str, ...], queries: Rows, counts: Tally | None,
    weights: Ints | None = None,
) -> Flags:  # fmt: skip
    """Ask a residual of a bounded number of candidates at a time; count those that failed.

    A column is (how to take it, its name, at which items); the queries' parameters stand by slot.
    `weights` say how many candidates each stands for, if not for one.
    """
    answers = [np.empty(0, dtype=np.bool_)]
    for start in range(0, len(queries), CANDIDATES_MAX):
        part = slice(start, start + CANDIDATES_MAX)
        table = {
            f"c{i}": nan_to_null(take(name, items[part]))
            for i, (take, name, items) in enumerate(columns)
        }
        if names:
            own = parameters.take(queries[part], names)
            table |= {f"r{i}": own.column(i) for i in range(len(names))}
        if not table:
            table["nothing"] = pa.nulls(len(queries[part]), pa.int8())
        held = test.ask(pa.table(table))
        answers.append(held.holds)
        if held.failed is not None and counts is not None:
            failed = held.failed if weights is None else weights[part][held.failed]
            counts[FAILED_CONDITIONS] += int(failed.sum())
    return np.concatenate(answers)
