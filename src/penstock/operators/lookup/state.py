"""State: what a lookup join keeps of its data, as bytes.

A delta says what was fed to the cache, what was fetched, and which rows wait: another copy repeats
it without asking the source.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.operators.lookup.held import Fetched
from penstock.operators.lookup.references import Answered
from penstock.operators.shared.codec import (
    DTYPE,
    Facts,
    Part,
    arrays_of,
    arrays_table,
    from_bytes,
    numbers_of,
    to_bytes,
)
from penstock.vocabulary.batches import Flags, Ints

__all__ = ["Round", "arrays_of", "arrays_table", "from_bytes", "renewed", "to_bytes"]


@dataclass(slots=True, kw_only=True)
class Round:
    """What one batch did."""

    waiting: pa.Table
    """Rows that came and wait."""
    schema: pa.Schema
    """The columns of looked-up rows."""
    facts: dict[str, Any] = field(default_factory=dict)
    """`head`: the number of the first row that waits, `next`: of the next row, and whatever stands
    at the end of the batch."""
    chunks: list[tuple[Ints, Flags, Fetched]] = field(default_factory=list)
    """The references that were answered, and what was fetched for them, some at a time."""

    def take(self, chunk: Answered) -> None:
        """Note down a chunk."""
        self.chunks.append((chunk.keys, chunk.owned, chunk.fetched))

    def parts(self) -> list[Part]:
        """Give the tables of the round."""
        fed = pa.table(
            {
                "key": _joined([keys for keys, _, _ in self.chunks], np.int64),
                "owned": _joined([owned for _, owned, _ in self.chunks], np.bool_),
            }
        )
        known = pa.table(
            {
                "key": _joined([each.keys for _, _, each in self.chunks], np.int64),
                "state": _joined([each.states for _, _, each in self.chunks], np.int8),
            }
        )
        rows = [self.schema.empty_table(), *(each.table for _, _, each in self.chunks)]
        return [(self.waiting, fed), (pa.concat_tables(rows), known)]

    def told(self) -> dict[str, Any]:
        """Give the facts of the round."""
        return {**self.facts, "chunks": [[len(keys), len(own)] for keys, _, own in self.chunks]}

    @classmethod
    def of(cls, parts: list[Part], facts: dict[str, Any]) -> Round:
        """Give back a round from its tables and facts."""
        (waiting, fed), (table, known) = parts
        keys, owned = numbers_of(fed, "key"), numbers_of(fed, "owned")
        fetched, states = numbers_of(known, "key"), numbers_of(known, "state")
        chunks, at, row = [], 0, 0
        for size, rows in facts["chunks"]:
            part = slice(row, row + rows)
            own = Fetched(
                keys=fetched[part],
                states=states[part].astype(np.int8),
                table=table.slice(row, rows),
            )
            chunks.append((keys[at : at + size], owned[at : at + size], own))
            at, row = at + size, row + rows
        return cls(waiting=waiting, schema=table.schema, facts=facts, chunks=chunks)


def _joined(arrays: list[npt.NDArray[Any]], type_: type) -> npt.NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=type_), *arrays])


def renewed(parts: list[Part], facts: Facts) -> tuple[list[Part], Facts]:
    """Read a snapshot of version 1: it called the type of an array otherwise."""
    rows, (waiting, arrays) = parts
    return [rows, (waiting, arrays.rename_columns({"type": DTYPE}))], facts
