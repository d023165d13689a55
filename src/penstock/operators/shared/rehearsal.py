"""Rehearsals: a small group that does everything once, so that every kernel is compiled.

A process that rehearses at its start does not compile while events wait; the compiled code is kept
on disk for the processes after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa

from penstock.operators.protocol import Operator
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.vocabulary.batches import QueryChanges

Turn = tuple[QueryChanges, Mapping[str, pa.Table]]
"""What a version changes, and the batch that it comes with."""
NO_CHANGES = QueryChanges()


def rehearse(build: Callable[[bytes | None], Operator], turns: Iterable[Turn]) -> None:
    """Let queries and rows come and go, and let copies follow, by a delta and by a snapshot.

    Parameters
    ----------
    build
        Makes the operator from nothing, or from a snapshot.
    turns
        The life of the group, in the types of production: kernels are compiled for those.
    """
    operator = build(None)
    for changes, batch in turns:
        operator.apply(changes)
        operator.process(batch)
    operator.sizes()
    delta, snapshot = operator.delta(), operator.snapshot()
    if delta is not None:
        build(None).catch_up(delta)
    if snapshot is not None:
        build(snapshot).sizes()


def open_entries(schema: pa.Schema, first: int, rows: int = 1) -> pa.Table:
    """Give entries of queries that ask for everything: `…_l0` and `…_h0` are the ends of ranges.

    >>> schema = pa.schema([("query", pa.int64()), ("i0_l0", pa.int64()), ("i0_h0", pa.int64())])
    >>> open_entries(schema, 7).column("query").to_pylist()
    [7]
    """
    ends = {"l": LOWEST, "h": HIGHEST}
    return pa.table(
        {
            field.name: pa.array(
                first + np.arange(rows)
                if field.name == "query"
                else np.full(rows, ends[field.name[-2]]),
                field.type,
            )
            for field in schema
        }
    )
