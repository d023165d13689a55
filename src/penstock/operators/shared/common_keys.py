"""Keying: values of two inputs' columns in one domain, so that equal values have equal keys."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.joins import JoinStep
from penstock.expressions.evaluation import connection
from penstock.kernels.fingerprints import prints_mix, texts_hash
from penstock.operators.shared.codes import text_buffers
from penstock.operators.shared.keys import (
    UNITS,
    Column,
    ordered_keys,
    unit_of,
    validity,
    whole,
)
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.types import (
    DECIMAL_DIGITS_MAX,
    ColumnKind,
    is_ordered,
    kind_of,
    scale_of,
)

LIMIT = 1 << 63


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Give the type in which values of both types are compared.

    >>> common_type(pa.int32(), pa.int64()), common_type(pa.int8(), pa.decimal128(5, 2))
    (DataType(int64), Decimal128Type(decimal128(18, 2)))
    """
    kinds = {kind_of(left), kind_of(right)}
    if kinds == {ColumnKind.DECIMAL} and not (is_ordered(left) and is_ordered(right)):
        return pa.decimal128(38, max(left.scale, right.scale))
    if not (is_ordered(left) and is_ordered(right)):
        return pa.string()
    if ColumnKind.FLOAT in kinds:
        return pa.float64()
    if ColumnKind.DECIMAL in kinds:
        scales = [type_.scale for type_ in (left, right) if kind_of(type_) is ColumnKind.DECIMAL]
        return pa.decimal128(DECIMAL_DIGITS_MAX, max(0, *scales))
    if ColumnKind.TIMESTAMP in kinds:
        units = [type_.unit for type_ in (left, right) if kind_of(type_) is ColumnKind.TIMESTAMP]
        return pa.timestamp(max(units, key=UNITS.__getitem__))
    if len(kinds) == 1 and (left == right or kinds != {ColumnKind.INTEGER}):
        return left
    return pa.int64()


def placing_type(types: Iterable[pa.DataType]) -> pa.DataType | None:
    """Give the type whose units say to which shard rows with such keys belong, if it matters.

    Others are placed by the nearest float of their value, which decimals of unlike scales round
    each in its own way.

    >>> placing_type([pa.decimal128(9, 2), pa.int32()])
    Decimal128Type(decimal128(18, 2))
    >>> placing_type([pa.decimal128(9, 2), pa.decimal128(12, 2)])
    """
    found = list(types)
    scales = {scale_of(type_) for type_ in found}
    return reduce(common_type, found) if len(scales) > 1 else None


def key_types(step: JoinStep) -> tuple[pa.DataType, ...]:
    """Give the types in which the step's keys are compared."""
    left, right = (each.types for each in step.inputs)
    return tuple(common_type(left[a], right[b]) for a, b in step.keys)


def placing_types(step: JoinStep) -> tuple[pa.DataType | None, ...]:
    """Give the types by which rows with the step's keys are placed in shards, if that matters."""
    left, right = (each.types for each in step.inputs)
    return tuple(placing_type((left[a], right[b])) for a, b in step.keys)


def number_keys(column: Column, type_: pa.DataType, common: pa.DataType) -> tuple[Ints, Flags]:
    """Give the keys of an ordered column in a common type, and which values have one.

    >>> number_keys(pa.array([3, None], pa.int8()), pa.int8(), pa.decimal128(18, 2))[0][:1]
    array([300])
    """
    array = whole(column)
    if array.type != type_:
        array = array.cast(type_)
    if type_ == common or pa.types.is_null(array.type):
        return ordered_keys(array, common)
    if kind_of(common) is ColumnKind.FLOAT:
        return ordered_keys(array.cast(pa.float64(), safe=False), common)
    if type_ == pa.uint64():
        numbers = np.asarray(array.fill_null(0).to_numpy(), dtype=np.uint64)
        keys, valid = numbers.view(np.int64), validity(array) & (numbers < LIMIT)
    else:
        keys, valid = ordered_keys(array, type_)
    return _scaled(keys, valid, type_, common)


