"""Rows of parameters become entries of joins, or are refused, or are silent."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.inputs import JoinInput
from penstock.algebra.joins import Band, StandingJoin, Window
from penstock.algebra.predicates import Bound, Branch, Equality, Range
from penstock.operators.join.entries import entry_schema, register
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.vocabulary.batches import Registration
from tests.support.joins import LOCALS, forms, parameter_table, standing_join

LOW, HIGH = Bound(parameter="low", closed=True), Bound(parameter="high", closed=False)
STAMP, INT = pa.timestamp("us"), pa.int64()


def side(name: str, type_: pa.DataType = INT, branch: Branch | None = None) -> JoinInput:
    columns = (("k", pa.int64()), ("s", pa.string()), ("v", type_), ("t", STAMP))
    return JoinInput(relation=name, columns=columns, branch=branch or Branch())


def join(**parts: Any) -> StandingJoin:
    given: dict[str, Any] = {
        "inputs": (side("a"), side("b")), "keys": (("k", "k"),), "outputs": (),
    }  # fmt: skip
    return StandingJoin(**(given | parts))


def banded(type_: pa.DataType, parameter: pa.DataType) -> StandingJoin:
    band = Band(left="v", right="v", lows=(LOW,), highs=(HIGH,))
    return join(
        inputs=(side("a", type_), side("b", type_)), keys=(), band=band,
        parameters={"low": parameter, "high": parameter},
    )  # fmt: skip


def within(parameter: pa.DataType, closed: bool = False, unit_us: int = 1_000_000) -> StandingJoin:
    bound = Bound(parameter="w", closed=closed)
    window = Window(left="t", right="t", within=bound, unit_us=unit_us)
    return join(window=window, parameters={"w": parameter})


def registered(logical: StandingJoin, **columns: Any) -> Registration:
    table = pa.table({n: pa.array(v, logical.parameters[n]) for n, v in columns.items()})
    return register(logical, logical.step(), table, first=10)


def entries(registration: Registration) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = registration.adds["queries"].to_pydict()
    return found


def test_a_side_without_predicates_takes_all_rows() -> None:
    logical = join(parameters={"x": pa.int64()})
    assert entries(registered(logical, x=[1])) == {
        "query": [10], "al": [LOWEST], "ah": [HIGHEST], "cl": [LOWEST], "ch": [HIGHEST],
    }  # fmt: skip


def test_an_equality_is_the_primary_range_and_texts_stay_to_be_verified() -> None:
    branch = Branch(
        equalities=(Equality(column="s", parameters=("s",)),),
        ranges=(Range(column="v", lows=(LOW,), highs=()),),
    )
    logical = join(
        inputs=(side("a", branch=branch), side("b")),
        parameters={"s": pa.string(), "low": pa.int64()},
    )
    found = entries(registered(logical, s=["x", "y", "x", None], low=[1, 2, 3, 4]))
    assert found["query"] == [10, 11, 12]
    assert found["al"] == found["ah"]
    assert found["al"][0] == found["al"][2] != found["al"][1]
    assert (found["i0_e0"], found["i0_l0"], found["i0_h0"]) == (
        ["x", "y", "x"],
        [1, 2, 3],
        [HIGHEST] * 3,
    )


@pytest.mark.parametrize(
    ("type_", "parameter", "low", "high", "expected"),
    [
        (pa.int32(), pa.int64(), -2, 3, (-2, 2)),
        (pa.int32(), pa.float64(), -2.5, 2.5, (-2, 2)),
        (pa.date32(), pa.int64(), 1, 4, (1, 3)),
        (pa.decimal128(9, 2), pa.decimal128(9, 2), Decimal("0.10"), Decimal("0.20"), (10, 19)),
        (pa.float64(), pa.float64(), 0.5, 1.0, (0.5, 1.0 - 2**-53)),
    ],
)
def test_bands_are_closed_in_the_units_of_the_difference(
    type_: pa.DataType, parameter: pa.DataType, low: Any, high: Any, expected: tuple[Any, Any]
) -> None:
    found = entries(registered(banded(type_, parameter), low=[low], high=[high]))
    assert (found["bl"][0], found["bh"][0]) == expected


def test_reversed_bands_are_refused_and_nulls_are_silent() -> None:
    logical = banded(pa.float64(), pa.float64())
    found = registered(logical, low=[3.0, 1.0, None, float("nan")], high=[1.0, 1.0, 2.0, 3.0])
    assert found.refusals.row.tolist() == [0, 1]
    assert found.refusals.code == ("REG-004", "REG-004")
    assert found.refusals.reason[0] == ("Range on b.v - a.v from 3 to 1 is empty. Swap the bounds.")
    assert found.silent.tolist() == [False, False, True, True]
    assert entries(found)["query"] == []


@pytest.mark.parametrize(
    ("parameter", "closed", "unit_us", "value", "expected"),
    [
        (pa.int64(), False, 1_000_000, 5, 5_000_000),
        (pa.int64(), True, 1_000_000, 5, 5_000_001),
        (pa.int64(), True, 60_000_000, 0, 1),
        (pa.float64(), False, 1_000_000, 0.0000015, 2),
        (pa.float64(), True, 1_000_000, 0.0000015, 2),
        (pa.decimal128(9, 3), False, 60_000_000, Decimal("0.001"), 60_000),
        (pa.duration("ms"), False, 1_000_000, 7, 7_000),
        (pa.int64(), False, 86_400_000_000, 1 << 60, 1 << 61),
    ],
)
def test_windows_are_whole_microseconds(
    parameter: pa.DataType, closed: bool, unit_us: int, value: Any, expected: int
) -> None:
    found = entries(registered(within(parameter, closed, unit_us), w=[value]))
    assert found["w"] == [expected]


def test_windows_that_hold_nothing_are_refused() -> None:
    found = registered(within(pa.float64()), w=[0.0, -1.0, None, float("nan"), 1.0])
    assert found.refusals.row.tolist() == [0, 1]
    assert set(found.refusals.code) == {"REG-021"}
    assert found.refusals.reason[1] == (
        "Window -1.0 of parameter w holds no two rows. Give a window above zero."
    )
    assert found.silent.tolist() == [False, False, True, True, False]
    assert entries(found)["query"] == [14]


def test_values_that_cannot_be_cast_are_refused() -> None:
    branch = Branch(equalities=(Equality(column="s", parameters=("s",)),))
    numbers = replace(side("a"), branch=Branch(ranges=(Range(column="v", lows=(LOW,), highs=()),)))
    logical = join(
        inputs=(numbers, side("b", branch=branch)),
        parameters={"s": pa.string(), "low": pa.string()},
    )  # fmt: skip
    found = registered(logical, s=["x", "y"], low=["1", "many"])
    assert found.refusals.code == ("REG-005",)
    assert entries(found)["al"] == [1]


@pytest.mark.parametrize("local", sorted(LOCALS))
@pytest.mark.parametrize("kind", ["select_join", "band_join", "window_join"])
def test_entries_have_the_columns_of_their_schema(kind: str, local: str) -> None:
    for form in forms(kind):
        logical = standing_join(kind, form, local)
        step = logical.step()
        table = register(logical, step, parameter_table([]), first=0).adds["queries"]
        assert set(table.column_names) == set(entry_schema(step).names)
        assert dict(zip(table.column_names, table.schema.types, strict=True)) == {
            field.name: field.type for field in entry_schema(step)
        }
