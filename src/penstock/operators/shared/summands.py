"""Summands: numbers in digits that add up exactly, whatever the order in which they come and go.

Integers and decimals are whole numbers of 64 bits: two digits of 32 bits, the upper one signed. A
float is a whole number of 53 bits at some power of two: up to three digits of 32 bits, at places
that are multiples of 32, all with its sign. So each place of digits adds up in an int64 of its own,
and a sum depends on what is added alone, not on what came and went on the way. It is brought into
one value when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from penstock.operators.shared.bounds import floats_of
from penstock.operators.shared.key_values import decimals_of
from penstock.operators.shared.keys import LOWEST
from penstock.vocabulary.batches import Flags, Floats, Ints
from penstock.vocabulary.types import ColumnKind, kind_of, scale_of

BITS = 32
MASK = np.int64((1 << BITS) - 1)
MANTISSA = 53
PLUS, MINUS = 1_000, 1_001
"""The places where infinities are counted, which are no digits."""

Digits = Mapping[int, Ints]
"""By place: a digit there counts 2 to the power of 32 times the place."""


class Summands:
    """What numbers of a type add up to.

    >>> from penstock.operators.shared.keys import ordered_keys
    >>> floats = pa.array([1e300, 0.1, -1e300])
    >>> summands = Summands(pa.float64())
    >>> digits = summands.digits(ordered_keys(floats, pa.float64())[0])
    >>> total = {place: own.sum(keepdims=True) for place, own in digits.items()}
    >>> summands.floats(total, 1).tolist()
    [0.1]
    """

    def __init__(self, type_: pa.DataType) -> None:
        self.type = type_
        self.is_float = kind_of(type_) is ColumnKind.FLOAT

    def digits(self, keys: Ints) -> dict[int, Ints]:
        """Take numbers apart."""
        if self.is_float:
            return _float_digits(floats_of(keys))
        if self.type == pa.uint64():
            words = (keys ^ np.int64(LOWEST)).view(np.uint64)
            return {0: (words & np.uint64(MASK)).view(np.int64), 1: (words >> BITS).view(np.int64)}
        return {0: keys & MASK, 1: keys >> BITS}

    def whole(self, digits: Digits, count: int) -> tuple[Ints, Ints]:
        """Give sums of whole numbers as two words: the lower and the upper 64 bits."""
        none = np.zeros(count, dtype=np.int64)
        low, high = digits.get(0, none), digits.get(1, none)
        high = high + (low >> BITS)
        low = low & MASK
        return (high << BITS) | low, high >> BITS

    def floats(self, digits: Digits, count: int) -> Floats:
        """Give sums as floats; NaN where infinities of both signs are in it."""
        if not self.is_float:
            low, high = self.whole(digits, count)
            fits = high == low >> 63
            wide = high.astype(np.float64) * 2.0**64 + low.view(np.uint64).astype(np.float64)
            found: Floats = np.where(fits, low.astype(np.float64), wide)
            return found / 10.0 ** scale_of(self.type)
        return _float_sums(digits, count)

    def array(self, digits: Digits, absent: Flags, type_: pa.DataType) -> tuple[list[Ints], Flags]:
        """Give sums as words of a type of sums, and where there is no such value."""
        if self.is_float:
            floats = self.floats(digits, len(absent))
            return [floats.view(np.int64)], absent | np.isnan(floats)
        low, high = self.whole(digits, len(absent))
        if type_ == pa.int64():
            return [low], absent | (high != low >> 63)
        return [low, high], absent


def sums_of(words: list[Ints], absent: Flags, type_: pa.DataType) -> pa.Array:
    """Give the values that words of `Summands.array` stand for."""
    if kind_of(type_) is ColumnKind.DECIMAL:
        return decimals_of(words[0], words[1], absent, type_)
    if kind_of(type_) is ColumnKind.FLOAT:
        return pa.array(words[0].view(np.float64), type_, mask=absent)
    return pa.array(words[0], type_, mask=absent)


def _float_digits(values: Floats) -> dict[int, Ints]:
    infinite = np.isinf(values)
    parts, powers = np.frexp(np.where(infinite, 0.0, values))
    whole = np.abs(parts * float(1 << MANTISSA)).astype(np.int64)
    signs = np.where(parts < 0, -1, 1).astype(np.int64)
    place, shift = np.divmod(powers.astype(np.int64) - MANTISSA, BITS)
    lower, upper = (whole & MASK) << shift, (whole >> BITS) << shift
    upper += lower >> BITS
    digits = (lower & MASK, upper & MASK, upper >> BITS)
    found: dict[int, Ints] = {}
    for number, digit in enumerate(digits):
        for at in np.unique(place[digit != 0]).tolist():
            own = found.setdefault(at + number, np.zeros(len(values), dtype=np.int64))
            mine = place == at
            own[mine] += (digit * signs)[mine]
    for at, sign in ((PLUS, values > 0), (MINUS, values < 0)):
        if (infinite & sign).any():
            found[at] = (infinite & sign).astype(np.int64)
    return found


def _float_sums(digits: Digits, count: int) -> Floats:
    places = [place for place in digits if place not in {PLUS, MINUS}]
    none = np.zeros(count, dtype=np.int64)
    total = np.zeros(count)
    if places:
        first, last = min(places), max(places) + 2
        columns = [digits.get(place, none) for place in range(first, last + 1)]
        carried = _carried(columns)
        negative = carried[-1] < 0
        if negative.any():
            carried = _carried([np.where(negative, -own, own) for own in columns])
        with np.errstate(over="ignore"):
            for place, digit in zip(range(first, last + 1), carried, strict=True):
                total += np.ldexp(digit.astype(np.float64), BITS * place)
        total = np.where(negative, -total, total)
    plus, minus = digits.get(PLUS, none) > 0, digits.get(MINUS, none) > 0
    total = np.where(plus, np.inf, np.where(minus, -np.inf, total))
    return np.where(plus & minus, np.nan, total)


def _carried(columns: list[Ints]) -> list[Ints]:
    """Bring digits into [0, 2^32), but for the last, which has the sign."""
    found, carry = [], np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns[:-1]:
        own = column + carry
        carry = own >> BITS
        found.append(own & MASK)
    return [*found, columns[-1] + carry]
