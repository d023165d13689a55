"""Readers beside an engine: another process's home, read while it is written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.algebra.catalog import Relation
from penstock.cli.main import app
from penstock.engine import Desk
from penstock.engine.home import user_of_home
from penstock.lab.correctness.runs import DeskRun
from penstock.registry import folds
from penstock.registry.records import Draft
from penstock.vocabulary.errors import PenstockError
from tests.support.tables import EVENTS

ABOVE = "SELECT x FROM t WHERE x > :limit"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    relation = Relation(name="t", kind="stream", schema=EVENTS, event_time="ts")
    each = [{"id": "a", "limit": 1}, {"id": "b", "limit": 3}]
    with DeskRun(tmp_path / "home", relation) as run:
        run.desk.subscribe(ABOVE, name="above", each=each)
        yield run


def contents(home: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in home.rglob("*")}


def found(desk: Desk, name: str = "above") -> list[tuple[str, int]]:
    changes = desk.subscription(name).changes(follow=False)
    return sorted((change.id, change.row["x"]) for change in changes)


def test_a_reader_sees_what_is_written_beside_it(run: DeskRun, tmp_path: Path) -> None:
    reader = Desk(tmp_path / "home", read_only=True)
    assert found(reader) == []
    run.batch(t=[{"x": 2}, {"x": 4}])
    assert found(reader) == [("a", 2), ("a", 4), ("b", 4)]
    run.desk.subscribe("SELECT x FROM t WHERE x = 7", name="seven")
    run.batch(t=[{"x": 7}])
    assert found(reader, "seven") == [("seven", 7)]
    assert {each.name for each in reader.subscriptions()} == {"above", "seven"}
    run.desk.drop("seven")
    with pytest.raises(PenstockError, match="REG-001"):
        reader.subscription("seven")
    assert "grouped with 2 standing queries" in reader.explain("above").text()


def test_what_is_registered_while_a_reader_reads_is_read(run: DeskRun, tmp_path: Path) -> None:
    run.batch(t=[{"x": 2}])
    reader = Desk(tmp_path / "home", read_only=True)
    changes = reader.subscription("above").changes(follow=False)
    assert next(changes).id == "a"
    run.desk.add("above", [{"id": "c", "limit": 5}])
    run.batch(t=[{"x": 6}])
    assert sorted(change.id for change in changes) == ["a", "b", "c"]


def test_a_reader_changes_nothing(run: DeskRun, tmp_path: Path) -> None:
    run.batch(t=[{"x": 2}])
    before = contents(tmp_path / "home")
    reader = Desk(tmp_path / "home", read_only=True)
    found(reader)
    reader.explain(ABOVE.replace(":limit", "3"))
    for change in (
        lambda: reader.subscribe("SELECT x FROM t WHERE x = 7"),
        lambda: reader.drop("above"),
        lambda: reader.add("above", [{"id": "c", "limit": 2}]),
        lambda: reader.subscription("above").alter(each=[{"id": "a", "limit": 2}]),
    ):
        with pytest.raises(PenstockError, match="REG-024"):
            change()
    reader.close()
    assert contents(tmp_path / "home") == before


def test_a_reader_follows(run: DeskRun, tmp_path: Path) -> None:
    changes = Desk(tmp_path / "home", read_only=True).subscription("above").changes(timeout=600)
    run.batch(t=[{"x": 2}])
    assert next(changes).row == {"x": 2}
    run.desk.add("above", [{"id": "c", "limit": 5}])
    run.batch(t=[])
    run.batch(t=[{"x": 6}])
    assert sorted(next(changes).id for _ in range(3)) == ["a", "b", "c"]
    run.desk.drop("above")
    assert list(changes) == []  # nothing more can come


def test_a_reader_that_lags_survives_a_fold(
    run: DeskRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folds, "VERSIONS_PER_BASE_MAX", 3)
    desk = Desk(tmp_path / "folding")
    for item in run.desk.registry.declarations.values():
        desk.registry.publish(Draft(declarations=[item]))
    desk.subscribe("SELECT x FROM t WHERE x = 0", name="q0")
    reader = Desk(tmp_path / "folding", read_only=True)
    for number in range(1, 20):
        desk.subscribe(f"SELECT x FROM t WHERE x = {number}", name=f"q{number}")
        desk.registry.tidy(desk.registry.version)
    assert not (tmp_path / "folding/registry/versions/000000000003").exists()
    assert {each.name for each in reader.subscriptions()} == {f"q{n}" for n in range(20)}
    assert reader.registry.counts() == desk.registry.counts()
    desk.close()


def test_the_last_changes_are_found_from_the_end(run: DeskRun, tmp_path: Path) -> None:
    for x in range(2, 8):
        run.batch(t=[{"x": x}, {"x": 0}])
    subscription = Desk(tmp_path / "home", read_only=True).subscription("above")
    whole = list(subscription.changes(follow=False))
    for count in (0, 1, 2, 3, len(whole), len(whole) + 5):
        token = subscription.before_last(count)
        last = list(subscription.changes(since=token, follow=False))
        assert last == whole[max(0, len(whole) - count) :], count


def test_another_process_reads_while_this_one_writes(run: DeskRun, tmp_path: Path) -> None:
    run.batch(t=[{"x": 4}])
    home = str(tmp_path / "home")
    assert user_of_home(tmp_path / "home") is not None
    command = [sys.executable, "-m", "penstock", "tail", home, "above", "--json"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    changes = [json.loads(line) for line in said.splitlines()]
    assert [(each["id"], each["row"]) for each in changes] == [("a", {"x": 4}), ("b", {"x": 4})]
    run.desk.close()
    assert user_of_home(tmp_path / "home") is None


def test_commands_on_a_home(run: DeskRun, tmp_path: Path) -> None:
    run.batch(t=[{"x": 2}, {"x": 4}])
    home = str(tmp_path / "home")

    def asked(*words: str) -> str:
        told = CliRunner().invoke(app, list(words))
        assert told.exit_code == 0, told.output
        return told.stdout

    facts = json.loads(asked("status", home, "--json"))
    assert facts["running"] is not None
    assert (facts["queries"], facts["subscriptions"], facts["batches"]) == (2, 1, 1)
    assert facts["last_batch"]["matches"] == 3
    assert facts["sizes"]["results"]["files"] == 3
    shutil.copytree(home, tmp_path / "copy")  # whose files are younger than the batch
    for path in (tmp_path / "copy").rglob("*.json"):
        os.utime(path, (0, 0))
    copied = json.loads(asked("status", str(tmp_path / "copy"), "--json"))
    assert copied["last_batch"] == facts["last_batch"]
    told = CliRunner().invoke(app, ["sql", home, " -- nothing"])
    assert (told.exit_code, told.stderr[:7]) == (2, "SQL-002")
    assert "2 standing queries of 1 subscription" in " ".join(asked("status", home).split())
    listed = json.loads(asked("list", home, "--json"))
    assert [each["name"] for each in listed["subscriptions"]] == ["above"]
    assert "above" in asked("list", home)
    assert asked("tail", home, "above", "--since", "start", "--id", "b") == '+ above b {"x": 4.0}\n'
    assert len(asked("tail", home, "above", "-n", "2").splitlines()) == 2
    told = CliRunner().invoke(app, ["check", home])
    assert (told.exit_code, told.stderr[:7]) == (2, "ENG-004")
    run.desk.subscription("above").to(str(tmp_path / "out"), name="files")
    files = {"name": "files", "subscription": "above", "address": str(tmp_path / "out")}
    for words in ("status", "list"):
        assert json.loads(asked(words, home, "--json"))["sinks"] == [{**files, "token": None}]
        assert "files" in asked(words, home)
    run.desk.close()
    before = contents(tmp_path / "home")
    CliRunner().invoke(app, ["check", home])
    assert contents(tmp_path / "home") == before
    assert json.loads(asked("drop", home, "above", "--id", "a", "--json"))["ids"] == ["a"]
    assert json.loads(asked("status", home, "--json"))["queries"] == 1
    assert "Dropped above" in asked("drop", home, "above")


def test_only_homes_of_this_format_are_only_read(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match="ENG-056"):
        Desk(tmp_path / "nowhere", read_only=True)
    assert not (tmp_path / "nowhere").exists()
    Desk(tmp_path / "home").close()
    facts = json.loads((tmp_path / "home/penstock.json").read_text())
    (tmp_path / "home/penstock.json").write_text(json.dumps({**facts, "format": 2}))
    with pytest.raises(PenstockError, match="ENG-057"):
        Desk(tmp_path / "home", read_only=True)
