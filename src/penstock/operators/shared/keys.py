"""Keys: every ordered value as an int64 of the same order.

Integers, dates, timestamps and decimals are whole numbers of some unit (days, microseconds,
hundredths); the key is that number. A uint64 is moved down by 2^63. A float's key is its bit
pattern, folded so that it compares as the float does.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.kernels.float_keys import floats_key
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.types import ColumnKind, kind_of

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
DAY_SECONDS = 86_400
UNITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}

Column: TypeAlias = pa.Array | pa.ChunkedArray


def whole(column: Column) -> pa.Array:
    """Give the column as one array, without dictionary."""
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # No chunk, or too large for one array.
            column = pa.concat_arrays(column.chunks or [pa.array([], column.type)])
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def unit_of(type_: pa.DataType) -> Fraction:
    """Give what a key of 1 stands for, in ones or in seconds.

    >>> unit_of(pa.decimal128(9, 2)), unit_of(pa.date32())
    (Fraction(1, 100), Fraction(86400, 1))
    """
    kind = kind_of(type_)
    if kind is ColumnKind.DECIMAL:
        return Fraction(1, 10**type_.scale) if type_.scale > 0 else Fraction(10**-type_.scale)
    if kind is ColumnKind.TIMESTAMP:
        return Fraction(1, 10 ** UNITS[type_.unit])
    return Fraction(DAY_SECONDS if kind is ColumnKind.DATE else 1)


def validity(column: pa.Array) -> Flags:
    """Give which values are not NULL."""
    if column.null_count == 0:
        return np.ones(len(column), dtype=np.bool_)
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)


def _buffer(column: pa.Array, dtype: npt.DTypeLike, width: int = 1) -> npt.NDArray[Any]:
    """Read the values of a fixed-width array where they are; NULLs hold anything."""
    data = column.buffers()[1]
    if data is None or len(column) == 0:
        return np.zeros(len(column) * width, dtype=dtype)
    size = np.dtype(dtype).itemsize * width
    return np.frombuffer(data, dtype=dtype, count=len(column) * width, offset=column.offset * size)


def float_keys(values: npt.NDArray[np.float64]) -> tuple[Ints, Flags]:
    """Give the keys of floats, and which of them are not NaN.

    >>> keys, valid = float_keys(np.array([-1.0, -0.0, 0.0, 2.5, np.nan]))
    >>> bool(keys[0] < keys[1] == keys[2] < keys[3]), valid.tolist()
    (True, [True, True, True, True, False])
    """
    keys = np.empty(len(values), dtype=np.int64)
    valid = np.empty(len(values), dtype=np.bool_)
    values = values.view()
    values.flags.writeable = False  # As Arrow's memory is: the kernel is compiled only once.
    floats_key(values, values.view(np.int64), keys, valid)
    return keys, valid


def decimal_keys(column: pa.Array) -> tuple[Ints, Flags]:
    """Give decimals as whole numbers of their last digit, and which fit an int64."""
    if not pa.types.is_decimal128(column.type):
        try:
            column = column.cast(pa.decimal128(min(column.type.precision, 38), column.type.scale))
        except pa.ArrowInvalid:  # More digits than any key has.
            return np.zeros(len(column), dtype=np.int64), np.zeros(len(column), dtype=np.bool_)
    words = _buffer(column, np.int64, 2)
    low, high = words[0::2], words[1::2]
    return np.array(low), np.asarray(high == low >> 63)


def ordered_keys(column: Column, type_: pa.DataType) -> tuple[Ints, Flags]:
    """Give the key of every value, and which values have one: not NULL, not NaN.

    >>> keys, valid = ordered_keys(pa.array([3, None, 1], pa.int32()), pa.int32())
    >>> keys[valid].tolist()
    [3, 1]
    """
    array = whole(column)
    if array.type != type_:
        array = array.cast(type_)
    valid = validity(array)
    kind = kind_of(type_)
    if kind is ColumnKind.FLOAT:
        if type_ != pa.float64():
            array = array.cast(pa.float64())
        keys, numbers = float_keys(_buffer(array, np.float64))
        return keys, numbers & valid if array.null_count else numbers
    if kind is ColumnKind.DECIMAL:
        keys, fits = decimal_keys(array)
        return keys, valid & fits
    if type_ == pa.uint64():
        return _buffer(array, np.uint64).view(np.int64) ^ np.int64(LOWEST), valid
    if kind is ColumnKind.BOOLEAN:
        return pc.cast(array, pa.int8()).fill_null(0).to_numpy().astype(np.int64), valid
    sign = "u" if pa.types.is_unsigned_integer(type_) else "i"
    width = np.dtype(f"{sign}{type_.bit_width // 8}")
    return _buffer(array, width).astype(np.int64), valid
