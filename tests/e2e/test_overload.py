"""Overload on a real Spark: no row is dropped on a guess, and none when it is over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.kinds import overload
from penstock.kinds.filter import loads
from penstock.kinds.multi_join import cycle, plans
from penstock.planning.constants import BUILT_IN
from penstock.spark import hosts
from tests.e2e.conftest import Open
from tests.support.planners import passing, planner_of
from tests.support.streams import SECONDS_PER_FILE, Streams
from tests.support.waiting import until_events

CHAIN = """
    SELECT a.n AS a, b.n AS b, c.n AS c FROM a [ROWS 10], b [ROWS 10], c [ROWS 10]
    WHERE a.x = b.x AND b.y = c.y
"""


def test_what_nobody_declared_loses_nothing_on_an_idle_machine(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    streams = Streams(tmp_path, seed)
    streams.put(6)
    engine = open_engine()
    streams.declare(engine)
    guessed = engine.subscribe(CHAIN, name="guessed", options={"headroom": 0.999})
    assert guessed.receipt is not None
    assert guessed.receipt.verdict == "INSUFFICIENT", "by a guess of a thousand rows a second"
    assert "the verdict is a guess" in guessed.receipt.notes[1]
    engine.start()
    until_events(engine, streams.rows)
    engine.stop()
    (verdict,) = engine.verify().answers
    assert verdict.equal and not verdict.is_shed, verdict
    assert verdict.found > 100
    assert "shed_rows" not in engine.figures().losses.get("guessed", {})


@pytest.fixture
def took_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Say how long a group takes for a batch, by the host's clock; set it at will."""
    said, now = [0.0], [0]

    def clock_ns() -> int:
        now[0] += round(said[0] * 1e9)
        return now[0]

    monkeypatch.setattr(hosts, "perf_counter_ns", clock_ns)
    return said


@pytest.mark.parametrize("host", ["embedded"], indirect=True)
def test_overload_drops_rows_until_it_is_over(
    open_engine: Open,
    tmp_path: Path,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
    took_s: list[float],
) -> None:
    monkeypatch.setattr(cycle, "LOOK_EVERY_BATCHES", 1)
    monkeypatch.setattr(cycle, "REPLAN_AFTER_BATCHES", 2)
    monkeypatch.setattr(overload, "BUSY", 0.0)
    # What batches take whatever comes is nothing, so that dropping rows can help.
    free = replace(BUILT_IN, batch=0.0, read=0.0)
    for module in (cycle, plans):
        monkeypatch.setattr(module, "load_constants", lambda: free)
    streams = Streams(tmp_path, seed, late=False, rows=60)
    streams.put(8)
    engine = open_engine()
    streams.declare(engine)
    shed = engine.subscribe(CHAIN, name="shed")
    engine.subscribe(CHAIN, name="all", options={"shedding": "off"})
    took_s[0] = 2.0 * SECONDS_PER_FILE
    engine.start()
    until_events(engine, streams.rows)
    closed = planner_of(engine.desk).book.standing(shed.group)
    assert closed is not None and closed.sheds
    took_s[0] = 0.001
    streams.put(8)
    until_events(engine, streams.rows)
    opened = planner_of(engine.desk).book.standing(shed.group)
    assert opened is not None and not opened.sheds
    engine.stop()
    told = "\n".join(notice.text for notice in engine.notices)
    assert "it cannot keep up: it was measured to need 200" in told
    assert "the overload is over" in told
    assert engine.figures().losses["shed"]["shed_rows"] > 0
    assert "shed_rows" not in engine.figures().losses.get("all", {})
    dropped = engine.figures().shedding["shed"].dropped_rows
    assert sum(dropped.values()) == engine.figures().losses["shed"]["shed_rows"]
    found = {verdict.subscription: verdict for verdict in engine.verify().answers}
    assert found["all"].equal and not found["all"].is_shed
    assert found["shed"].equal and found["shed"].full == found["all"].found
    assert 0 < found["shed"].full_found < found["all"].found


@pytest.mark.parametrize("host", ["embedded"], indirect=True)
def test_filters_drop_rows_only_where_that_is_asked_for(
    open_engine: Open,
    tmp_path: Path,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
    took_s: list[float],
) -> None:
    monkeypatch.setattr(loads, "LOOK_EVERY_BATCHES", 1)
    monkeypatch.setattr(overload, "BUSY", 0.0)
    streams = Streams(tmp_path, seed, late=False, rows=60)
    streams.put(8)
    engine = open_engine()
    streams.declare(engine)
    text = "SELECT n, v FROM a WHERE v >= 2"
    thinned = engine.subscribe(text, name="thinned", options={"shedding": "subset"})
    engine.subscribe(text, name="all")
    took_s[0] = 2.0 * SECONDS_PER_FILE
    engine.start()
    until_events(engine, streams.rows)
    assert passing(engine.desk.registry, thinned.group) < 1.0
    took_s[0] = 0.001
    streams.put(8)
    until_events(engine, streams.rows)
    assert passing(engine.desk.registry, thinned.group) == 1.0
    engine.stop()
    assert engine.figures().losses["thinned"]["shed_rows"] > 0
    assert "shed_rows" not in engine.figures().losses.get("all", {})
    assert "[measured]" in engine.explain("all").text()
    found = {verdict.subscription: verdict for verdict in engine.verify().answers}
    assert found["all"].equal and not found["all"].is_shed
    assert found["thinned"].equal and found["thinned"].full == found["all"].found
    assert 0 < found["thinned"].found == found["thinned"].full_found < found["all"].found
