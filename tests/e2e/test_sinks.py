"""Sinks on a running engine: each at its own pace, none in the way of another."""

from __future__ import annotations

import threading
from pathlib import Path

from penstock.delivery.changes import Change
from tests.e2e.conftest import Open
from tests.support.hosts import above_hosts
from tests.support.tables import Feeder, events
from tests.support.waiting import POLL_S, POLLS_MAX, until_events


class Collects:
    """Takes everything."""

    def __init__(self) -> None:
        self.taken: list[Change] = []

    def __call__(self, change: Change) -> None:
        self.taken.append(change)


class Stalls(Collects):
    """Takes nothing until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may = threading.Event()

    def __call__(self, change: Change) -> None:
        assert self.may.wait(600)
        super().__call__(change)


class Fails(Collects):
    """Refuses every change the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: set[str] = set()

    def __call__(self, change: Change) -> None:
        if change.token not in self.refused:
            self.refused.add(change.token)
            raise ConnectionError("not now")
        super().__call__(change)


class FailsForever(Collects):
    """Refuses everything."""

    def __call__(self, change: Change) -> None:
        raise ConnectionError("never")


def raises(_: object) -> None:
    """Listen badly."""
    raise ValueError("not my day")


@above_hosts
def test_a_slow_or_failing_sink_harms_no_other(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    engine, feeder = open_engine(), Feeder(tmp_path / "in")
    feeder.put(events(seed, 12))
    engine.stream("t", f"parquet:{feeder.directory}")
    sub = engine.subscribe("SELECT n FROM t WHERE y >= -100", name="sub")
    good, slow, failing, dead = Collects(), Stalls(), Fails(), FailsForever()
    runners = [sub.to(sink) for sink in (good, slow, failing, dead)]
    engine.on_batch(raises)
    engine.start()
    until_events(engine, 12)
    feeder.put(events(seed + 1, 12, first=12))
    until_events(engine, 24)
    expected = [change.token for change in sub.changes(follow=False)]
    assert len(expected) == 24
    for sink in (good, failing):
        for _ in range(POLLS_MAX):
            if len(sink.taken) == 24:
                break
            engine.wait(POLL_S)
        assert [change.token for change in sink.taken] == expected
    assert slow.taken == []
    slow.may.set()
    engine.stop()
    assert runners[2].state.failures == 24
    assert runners[3].state.delivered == 0
    assert runners[3].state.last_error == "ConnectionError: never"
    assert len(slow.taken) <= 24
    assert engine.runner.listener_failures["raises"] >= 2
    told = [notice.text for notice in engine.notices]
    assert sum("Listener raises raised" in text for text in told) == 1
    assert any("Sink sub.FailsForever had not taken everything" in text for text in told)


@above_hosts
def test_a_sink_goes_on_where_it_was(open_engine: Open, tmp_path: Path, seed: int) -> None:
    """What a sink did not get in one run comes in the next, and nothing comes twice."""
    feeder, taken = Feeder(tmp_path / "in"), Collects()
    for run in range(3):
        feeder.put(events(seed + run, 10, first=10 * run))
        engine = open_engine()
        if run == 0:
            engine.stream("t", f"parquet:{feeder.directory}")
            engine.subscribe("SELECT n FROM t WHERE y >= -100", name="sub")
        engine.subscription("sub").to(taken)
        engine.run_available()
        engine.close()
    assert [change.row["n"] for change in taken.taken] == list(range(30))
