"""A parameter's floor among a column's keys is exact, whatever the two types."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.operators.filter.bounds import floors
from penstock.operators.filter.keys import float_keys, ordered_keys

GRIDS = {pa.int64(): 1, pa.decimal128(18, 2): 100, pa.decimal128(18, 10): 10**10}


@given(st.floats(allow_nan=False), st.sampled_from(list(GRIDS)))
def test_float_among_whole_numbers(value: float, type_: pa.DataType) -> None:
    found = floors(pa.array([value]), type_)
    if math.isinf(value) or abs(Fraction(value) * GRIDS[type_]) >= 10**18:
        if not math.isinf(value) and found.side[0] == 0:
            assert int(found.key[0]) == math.floor(Fraction(value) * GRIDS[type_])
        else:
            assert found.side[0] == (1 if value > 0 else -1)
        return
    exact = Fraction(value) * GRIDS[type_]
    assert int(found.key[0]) == math.floor(exact)
    assert bool(found.exact[0]) == (exact.denominator == 1)


@given(st.integers(-(10**18) + 1, 10**18 - 1), st.integers(0, 18))
def test_decimal_among_floats(digits: int, scale: int) -> None:
    value = Decimal(digits).scaleb(-scale)
    found = floors(pa.array([value], pa.decimal128(18, scale)), pa.float64())
    near = [float(value)]
    near += [math.nextafter(near[0], math.inf), math.nextafter(near[0], -math.inf)]
    keys = {int(float_keys(np.array([x]))[0][0]): Fraction(x) for x in near}
    below = max(key for key, x in keys.items() if x <= Fraction(value))
    assert int(found.key[0]) == below
    assert bool(found.exact[0]) == (keys[below] == Fraction(value))


@given(st.integers(-(2**63), 2**63 - 1))
def test_integer_among_floats(value: int) -> None:
    found = floors(pa.array([value]), pa.float64())
    near = float(value)
    if Fraction(near) > value:
        near = math.nextafter(near, -math.inf)
    assert int(found.key[0]) == int(float_keys(np.array([near]))[0][0])
    assert bool(found.exact[0]) == (Fraction(near) == value)


@given(st.lists(st.floats(), max_size=20), st.sampled_from([pa.float32(), pa.float64()]))
def test_float_keys_keep_the_order(values: list[float], type_: pa.DataType) -> None:
    column = pa.array(values, pa.float64()).cast(type_, safe=False)
    keys, valid = ordered_keys(column, type_)
    known = [(x, int(k)) for x, k, v in zip(column.to_pylist(), keys, valid, strict=True) if v]
    assert len(known) == sum(not math.isnan(x) for x in column.to_pylist())
    for x, a in known:
        for y, b in known:
            assert (x < y) == (a < b) and (x == y) == (a == b)
