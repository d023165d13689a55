"""Results: the rows that joins make, and whose they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.algebra.inputs import InputsShape
from penstock.operators.shared.combinations import Combinations, NumberedRows
from penstock.operators.shared.inputs import Input
from penstock.vocabulary.batches import Ints, Results, Rows

SIGN = "_sign"
"""The column of made rows that says whether a row comes or goes."""


def made_schema(step: InputsShape) -> pa.Schema:
    """Give the columns of made rows: those of the inputs in order, and the sign."""
    return pa.schema([*step.made, (SIGN, pa.int8())])


def made(
    step: InputsShape, inputs: Sequence[Input], found: Combinations, rows: NumberedRows,
    queries: Ints,
) -> list[Results]:  # fmt: skip
    """Make one row for every combination that a query wants; `rows` names them, once per query.

    Columns of inputs that no combination has, whose rows are all below 0, are NULL.
    """
    if len(rows) == 0:
        return []
    wanted = np.zeros(len(found), dtype=np.bool_)
    wanted[rows] = True
    events: Rows = (np.cumsum(wanted) - 1).astype(np.int32)[rows]
    chosen = found if wanted.all() else found[wanted]
    assert len(chosen) <= np.iinfo(np.int32).max, "a batch's rows are counted in 32 bits"
    columns: list[pa.Array | pa.ChunkedArray] = []
    for each in inputs:
        ids = np.ascontiguousarray(chosen[:, each.number])
        if ids[0] >= 0:
            columns += each.take(ids).columns
        else:
            columns += [pa.nulls(len(ids), field.type) for field in each.schema]
    signs = pa.array(np.ones(len(chosen), dtype=np.int8))
    table = pa.table([*columns, signs], schema=made_schema(step))
    relation = step.inputs[0].relation
    return [Results(relation=relation, query=queries, event=events, rows=table)]
