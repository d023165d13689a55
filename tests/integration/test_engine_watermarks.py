"""Late rows, rows of no time and rows of the future: what is left out is told, and by whom."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine.verification import verify
from penstock.spark.hosts import future_rows
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import FUTURE_ROWS, LATE_ROWS, LOSSES, NULL_EVENT_TIMES
from tests.support.desk_runs import DeskRun

BEGIN = datetime(2026, 1, 2, tzinfo=UTC)
SCHEMA = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
TEXTS = {
    "window": "SELECT a.n AS a, b.n AS b FROM a JOIN b ON a.k = b.k WITHIN 100 SECONDS",
    "multi": "SELECT a.n AS a, b.n AS b FROM a [RANGE 100 SECONDS], b [ROWS 99] WHERE a.k = b.k",
    "bounded": "SELECT a.n AS a, b.n AS b FROM a JOIN b ON a.k = b.k MEMORY 1000 ROWS",
}


def rows(*seconds: int | None) -> list[dict[str, Any]]:
    times = [None if s is None else BEGIN + timedelta(seconds=s) for s in seconds]
    return [{"k": 1, "n": s, "ts": time} for s, time in zip(seconds, times, strict=True)]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    streams = (
        Relation(name=name, kind="stream", schema=SCHEMA, event_time="ts", lateness_us=0)
        for name in "ab"
    )
    made = DeskRun(tmp_path / "home", *streams)
    yield made
    made.desk.close()


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_files_of_one_batch_lose_nothing_in_whatever_order_they_are_read(
    run: DeskRun, kind: str
) -> None:
    """Eight files, the largest first: with lateness 0 all their rows are joined."""
    sub = run.desk.subscribe(TEXTS[kind], name=kind)
    order = [6, 7, 3, 2, 0, 5, 1, 4]
    run.batch(a=rows(*(10 * at + i for at in order for i in range(3))), b=rows(45, 1, 73))
    run.batch(a=rows(9000), b=rows(9001))
    found = sorted({(c.row["a"], c.row["b"]) for c in sub.changes(follow=False)})
    found = [pair for pair in found if max(pair) < 9000]
    wanted = [(10 * at + i, b) for at in range(8) for i in range(3) for b in (1, 45, 73)]
    assert found == wanted
    (verdict,) = verify(run.desk.registry, run.desk.log)
    assert verdict.equal
    assert verdict.late == 0


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_each_group_tells_what_was_late_or_had_no_time(run: DeskRun, kind: str) -> None:
    first = run.desk.subscribe(TEXTS[kind], name="first")
    run.desk.subscribe(TEXTS[kind], name="second")
    other = run.desk.subscribe(TEXTS["multi"].replace("99", "98"), name="other")
    run.batch(a=rows(10, 20), b=rows(20))
    run.batch(a=rows(5, None, 20, 15), b=rows(19, 30))
    for group in (first.group, other.group):
        assert run.figures[group][LATE_ROWS] == 3
        assert run.figures[group][NULL_EVENT_TIMES] == 1
    for verdict in verify(run.desk.registry, run.desk.log):
        assert verdict.equal
        assert verdict.late == 3
    assert {LATE_ROWS, NULL_EVENT_TIMES, FUTURE_ROWS} <= set(LOSSES.values())


def test_a_group_that_comes_later_knows_how_far_its_streams_have_come(run: DeskRun) -> None:
    run.batch(a=rows(10, 20), b=rows(20))
    sub = run.desk.subscribe(TEXTS["window"], name="late")
    run.batch(a=rows(15, 20), b=rows(30))
    assert run.figures[sub.group][LATE_ROWS] == 1
    assert [(c.row["a"], c.row["b"]) for c in sub.changes(follow=False)] == [(20, 30)]


def test_rows_that_have_not_happened_yet_are_counted() -> None:
    now = datetime.now(UTC)
    times = [
        now,
        now + timedelta(hours=23),
        now + timedelta(hours=25),
        None,
        BEGIN.replace(year=9999),
    ]
    for type_ in (pa.timestamp("us", "UTC"), pa.timestamp("ms"), pa.timestamp("s")):
        plain = [None if t is None else t.replace(tzinfo=None) for t in times]
        table = pa.table({"ts": pa.array(plain, pa.timestamp("us")).cast(type_, safe=False)})
        told = future_rows({"a": table}, {"a": "ts", "b": "ts"})
        assert told == FigureTable({"a": Tally({FUTURE_ROWS: 2})})
