"""Rows of parameters become entries of multi-way joins, or are refused, or are silent."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.inputs import JoinInput, WindowLength
from penstock.algebra.multi_joins import MultiJoin
from penstock.algebra.predicates import Bound, Branch, Equality, Range, Residual
from penstock.operators.shared.input_entries import entry_schema, register
from penstock.operators.shared.keys import HIGHEST
from penstock.vocabulary.batches import Registration
from tests.support.joins import parameter_table
from tests.support.multi_joins import FORMS, LOCALS, multi_join

LOW, HIGH = Bound(parameter="low", closed=True), Bound(parameter="high", closed=False)
BETWEEN = Range(column="v", lows=(LOW,), highs=(HIGH,))
COLUMNS = (("s", pa.string()), ("v", pa.int64()), ("x", pa.float64()), ("t", pa.timestamp("us")))
TYPES = {"low": pa.float64(), "high": pa.float64(), "s": pa.string(), "z": pa.int64()}


def join(first: Branch, second: Branch | None = None, **parts: Any) -> MultiJoin:
    inputs = tuple(
        JoinInput(
            name=name, relation=name, columns=COLUMNS, window=WindowLength("rows", 3),
            branch=branch, event_time="t",
        )
        for name, branch in (("a", first), ("b", second or Branch()))
    )  # fmt: skip
    return MultiJoin(inputs=inputs, outputs=(), parameters=TYPES, **parts)


def registered(logical: MultiJoin, **columns: Any) -> Registration:
    table = pa.table({name: pa.array(own, TYPES[name]) for name, own in columns.items()})
    return register(logical, logical.step(), table, first=10)


def entries(registration: Registration) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = registration.adds["queries"].to_pydict()
    return found


def test_every_input_has_its_own_names() -> None:
    equality = Branch(equalities=(Equality(column="s", parameters=("s",)),))
    logical = join(Branch(ranges=(BETWEEN,)), equality)
    found = entries(registered(logical, low=[1.5, 2.0], high=[7.0, 7.5], s=["x", "y"]))
    assert found["query"] == [10, 11]
    assert (found["i0_l0"], found["i0_h0"]) == ([2, 2], [6, 7])
    assert found["i1_e0"] == ["x", "y"]
    assert found["i1_e0_hash"][0] != found["i1_e0_hash"][1]


def test_a_join_without_constants_has_entries_of_numbers_alone() -> None:
    assert entries(registered(join(Branch()), z=[1, 2])) == {"query": [10, 11]}


def test_constants_stand_for_every_row() -> None:
    logical = join(
        Branch(ranges=(Range(column="x", lows=(LOW,), highs=()),)), constants={"low": 1.0}
    )
    found = entries(registered(logical, z=[1, 2, 3]))
    assert len(set(found["i0_l0"])) == 1
    assert found["i0_h0"] == [HIGHEST] * 3


@pytest.mark.parametrize("number", [0, 1])
def test_empty_ranges_are_refused_and_the_others_stay(number: int) -> None:
    branches = [Branch(), Branch()]
    branches[number] = Branch(ranges=(BETWEEN,))
    registration = registered(join(*branches), low=[3.0, 1.0], high=[1.0, 3.0])
    assert registration.refusals.row.tolist() == [0]
    assert registration.refusals.code == ("REG-004",)
    assert registration.refusals.reason == ("Range on v from 3 to 1 is empty. Swap the bounds.",)
    assert entries(registration)["query"] == [11]


def test_queries_that_can_never_match_are_silent() -> None:
    registration = registered(
        join(Branch(ranges=(BETWEEN,))), low=[None, float("nan"), 1.0], high=[5.0, 5.0, 5.0]
    )
    assert registration.silent.tolist() == [True, True, False]
    assert entries(registration)["query"] == [12]


def test_parameters_of_residuals_are_cast_and_named() -> None:
    own = Residual(sql="c0 > r0", columns=("v",), parameters=("z",))
    across = Residual(sql="c0 > c1 + r0", columns=("i0.x", "i1.x"), parameters=("low",))
    logical = join(Branch(), Branch(residual=own), residual=across)
    found = entries(registered(logical, z=[4], low=[0.5]))
    assert (found["i1_r0"], found["x_r0"]) == ([4], [0.5])


@pytest.mark.parametrize("local", sorted(LOCALS))
@pytest.mark.parametrize("form", sorted(FORMS))
def test_entries_have_the_columns_of_their_schema(form: str, local: str) -> None:
    logical = multi_join(form, local)
    step = logical.step()
    row = {
        "s": "a", "n": 1, "xl": 0.0, "xh": 2.0, "yl": 0, "yh": 3, "bl": 0, "bh": 1, "w": 1.0,
        "z": 0.5,
    }  # fmt: skip
    table = register(logical, step, parameter_table([row]), 0).adds["queries"]
    schema = entry_schema(step)
    assert set(table.column_names) == set(schema.names)
    assert all(table.schema.field(field.name).type == field.type for field in schema)


def test_the_planner_gives_a_multi_way_join_its_step() -> None:
    logical = multi_join("chain", "ranges")
    assert logical.step() == logical.step()
