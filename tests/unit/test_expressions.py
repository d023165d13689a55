"""A row that fails is NULL, or no match, and is told; the others have their values.

A failure that is of no row is an error and never an answer.
"""

from __future__ import annotations

from itertools import product

import duckdb
import pyarrow as pa
import pytest

from penstock.expressions import evaluation
from penstock.expressions.conditions import Predicate, tried
from penstock.expressions.connections import connect
from penstock.expressions.evaluation import evaluate
from penstock.language.duckdb_checks import type_over
from penstock.vocabulary.errors import PenstockError

ROWS = pa.table(
    {
        "s": ["1", "x", None, "3"],
        "i": [0, 1, 2, None],
        "b": [1, 2**63 - 1, 5, 6],
        "l": [[1], [], [7, 8], None],
        "j": ['{"a": 1}', "{", None, "[]"],
        "z": ["UTC", "Mars/Base", "Europe/Paris", None],
        "d": pa.array(["1", "9" * 36, "2", None]).cast(pa.decimal128(38, 2)),
    }
)
FAILING = {
    "CAST(s AS INTEGER)": [1],
    "CAST(s AS INTEGER) IN (1, 2)": [1],
    "CAST(s AS INTEGER) + CAST(s AS INTEGER) > 2": [1],
    "1 // i": [0],
    "b + 1": [1],
    "d * d": [1],
    "strptime(s, '%Y')": [1],
    "regexp_matches('a', s || '(')": [0, 1, 3],
    "json_extract(j, '$.a')": [1],
    "make_date(2024, i, 1)": [0],
    "make_timestamp(b)": [1],
    "chr(-i::INTEGER)": [1, 2],
    "list_reduce(l, lambda x, y: x + y)": [1],
    "timezone(z, TIMESTAMP '2024-01-01 00:00:00')": [1],
}
"""The last two fail in ways that TRY does not catch."""


@pytest.mark.parametrize("expression", FAILING)
def test_the_rows_that_fail_are_null_and_named(expression: str) -> None:
    fails = FAILING[expression]
    found, beside = evaluate([expression, "upper(s)"], ROWS)
    assert found.failed is not None
    assert [row for row, failed in enumerate(found.failed) if failed] == fails
    assert beside.values.to_pylist() == ["1", "X", None, "3"] and beside.failed is None
    for row in range(ROWS.num_rows):
        (alone,) = evaluate([expression], ROWS.slice(row, 1))
        assert found.values.slice(row, 1).to_pylist() == alone.values.to_pylist()
        assert alone.failures == (row in fails)
    assert found.values.type == evaluate([expression], ROWS.slice(0, 0))[0].values.type


def test_all_rows_fail_where_no_row_is_needed() -> None:
    (found,) = evaluate(["regexp_extract(s, '(')"], ROWS)
    assert found.failures == ROWS.num_rows and found.values.null_count == ROWS.num_rows


@pytest.mark.parametrize(
    "error", [duckdb.OutOfMemoryException, duckdb.InternalException, duckdb.BinderException]
)
def test_a_failure_of_no_row_is_an_error(
    error: type[duckdb.Error], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not evaluation.is_of_a_row(error("x"))


@pytest.mark.parametrize("asking", ["evaluate", "ask"])
def test_memory_that_does_not_suffice_is_an_error_and_the_next_question_has_its_answer(
    asking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "ROWS_MEMORY", "8MB")
    evaluation.forget()
    big = "length(list_sort(system.main.range(b * 0 + 3000000))::VARCHAR) > 0"
    ask = evaluate if asking == "evaluate" else lambda sqls, rows: Predicate(sqls[0]).ask(rows)
    with pytest.raises(PenstockError, match="RUN-005"):
        ask([big], ROWS)
    assert Predicate("b > 5").ask(ROWS).holds.tolist() == [False, True, False, True]


ATOMS = ("x = 0", "10 // x > 1", "CAST(s AS INTEGER) > 5", "s LIKE '%'")
LAW = pa.table({"x": [0, 0, 3, 3, None, 20], "s": ["7", "q", "q", "7", "q", None]})


def _value(atom: str, row: dict[str, object]) -> bool | None:
    """Say what a condition is, NULL where it fails."""
    x, s = row["x"], row["s"]
    assert x is None or isinstance(x, int)
    if atom == "x = 0":
        return None if x is None else x == 0
    if atom == "10 // x > 1":
        return None if not x else 10 // x > 1
    if atom == "s LIKE '%'":
        return None if s is None else True
    return True if s == "7" else None


def _and(one: bool | None, two: bool | None) -> bool | None:
    if one is False or two is False:
        return False
    return None if one is None or two is None else True


def _not(one: bool | None) -> bool | None:
    return None if one is None else not one


@pytest.mark.parametrize(("one", "two"), list(product(ATOMS, ATOMS)))
def test_a_condition_that_fails_is_neither_true_nor_false(one: str, two: str) -> None:
    """However AND, OR and NOT join them, in the engine's words and in those of `verify`."""
    values = [(_value(one, row), _value(two, row)) for row in LAW.to_pylist()]
    with duckdb.connect(":memory:") as db:
        db.execute(f"SET disabled_optimizers = '{evaluation.BESIDE_TRY}'; SET threads = 1")
        for sql, expected in (
            (f"{one} AND {two}", [_and(a, b) for a, b in values]),
            (f"{one} OR {two}", [_not(_and(_not(a), _not(b))) for a, b in values]),
            (f"NOT ({one} AND {two})", [_not(_and(a, b)) for a, b in values]),
            (f"NOT ({one}) OR {two}", [_not(_and(a, _not(b))) for a, b in values]),
        ):
            held = Predicate(sql).ask(LAW)
            assert held.holds.tolist() == [value is True for value in expected], sql
            rows = db.from_arrow(LAW)
            found = rows.project(f"{tried(sql)} AS v").fetchall()
            assert [value for (value,) in found] == expected, sql
            assert len(rows.filter(tried(sql)).fetchall()) == expected.count(True), sql


def test_only_what_is_left_undecided_counts_as_failed() -> None:
    held = Predicate("s = 'q' OR CAST(s AS INTEGER) > 5").ask(LAW)
    assert held.holds.tolist() == [True, True, True, True, True, False]
    assert held.failed is None or not held.failed.any()
    held = Predicate("x > 0 AND CAST(s AS INTEGER) > 5").ask(LAW)
    assert held.failed is not None
    assert held.failed.tolist() == [False, False, True, False, True, False]


@pytest.mark.parametrize(
    "text",
    ["split_part(s, ',', 1) <> 'a'", "CASE WHEN s IS NOT NULL THEN 'yes' END <> 'no'"],
)
def test_texts_that_are_all_null_are_compared(text: str) -> None:
    """DuckDB itself trips over these where it knows all texts of a column for NULL."""
    with connect() as db:
        db.execute("CREATE TABLE nobody AS SELECT CAST(NULL AS VARCHAR) AS s")
        assert db.sql(f"SELECT {text} FROM nobody").fetchall() == [(None,)]
    assert type_over(text, "(SELECT NULL::VARCHAR AS s)") == "BOOLEAN"
