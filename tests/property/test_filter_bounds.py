"""A parameter lies among a column's keys where the rule of conversion puts it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.operators.shared.bounds import floors
from penstock.operators.shared.keys import float_keys, ordered_keys

GRIDS = {pa.int64(): 1, pa.decimal128(18, 2): 100, pa.decimal128(18, 10): 10**10}
WRITTEN = st.builds(
    lambda digits, places: float(f"{digits}e-{places}"),
    st.integers(-(10**17), 10**17),
    st.integers(0, 12),
)


def said(value: float) -> Fraction:
    """Give the number that a float's text says; a whole one is itself."""
    return Fraction(value) if value.is_integer() else Fraction(repr(value))


@given(st.floats(allow_nan=False) | WRITTEN, st.sampled_from(list(GRIDS)))
@example(-(2.0**63), pa.int64())
@example(0.1, pa.decimal128(18, 2))
def test_float_among_whole_numbers(value: float, type_: pa.DataType) -> None:
    found = floors(pa.array([value]), type_)
    if math.isinf(value) or abs(said(value) * GRIDS[type_]) >= 10**18:
        if not math.isinf(value) and found.side[0] == 0:
            assert int(found.key[0]) == math.floor(said(value) * GRIDS[type_])
        else:
            assert found.side[0] == (1 if value > 0 else -1)
        return
    exact = said(value) * GRIDS[type_]
    assert int(found.key[0]) == math.floor(exact)
    assert bool(found.exact[0]) == (exact.denominator == 1)


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from([pa.int64(), pa.decimal128(18, 0)]))
@example(-(2**63), pa.int64())
def test_whole_numbers_among_whole_numbers(value: int, type_: pa.DataType) -> None:
    found = floors(pa.array([value], pa.int64()), type_)
    assert (int(found.key[0]), bool(found.exact[0]), int(found.side[0])) == (value, True, 0)


@given(st.integers(-(10**18) + 1, 10**18 - 1), st.integers(0, 18))
def test_decimal_among_floats(digits: int, scale: int) -> None:
    value = Decimal(digits).scaleb(-scale)
    for type_, width in ((pa.float64(), np.float64), (pa.float32(), np.float32)):
        found = floors(pa.array([value], pa.decimal128(18, scale)), type_)
        near = nearest(Fraction(value), width)
        assert int(found.key[0]) == int(float_keys(np.array([float(near)]))[0][0])
        assert found.exact[0]


def nearest(number: Fraction, width: type[np.floating[Any]]) -> np.floating[Any]:
    """Give the float that is nearest to a number, the even one of two, without rounding twice."""
    guess = width(float(number))
    around = [guess, np.nextafter(guess, width(np.inf)), np.nextafter(guess, width(-np.inf))]
    best = min(abs(Fraction(float(one)) - number) for one in around)
    near = [one for one in around if abs(Fraction(float(one)) - number) == best]
    bits = np.uint32 if width is np.float32 else np.uint64
    return min(near, key=lambda one: int(np.asarray(one).view(bits)) % 2)


@given(st.integers(-(2**63), 2**63 - 1))
def test_integer_among_floats(value: int) -> None:
    found = floors(pa.array([value]), pa.float64())
    assert int(found.key[0]) == int(float_keys(np.array([float(value)]))[0][0])
    assert found.exact[0]


@given(st.floats(allow_nan=False))
def test_doubles_among_floats(value: float) -> None:
    """A double takes the nearest float; beyond the last one it lies before infinity."""
    found = floors(pa.array([value]), pa.float32())
    with np.errstate(over="ignore"):
        near = float(np.float32(value))
    if math.isinf(near) and not math.isinf(value):
        assert not found.exact[0]
        near = float(np.finfo(np.float32).max) if value > 0 else near
    assert int(found.key[0]) == int(float_keys(np.array([near]))[0][0])


@given(st.lists(st.floats(), max_size=20), st.sampled_from([pa.float32(), pa.float64()]))
def test_float_keys_keep_the_order(values: list[float], type_: pa.DataType) -> None:
    column = pa.array(values, pa.float64()).cast(type_, safe=False)
    keys, valid = ordered_keys(column, type_)
    known = [(x, int(k)) for x, k, v in zip(column.to_pylist(), keys, valid, strict=True) if v]
    assert len(known) == sum(not math.isnan(x) for x in column.to_pylist())
    for x, a in known:
        for y, b in known:
            assert (x < y) == (a < b) and (x == y) == (a == b)
