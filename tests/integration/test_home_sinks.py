"""Sinks that the home knows by their address: they go on without being given again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.algebra.catalog import Relation
from penstock.delivery import courier, sink_pool, sinks
from penstock.engine import Desk
from penstock.engine.scripts import execute
from penstock.lab.correctness.runs import DeskRun
from penstock.vocabulary.errors import PenstockError
from tests.support import postgres
from tests.support.hooks import listening
from tests.support.waiting import until

TICKS = Relation(name="ticks", kind="stream", schema=pa.schema([("v", pa.int64())]))
ROOT = Path(__file__).parents[2]
ALL = "SELECT v FROM ticks WHERE v >= 0"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "PAUSE_FIRST_S", 0.0)
    monkeypatch.setattr(sink_pool, "LOOK_S", 0.005)
    monkeypatch.setattr(courier, "LOOK_S", 0.01)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    with DeskRun(tmp_path / "home", TICKS, record=False) as run:
        yield run


def feed(desk: Desk) -> None:
    """Feed the sinks of a home with all that is there, as a run of an engine does."""
    desk.readers.sinks.begin(desk.readers.courier)
    desk.readers.sinks.finish(drain=True, patience_s=600)


@contextmanager
def reopened(desk: Desk) -> Iterator[Desk]:
    """Open a home anew, as the next process does."""
    desk.close()
    again = Desk(desk.home.path)
    try:
        yield again
    finally:
        again.close()


def found(directory: Path) -> list[int]:
    """Give what lies in a directory sink, in order."""
    files = sorted(directory.glob("*.parquet"))
    return [value for path in files for value in pq.read_table(path)["v"].to_pylist()]


def code(action: object) -> str:
    with pytest.raises(PenstockError) as refused:
        action()  # type: ignore[operator]
    return refused.value.code


def test_a_sink_by_address_goes_on_without_being_given_again(run: DeskRun, tmp_path: Path) -> None:
    """By a script or by `to`, over restarts and folds of the registry, until it is dropped."""
    into = f"INTO '{tmp_path}/a' AS files, '{tmp_path}/b'"
    execute(run.desk, f"SUBSCRIBE alerts TO {ALL} {into}; SUBSCRIBE plain TO {ALL}")
    run.desk.subscription("plain").to(str(tmp_path / "c"))
    run.batch(ticks=[{"v": 1}])
    feed(run.desk)
    for value in range(2, 6):
        run.batch(ticks=[{"v": value}])
    run.desk.registry.tidy(run.desk.registry.version, versions_max=0)
    with reopened(run.desk) as desk:
        feed(desk)
        assert [found(tmp_path / each) for each in "abc"] == [[1, 2, 3, 4, 5]] * 3
        facts = [(s.name, s.address, s.token) for s in desk.subscription("alerts").sinks()]
        assert facts == [
            ("files", f"{tmp_path}/a", "5:0"),
            ("DirectorySink", f"{tmp_path}/b", "5:0"),
        ]
        execute(desk, "DROP SINK files OF alerts; DROP SINK IF EXISTS files OF alerts")
        desk.subscription("alerts").alter(sql="SELECT v FROM ticks WHERE v > 0")
        assert set(desk.readers.sinks.cursors.tokens()) == {
            "alerts/DirectorySink",
            "plain/DirectorySink",
        }
        desk.drop("plain")
        assert set(desk.readers.sinks.cursors.tokens()) == {"alerts/DirectorySink"}
        with reopened(desk) as last:
            assert [s.name for s in last.subscription("alerts").sinks()] == ["DirectorySink"]
            assert [each.cursor for each in last.readers.sinks.runners] == ["alerts/DirectorySink"]


def test_a_script_may_be_run_again_and_say_more(run: DeskRun, tmp_path: Path) -> None:
    """What it named before is the same sink; one of the same name elsewhere goes on there."""
    for into in ("", f"INTO '{tmp_path}/a' AS x", f"INTO '{tmp_path}/a', '{tmp_path}/a' AS x"):
        execute(run.desk, f"SUBSCRIBE alerts TO {ALL} {into}")
    alerts = run.desk.subscription("alerts")
    assert [each.name for each in alerts.sinks()] == ["x"]
    run.batch(ticks=[{"v": 1}])
    feed(run.desk)
    version = run.desk.registry.version
    assert alerts.to(str(tmp_path / "a")) is alerts.to(str(tmp_path / "a"), name="x")
    assert run.desk.registry.version == version
    alerts.to(str(tmp_path / "b"), name="x")
    run.batch(ticks=[{"v": 2}])
    feed(run.desk)
    assert (found(tmp_path / "a"), found(tmp_path / "b")) == ([1], [2])


def test_a_relative_directory_is_where_it_was_said(
    run: DeskRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PART_1", "deep")
    execute(run.desk, f"SUBSCRIBE alerts TO {ALL} INTO 'out/${{PART_1}}'")
    run.batch(ticks=[{"v": 1}])
    monkeypatch.chdir(tmp_path)
    with reopened(run.desk) as desk:
        (sink,) = desk.subscription("alerts").sinks()
        assert sink.address == f"{tmp_path}/here/out/${{PART_1}}"
        feed(desk)
    assert found(tmp_path / "here" / "out" / "deep") == [1]


def test_secrets_are_kept_as_they_were_written(
    run: DeskRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose variable is gone after a restart waits, and harms no other."""
    monkeypatch.setenv("SINK_KEY_1", "t0ken")
    hook = "https://me:${SINK_KEY_1}@127.0.0.1:9/${SINK_KEY_1}"
    into = f"INTO '{hook}' AS hook, '{tmp_path}/a' AS files"
    execute(run.desk, f"SUBSCRIBE alerts TO {ALL} {into}")
    run.batch(ticks=[{"v": 1}])
    written = [path.read_bytes() for path in run.desk.home.path.rglob("*") if path.is_file()]
    assert any(b"${SINK_KEY_1}" in data for data in written)
    assert not any(b"t0ken" in data for data in written)
    monkeypatch.delenv("SINK_KEY_1")
    with reopened(run.desk) as desk:
        pool = desk.readers.sinks
        pool.begin(desk.readers.courier)
        waits = {each.cursor: each.state for each in pool.runners}
        until(lambda: bool(waits["alerts/files"].delivered and waits["alerts/hook"].last_error))
        pool.finish(drain=True, patience_s=0.0)
        assert found(tmp_path / "a") == [1]
        assert waits["alerts/hook"].delivered == 0
        assert "DEL-005" in str(waits["alerts/hook"].last_error)
        (sink, _) = desk.subscription("alerts").sinks()
        assert sink.address == "https://127.0.0.1/…"


