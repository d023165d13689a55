"""Filters: a verdict on them, and rows that are dropped if users let them, on measured overload."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine.verification import verify
from penstock.kinds.filter import loads
from penstock.operators.filter.boxes import let_through
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.losses import SHED_ROWS
from penstock.vocabulary.shared_figures import ACTUAL_COST
from tests.support.desk_runs import DeskRun
from tests.support.planners import passing

SCHEMA = pa.schema([("v", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
TEXT = "SELECT v FROM s WHERE v BETWEEN 2 AND 6"
SUBSET = {"shedding": "subset"}
ROWS = 400
"""Rows of a batch: those of a second."""


def stream(name: str, event_time: str | None = "ts") -> Relation:
    return Relation(name=name, kind="stream", schema=SCHEMA, event_time=event_time, rate=ROWS)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DeskRun]:
    monkeypatch.setattr(loads, "LOOK_EVERY_BATCHES", 1)
    made = DeskRun(tmp_path / "home", stream("s"), stream("timeless", None))
    yield made
    made.desk.close()


class Feeding:
    """Batches of a second each, which are said to need so many processors if all rows pass."""

    def __init__(self, run: DeskRun) -> None:
        self._run = run
        self._chance = np.random.default_rng(5)
        self._second = 0
        self.watcher = run.desk.watcher
        self.watcher.clock_s = lambda: float(self._second)

    def batches(self, count: int, needed: float) -> None:
        for _ in range(count):
            times = np.sort(self._chance.integers(0, 10**6, ROWS)) + self._second * 10**6
            columns = [self._chance.integers(0, 10, ROWS), times]
            arrays = [pa.array(c).cast(f.type) for c, f in zip(columns, SCHEMA, strict=True)]
            self._run.batch(s=pa.Table.from_arrays(arrays, schema=SCHEMA))
            self._second += 1
            figures = self._run.figures
            for tally in figures.values():
                if ACTUAL_COST in tally:
                    kept = ROWS - tally[SHED_ROWS]
                    tally[ACTUAL_COST] = round(needed * 1e9 * kept / ROWS)
            logged = self._run.desk.log.read(self._run.batches - 1)
            assert logged is not None
            self.watcher.take(
                BatchReport(
                    batch=logged.batch,
                    version=logged.version,
                    rows_in=ROWS,
                    matches=logged.matches,
                    seconds=min(needed, 1.0),
                    figures=figures,
                    logged=logged,
                )
            )


def test_explain_gives_a_verdict_and_its_figures(run: DeskRun) -> None:
    facts = run.desk.explain(TEXT).facts
    assert facts["verdict"].startswith("ABUNDANT: it needs 0.024 % of one processor")
    assert facts["rate"] == "400 rows/s [declared]"
    assert "0.6 µs" in facts["cost"] and "[built-in]" in facts["cost"]
    text = run.desk.explain(TEXT, what_if="rate(s) = 2000000/s, cores = 2").text()
    assert "ABUNDANT: it needs 120 % of one processor, and 160 % may be used" in text
    busy = run.desk.explain(TEXT, what_if="rate(s) = 2000000/s").text()
    assert "INSUFFICIENT: it needs 120 % of one processor, and 80 % may be used" in busy
    assert "nothing may be dropped" in busy
    assert "what if" in busy
    thinned = run.desk.explain(TEXT, options=SUBSET, what_if="cost = 1 ms, rate(s) = 1600/s").text()
    assert "once it is seen to fall behind, 50 % of the rows go" in thinned


def test_what_a_filter_does_not_depend_on_cannot_be_assumed(run: DeskRun) -> None:
    for what_if in ("window(s) = 5", "rate(other) = 3", "selectivity(s) = 0.4"):
        with pytest.raises(PenstockError, match="SQL-091"):
            run.desk.explain(TEXT, what_if=what_if)


def test_joins_that_are_not_planned_have_no_what_if(run: DeskRun) -> None:
    text = "SELECT l.v FROM s l JOIN s r ON l.v = r.v WITHIN 5 SECONDS"
    with pytest.raises(PenstockError, match="ENG-036"):
        run.desk.explain(text, what_if={"cores": 2})


def test_a_run_measures_what_rows_take(run: DeskRun) -> None:
    run.desk.subscribe(TEXT, name="plain")
    feeding = Feeding(run)
    feeding.batches(6, needed=0.2)
    facts = run.desk.explain("plain").facts
    assert facts["cost"].startswith("500 µs") and "[measured]" in facts["cost"]
    assert facts["rate"] == "400 rows/s [measured]"
    assert facts["verdict"].startswith("ABUNDANT: it needs 20 %")


def test_options_are_checked(run: DeskRun) -> None:
    for options, code in (
        ({"shedding": "faithful"}, "SQL-071"),
        ({"minimum": 2}, "SQL-071"),
        ({"order": "(a b)"}, "SQL-070"),
    ):
        with pytest.raises(PenstockError, match=code):
            run.desk.subscribe(TEXT, name="s", options=options)
    with pytest.raises(PenstockError, match="SQL-072"):
        run.desk.subscribe(TEXT.replace("FROM s", "FROM timeless"), options=SUBSET)


def test_nothing_is_dropped_unless_the_user_lets_it(run: DeskRun) -> None:
    plain = run.desk.subscribe(TEXT, name="plain")
    thinned = run.desk.subscribe(TEXT, name="thinned", options=SUBSET)
    assert plain.group != thinned.group
    assert thinned.receipt is not None and thinned.receipt.verdict == "ABUNDANT"
    registry = run.desk.registry
    feeding = Feeding(run)
    feeding.batches(3, needed=2.0)
    assert passing(registry, thinned.group) == 1.0, "looks may err"
    feeding.batches(6, needed=2.0)
    share = passing(registry, thinned.group)
    assert share == pytest.approx(0.9 * 0.8 / 2.0, rel=0.05)
    assert passing(registry, plain.group) == 1.0
    before = registry.version
    feeding.batches(8, needed=2.0)
    assert registry.version == before, "no flapping"
    assert "share passing 35.7 %" in run.desk.explain("thinned").text()
    run.restart()
    feeding.batches(2, needed=2.0)
    feeding.batches(6, needed=0.3)
    assert passing(registry, thinned.group) == 1.0
    told = "\n".join(notice.text for notice in feeding.watcher.notices)
    assert "it cannot keep up" in told and "the overload is over" in told
    feeding.batches(2, needed=0.3)
    found = {verdict.subscription: verdict for verdict in verify(registry, run.desk.log)}
    assert found["plain"].equal and not found["plain"].is_shed
    assert found["thinned"].equal and found["thinned"].found < found["plain"].found
    assert found["thinned"].full == found["plain"].found
    assert found["thinned"].full_found == found["thinned"].found, "a part of the full answer"


def test_once_and_a_new_run_drop_nothing(run: DeskRun) -> None:
    group = run.desk.subscribe(TEXT, name="thinned", options=SUBSET).group
    feeding = Feeding(run)
    feeding.watcher.begin(once=True, shards=1)
    feeding.batches(8, needed=2.0)
    assert passing(run.desk.registry, group) == 1.0
    feeding.watcher.begin(once=False, shards=1)
    feeding.batches(8, needed=2.0)
    assert passing(run.desk.registry, group) < 1.0
    feeding.watcher.begin(once=False, shards=1)
    assert passing(run.desk.registry, group) == 1.0


def test_rows_of_one_time_go_together_and_shares_hold() -> None:
    times = np.repeat(np.arange(5_000) * 1_000, 2)
    there = np.ones(len(times), dtype=np.bool_)
    passes = let_through(times, there, 0.3)
    assert passes.mean() == pytest.approx(0.3, abs=0.03)
    assert (passes[::2] == passes[1::2]).all()
    assert let_through(times, ~there, 0.3).all(), "rows without a time go on"
    more = let_through(times, there, 0.6)
    assert (more | ~passes).all(), "a wider box lets through what a narrower one does"
