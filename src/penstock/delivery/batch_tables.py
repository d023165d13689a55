"""Tables of a batch's changes, as readers and sinks are given them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.delivery.sheets import HEAD, HEAD_COLUMNS, Piece
from penstock.expressions.quotation import all_numbered

TAIL = ("_batch", "_version")
"""Columns behind a text's own in what is read as a table."""


def shown_names(outputs: Sequence[str]) -> list[str]:
    """Name the columns of a table; an output that is called as one of ours gets a number."""
    return [*HEAD, *all_numbered(outputs, (*HEAD, *TAIL))]


def with_tail(rows: pa.Table, batch: int, version: int) -> pa.Table:
    """Name a piece's columns for users, and add its batch and version."""
    named = rows.rename_columns(shown_names(rows.column_names[HEAD_COLUMNS:]))
    for name, value in zip(TAIL, (batch, version), strict=True):
        named = named.append_column(name, pa.array(np.full(rows.num_rows, value)))
    return named


def batch_table(pieces: Sequence[Piece], batch: int, version: int) -> pa.Table:
    """Give a batch's changes for one reader as one table, as `read` shows them."""
    tables = [with_tail(piece.table(), batch, version) for piece in pieces]
    return pa.concat_tables(tables, promote_options="permissive")
