"""The filter operator's manners: metrics, NULLs, residual errors, memory, explanations."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.physical import BranchShape, FilterStep
from penstock.operators.catalogue import OPERATORS
from penstock.operators.filter import FilterOperator, warm_up
from penstock.operators.filter.figures import ENTRIES, FILTERED_ROWS, SLOW_PATH_QUERIES
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import CANDIDATES, NULL_VALUES, QUERIES


def group(shape: BranchShape, **columns: Any) -> FilterOperator:
    operator = FilterOperator(FilterStep(relation="t", branches=(shape,)), threads=1)
    size = len(next(iter(columns.values())))
    numbers = {"query": np.arange(size), "shared": np.zeros(size, dtype=bool)}
    operator.apply(QueryChanges(adds={"branch0": pa.table(numbers | columns)}))
    return operator


def pairs(operator: FilterOperator, table: pa.Table) -> list[tuple[int, int]]:
    results = operator.process({"t": table})
    return sorted(
        pair for r in results for pair in zip(r.event.tolist(), r.query.tolist(), strict=True)
    )


def test_no_batch_no_results() -> None:
    operator = group(BranchShape(ranges=(("x", pa.int64()),)), l0=[1], h0=[2])
    assert operator.process({}) == []
    assert operator.process({"t": pa.table({"x": pa.array([], pa.int64())})}) == []
    assert operator.delta() is None
    assert operator.snapshot() is None


def test_null_values_are_counted_and_passed_over() -> None:
    operator = group(BranchShape(ranges=(("x", pa.float64()),)), l0=[-(2**63)], h0=[2**63 - 1])
    table = pa.table({"x": pa.chunked_array([[1.0, None], [float("nan"), 3.0]])})
    assert pairs(operator, table) == [(0, 0), (3, 0)]
    assert operator.counts() == Tally({NULL_VALUES: 2, CANDIDATES: 2, FILTERED_ROWS: 4})
    assert operator.sizes() == Tally({QUERIES: 1, SLOW_PATH_QUERIES: 0, ENTRIES: 1})


@pytest.mark.parametrize(
    "sql",
    ["CAST(c0 AS INTEGER) = r0", "CAST(c0 AS INTEGER) = r0 AND random() >= 0"],
    ids=["TRY", "TRY is not allowed here"],
)
def test_an_error_is_no_match_for_its_row_only(sql: str) -> None:
    shape = BranchShape(residual_sql=sql, residual_columns=("s",), residual_types=(pa.int32(),))
    operator = group(shape, r0=pa.array([1, 2, None], pa.int32()))
    table = pa.table({"s": ["1", "one", "2", None]})
    assert pairs(operator, table) == [(0, 0), (2, 1)]
    assert operator.sizes()[SLOW_PATH_QUERIES] == 3
    operator.apply(QueryChanges(drops=np.array([0, 5])))
    assert operator.sizes()[SLOW_PATH_QUERIES] == 2
    assert pairs(operator, table) == [(2, 1)]


def test_nan_is_null_in_residuals() -> None:
    shape = BranchShape(
        residual_sql="c0 IS NULL AND r0 IS NULL",
        residual_columns=("x",),
        residual_types=(pa.float64(),),
    )
    operator = group(shape, r0=[float("nan"), 1.0])
    assert pairs(operator, pa.table({"x": [float("nan"), 2.0, None]})) == [(0, 0), (2, 0)]


def test_the_selective_column_is_indexed() -> None:
    shape = BranchShape(ranges=(("a", pa.int64()), ("b", pa.int64())))
    size = 500
    operator = group(
        shape, l0=np.zeros(size, int), h0=np.full(size, 100), l1=np.arange(size), h1=np.arange(size)
    )
    table = pa.table({"a": np.full(50, 7), "b": np.arange(50)})
    assert pairs(operator, table) == [(i, i) for i in range(50)]
    assert operator.branches[0].index.indexed == 1


def test_what_is_dropped_is_forgotten() -> None:
    """Values and entries of dropped queries give their memory back."""
    shape = BranchShape(equalities=(("s", pa.string()), ("n", pa.int64())))
    operator = FilterOperator(FilterStep(relation="t", branches=(shape,)), threads=1)
    size, first = 200, 0
    for _ in range(30):
        numbers = np.arange(first, first + size)
        table = pa.table(
            {"query": numbers, "shared": np.zeros(size, dtype=bool),
             "e0": [f"s{i}" for i in numbers], "e1": numbers}
        )  # fmt: skip
        drops = np.arange(max(first - size, 0), first)
        operator.apply(QueryChanges(adds={"branch0": table}, drops=drops))
        first += size
    index = operator.branches[0].index
    assert len(index) == size
    assert sum(len(level) for level in index.levels) <= 4 * size
    assert index.codes.size <= 8 * size
    last = first - 1
    events = pa.table({"s": [f"s{last}", "s0"], "n": [last, 0]})
    assert pairs(operator, events) == [(0, last)]


def test_explanation_tells_how_queries_are_found() -> None:
    kind = OPERATORS["filter"]
    shapes = (
        BranchShape(
            equalities=(("s", pa.string()),), ranges=(("a", pa.int64()), ("b", pa.int64()))
        ),
        BranchShape(residual_sql="c0 LIKE r0", residual_columns=("s",)),
    )
    entries = pa.table(
        {"query": [1, 2, 2], "shared": [False, True, True], "e0": ["x", "x", "y"],
         "l0": [0, 0, 0], "h0": [9, 9, 9], "l1": [1, 5, 5], "h1": [2, 6, 6]}
    )  # fmt: skip
    facts = kind.explain(FilterStep(relation="t", branches=shapes), {"branch0": entries})
    indexed, slow = facts["branches"]
    assert json.loads(json.dumps(facts)) == facts
    assert (indexed["indexed_on"], indexed["verified"]) == ("b", ["a"])
    assert (indexed["queries"], indexed["partitioned_by"]) == (2, ["s"])
    assert indexed["expected_candidates_per_event"] == 1.0
    assert indexed["slow_path"] is None
    assert "every event" in slow["slow_path"]


def test_warm_up_runs() -> None:
    warm_up()
