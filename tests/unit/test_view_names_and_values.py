"""Views over rows with odd names and values, through a desk: told, verified, equal to DuckDB."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from tests.support.desk_runs import DeskRun

SCHEMA = pa.schema(
    [
        ("_n", pa.float64()), ("_turn", pa.int64()), ('a"b', pa.string()), ("select", pa.int64()),
        ("op", pa.string()),
    ]
)  # fmt: skip
ODD = Relation(name="odd", kind="table", schema=SCHEMA, change_column="op")


@pytest.fixture
def run(tmp_path: Path) -> DeskRun:
    return DeskRun(tmp_path / "home", ODD)


def told(run: DeskRun, name: str) -> Counter[tuple[Any, ...]]:
    found = Counter[tuple[Any, ...]]()
    for change in run.desk.subscription(name).changes(follow=False):
        found[tuple(change.row.values())] += change.sign
    return +found


def create(run: DeskRun, name: str, sql: str) -> None:
    options = {"view": name, "refresh": "10 seconds", "policy": "immediate"}
    run.desk.subscribe(sql, name=name, options=options)


def test_a_column_may_have_the_name_of_weights(run: DeskRun) -> None:
    with run:
        create(run, "meta", 'SELECT "_n", _turn AS "_n_1", "a""b", "select" FROM odd')
        create(run, "order by", 'SELECT "a""b" AS _n, min("_n") AS "from" FROM meta GROUP BY 1')
        rows = [{"_n": 1.5, "_turn": 7, 'a"b': text, "select": 3} for text in ("it's", "x" * 5_000)]
        run.batch(odd=[{**row, "op": "insert"} for row in (*rows, rows[1])])
        run.batch(odd=[{**rows[0], "op": "delete"}])
        assert told(run, "meta") == {(1.5, 7, "x" * 5_000, 3): 2}
        assert told(run, "order by") == {("x" * 5_000, 1.5): 1}
        assert run.unverified() == []


def test_a_zero_has_no_sign_to_those_who_verify_either(run: DeskRun) -> None:
    with run:
        create(run, "v", 'SELECT CAST("_n" AS VARCHAR) AS text, 1 / "_n" AS far FROM odd')
        row = {"_turn": 1, 'a"b': "a", "select": 1, "op": "insert"}
        run.batch(odd=[{"_n": -0.0, **row}, {"_n": 0.0, **row}])
        assert told(run, "v") == {("0.0", float("inf")): 2}
        assert run.unverified() == []


def test_texts_that_nobody_has_yet_are_compared(run: DeskRun) -> None:
    """Where DuckDB knows all texts of a column for NULL, it trips over such a CASE by itself."""
    with run:
        given = "CASE WHEN \"a\"\"b\" IS NOT NULL THEN 'yes' END <> 'no'"
        create(run, "v", f"SELECT {given} AS has, count(*) AS n FROM odd GROUP BY 1")
        row = {"_n": 1.0, "_turn": 1, "select": 1, "op": "insert"}
        run.batch(odd=[{**row, 'a"b': None}])
        run.batch(odd=[{**row, 'a"b': "a"}, {**row, 'a"b': None}])
        assert told(run, "v") == {(None, 2): 1, (True, 1): 1}
        assert run.unverified() == []
