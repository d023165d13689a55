"""Chunk stores: Arrow rows that come and go, in a few chunks of falling size.

Neighbouring chunks of like size become one, so that a row is copied a few times only and there are
few chunks to look into.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.operators.shared.slots import grown
from penstock.vocabulary.batches import Flags, Ints, Rows

CHUNK_ROWS_MAX = 1 << 20
"""Chunks of more rows are not merged any more: their texts must stay below 2 GiB."""


def merge(chunks: list[pa.Table]) -> None:
    """Make one of the last chunks, as long as they are of like size."""
    while len(chunks) > 1:
        older, newer = chunks[-2:]
        rows = older.num_rows + newer.num_rows
        if older.num_rows > 2 * newer.num_rows or rows > CHUNK_ROWS_MAX:
            break
        chunks[-2:] = [pa.concat_tables([older, newer]).combine_chunks()]


def starts_of(chunks: list[pa.Table], first: int = 0) -> Ints:
    """Give the places of the chunks' first rows, and the one behind the last."""
    return np.cumsum([first, *(chunk.num_rows for chunk in chunks)], dtype=np.int64)


def rows_at(
    schema: pa.Schema, chunks: list[pa.Table], starts: Ints, places: Ints,
    names: tuple[str, ...] | None = None,
) -> pa.Table:  # fmt: skip
    """Give rows by their places, as often and in the order in which they are named."""
    if not chunks or len(places) == 0:
        return (schema if names is None else pa.schema(map(schema.field, names))).empty_table()
    own = chunks if names is None else [chunk.select(list(names)) for chunk in chunks]
    if len(own) == 1:
        return own[0].take(pa.array(places - starts[0] if starts[0] else places))
    chunk = np.searchsorted(starts, places, side="right") - 1
    order = np.argsort(chunk, kind="stable")
    counts = np.bincount(chunk, minlength=len(own))
    ends = np.cumsum(counts)
    parts = [
        own[i].take(pa.array(places[order[ends[i] - counts[i] : ends[i]]] - starts[i]))
        for i in np.flatnonzero(counts)
    ]
    together = pa.concat_tables(parts).combine_chunks()
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    return together if _is_sorted(chunk) else together.take(pa.array(back))


def _is_sorted(values: npt.NDArray[Any]) -> bool:
    flags: Flags = values[1:] >= values[:-1]
    return bool(flags.all())


class Contents:
    """Arrow rows by slot: a few chunks of falling size; a slot knows its row's place.

    Rows that went stay until they are more than half.

    >>> contents = Contents(pa.schema([("x", pa.int64())]))
    >>> contents.add(np.array([5, 2], dtype=np.int32), pa.table({"x": [50, 20]}))
    >>> contents.take(np.array([2, 5, 2], dtype=np.int32))["x"].to_pylist()
    [20, 50, 20]
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._chunks: list[pa.Table] = []
        self._starts: Ints = np.zeros(1, dtype=np.int64)
        self._place: Ints = np.empty(0, dtype=np.int64)
        self._slot: Rows = np.empty(0, dtype=np.int32)
        self._dead = 0

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return len(self._chunks)

    def add(self, slots: Rows, table: pa.Table) -> None:
        """Take the rows of slots that have none."""
        if len(slots) == 0:
            return
        begin = int(self._starts[-1])
        end = begin + len(slots)
        self._place = grown(self._place, int(slots.max()) + 1)
        self._slot = grown(self._slot, end)
        self._place[slots] = np.arange(begin, end)
        self._slot[begin:end] = slots
        self._chunks.append(table.combine_chunks())
        merge(self._chunks)
        self._starts = starts_of(self._chunks)

    def remove(self, slots: Rows) -> None:
        """Forget the rows of slots."""
        self._slot[self._place[slots]] = -1
        self._dead += len(slots)
        total = int(self._starts[-1])
        if 2 * self._dead > total:
            live = np.flatnonzero(self._slot[:total] >= 0)
            kept = self._slot[live]
            table = rows_at(self.schema, self._chunks, self._starts, live)
            self._chunks, self._starts, self._dead = [], np.zeros(1, dtype=np.int64), 0
            self._slot = self._slot[:0]
            for start in range(0, len(kept), CHUNK_ROWS_MAX):
                part = slice(start, start + CHUNK_ROWS_MAX)
                self.add(kept[part], table.slice(start, CHUNK_ROWS_MAX))

    def take(self, slots: Rows, names: tuple[str, ...] | None = None) -> pa.Table:
        """Give the rows of slots, as often and in the order in which they are named."""
        return rows_at(self.schema, self._chunks, self._starts, self._place[slots], names)


class Stretch:
    """Rows of ascending numbers that come at one end and go at the other.

    Rows that went stay until they are more than half.

    >>> rows = Stretch(pa.schema([("x", pa.int64())]), 10)
    >>> rows.add(pa.table({"x": [0, 1, 2]})), rows.forget(11)
    (None, None)
    >>> rows.take(np.array([12, 11, 12]))["x"].to_pylist()
    [2, 1, 2]
    """

    def __init__(self, schema: pa.Schema, first: int = 0) -> None:
        self.schema = schema
        self._chunks: list[pa.Table] = []
        self._starts: Ints = np.array([first], dtype=np.int64)

    @property
    def next(self) -> int:
        """The number of the next row."""
        return int(self._starts[-1])

    def add(self, table: pa.Table) -> None:
        """Take rows; they get the next numbers."""
        if table.num_rows == 0:
            return
        first = int(self._starts[0])
        self._chunks.append(table.combine_chunks())
        merge(self._chunks)
        self._starts = starts_of(self._chunks, first)

    def forget(self, head: int) -> None:
        """Forget the rows below a number."""
        while len(self._chunks) and self._starts[1] <= head:
            del self._chunks[0]
            self._starts = self._starts[1:]
        first, end = int(self._starts[0]), self.next
        if self._chunks and 2 * (head - first) > end - first:
            kept = self._chunks[0].slice(head - first)
            # A slice keeps the whole of what it was cut from.
            self._chunks[0] = kept.take(pa.array(np.arange(kept.num_rows)))
            self._starts = starts_of(self._chunks, head)

    def take(self, ids: Ints, names: tuple[str, ...] | None = None) -> pa.Table:
        """Give rows by number, as often and in the order in which they are named."""
        return rows_at(self.schema, self._chunks, self._starts, ids, names)
