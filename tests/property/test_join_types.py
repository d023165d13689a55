"""Joins of columns of any type: equal values are equal keys, differences are SQL's differences."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.inputs import JoinInput
from penstock.algebra.joins import Band, StandingJoin
from penstock.algebra.predicates import Bound
from penstock.operators.join import JoinOperator, register
from penstock.vocabulary.batches import QueryChanges

LOW, HIGH = Bound(parameter="low", closed=True), Bound(parameter="high", closed=False)
STAMP = pa.timestamp("us")
NUMBERS = [-3, 0, 1, 2, 2, 7, None]
HALVES = [-3.0, 0.0, 0.5, 1.0, 2.0, 7.0, float("inf"), None, float("nan")]
CENTS = [Decimal(n) / 4 for n in range(-12, 32, 2)]
DAYS = [date(2026, 1, 1), date(2026, 1, 2), None]
TIMES = [datetime(2026, 1, day, hour, tzinfo=UTC) for day, hour in ((1, 0), (1, 5), (2, 0))]
KEYS = [
    (pa.int8(), NUMBERS, pa.int64(), NUMBERS),
    (pa.uint64(), [0, 2, 2**63, 2**64 - 1], pa.int64(), NUMBERS),
    (pa.uint64(), [0, 2, 2**63], pa.uint64(), [2, 2**63, 2**64 - 1]),
    (pa.int32(), NUMBERS, pa.float64(), HALVES),
    (pa.int32(), NUMBERS, pa.decimal128(9, 2), CENTS),
    (pa.decimal128(9, 2), CENTS, pa.decimal128(12, 4), CENTS),
    (pa.decimal128(30, 2), CENTS, pa.decimal128(9, 4), CENTS),
    (pa.float32(), HALVES, pa.float64(), HALVES),
    (pa.date32(), DAYS, STAMP, TIMES),
    (pa.timestamp("ms"), TIMES, STAMP, TIMES),
    (pa.bool_(), [True, False, None], pa.bool_(), [True, None]),
    (pa.string(), ["a", "", None, "é"], pa.large_string(), ["", "é", "b"]),
    (pa.binary(), [b"\xff", b"", None], pa.binary(), [b"\xff", b"a"]),
]
BANDS = [
    (pa.int16(), NUMBERS, pa.int64(), (-1, 3)),
    (pa.date32(), DAYS, pa.int64(), (0, 2)),
    (pa.decimal128(9, 2), CENTS, pa.decimal128(9, 2), (Decimal("-0.50"), Decimal("1.25"))),
    (pa.float64(), HALVES, pa.float64(), (-0.5, 2.0)),
    (pa.float64(), HALVES, pa.float64(), (-float("inf"), 2.0)),
    (pa.float64(), [0.1, 0.2, 0.3, 0.7, 1e300, -1e300], pa.float64(), (0.1, 0.6)),
    (pa.float32(), [0.1, 0.2, 0.3, 0.7, 1e30, 16777216.0], pa.float32(), (0.1, 0.5)),
    (pa.float32(), [0.1, 0.2, 0.3, 0.7, 1e30, 16777216.0], pa.float64(), (0.1, 16777215.5)),
]


def join(types: list[pa.DataType], mode: str, parameter: pa.DataType | None) -> StandingJoin:
    inputs = tuple(
        JoinInput(relation=name, columns=(("n", pa.int64()), ("v", type_)), change_column="change")
        for name, type_ in zip(("a", "b"), types, strict=True)
    )
    band = Band(left="v", right="v", lows=(LOW,), highs=(HIGH,)) if parameter else None
    return StandingJoin(
        inputs=inputs, keys=() if band else (("v", "v"),), band=band, outputs=(),
        parameters={"low": parameter, "high": parameter} if parameter else {"x": pa.int64()},
        mode=mode,  # type: ignore[arg-type]
        strategy="ssi",
    )  # fmt: skip


def table(values: list[Any], type_: pa.DataType) -> pa.Table:
    column = pa.array(values, pa.float64()).cast(type_) if type_ == pa.float32() else None
    columns = {
        "n": np.arange(len(values)),
        "v": pa.array(values, type_) if column is None else column,
    }
    return pa.table({**columns, "change": ["+"] * len(values)})


def met(logical: StandingJoin, left: pa.Table, right: pa.Table, **constants: Any) -> set[Any]:
    """Give the pairs that join, whichever side comes first; in "identify", what is affected."""
    step = logical.step()
    row = {name: pa.array([value], logical.parameters[name]) for name, value in constants.items()}
    changes = QueryChanges(adds=register(logical, step, pa.table(row), 0).adds)
    answers = []
    for batches in (
        ({"a": left, "b": right},),
        ({"a": left}, {"b": right}),
        ({"b": right}, {"a": left}),
    ):
        operator = JoinOperator(step)
        operator.apply(changes)
        found = [result for batch in batches for result in operator.process(batch)]
        rows = [row for result in found for row in result.rows.to_pylist()]  # type: ignore[union-attr]
        answers.append([(row["i0.n"], row["i1.n"]) for row in rows])
    for answer in answers:
        assert len(answer) == len(set(answer))
    if logical.mode == "full":
        assert set(answers[0]) == set(answers[1]) == set(answers[2])
        return set(answers[0])
    return {*answers[0], *answers[1], *answers[2]}


def expected(left: pa.Table, right: pa.Table, predicate: str) -> set[Any]:
    def without_nan(column: pa.ChunkedArray) -> str:
        floating = pa.types.is_floating(column.type)
        return "CASE WHEN NOT isnan(v) THEN v END" if floating else "v"

    with duckdb.connect(":memory:") as db:
        db.execute("SET TimeZone = 'UTC'")
        db.register("a", left)
        db.register("b", right)
        texts = [
            f"(SELECT n, {without_nan(t['v'])} AS v FROM {n})"
            for n, t in (("a", left), ("b", right))
        ]
        return set(
            db.sql(
                f"SELECT i0.n, i1.n FROM {texts[0]} i0, {texts[1]} i1 WHERE {predicate}"
            ).fetchall()
        )


@pytest.mark.parametrize(("one", "ones", "two", "twos"), KEYS)
def test_keys_of_two_types(
    one: pa.DataType, ones: list[Any], two: pa.DataType, twos: list[Any]
) -> None:
    left, right = table(ones, one), table(twos, two)
    found = met(join([one, two], "full", None), left, right, x=1)
    assert found == expected(left, right, "i0.v = i1.v")
    assert found


@pytest.mark.parametrize(("type_", "values", "parameter", "ends"), BANDS)
def test_bands_of_any_type(
    type_: pa.DataType, values: list[Any], parameter: pa.DataType, ends: tuple[Any, Any]
) -> None:
    rows = table(values, type_)
    if parameter == pa.float32():
        ends = float(np.float32(ends[0])), float(np.float32(ends[1]))
    found = met(join([type_, type_], "full", parameter), rows, rows, low=ends[0], high=ends[1])
    low, high = (
        f"'{end}'::{'DOUBLE' if isinstance(end, float) else 'DECIMAL(9, 2)'}" for end in ends
    )
    guard = " AND NOT isnan(i1.v - i0.v)" if pa.types.is_floating(type_) else ""
    assert found == expected(rows, rows, f"i1.v - i0.v >= {low} AND i1.v - i0.v < {high}{guard}")
    assert found
    affected = met(
        join([type_, type_], "identify", parameter), rows, rows, low=ends[0], high=ends[1]
    )
    assert affected == {(a, None) for a, _ in found} | {(None, b) for _, b in found}
