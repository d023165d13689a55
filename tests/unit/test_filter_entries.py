"""Rows of parameters become entries, or are refused with a reason that helps."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.algebra.logical import StandingFilter, filter_step
from penstock.algebra.physical import signature
from penstock.algebra.predicates import Bound, Branch, Equality, Range, Residual
from penstock.operators.filter import register
from penstock.vocabulary.batches import Registration

COLUMNS = {"price": pa.int64(), "symbol": pa.string(), "size": pa.float64()}


def between(column: str, low: str, high: str, closed: bool = True) -> Range:
    ends = [Bound(parameter=name, closed=closed) for name in (low, high)]
    return Range(column=column, lows=(ends[0],), highs=(ends[1],))


def registered(
    *branches: Branch, constants: dict[str, Any] | None = None, **columns: pa.Array
) -> Registration:
    types = {name: column.type for name, column in columns.items()}
    for name, value in (constants or {}).items():
        types[name] = pa.scalar(value).type
    logical = StandingFilter(
        relation="t", branches=branches, outputs=(), parameters=types,
        constants=constants or {}, column_types=COLUMNS,
    )  # fmt: skip
    return register(logical, filter_step(logical), pa.table(columns), first=10)


def test_reversed_ranges_are_refused_by_row() -> None:
    branch = Branch(ranges=(between("price", "a", "b"),))
    answer = registered(branch, a=pa.array([1, 5, 3]), b=pa.array([4, 3, 3]))
    assert answer.refusals.row.tolist() == [1]
    assert answer.refusals.code == ("REG-004",)
    assert answer.refusals.reason == ("Range on price from 5 to 3 is empty. Swap the bounds.",)
    assert answer.adds["branch0"].column("query").to_pylist() == [10, 12]


def test_nothing_between_open_neighbours() -> None:
    branch = Branch(ranges=(between("price", "a", "b", closed=False),))
    answer = registered(branch, a=pa.array([5.0, 5.5, 5.5]), b=pa.array([5.0, 5.7, 6.5]))
    assert answer.refusals.row.tolist() == [0, 1]
    assert answer.refusals.reason[1] == (
        "Range on price from 5.5 to 5.7 is empty. No value lies between them."
    )
    entries = answer.adds["branch0"]
    assert (entries["l0"].to_pylist(), entries["h0"].to_pylist()) == ([6], [6])


def test_null_constants_are_silent() -> None:
    branch = Branch(ranges=(between("size", "a", "b"),))
    other = Branch(equalities=(Equality(column="symbol", parameters=("s",)),))
    nan = float("nan")
    columns = {"a": pa.array([None, nan, nan]), "b": pa.array([1.0, 1.0, None])}
    answer = registered(branch, other, s=pa.array([None, None, "x"]), **columns)
    assert answer.silent.tolist() == [True, True, False]
    assert len(answer.refusals.row) == 0


def test_in_lists_multiply_without_repeating() -> None:
    branch = Branch(
        equalities=(
            Equality(column="price", parameters=("a", "b", "$0")),
            Equality(column="symbol", parameters=("s", "$1")),
        )
    )
    columns = {"a": pa.array([1, 2]), "b": pa.array([1, None]), "s": pa.array(["x", "y"])}
    answer = registered(branch, constants={"$0": 2.5, "$1": "x"}, **columns)
    entries = answer.adds["branch0"].to_pylist()
    assert {(row["query"], row["e0"], row["e1"], row["shared"]) for row in entries} == {
        (10, 1, "x", False), (11, 2, "x", True), (11, 2, "y", True),
    }  # fmt: skip
    assert len(entries) == 3


def test_too_many_entries_are_refused() -> None:
    names = [f"${i}" for i in range(65)]
    branch = Branch(equalities=(Equality(column="price", parameters=("a", *sorted(names))),))
    constants = {name: min(i, 63) for i, name in enumerate(sorted(names))}
    answer = registered(branch, constants=constants, a=pa.array([3, 100]))
    assert answer.refusals.row.tolist() == [1]
    assert answer.refusals.code == ("REG-019",)


def test_a_value_that_cannot_be_cast_is_refused_by_row() -> None:
    residual = Residual(sql="c0 > r0", columns=("price",), parameters=("a",))
    logical = StandingFilter(
        relation="t", branches=(Branch(residual=residual),), outputs=(),
        parameters={"a": pa.int32()}, column_types=COLUMNS,
    )  # fmt: skip
    table = pa.table({"a": ["1", "one", None]})
    answer = register(logical, filter_step(logical), table, first=0)
    assert answer.refusals.row.tolist() == [1]
    assert answer.refusals.code == ("REG-005",)
    assert answer.adds["branch0"].to_pydict()["r0"] == [1, None]


def test_branches_of_one_shape_share_a_port() -> None:
    one = Branch(ranges=(between("price", "a", "b"),))
    two = Branch(
        ranges=(Range(column="price", lows=(Bound(parameter="c", closed=False),), highs=()),)
    )
    answer = registered(one, two, a=pa.array([1]), b=pa.array([2]), c=pa.array([9]))
    assert answer.adds["branch0"].to_pydict() == {
        "query": [10, 10], "shared": [True, True], "l0": [1, 10], "h0": [2, 2**63 - 1],
    }  # fmt: skip


def test_equal_shapes_have_one_signature() -> None:
    def step(closed: bool, name: str) -> str:
        logical = StandingFilter(
            relation="t", branches=(Branch(ranges=(between("price", name, "z", closed),)),),
            outputs=(), parameters={name: pa.int8(), "z": pa.float64()}, column_types=COLUMNS,
        )  # fmt: skip
        return signature(filter_step(logical))

    assert step(True, "a") == step(False, "b")