def _scaled(
    keys: Ints, valid: Flags, type_: pa.DataType, common: pa.DataType
) -> tuple[Ints, Flags]:
    """Count the same values in the units of another type; of times, parts of one are cut off."""
    ratio = unit_of(type_) / unit_of(common)
    if ratio.denominator != 1:
        assert kind_of(type_) is ColumnKind.TIMESTAMP, "else the common type has the finest unit"
        return keys // ratio.denominator, valid
    factor = ratio.numerator
    if factor == 1:
        return keys, valid
    most = (LIMIT - 1) // factor
    fits = (-most <= keys) & (keys <= most)
    return np.where(fits, keys, 0) * factor, valid & fits


def texts_of(column: Column, common: pa.DataType) -> pa.Array:
    """Give the values of a column that has no order as texts."""
    array = whole(column)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return array
    if array.type != common and kind_of(common) is ColumnKind.DECIMAL:
        array = array.cast(common)
    return array.cast(pa.string(), safe=False)


def same_values(left: Column, right: Column | pa.Scalar) -> Flags:
    """Say which values are equal, one by one; NULL is equal to nothing.

    >>> same_values(pa.array(["a", None]), pa.array(["a", None])).tolist()
    [True, False]
    """
    same = pc.equal(left, right).fill_null(False)
    return np.asarray(whole(same).to_numpy(zero_copy_only=False), dtype=np.bool_)


def text_hashes(texts: pa.Array) -> Ints:
    """Give a stable 64-bit hash of every text; that of a NULL means nothing."""
    hashes = np.empty(len(texts), dtype=np.int64)
    texts_hash(*text_buffers(texts), hashes)
    return hashes


def value_keys(column: Column, type_: pa.DataType) -> tuple[Ints, Flags]:
    """Give the key of every value of a column, a hash for texts, and which values have one."""
    if is_ordered(type_):
        return ordered_keys(column, type_)
    texts = texts_of(column, type_)
    return text_hashes(texts), validity(texts)


def canonical(column: Column, type_: pa.DataType, common: pa.DataType) -> tuple[pa.Array, Flags]:
    """Give a key column as codes take it, whole numbers or texts, and which values are there."""
    if is_ordered(common):
        keys, valid = number_keys(column, type_, common)
        return pa.array(keys), valid
    texts = texts_of(column, common)
    return texts, validity(texts)


def difference_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Give the type in which the difference of two columns is counted."""
    common = common_type(left, right)
    return pa.timestamp("us") if kind_of(common) is ColumnKind.TIMESTAMP else common


def bound_type(difference: pa.DataType) -> pa.DataType:
    """Give the type of a band's bounds: days for dates, microseconds for times."""
    if kind_of(difference) in {ColumnKind.FLOAT, ColumnKind.DECIMAL}:
        return difference
    return pa.int64()


def fingerprints(columns: list[Any], types: list[pa.DataType]) -> Ints:
    """Mix the columns of every row into one number; NaN counts as NULL."""
    prints = np.zeros(len(columns[0]), dtype=np.int64)
    for column, type_ in zip(columns, types, strict=True):
        array = whole(column)
        if kind_of(type_) is ColumnKind.OTHER and not pa.types.is_null(type_):
            words, valid = _hashes(array), validity(array)
        else:
            words, valid = value_keys(array, type_)
        prints_mix(prints, _plain(words), valid)
    return prints


def _hashes(array: pa.Array) -> Ints:
    """Give DuckDB's hashes of values that have neither an order nor a text, such as lists."""
    given = connection().from_arrow(pa.table({"c": array}))
    found = given.project("hash(c) AS h").fetchnumpy()["h"]
    return np.asarray(found, dtype=np.uint64).view(np.int64)


def _plain(words: npt.NDArray[np.int64]) -> Ints:
    """Give an array in the one layout that the kernel is compiled for."""
    return np.require(words, np.int64, ["C_CONTIGUOUS", "WRITEABLE"])