@pytest.mark.skipif(postgres.missing() is not None, reason=postgres.missing() or "")
def test_a_kill_between_a_write_and_its_cursor_doubles_nothing(
    run: DeskRun, tmp_path: Path
) -> None:
    """Killed behind a write of any of them, the next process goes on by itself."""
    with postgres.running() as server, listening() as hook:
        table = server.url() + "?table=alerts"
        into = f"INTO '{tmp_path}/a', '{table}', '{hook.url}'"
        execute(run.desk, f"SUBSCRIBE alerts TO {ALL} {into}")
        for value in range(6):
            run.batch(ticks=[{"v": value}, {"v": value + 100}])
        run.desk.close()
        home = str(run.desk.home.path)
        for scheme, writes in (("http", 1), ("file", 2), ("postgresql", 5), ("http", 0)):
            victim = [sys.executable, "-m", "tests.support.sink_victim", home, scheme, str(writes)]
            done = subprocess.run(victim, cwd=ROOT, check=False)
            assert done.returncode == (-signal.SIGKILL if writes else 0)
        copied = server.execute("SELECT v FROM alerts")
        posted = list(hook.posted)
    expected = [value for each in range(6) for value in (each, each + 100)]
    assert found(tmp_path / "a") == expected
    assert [value for (value,) in copied] == expected
    known = dict(posted)
    assert len(posted) > len(known) == 6
    assert set(posted) == set(known.items())  # what came again had the same key
    lines = [json.loads(line)["v"] for body in known.values() for line in body.splitlines()]
    assert lines == expected


