"""Partitions: the values of equality columns as one small number, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.operators.shared.codes import BranchCodes
from penstock.operators.shared.keys import Column, ordered_keys, validity, whole
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.types import is_ordered


class Partitions:
    """Numbers of partitions, given as they come.

    In state and messages a partition stands by its values: `e0`, `e1`, …, keys of numbers and
    times, and texts themselves.

    >>> partitions = Partitions([pa.string()])
    >>> keys, present = partitions.keys([pa.array(["b", "a", None, "b"])])
    >>> partitions.code([key.filter(pa.array(present)) for key in keys]).tolist()
    [0, 1, 0]
    >>> partitions.values(np.array([1]))[0].to_pylist()
    ['a']
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self.types = tuple(types)
        self._codes = BranchCodes(self.types)
        self._values: list[list[pa.Array]] = [[self._column(i, [])] for i in range(len(types))]

    def __len__(self) -> int:
        return self._codes.size

    def _column(self, number: int, values: list[object]) -> pa.Array:
        return pa.array(values, pa.int64() if is_ordered(self.types[number]) else pa.string())

    def keys(self, columns: Sequence[Column]) -> tuple[list[pa.Array], Flags | None]:
        """Give columns of rows as keys, and which rows have a value in all; None: all have."""
        found: list[pa.Array] = []
        present: Flags | None = None
        for column, type_ in zip(columns, self.types, strict=True):
            if is_ordered(type_):
                own, valid = ordered_keys(column, type_)
                found.append(pa.array(own))
            else:
                texts = whole(column).cast(pa.string())
                valid = validity(texts)
                found.append(texts)
            present = valid if present is None else present & valid
        return found, present

    def code(self, keys: Sequence[pa.Array]) -> Ints:
        """Give the number of every row of keys; new ones get the next numbers."""
        known = self._codes.size
        codes = self._codes.code(keys).astype(np.int64)
        if self._codes.size > known:
            fresh = np.flatnonzero(codes >= known)
            first = fresh[np.unique(codes[fresh], return_index=True)[1]]
            at = pa.array(first)
            for held, column in zip(self._values, keys, strict=True):
                held.append(whole(column).cast(held[0].type).take(at))
        return codes

    def values(self, codes: Ints) -> list[pa.Array]:
        """Give the keys of partitions."""
        at = pa.array(codes)
        found = []
        for held in self._values:
            held[:] = [pa.concat_arrays(held)]
            found.append(held[0].take(at))
        return found

    def ranks(self, codes: Ints) -> Ints:
        """Give numbers that order partitions as their values do, one for each of `codes`."""
        if not self.types:
            return np.zeros(len(codes), dtype=np.int64)
        used, of = np.unique(codes, return_inverse=True)
        table = pa.table({f"e{i}": own for i, own in enumerate(self.values(used))})
        by = [(name, "ascending") for name in table.column_names]
        ranks = np.empty(len(used), dtype=np.int64)
        ranks[pc.sort_indices(table, sort_keys=by).to_numpy()] = np.arange(len(used))
        return ranks[of]
