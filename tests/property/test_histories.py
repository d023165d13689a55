"""Histories of tables, read in any order and in any batches: every answer ends as DuckDB's does.

Files are shuffled, within batches and (where changes say their order) across them, with restarts
in between. What a reader was told, added up, must be DuckDB's answer over what stands in the end;
nobody may be told of a row that goes and was never given; `verify` must agree, batch by batch.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.catalog import Relation
from penstock.engine.verification import verify
from penstock.lab.correctness.table_histories import SCHEMA, History, history, orders
from tests.support.desk_runs import DeskRun

CLOCK = pa.schema([("k", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
PLAIN = Relation(name="a", kind="table", schema=SCHEMA, change_column="op")
KINDS = {
    "netted": PLAIN,
    "sequence": replace(PLAIN, key=("id",), sequence=("lsn",)),
    "files": replace(PLAIN, key=("id",), positioned=True),
    "arrival": replace(PLAIN, key=("id",)),
}
SELECT = "SELECT a.id AS a, b.id AS b, a.x, b.note FROM a JOIN b ON a.k = b.k WHERE a.x < 3"
BAND = "SELECT a.id AS a, b.id AS b FROM a JOIN b ON b.id - a.id BETWEEN -1 AND 1 WHERE b.x >= 0"
FILTER = "SELECT id, k, x, note FROM a WHERE k IN (1, 2) OR x > 2"
ANSWERS = {"selected": SELECT, "banded": BAND, "filtered": FILTER}
WAYS = (
    "SELECT c.k, a.id AS a, b.id AS b, b.x FROM clock c [ROWS 100], a, b "
    "WHERE c.k = a.k AND c.k = b.k AND a.x < 3"
)


def plain(row: dict[str, Any]) -> tuple[Any, ...]:
    """NaN counts as NULL, and zero has no sign."""
    numbers = (v + 0.0 if isinstance(v, float) else v for v in row.values())
    return tuple(None if isinstance(v, float) and isnan(v) else v for v in numbers)


def by_duckdb(sql: str, left: History, right: History) -> Counter[tuple[Any, ...]]:
    with duckdb.connect(":memory:") as db:
        for name, own in (("a", left), ("b", right)):
            db.register(f"given_{name}", own.net)
            db.execute(
                f"CREATE TABLE {name} AS SELECT * REPLACE ("
                f"CASE WHEN isnan(x) THEN NULL ELSE x END AS x) FROM given_{name}"
            )
        return Counter(plain(row) for row in db.sql(sql).to_arrow_table().to_pylist())


def told(run: DeskRun, name: str) -> Counter[tuple[Any, ...]]:
    """Add up what a subscriber was told; it never owes a row."""
    held: Counter[tuple[Any, ...]] = Counter()
    batch = -1
    for change in run.desk.subscription(name).changes(follow=False):
        if change.batch != batch:
            assert min(held.values(), default=0) >= 0, "a row went that was never given"
            batch = change.batch
        held[plain(change.row)] += change.sign
    assert min(held.values(), default=0) >= 0, "a row went that was never given"
    return +held


def ordered(kind: str, seed: int, files: int, batches: int) -> list[list[int]]:
    """Read files in an order that the kind of table can bear."""
    if kind == "arrival":
        return [sorted(own) for own in orders(seed, files, batches, across=False)]
    return orders(seed, files, batches)


@pytest.mark.parametrize("kind", sorted(KINDS))
@settings(max_examples=8)
@given(
    seed=st.integers(0, 1 << 30), size=st.integers(1, 60), files=st.integers(1, 7),
    batches=st.integers(1, 5), restarts=st.booleans(), late=st.booleans(),
)  # fmt: skip
def test_answers_end_as_duckdb_says(
    kind: str, seed: int, size: int, files: int, batches: int, restarts: bool, late: bool
) -> None:
    table = KINDS[kind]
    keyed = bool(table.key)
    left, right = (history(seed + n, size, files, keyed) for n in (0, 1))
    reads = [ordered(kind, seed + n, files, batches) for n in (0, 1)]
    clock = Relation(name="clock", kind="stream", schema=CLOCK, event_time="at", lateness_us=0)
    with tempfile.TemporaryDirectory() as root:
        run = DeskRun(Path(root) / "home", table, replace(table, name="b"), clock)
        for name, sql in ANSWERS.items():
            if name == "filtered" or not late:
                run.desk.subscribe(sql, name=name)
        for turn, (a, b) in enumerate(zip(*reads, strict=True)):
            if late and turn == batches - 1:
                for name in ("selected", "banded"):
                    run.desk.subscribe(ANSWERS[name], name=name)
            run.batch(a=left.batch(a, table.positioned), b=right.batch(b, table.positioned))
            if restarts:
                run.restart()
        run.desk.subscribe(WAYS, name="ways")
        ticks = [{"k": k, "at": 1_000_000 * (k + 1)} for k in range(4)]
        run.batch(clock=pa.Table.from_pylist(ticks, schema=CLOCK))
        assert told(run, "filtered") == by_duckdb(FILTER, left, right)
        if not late:
            for name in ("selected", "banded"):
                assert told(run, name) == by_duckdb(ANSWERS[name], left, right), name
        over = WAYS.replace("clock c [ROWS 100]", "(VALUES (0), (1), (2), (3)) c(k)")
        assert told(run, "ways") == by_duckdb(over, left, right)
        for verdict in verify(run.desk.registry, run.desk.log):
            assert verdict.equal, verdict
        run.desk.close()
