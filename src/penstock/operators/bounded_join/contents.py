"""Contents: the rows that are held, in full, by number. Of those that come, few stay."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.operators.shared.chunks import merge, rows_at, starts_of
from penstock.vocabulary.batches import Flags, Ints

DEAD_MAX = 1 << 10
"""So many rows that left are never too many."""


class HeldRows:
    """Rows of ascending numbers, in a few chunks.

    Rows that left stay until they are more than those held, which then become one chunk.

    >>> rows = HeldRows(pa.schema([("x", pa.int64())]))
    >>> rows.add(np.array([3, 7, 8]), pa.table({"x": [30, 70, 80]}))
    >>> rows.keep(np.array([3, 8]))
    >>> rows.take(np.array([8, 3, 8]))["x"].to_pylist(), len(rows)
    ([80, 30, 80], 2)
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._chunks: list[pa.Table] = []
        self._numbers: Ints = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, numbers: Ints, table: pa.Table) -> None:
        """Take rows; their numbers are above all earlier ones."""
        if len(numbers):
            self._chunks.append(table)
            self._numbers = np.concatenate([self._numbers, numbers])

    def know(self, numbers: Ints) -> Flags:
        """Say which numbers are of rows that are here.

        >>> rows = HeldRows(pa.schema([("x", pa.int64())]))
        >>> rows.add(np.array([3, 7]), pa.table({"x": [30, 70]}))
        >>> rows.know(np.array([7, 9, 2])).tolist()
        [True, False, False]
        """
        if not len(self):
            return np.zeros(len(numbers), dtype=np.bool_)
        at = np.minimum(np.searchsorted(self._numbers, numbers), len(self) - 1)
        known: Flags = self._numbers[at] == numbers
        return known

    def has_many_dead(self, held: int) -> bool:
        """Say whether it is time for `keep`, when so many rows are held."""
        return len(self) > 2 * held + DEAD_MAX

    def merge(self) -> None:
        """Make one of neighbouring chunks of like size, so that there are few."""
        merge(self._chunks)

    def keep(self, numbers: Ints) -> None:
        """Forget all rows but these, which ascend."""
        table = self.take(numbers)
        self._chunks = [table.combine_chunks()] if len(numbers) else []
        self._numbers = np.array(numbers, dtype=np.int64)

    def take(self, numbers: Ints, names: tuple[str, ...] | None = None) -> pa.Table:
        """Give rows by number, as often and in the order in which they are named."""
        places = np.searchsorted(self._numbers, numbers)
        return rows_at(self.schema, self._chunks, starts_of(self._chunks), places, names)