def test_names_of_sinks_are_told_apart(run: DeskRun, tmp_path: Path) -> None:
    """A function may not take the place of what the home knows; the other way round it goes on."""
    alerts, taken = run.desk.subscribe(ALL, name="alerts"), list[int]()
    alerts.to(lambda change: taken.append(change.row["v"]), name="x")
    run.batch(ticks=[{"v": 1}])
    feed(run.desk)
    alerts.to(str(tmp_path / "a"), name="x")
    run.batch(ticks=[{"v": 2}])
    feed(run.desk)
    assert (taken, found(tmp_path / "a")) == ([1], [2])
    assert code(lambda: alerts.to(print, name="x")) == "DEL-013"
    assert code(lambda: alerts.drop_sink("y")) == "DEL-012"
    alerts.to(lambda change: taken.append(change.row["v"]), name="y")
    feed(run.desk)
    assert taken == [1, 1, 2]
    alerts.drop_sink("y")
    assert [each.name for each in alerts.sinks()] == ["x"]


def test_one_that_was_dropped_begins_anew(run: DeskRun, tmp_path: Path) -> None:
    """Also if the power went before its cursor was forgotten."""
    alerts = run.desk.subscribe(ALL, name="alerts")
    alerts.to(str(tmp_path / "a"), name="x")
    run.batch(ticks=[{"v": 1}])
    feed(run.desk)
    alerts.drop_sink("x")
    run.desk.readers.sinks.cursors.set("alerts/x", "1:0")
    alerts.to(str(tmp_path / "b"), name="x")
    feed(run.desk)
    assert found(tmp_path / "b") == [1]
    alerts.drop_sink("x")
    run.desk.readers.sinks.cursors.set("alerts/x", "1:0")
    run.desk.upkeep.once()
    assert run.desk.readers.sinks.cursors.tokens() == {}


def test_a_bad_address_registers_nothing(
    run: DeskRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (Path.cwd() / "a file").write_text("")
    inside = run.desk.home.path / "results"
    for address, wrong in (
        ("kafka://h/t", "DEL-004"),
        ("https://h/${NOT_SET_1}", "DEL-005"),
        (" ", "DEL-019"),
        ("a file", "DEL-019"),
        (f"{inside}", "DEL-018"),
        (f"file://{inside}/mine", "DEL-018"),
        ("https:///hook", "DEL-021"),
    ):
        script = f"SUBSCRIBE alerts TO {ALL} INTO '{address}'"
        assert code(lambda text=script: execute(run.desk, text)) == wrong
    assert run.desk.subscriptions() == []


def test_a_path_is_an_address_and_tilde_is_who_says_it(
    run: DeskRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    alerts = run.desk.subscribe(ALL, name="alerts")
    alerts.to(tmp_path / "found", name="a")
    alerts.to("~/found", name="b")
    assert [sink.address for sink in alerts.sinks()] == [
        str(tmp_path / "found"), str(tmp_path / "me" / "found"),
    ]  # fmt: skip


def test_files_of_another_home_are_not_mixed_with_those_of_this_one(
    run: DeskRun, tmp_path: Path
) -> None:
    """A home that is begun anew has its batches anew: old files among new ones looked like them."""
    run.desk.subscribe(ALL, name="alerts").to(str(tmp_path / "found"), name="files")
    for v in (1, 2):
        run.batch(ticks=[{"v": v}])
    feed(run.desk)
    with DeskRun(tmp_path / "again", TICKS) as again:
        alerts = again.desk.subscribe(ALL, name="alerts")
        with pytest.raises(PenstockError, match=r"\[DEL-020\].*alerts-000000000000\.parquet"):
            alerts.to(str(tmp_path / "found"), name="files")
        assert alerts.sinks() == []
        other = again.desk.subscribe(ALL, name="alert")
        other.to(str(tmp_path / "found"), name="files")
        again.batch(ticks=[{"v": 3}])
        feed(again.desk)
    assert sorted(found(tmp_path / "found")) == [1, 2, 3]
