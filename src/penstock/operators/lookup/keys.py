"""Keys: the values that rows are looked up by, as the whole numbers that caches count with."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.lookups import LookupJoinStep
from penstock.operators.shared.common_keys import (
    common_type,
    number_keys,
    same_values,
    text_hashes,
    texts_of,
)
from penstock.operators.shared.keys import Column, whole
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.scatter import splitmix
from penstock.vocabulary.types import is_ordered


class LookupKeys:
    """The key of a lookup join, in the type in which both sides are compared.

    Numbers and times are their own keys. Of texts the key is a hash; a text that meets another
    one under its hash moves on to the hash's hash.
    """

    def __init__(self, step: LookupJoinStep) -> None:
        stream, looked = step.stream, step.table
        self.column = step.stream_key
        self.looked_up = step.lookup.key
        self._own = stream.types[self.column]
        self.type = looked.types[self.looked_up]
        self._common = common_type(self._own, self.type)
        self.is_hashed = not is_ordered(self._common)

    def values(self, table: pa.Table) -> pa.Array:
        """Give the stream's key column."""
        return whole(table.column(self.column))

    def of_stream(self, table: pa.Table) -> Ints:
        """Give the keys of rows of the stream; none is NULL."""
        if self.is_hashed:
            return text_hashes(self.texts(table.column(self.column)))
        keys, _ = number_keys(table.column(self.column), self._own, self._common)
        return np.array(keys)

    def places(self, asked: pa.Array, keys: Ints, table: pa.Table) -> Ints:
        """Give the place among the keys asked for of every row that came, -1 if it is none's.

        `keys` ascend and belong to the values `asked`.
        """
        column = table.column(self.looked_up)
        if self.is_hashed:
            texts = self.texts(column).cast(pa.large_string())
            found = pc.index_in(texts, value_set=self.texts(asked).cast(pa.large_string()))
            return np.array(found.fill_null(-1).to_numpy(), dtype=np.int64)
        own, there = number_keys(column, self.type, self._common)
        at = np.minimum(np.searchsorted(keys, own), max(len(keys) - 1, 0))
        return np.where(there & (keys[at] == own), at, -1) if len(keys) else np.full(len(own), -1)

    def texts(self, column: Column) -> pa.Array:
        """Give the texts of a key that has no order."""
        return texts_of(column, self._common)

    def same(self, left: pa.Array, right: Column) -> Flags:
        """Say which texts are equal, one by one."""
        large = pa.large_string()
        return same_values(self.texts(left).cast(large), self.texts(right).cast(large))


def moved_on(keys: Ints) -> Ints:
    """Give the keys that texts have whose own are taken."""
    return splitmix(keys.view(np.uint64)).view(np.int64)
