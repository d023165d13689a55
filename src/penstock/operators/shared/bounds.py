"""Bounds: a parameter of any ordered type as a key of the column's type, exactly.

Every comparison follows from one fact about the parameter v: the greatest key of the column that
is not above v (its floor), and whether that key is v itself. `x >= v` starts at the floor, or one
above it when v lies between two keys; `x < v` ends one below the floor, or on it; and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.operators.shared.keys import (
    HIGHEST,
    LOWEST,
    decimal_keys,
    float_keys,
    ordered_keys,
    unit_of,
    validity,
)
from penstock.vocabulary.batches import Flags, Floats, Ints
from penstock.vocabulary.types import ColumnKind, is_ordered, kind_of

SPLITTER = float((1 << 27) + 1)
DOUBLE_DIGITS, SINGLE_DIGITS = 1e15, 1e6
"""Below it, no two whole numbers of steps are nearest to one float."""
SINGLE_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """For every value: the greatest key not above it, and how it lies to the column's keys.

    `side` is -1 where the value lies below all keys, 1 where above all, else 0 (and only then
    `key` and `exact` mean something). Values that are NULL or NaN are not `valid`.
    """

    key: Ints
    exact: Flags
    side: npt.NDArray[np.int8]
    valid: Flags

    def low(self, closed: bool) -> tuple[Ints, Flags]:
        """Give the least key that `x >= v` (or `x > v`) admits, and where there is none."""
        up = ~self.exact if closed else np.ones_like(self.exact)
        never = (self.side > 0) | ((self.side == 0) & up & (self.key == HIGHEST))
        key = self.key + np.where(never, 0, up)
        return np.where(self.side < 0, LOWEST, key), never

    def high(self, closed: bool) -> tuple[Ints, Flags]:
        """Give the greatest key that `x <= v` (or `x < v`) admits, and where there is none."""
        down = np.zeros_like(self.exact) if closed else self.exact
        never = (self.side < 0) | ((self.side == 0) & down & (self.key == LOWEST))
        key = self.key - np.where(never, 0, down)
        return np.where(self.side > 0, HIGHEST, key), never


def floors(values: pa.Array, column_type: pa.DataType) -> Floors:
    """Place parameter values among the keys of a column.

    A float lies where its text says: 0.1 among decimals is 0.10. Among floats, every number lies
    on the nearest.

    >>> two = floors(pa.array([2.5, 3.0]), pa.int32())
    >>> two.low(closed=True)[0].tolist(), two.high(closed=False)[0].tolist()
    ([3, 3], [2, 2])
    """
    if pa.types.is_null(values.type):
        values = values.cast(column_type)
    if values.type == column_type:
        keys, valid = ordered_keys(values, column_type)
        return _inside(keys, np.ones_like(valid), valid)
    valid = validity(values)
    if kind_of(column_type) is ColumnKind.FLOAT:
        return _nearest(values, column_type)
    if kind_of(values.type) is ColumnKind.FLOAT:
        return _written(values, column_type)
    if not is_ordered(values.type) or values.type == pa.uint64():
        return _row_by_row(values, column_type, valid)
    keys, _ = ordered_keys(values, values.type)
    keys = np.where(valid, keys, 0)
    return _moved(_regrid(keys, unit_of(values.type) / unit_of(column_type)), column_type, valid)


def _inside(key: Ints, exact: Flags, valid: Flags) -> Floors:
    return Floors(key=key, exact=exact, side=np.zeros(len(key), dtype=np.int8), valid=valid)


def _moved(
    result: tuple[Ints, Flags, npt.NDArray[np.int8]], type_: pa.DataType, valid: Flags
) -> Floors:
    """Turn whole numbers into keys: they differ for uint64 only."""
    number, exact, side = result
    if type_ == pa.uint64():
        # Values from 2^63 on are rare as int64 parameters; `_row_by_row` finds their keys.
        below = (side < 0) | ((side == 0) & (number < 0))
        key = np.where(below, 0, number) ^ np.int64(LOWEST)
        side = np.where(below, -1, side).astype(np.int8)
        return Floors(key=key, exact=exact, side=side, valid=valid)
    return Floors(key=number, exact=exact, side=side, valid=valid)


def _regrid(number: Ints, ratio: Fraction) -> tuple[Ints, Flags, npt.NDArray[np.int8]]:
    """Floor number * ratio, where ratio or its inverse is whole."""
    side = np.zeros(len(number), dtype=np.int8)
    if ratio.denominator == 1:
        factor = ratio.numerator
        side[number > HIGHEST // factor] = 1
        side[number < -(-LOWEST // factor)] = -1
        return np.where(side == 0, number, 0) * factor, np.ones(len(number), dtype=np.bool_), side
    divisor = ratio.denominator
    floor, rest = np.divmod(number, divisor)
    return floor, rest == 0, side


def _product_error(a: Floats, b: float, product: Floats) -> Floats:
    """Give a * b - product without error (Dekker), for factors far from the extremes."""
    t = SPLITTER * a
    a_high = t - (t - a)
    a_low = a - a_high
    u = SPLITTER * b
    b_high = u - (u - b)
    b_low = b - b_high
    error: Floats = a_low * b_low - (
        ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    )
    return error


def scaled_floors(values: Floats, unit: Fraction) -> tuple[Ints, Flags, npt.NDArray[np.int8]]:
    """Floor value / unit exactly, for finite and infinite values.

    The whole part times the scale is exact in integers; the fraction times the scale is a float
    product whose rounding error is known exactly.
    """
    whole = np.trunc(values)
    scale = int(1 / unit) if unit <= 1 else 1
    limit = HIGHEST // scale
    side = np.zeros(len(values), dtype=np.int8)
    side[whole >= float(limit)] = 1
    side[(whole <= -float(limit)) if scale > 1 else (whole < -float(limit))] = -1
    inside = side == 0
    whole = np.where(inside, whole, 0.0)
    fraction = np.where(inside, values, 0.0) - whole
    # Products of the tiniest fractions have no exact error; any smallish fraction has their floor.
    tiny = (fraction != 0) & (np.abs(fraction) < 1e-200)
    fraction = np.where(tiny, np.copysign(1e-200, fraction), fraction)
    product = fraction * float(scale)
    error = _product_error(fraction, float(scale), product)
    floor = np.floor(product)
    is_whole = floor == product
    shift = np.where(is_whole, np.floor(error), 0.0)
    exact = is_whole & (shift == error) & ~tiny
    number = whole.astype(np.int64) * scale + floor.astype(np.int64) + shift.astype(np.int64)
    if unit > 1:  # Dates: whole days of seconds. No float parameter meets them in practice.
        days, rest = np.divmod(number, int(unit))
        return days, exact & (rest == 0), side
    return number, exact, side


def _written(values: pa.Array, column_type: pa.DataType) -> Floors:
    """Place floats among whole steps by their shortest text, which is what somebody wrote.

    A whole one is itself. No step lies between another and its text, unless the text is that step:
    such a step would be the shorter text. So the float's own floor serves all others.
    """
    floats = np.asarray(values.cast(pa.float64()).fill_null(np.nan).to_numpy(), dtype=np.float64)
    number = ~np.isnan(floats)
    floats = np.where(number, floats, 0.0)
    unit = unit_of(column_type)
    floor, exact, side = scaled_floors(floats, unit)
    single = values.type != pa.float64()
    scale, digits = float(1 / unit), SINGLE_DIGITS if single else DOUBLE_DIGITS
    whole = floats == np.trunc(floats)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.rint(floats * scale)
        few = np.abs(steps) < digits
        near = steps / scale
        same = near.astype(np.float32) == floats.astype(np.float32) if single else near == floats
    on_step = ~whole & few & same
    floor = np.where(on_step, np.where(few, steps, 0.0).astype(np.int64), floor)
    found = _moved((floor, exact | on_step, side), column_type, number)
    # Beyond so many digits several steps may round to one float: its text must be read.
    unclear = number & np.isfinite(floats) & ~whole & ~few
    if column_type == pa.uint64():
        unclear = number & np.isfinite(floats)
    for at in np.flatnonzero(unclear).tolist():
        text = str(np.float32(floats[at]) if single else floats[at])
        place = _place(Fraction(floats[at]) if whole[at] else Fraction(text), column_type)
        found.key[at], found.exact[at], found.side[at] = place
    return found


def _nearest(values: pa.Array, column_type: pa.DataType) -> Floors:
    """Place numbers on the nearest float of a column's type; not exact if all are too small."""
    width: np.dtype[Any] = np.dtype(f"f{column_type.bit_width // 8}")
    if kind_of(values.type) is ColumnKind.DECIMAL:
        exact = values.cast(pa.string())
        numbers = np.array(exact.cast(pa.float64()).fill_null(np.nan).to_numpy())
        if width.itemsize == SINGLE_BYTES:  # Not from the double, which was rounded already.
            numbers = np.array(exact.cast(pa.float32()).fill_null(np.nan).to_numpy())
    elif pa.types.is_integer(values.type):
        numbers = values.fill_null(0).to_numpy()
    else:
        numbers = values.fill_null(np.nan).to_numpy()
    with np.errstate(over="ignore"):
        floats = numbers.astype(width).astype(np.float64)
        beyond = np.isinf(floats) & ~np.isinf(numbers.astype(np.float64))
    keys, valid = float_keys(np.ascontiguousarray(floats))
    greatest = int(float_keys(np.array([float(np.finfo(width).max)]))[0][0])
    keys = np.where(beyond & (floats > 0), greatest, keys)
    return _inside(keys, ~beyond, valid & validity(values))


