"""Contents: the rows of a window in full, by the number that each was given."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.operators.shared.slots import CHUNK_ROWS_MAX, rows_at
from penstock.vocabulary.batches import Ints


class Stretch:
    """Rows of ascending numbers that come at one end and go at the other.

    Neighbouring chunks of like size become one, so that there are few. Rows that went stay until
    they are more than half.

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
        while len(self._chunks) > 1:
            older, newer = self._chunks[-2:]
            rows = older.num_rows + newer.num_rows
            if older.num_rows > 2 * newer.num_rows or rows > CHUNK_ROWS_MAX:
                break
            self._chunks[-2:] = [pa.concat_tables([older, newer]).combine_chunks()]
        self._starts = self._begin(first)

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
            self._starts = self._begin(head)

    def take(self, ids: Ints, names: tuple[str, ...] | None = None) -> pa.Table:
        """Give rows by number, as often and in the order in which they are named."""
        chunks = self._chunks if names is None else [c.select(list(names)) for c in self._chunks]
        if not chunks or len(ids) == 0:
            schema = self.schema if names is None else pa.schema(map(self.schema.field, names))
            return schema.empty_table()
        return rows_at(chunks, self._starts, ids)

    def _begin(self, first: int) -> Ints:
        return np.cumsum([first, *(chunk.num_rows for chunk in self._chunks)], dtype=np.int64)
