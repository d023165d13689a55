"""Sinks without an engine: each gets everything once, whatever the others do."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.delivery import courier, sink_pool, sinks
from penstock.delivery.changes import Change
from penstock.delivery.cursors import Cursors
from penstock.delivery.sink_pool import SinkPool
from penstock.delivery.sinks import ConsoleSink, SinkRunner
from penstock.storage import disk
from penstock.storage.files import write_json
from tests.support.followers import LogOfMatches, selection


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "PAUSE_FIRST_S", 0.0)
    monkeypatch.setattr(sinks, "PAUSE_LAST_S", 0.0)
    monkeypatch.setattr(sink_pool, "LOOK_S", 0.005)
    monkeypatch.setattr(courier, "LOOK_S", 0.01)


@pytest.fixture
def of(tmp_path: Path) -> LogOfMatches:
    """A log of seven batches with a change each for `s`."""
    of = LogOfMatches(tmp_path / "results")
    of.claims.give("s", selection([1]))
    for _ in range(7):
        of.commit([(1, 0), (2, 0)])
    return of


ALL = [f"{number}:1" for number in range(7)]


def run(of: LogOfMatches, home: Path, *takers: Callable[[Change], None]) -> list[SinkRunner]:
    """Feed sinks of `s` with all that is there, as one run of an engine does."""
    pool = SinkPool(Cursors(home / "sinks"))
    runners = [pool.add("s", sink) for sink in takers]
    of.running = True
    pool.begin(of.courier)
    of.end()
    pool.finish(drain=True, patience_s=600)
    return runners


def test_a_sink_gets_everything_once_across_runs(of: LogOfMatches, tmp_path: Path) -> None:
    taken: list[str] = []
    for _ in range(2):
        run(of, tmp_path, lambda one: taken.append(one.token))
    assert taken == ALL
    of.commit([(1, 0)])
    run(of, tmp_path, lambda one: taken.append(one.token))
    assert taken == [*ALL, "7:1"]


def test_a_cursor_goes_with_batches_that_have_nothing_for_it(
    of: LogOfMatches, tmp_path: Path
) -> None:
    """So that a restart does not read again what was not for it; a file of the old kind is read."""
    (tmp_path / "sinks").mkdir()
    write_json(tmp_path / "sinks" / "s.function.json", {"token": "4:1"})
    of.commit([(2, 0)])
    taken: list[str] = []
    run(of, tmp_path, lambda one: taken.append(one.token))
    assert taken == ALL[5:]
    assert Cursors(tmp_path / "sinks").tokens() == {"s.function": "8:0"}


def test_a_failing_sink_is_tried_again_at_the_same_change(of: LogOfMatches, tmp_path: Path) -> None:
    seen: list[str] = []

    def fails_twice_at_three(one: Change) -> None:
        seen.append(one.token)
        if one.batch == 3 and seen.count("3:1") < 3:
            raise ValueError("no")

    (running,) = run(of, tmp_path, fails_twice_at_three)
    assert seen == [*ALL[:3], "3:1", "3:1", *ALL[3:]]
    assert (running.state.delivered, running.state.failures) == (7, 2)
    assert running.state.last_error == "ValueError: no"


def test_a_failing_sink_goes_on_within_a_batch(of: LogOfMatches, tmp_path: Path) -> None:
    of.commit([(1, event) for event in range(5)])
    seen: list[str] = []

    def fails_once_at_two(one: Change) -> None:
        seen.append(one.token)
        if seen.count("7:3") == 1 and seen[-1] == "7:3":
            raise ValueError("no")

    run(of, tmp_path, fails_once_at_two)
    assert seen == [*ALL, "7:1", "7:2", "7:3", "7:3", "7:4", "7:5"]


def test_a_stopped_sink_keeps_its_place(of: LogOfMatches, tmp_path: Path) -> None:
    of.commit([(1, event) for event in range(3)])
    taken: list[str] = []

    def takes_until(one: Change) -> None:
        taken.append(one.token)
        if one.token == "7:2":
            pool.runners[0].stop()

    pool = SinkPool(Cursors(tmp_path / "sinks"))
    pool.add("s", takes_until)
    pool.begin(of.courier)
    pool.finish(drain=True, patience_s=600)
    assert taken[-1] == "7:2"
    run(of, tmp_path, lambda one: taken.append(one.token))
    # Sinks are told apart by their class, and both are functions.
    assert taken == [*ALL, "7:1", "7:2", "7:3"]


def test_sinks_go_on_over_several_runs_until_they_are_stopped(
    of: LogOfMatches, tmp_path: Path
) -> None:
    """Under names of their own; one of the same name takes its place, and goes on where it was."""
    pool, taken, other = SinkPool(Cursors(tmp_path / "sinks")), list[str](), list[str]()
    first = pool.add("s", lambda one: taken.append(one.token), called="mine")
    for batch in (7, 8):
        of.running = True
        pool.begin(of.courier)
        of.end()
        pool.finish(drain=True, patience_s=600)
        assert taken[-1] == f"{batch - 1}:1"
        of.commit([(1, 0)])
    pool.add("s", lambda one: other.append(one.token), called="mine")
    of.running = True
    pool.begin(of.courier)
    of.end()
    pool.finish(drain=True, patience_s=600)
    assert (taken, other) == ([*ALL, "7:1"], ["8:1"])
    assert first.stopped and len(pool.runners) == 1
    assert Cursors(tmp_path / "sinks").tokens() == {"s.mine": "9:0"}


class TakesBatches:
    """Takes whole batches; refuses the first `refusals` times."""

    def __init__(self, refusals: int = 0) -> None:
        self.batches: list[tuple[str, list[dict[str, Any]]]] = []
        self.refusals = refusals

    def write(self, table: pa.Table, token: str) -> None:
        """Take a batch."""
        if self.refusals:
            self.refusals -= 1
            raise ConnectionError("not now")
        self.batches.append((token, table.to_pylist()))


def test_batches_are_taken_whole_and_once(
    of: LogOfMatches, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    of.commit([(1, event) for event in range(3)])
    told: list[tuple[str, str]] = []
    pool = SinkPool(Cursors(tmp_path / "sinks"), lambda *words: told.append(words))
    sink = TakesBatches(refusals=4)
    runner = pool.add("s", sink)
    for _ in range(2):
        of.running = True
        pool.begin(of.courier)
        of.end()
        pool.finish(drain=True, patience_s=600)
    assert [token for token, _ in sink.batches] == [*ALL, "7:3"]
    first = {"_id": "q1", "_query": 1, "_sign": 1, "n": 7000, "twice": 14000}
    assert sink.batches[-1][1][0] == {**first, "_batch": 7, "_version": 1}
    assert (runner.state.delivered, runner.state.failures) == (10, 4)
    assert "ConnectionError: not now" in caplog.text
    assert [name for name, _ in told] == ["s", "s"]
    assert "3 times in a row" in told[0][1] and "takes changes again" in told[1][1]


def test_it_is_told_what_a_sink_did_not_get(of: LogOfMatches, tmp_path: Path) -> None:
    may, told = threading.Event(), list[str]()
    pool = SinkPool(Cursors(tmp_path / "sinks"), lambda _name, text: told.append(text))

    def stalls(_: Change) -> None:
        assert may.wait(600)

    pool.add("s", stalls, called="slow")
    pool.begin(of.courier)
    of.end()
    pool.finish(drain=True, patience_s=0.05)
    may.set()
    assert len(told) == 1 and "s.slow had not taken everything" in told[0]


def test_sinks_that_are_held_up_hold_up_no_other(of: LogOfMatches, tmp_path: Path) -> None:
    """Not even many more of them than there are threads at first."""
    may = threading.Event()
    taken: list[str] = []

    def stalls(_: Change) -> None:
        assert may.wait(600)

    pool = SinkPool(Cursors(tmp_path / "sinks"))
    stalled = [pool.add("s", stalls) for _ in range(8)]
    pool.add("s", lambda one: taken.append(one.token))
    pool.begin(of.courier)
    while len(taken) < 7:
        threading.Event().wait(0.005)
    assert taken == ALL
    assert all(runner.state.delivered == 0 for runner in stalled)
    may.set()
    of.end()
    pool.finish(drain=True, patience_s=600)
    assert all(runner.state.delivered == 7 for runner in stalled)


def test_sinks_go_with_their_subscriptions_when_they_have_all(
    of: LogOfMatches, tmp_path: Path
) -> None:
    """An engine that runs for months holds no sink of what was dropped long ago."""
    of.claims.give("t", selection([2]))
    pool, taken = SinkPool(Cursors(tmp_path / "sinks")), list[str]()
    for name in ("s", "t"):
        for _ in range(2):
            pool.add(name, lambda one: taken.append(one.token))
    of.running = True
    pool.begin(of.courier)
    of.end()
    pool.finish(drain=True, patience_s=600)
    pool.let_go("t".__eq__)
    assert sorted(taken) == sorted(4 * ALL)
    assert [runner.cursor for runner in pool.runners] == ["t.function", "t.function-2"]
    assert pool.cursors.tokens().keys() == {"t.function", "t.function-2"}
    assert pool.add("s", lambda _one: None).cursor == "s.function", "it is as if it never was"


def test_sinks_go_on_while_the_disk_is_full(
    of: LogOfMatches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cursors cannot be kept meanwhile: that is told once, and tried until there is room."""
    monkeypatch.setattr(sink_pool, "CURSORS_EVERY_S", 0.0)
    told, taken, is_full, tried = list[tuple[str, str]](), list[str](), [True], list[Path]()

    def full(deed: str, path: Path, _target: Path | None) -> None:
        if deed == "wrote" and is_full[0]:
            tried.append(path)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    def take(change: Change) -> None:
        if change.token == ALL[3] and len(tried) < 3:
            raise ConnectionError("It is tried again, by whoever keeps the cursors.")
        taken.append(change.token)

    pool = SinkPool(Cursors(tmp_path / "sinks"), lambda *words: told.append(words))
    pool.add("s", take, "sink")
    of.running = True
    with disk.watched(full):
        pool.begin(of.courier)
        of.end()
        pool.finish(drain=True, patience_s=600)
        assert taken == ALL and len(tried) >= 3
        (words,) = [text for name, text in told if not name]
        assert "cannot be kept: The disk is full" in words
        is_full[0] = False
        pool.begin(of.courier)
        pool.finish(drain=True, patience_s=600)
    assert taken == ALL and Cursors(tmp_path / "sinks").token("s.sink") is not None


def test_the_console_shows_a_line_per_change(capsys: pytest.CaptureFixture[str]) -> None:
    sink = ConsoleSink("alert")
    for number, sign in ((1, 1), (2, -1)):
        sink(Change(id=f"q{number}", row={"n": number}, sign=sign, batch=0, version=1, token="0:1"))
    lines = capsys.readouterr().out.splitlines()
    assert lines == ['+ alert q1 {"n": 1}', '- alert q2 {"n": 2}']
