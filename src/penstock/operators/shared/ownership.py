"""Sharding: which shard a row belongs to, by the values of its key columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.kernels.fingerprints import prints_mix
from penstock.operators.shared.common_keys import number_keys, text_hashes, texts_of
from penstock.operators.shared.keys import Column, ordered_keys, validity, whole
from penstock.vocabulary.batches import Flags, Ints, Rows
from penstock.vocabulary.types import ColumnKind, kind_of


def shard_of(
    columns: Sequence[Column], types: Sequence[pa.DataType], count: int,
    commons: Sequence[pa.DataType | None] = (),
) -> Rows:  # fmt: skip
    """Give each row's shard: the same for equal values, whatever the types that hold them.

    Rows without a value in some column join nothing; they are shard 0's. Decimals that meet other
    scales need a common type (`placing_type`).

    >>> a = shard_of([pa.array([1, 2, 3], pa.int8())], [pa.int8()], 4)
    >>> b = shard_of([pa.array([1.0, 2.0, 3.0])], [pa.float64()], 4)
    >>> a.tolist() == b.tolist()
    True
    """
    assert count >= 1
    assert columns
    prints = np.zeros(len(columns[0]), dtype=np.int64)
    present: Flags = np.ones(len(prints), dtype=np.bool_)
    for column, type_, common in zip(columns, types, commons or [None] * len(types), strict=True):
        plain = type_.value_type if pa.types.is_dictionary(type_) else type_
        if common is None:
            words, valid = _words(whole(column), plain)
        else:
            words, valid = number_keys(column, plain, common)
        prints_mix(prints, words, valid)
        present &= valid
    shards = (prints.view(np.uint64) % np.uint64(count)).astype(np.int32)
    return np.where(present, shards, 0).astype(np.int32)


def _words(array: pa.Array, type_: pa.DataType) -> tuple[Ints, Flags]:
    """Give a word per value: texts their hash, all numbers and times that of the nearest float."""
    kind = kind_of(type_)
    if kind in {ColumnKind.STRING, ColumnKind.OTHER}:
        texts = texts_of(array, type_)
        return text_hashes(texts), validity(texts)
    if kind in {ColumnKind.TIMESTAMP, ColumnKind.DATE}:
        array = array.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    elif kind is ColumnKind.BOOLEAN:
        array = array.cast(pa.int8())
    return ordered_keys(array.cast(pa.float64(), safe=False), pa.float64())
