"""Converting: a parameter as a value of the type that it has in its query, for all who ask.

The rule, for every index, residual and join alike:

- A number becomes a whole number or a decimal if that is the number that its text says: the float
  0.1 is 0.10 for a DECIMAL(10,2). A number becomes the float that is nearest to it.
- A time becomes a time of another unit if it loses nothing. A text that is compared with a time is
  read as one; a text of a CSV file is read as whatever it is compared with.
- NaN is NULL. So is an empty field of a CSV file, unless a text is asked for.

What the type does not hold is refused, but for a bound: it may lie between two values, or beyond
all of them (see `Floors`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.operators.shared.bounds import Floors, floats_of, floors
from penstock.operators.shared.keys import LOWEST, validity
from penstock.operators.shared.texts import NUMBER, read_texts
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.types import ColumnKind, is_ordered, kind_of

DIGITS_MAX = 400
"""Of a float's text, and of a decimal's."""


@dataclass(frozen=True, slots=True)
class Converted:
    """Values of a type, and which of the values given became one; NULLs did."""

    values: pa.Array
    held: Flags


def readable(given: pa.Array, type_: pa.DataType) -> tuple[pa.Array, Flags]:
    """Give values that `floors` can place among those of a type; mark those that are none.

    Texts are read: as times, or as numbers if they stood in a CSV file. Everything else stays.
    """
    if kind_of(given.type) is not ColumnKind.STRING or not is_ordered(type_):
        return given, np.zeros(len(given), dtype=np.bool_)
    return read_texts(given, type_)


def converted(given: pa.Array, type_: pa.DataType) -> Converted:
    """Convert values to a type, one by one.

    >>> found = converted(pa.array([0.1, 12.345, None]), pa.decimal128(10, 2))
    >>> found.values.to_pylist(), found.held.tolist()
    ([Decimal('0.10'), None, None], [True, False, True])
    """
    if given.type == type_:
        return Converted(_without_nan(given), np.ones(len(given), dtype=np.bool_))
    read, bad = readable(given, type_)
    if is_ordered(type_):
        place = floors(read, type_)
        held = ~place.valid | within(place, type_)
        return Converted(_values(place.key, place.valid & held, type_), held & ~bad)
    if kind_of(type_) is ColumnKind.DECIMAL:
        single = read.type == pa.float32()
        found = _one_by_one(read, lambda value: _decimal(value, type_, single), type_)
    elif kind_of(type_) is ColumnKind.STRING:
        found = Converted(read.cast(type_), np.ones(len(read), dtype=np.bool_))
    else:
        found = _one_by_one(read, lambda value: value, type_)
    return Converted(found.values, found.held & ~bad)


def within(place: Floors, type_: pa.DataType) -> Flags:
    """Say where a value is one of the type: neither between two, nor beyond its ends."""
    inside: Flags = place.exact & (place.side == 0)
    if pa.types.is_integer(type_) and type_ not in (pa.int64(), pa.uint64()):
        signed = pa.types.is_signed_integer(type_)
        low = -(1 << (type_.bit_width - 1)) if signed else 0
        high = (1 << (type_.bit_width - signed)) - 1
    elif kind_of(type_) is ColumnKind.DECIMAL:
        high = 10**type_.precision - 1
        low = -high
    elif kind_of(type_) is ColumnKind.DATE:
        low, high = -(1 << 31), (1 << 31) - 1
    else:
        return inside
    held: Flags = inside & (place.key >= low) & (place.key <= high)
    return held


def _values(keys: Ints, valid: Flags, type_: pa.DataType) -> pa.Array:
    """Give the values that have these keys, NULL where there is none."""
    keys = np.where(valid, keys, 0)
    kind = kind_of(type_)
    nulls = pa.array(~valid)
    if kind is ColumnKind.FLOAT:
        numbers = pa.array(floats_of(keys)).cast(type_, safe=False)
    elif kind is ColumnKind.DECIMAL:
        words = np.stack([keys, keys >> 63], axis=1)
        data = pa.py_buffer(np.ascontiguousarray(words))
        numbers = pa.Array.from_buffers(
            pa.decimal128(type_.precision, type_.scale), len(keys), [None, data]
        ).cast(type_)
    elif kind is ColumnKind.BOOLEAN:
        numbers = pa.array(keys != 0)
    elif type_ == pa.uint64():
        numbers = pa.array((keys ^ np.int64(LOWEST)).view(np.uint64))
    elif kind is ColumnKind.DATE:
        numbers = pa.array(keys.astype(np.int32)).view(type_)
    elif kind is ColumnKind.TIMESTAMP:
        numbers = pa.array(keys).view(type_)
    else:
        numbers = pa.array(keys).cast(type_)
    return pc.if_else(nulls, pa.scalar(None, type_), numbers) if not valid.all() else numbers


def _one_by_one(given: pa.Array, change: Any, type_: pa.DataType) -> Converted:
    """Convert distinct values; of types without an order, of which there are few."""
    encoded = given.dictionary_encode()
    values, held = [], []
    for value in encoded.dictionary.to_pylist():
        try:
            values.append(pa.scalar(change(value), type_).as_py())
            held.append(True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, InvalidOperation):
            values.append(None)
            held.append(False)
    index = encoded.indices.fill_null(len(values))
    found = pa.array([*values, None], type_).take(index)
    return Converted(found, np.array([*held, True])[index.to_numpy()])


def _decimal(value: Any, type_: pa.DataType, single: bool) -> Decimal | None:
    """Give a number as a decimal of a type, or raise."""
    if isinstance(value, str) and not value.strip():
        return None
    with localcontext() as context:
        context.prec = DIGITS_MAX
        if isinstance(value, str) and not re.fullmatch(NUMBER, value.strip()):
            raise ValueError
        if isinstance(value, float) and not value.is_integer():
            value = str(np.float32(value)) if single else repr(value)
        number = Decimal(value)
        if number.is_nan():
            return None
        rounded = number.quantize(Decimal(1).scaleb(-type_.scale))
        if rounded != number:
            raise ValueError
        return rounded


def _without_nan(given: pa.Array) -> pa.Array:
    if kind_of(given.type) is not ColumnKind.FLOAT:
        return given
    return pc.if_else(pc.is_nan(given), pa.scalar(None, given.type), given)


def known(given: pa.Array) -> Flags:
    """Say which values are neither NULL nor NaN."""
    return validity(_without_nan(given))
