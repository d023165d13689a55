"""Residuals: what no index understands, asked of DuckDB for candidate pairs only.

An error in one row (a cast that fails, a division of types) is no match for that row and nothing
more: `TRY` turns it into NULL. Where DuckDB does not allow `TRY` (around volatile functions), a
chunk that fails is halved until the failing rows stand alone.
"""

from __future__ import annotations

import os
import threading

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.operators.filter.keys import whole
from penstock.vocabulary.batches import Flags
from penstock.vocabulary.types import Kind, kind_of

CANDIDATES_MAX = 1 << 18
"""How many candidate pairs are evaluated at a time: it bounds the memory of a slow path."""

_connections: dict[tuple[int, int], duckdb.DuckDBPyConnection] = {}


def nan_to_null(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Give the column as one array with NULL for NaN."""
    array = whole(column)
    if kind_of(array.type) is not Kind.FLOAT:
        return array
    return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)


class ResidualTest:
    """A boolean DuckDB expression over `c0…` (event columns) and `r0…` (parameters).

    >>> test = ResidualTest("c0 LIKE r0")
    >>> pairs = pa.table({"c0": ["ab", "b", None], "r0": ["a%", "a%", "a%"]})
    >>> test.holds(pairs).tolist()
    [True, False, False]
    """

    def __init__(self, sql: str) -> None:
        self._plain = f"coalesce(({sql}), false) AS holds"
        self._tried = f"coalesce(TRY(({sql})), false) AS holds"
        self._may_try = True

    def holds(self, pairs: pa.Table) -> Flags:
        """Say for every row whether the expression is true (not false, not NULL, no error)."""
        if self._may_try:
            try:
                return self._evaluate(pairs, self._tried)
            except duckdb.Error:
                # TRY cannot stand around this expression, or cannot catch its error.
                self._may_try = False
        return self._halving(pairs)

    def _halving(self, pairs: pa.Table) -> Flags:
        try:
            return self._evaluate(pairs, self._plain)
        except duckdb.Error:
            if pairs.num_rows <= 1:
                return np.zeros(pairs.num_rows, dtype=np.bool_)
        middle = pairs.num_rows // 2
        return np.concatenate(
            [self._halving(pairs.slice(0, middle)), self._halving(pairs.slice(middle))]
        )

    def _evaluate(self, pairs: pa.Table, expression: str) -> Flags:
        relation = _connection().from_arrow(pairs)
        answer = relation.project(expression).fetchnumpy()["holds"]
        return np.asarray(np.ma.filled(answer, False), dtype=np.bool_)


def _connection() -> duckdb.DuckDBPyConnection:
    """Give this thread's connection: made when first needed, never taken across a fork."""
    key = (os.getpid(), threading.get_ident())
    if key not in _connections:
        for pid, thread in list(_connections):
            if pid != key[0]:
                # The parent's connection is the parent's: let it be, without closing it.
                _abandoned.append(_connections.pop((pid, thread)))
        connection = duckdb.connect(":memory:")
        connection.execute("SET threads = 1")
        connection.execute("SET preserve_insertion_order = true")
        connection.execute("SET TimeZone = 'UTC'")
        _connections[key] = connection
    return _connections[key]


_abandoned: list[duckdb.DuckDBPyConnection] = []


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
