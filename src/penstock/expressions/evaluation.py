"""Evaluating: an expression over the rows of a table. A row that fails has NULL, and is told.

All rows are asked together first, plainly: nothing is slower because something might fail. Only
if that fails is the expression asked under `TRY`, which gives NULL for a row that fails; and what
`TRY` does not catch (an unknown time zone, a `list_reduce` of nothing) is halved until the rows
that fail stand alone. A failure that is of no row, such as memory that does not suffice, is an
error: it never becomes an answer.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.expressions.allowances import EvaluationError, Pace, allowed
from penstock.expressions.connections import ROWS_MEMORY, UNSOUND, connect
from penstock.vocabulary.batches import Flags

ROW_FAILURES = (
    duckdb.ConversionException,
    duckdb.OutOfRangeException,
    duckdb.InvalidInputException,
    duckdb.NotImplementedException,
    duckdb.TypeMismatchException,
)
"""What the values of a row can be blamed for, by the names that DuckDB gives failures."""

BESIDE_TRY = f"{UNSOUND},in_clause,common_subexpressions"
"""Optimizers that take parts of an expression out of `TRY`, where nothing catches failures; and the
one that is never used."""

_connections: dict[tuple[int, int, bool], duckdb.DuckDBPyConnection] = {}
_abandoned: list[duckdb.DuckDBPyConnection] = []


@atexit.register
def _let_go() -> None:
    """Let connections go before DuckDB is taken apart: it tells of every one that is left."""
    _connections.clear()


def is_of_a_row(error: duckdb.Error) -> bool:
    """Say whether a failure is one of a row's values; others are of the machine, or are ours."""
    # Some failures of functions have no name of their own, and are plain errors.
    return isinstance(error, ROW_FAILURES) or type(error) is duckdb.Error


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The values of an expression, a row each, and which rows failed (None: none did)."""

    values: pa.ChunkedArray
    failed: Flags | None = None

    @property
    def failures(self) -> int:
        """How many rows failed."""
        return 0 if self.failed is None else int(np.count_nonzero(self.failed))


def evaluate(expressions: Sequence[str], table: pa.Table) -> list[Evaluated]:
    """Give the values of expressions over the columns of a table.

    >>> rows = pa.table({"s": ["1", "x", None]})
    >>> number, text = evaluate(["CAST(s AS INTEGER)", "upper(s)"], rows)
    >>> number.values.to_pylist(), number.failed.tolist()
    ([1, None, None], [False, True, False])
    >>> text.values.to_pylist(), text.failed
    (['1', 'X', None], None)

    Raises
    ------
    EvaluationError
        RUN-005 if DuckDB fails for a reason that is not in the rows, RUN-013 if it takes too long.
    """
    together = _plain(expressions, table)
    if together is not None:
        return [Evaluated(column) for column in together]
    return [_each(expression, table) for expression in expressions]


def _each(expression: str, table: pa.Table) -> Evaluated:
    plain = _plain([expression], table)
    if plain is not None:
        return Evaluated(plain[0])
    # A value that is NULL is none that failed: only TRY around IS NULL tells the two apart.
    tried = [f"TRY({expression})", f"TRY(({expression}) IS NULL) IS NULL"]
    found = _plain(tried, table, trying=True)
    if found is None:
        return _halved(expression, table)
    return Evaluated(found[0], _flags(found[1]))


def _halved(expression: str, table: pa.Table) -> Evaluated:
    """Find the rows that fail by halves; where no row is needed to fail, all do."""
    nothing = _plain([expression], table.slice(0, 0))
    if nothing is None:
        return _nothing(pa.null(), table.num_rows)
    type_ = nothing[0].type
    parts: list[Evaluated] = []
    # The rest of the rows, in order: the last entry is the next.
    open_ = [table]
    while open_:
        part = open_.pop()
        found = _plain([expression], part)
        if found is not None:
            parts.append(Evaluated(found[0], np.zeros(part.num_rows, dtype=np.bool_)))
        elif part.num_rows == 1:
            parts.append(_nothing(type_, 1))
        else:
            middle = part.num_rows // 2
            open_ += [part.slice(middle), part.slice(0, middle)]
    chunks = [chunk for part in parts for chunk in part.values.chunks]
    failed = np.concatenate([part.failed for part in parts if part.failed is not None])
    return Evaluated(pa.chunked_array(chunks, type_), failed)


def _nothing(type_: pa.DataType, rows: int) -> Evaluated:
    return Evaluated(pa.chunked_array([pa.nulls(rows, type_)]), np.ones(rows, dtype=np.bool_))


def _plain(
    expressions: Sequence[str], table: pa.Table, trying: bool = False
) -> list[pa.ChunkedArray] | None:
    """Ask all rows together; None if some row fails."""
    selected = ", ".join(f"({sql}) AS v{i}" for i, sql in enumerate(expressions))
    asked, pace = connection(trying), Pace()
    rows = pace.pieces(table)
    try:
        found: pa.Table = allowed(
            asked, rows, lambda: asked.from_arrow(rows).project(selected).to_arrow_table(), pace
        )
    except duckdb.Error as error:
        if is_of_a_row(error):
            return None
        forget(trying)
        raise failure(error) from error
    return list(found.columns)


def failure(error: duckdb.Error) -> EvaluationError:
    """Say that an evaluation failed for a reason that is not in the rows."""
    reason = str(error).strip().split("\n")[0].rstrip(".")
    return EvaluationError(
        "RUN-005",
        f"DuckDB could not evaluate an expression: {reason}.",
        "Give the process more memory, or smaller batches; drop the query if it asks too much.",
    )


def connection(trying: bool = False) -> duckdb.DuckDBPyConnection:
    """Give this thread's connection: made when first needed, never taken across a fork."""
    key = (os.getpid(), threading.get_ident(), trying)
    if key not in _connections:
        # The parent's connections are the parent's: let them be, without closing them.
        parents = [other for other in _connections if other[0] != key[0]]
        _abandoned.extend(_connections.pop(other) for other in parents)
        made = connect(threads=1, memory=ROWS_MEMORY)
        if trying:
            made.execute(f"SET disabled_optimizers = '{BESIDE_TRY}'")
        _connections[key] = made
    return _connections[key]


def forget(trying: bool = False) -> None:
    """Let this thread's connection go: after some failures it answers nothing any more."""
    found = _connections.pop((os.getpid(), threading.get_ident(), trying), None)
    if found is not None:
        found.close()


def _flags(column: pa.ChunkedArray) -> Flags:
    whole = pc.fill_null(column, False)
    return np.asarray(whole.to_numpy(), dtype=np.bool_)
