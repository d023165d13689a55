"""Values of keys: the inverse of `keys`, from an int64 back to what it stands for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.operators.shared.bounds import floats_of
from penstock.operators.shared.keys import LOWEST
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.types import ColumnKind, kind_of


def values_of(keys: Ints, absent: Flags, type_: pa.DataType) -> pa.Array:
    """Give the values that keys stand for; NULL where there is none.

    >>> from penstock.operators.shared.keys import ordered_keys
    >>> given = pa.array([3, None, 1], pa.date32())
    >>> keys, valid = ordered_keys(given, pa.date32())
    >>> values_of(keys, ~valid, pa.date32()).equals(given)
    True
    """
    kind = kind_of(type_)
    if kind is ColumnKind.FLOAT:
        floats = floats_of(keys)
        return pa.array(floats, pa.float64(), mask=absent).cast(type_, safe=False)
    if kind is ColumnKind.DECIMAL:
        return decimals_of(keys, keys >> 63, absent, type_)
    if kind is ColumnKind.BOOLEAN:
        return pa.array(keys != 0, pa.bool_(), mask=absent)
    if type_ == pa.uint64():
        return pa.array((keys ^ np.int64(LOWEST)).view(np.uint64), type_, mask=absent)
    plain = np.where(absent, 0, keys)
    if kind is ColumnKind.DATE:
        return pa.array(plain.astype(np.int32), pa.int32(), mask=absent).cast(type_)
    if kind is ColumnKind.TIMESTAMP:
        return pa.array(plain, pa.int64(), mask=absent).cast(type_)
    return pa.array(plain, pa.int64(), mask=absent).cast(type_)


def decimals_of(lows: Ints, highs: Ints, absent: Flags, type_: pa.DataType) -> pa.Array:
    """Give decimals of 128 bits in two words, in units of their last digit."""
    words = np.empty(2 * len(lows), dtype=np.int64)
    words[0::2], words[1::2] = lows, highs
    words[0::2][absent] = words[1::2][absent] = 0
    valid = pa.array(~absent).buffers()[1] if absent.any() else None
    buffers = [valid, pa.py_buffer(words)]
    return pa.Array.from_buffers(type_, len(lows), buffers, int(np.count_nonzero(absent)))