def floats_of(keys: Ints) -> Floats:
    """Give the floats that have these keys."""
    return (keys ^ ((keys >> 63) & np.int64(HIGHEST))).view(np.float64)


def _row_by_row(values: pa.Array, column_type: pa.DataType, valid: Flags) -> Floors:
    """Place values beyond int64 (uint64, long decimals) with Python's exact numbers: few are."""
    if pa.types.is_decimal(values.type):
        keys, fits = decimal_keys(values)
        if fits[valid].all() and values.type.precision > 18:
            ratio = unit_of(values.type) / unit_of(column_type)
            return _moved(_regrid(np.where(valid, keys, 0), ratio), column_type, valid)
    found = [_place(value, column_type) if value is not None else (0, False, 0)
             for value in values.to_pylist()]  # fmt: skip
    return Floors(
        key=np.array([key for key, _, _ in found], dtype=np.int64),
        exact=np.array([exact for _, exact, _ in found], dtype=np.bool_),
        side=np.array([side for _, _, side in found], dtype=np.int8),
        valid=valid,
    )


def _place(value: Any, column_type: pa.DataType) -> tuple[int, bool, int]:
    steps = Fraction(value) / unit_of(column_type)
    floor = steps.numerator // steps.denominator
    if column_type == pa.uint64():
        floor -= 1 << 63
    if floor < LOWEST or floor > HIGHEST:
        return 0, False, -1 if floor < LOWEST else 1
    return floor, steps.denominator == 1, 0
