"""Slots: small numbers for things that come and go, and tables of Arrow columns by slot."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.vocabulary.batches import Flags, Ints, Rows

ROOM_MIN = 64
CHUNK_ROWS_MAX = 1 << 20
"""Chunks of more rows are not merged any more: their texts must stay below 2 GiB."""


def grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Give the array, or a longer one with the same beginning and zeros behind it."""
    if len(array) >= size:
        return array
    longer = np.zeros(max(size, 2 * len(array), ROOM_MIN), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


class Slots:
    """Gives out slots, those that came back first.

    >>> slots = Slots()
    >>> slots.take(3).tolist(), slots.give_back(np.array([1], dtype=np.int32))
    ([0, 1, 2], None)
    >>> slots.take(2).tolist(), slots.size, slots.room
    ([1, 3], 4, 4)
    """

    def __init__(self) -> None:
        self.room = 0
        self.size = 0
        self._free: Rows = np.empty(ROOM_MIN, dtype=np.int32)
        self._freed = 0

    def take(self, count: int) -> Rows:
        """Give slots that are not in use."""
        again = min(count, self._freed)
        taken = np.empty(count, dtype=np.int32)
        self._freed -= again
        taken[:again] = self._free[self._freed : self._freed + again]
        taken[again:] = np.arange(self.room, self.room + count - again)
        self.room += count - again
        self.size += count
        return taken

    def give_back(self, slots: Rows) -> None:
        """Take slots back."""
        self._free = grown(self._free, self._freed + len(slots))
        self._free[self._freed : self._freed + len(slots)] = slots
        self._freed += len(slots)
        self.size -= len(slots)


class Contents:
    """Arrow rows by slot: a few chunks of falling size; a slot knows its row's place.

    Neighbouring chunks of like size become one, so that there are few. Rows that went stay until
    they are more than half.

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
        while len(self._chunks) > 1:
            older, newer = self._chunks[-2:]
            rows = older.num_rows + newer.num_rows
            if older.num_rows > 2 * newer.num_rows or rows > CHUNK_ROWS_MAX:
                break
            self._chunks[-2:] = [pa.concat_tables([older, newer]).combine_chunks()]
        self._starts = _starts(self._chunks)

    def remove(self, slots: Rows) -> None:
        """Forget the rows of slots."""
        self._slot[self._place[slots]] = -1
        self._dead += len(slots)
        total = int(self._starts[-1])
        if 2 * self._dead > total:
            live = np.flatnonzero(self._slot[:total] >= 0)
            kept, table = self._slot[live], self._at(live)
            self._chunks, self._starts, self._dead = [], np.zeros(1, dtype=np.int64), 0
            self._slot = self._slot[:0]
            for start in range(0, len(kept), CHUNK_ROWS_MAX):
                part = slice(start, start + CHUNK_ROWS_MAX)
                self.add(kept[part], table.slice(start, CHUNK_ROWS_MAX))

    def take(self, slots: Rows, names: tuple[str, ...] | None = None) -> pa.Table:
        """Give the rows of slots, as often and in the order in which they are named."""
        return self._at(self._place[slots], names)

    def _at(self, places: Ints, names: tuple[str, ...] | None = None) -> pa.Table:
        chunks = self._chunks if names is None else [c.select(list(names)) for c in self._chunks]
        if not chunks or len(places) == 0:
            schema = self.schema if names is None else pa.schema(map(self.schema.field, names))
            return schema.empty_table()
        return rows_at(chunks, self._starts, places)


def rows_at(chunks: list[pa.Table], starts: Ints, places: Ints) -> pa.Table:
    """Give rows of chunks by their places; `starts` are the places of the chunks' first rows."""
    if len(chunks) == 1:
        return chunks[0].take(pa.array(places - starts[0] if starts[0] else places))
    chunk = np.searchsorted(starts, places, side="right") - 1
    order = np.argsort(chunk, kind="stable")
    counts = np.bincount(chunk, minlength=len(chunks))
    ends = np.cumsum(counts)
    parts = [
        chunks[i].take(pa.array(places[order[ends[i] - counts[i] : ends[i]]] - starts[i]))
        for i in np.flatnonzero(counts)
    ]
    together = pa.concat_tables(parts).combine_chunks()
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    return together if _is_sorted(chunk) else together.take(pa.array(back))


def _starts(chunks: list[pa.Table]) -> Ints:
    return np.cumsum([0, *(chunk.num_rows for chunk in chunks)], dtype=np.int64)


def _is_sorted(values: npt.NDArray[Any]) -> bool:
    flags: Flags = values[1:] >= values[:-1]
    return bool(flags.all())
