"""Errands: what another process asks of the engine that runs a home."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.engine import Desk, errands
from penstock.engine.errands import ANSWER, ASKED, DIRECTORY, Done, Errands, ask
from penstock.engine.registration import REFUSALS_SHOWN
from penstock.engine.scripts import execute
from penstock.storage import disk
from penstock.storage.files import write_json
from penstock.vocabulary.errors import PenstockError
from tests.support.desks import desk_with_events

TEXT = "SELECT n FROM t WHERE x > :x"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = desk_with_events(tmp_path / "home")
    desk.subscribe(TEXT, name="it's", each=[{"id": each, "x": 1.0} for each in "abc"])
    yield desk
    desk.close()


@pytest.fixture
def served(desk: Desk) -> Iterator[Errands]:
    """What the engine of a home does while it runs."""

    def carry_out(script: str, directory: Path) -> Done:
        return execute(desk, script, directory=directory).done(desk.registry.version)

    served = Errands(desk.home.path, carry_out)
    served.begin()
    yield served
    served.finish()


def penstock(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "penstock", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def left_behind(desk: Desk) -> list[str]:
    return [path.name for path in (desk.home.path / DIRECTORY).iterdir()]


def test_another_process_drops_and_subscribes(desk: Desk, served: Errands, tmp_path: Path) -> None:
    """Names and ids of any letters; files and sinks are seen from where it stands."""
    home = str(desk.home.path)
    done = penstock("drop", home, "it's", "--id", "a", "--id", "o'b", "--json")
    assert json.loads(done.stdout) == {
        "dropped": "it's", "ids": ["a", "o'b"], "version": desk.registry.version
    }  # fmt: skip
    assert len(desk.subscription("it's")) == 2
    (tmp_path / "rows.csv").write_text("id,x\nq,1.5\n")
    text = f"SUBSCRIBE more TO {TEXT} FOR EACH ROW OF 'rows.csv' INTO 'out' AS files"
    done = penstock("sql", home, text, cwd=tmp_path)
    assert (done.stdout, done.returncode) == (
        f"Done, from version {desk.registry.version} on.\n", 0
    )  # fmt: skip
    assert len(desk.subscription("more")) == 1
    (sink,) = desk.subscription("more").sinks()
    assert sink.address == str(tmp_path / "out")
    assert penstock("drop", home, "it's").returncode == 0
    refused = penstock("drop", home, "it's")
    assert refused.stderr.startswith("REG-001")
    assert [each.name for each in desk.subscriptions()] == ["more"]
    assert left_behind(desk) == []


def test_rows_that_are_refused_are_told(desk: Desk, served: Errands, tmp_path: Path) -> None:
    """They were left out without a word."""
    (tmp_path / "rows.csv").write_text("id,x\n" + "".join(f"r{n},none\n" for n in range(7)))
    home, each = str(desk.home.path), f"FOR EACH ROW OF '{tmp_path / 'rows.csv'}'"
    text = f"SUBSCRIBE more TO {TEXT} {each}"
    told = CliRunner().invoke(app, ["sql", home, text])
    assert told.exit_code == 0 and told.stdout.startswith("Done, from version ")
    first, *others = told.stderr.splitlines()
    assert first == "7 rows were refused" and len(others) == REFUSALS_SHOWN
    assert others[0].startswith("  more, row 0: REG-005 ")
    told = CliRunner().invoke(app, ["sql", home, text.replace("more", "again"), "--json"])
    found = json.loads(told.stdout)
    assert (found["refused"], len(found["refusals"])) == (7, REFUSALS_SHOWN)
    assert found["refusals"][1].items() >= {"subscription": "again", "row": 1}.items()


def test_another_process_creates_and_drops_a_view(desk: Desk, served: Errands) -> None:
    home = str(desk.home.path)
    text = "CREATE VIEW v REFRESH WITHIN 10 SECONDS AS SELECT count(*) AS n, max(x) AS most FROM t"
    told = CliRunner().invoke(app, ["sql", home, text])
    assert (told.exit_code, told.stdout) == (0, f"Done, from version {desk.registry.version} on.\n")
    assert desk.registry.catalog["v"].kind == "view"
    refused = CliRunner().invoke(app, ["sql", home, text.replace("count(*)", "median(x)")])
    assert (refused.exit_code, refused.stderr[:7]) == (2, "REG-018")
    told = CliRunner().invoke(app, ["sql", home, "DROP VIEW v"])
    assert told.exit_code == 0 and "v" not in desk.registry.catalog
    refused = CliRunner().invoke(app, ["sql", home, "DROP TABLE t"])
    assert (refused.exit_code, refused.stderr[:7]) == (2, "CLI-007")


def test_what_nobody_takes_is_withdrawn(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home that is open without a run: nothing is changed, then or later."""
    monkeypatch.setattr(errands, "TAKEN_S_MAX", 0.1)
    told = CliRunner().invoke(app, ["drop", str(desk.home.path), "it's"])
    assert (told.exit_code, told.stderr[:7]) == (2, "ENG-065")
    assert left_behind(desk) == []
    assert len(desk.subscriptions()) == 1


def test_what_is_taken_and_not_answered_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine was killed between the two."""
    monkeypatch.setattr(errands, "TAKEN_S_MAX", 0.1)
    monkeypatch.setattr(errands, "ANSWER_S_MAX", 0.1)

    def killed(deed: disk.Deed, path: Path, _: Path | None) -> None:
        if deed == "renamed" and path.suffix == ".tmp":
            (target,) = (desk.home.path / DIRECTORY).glob(f"*{ASKED}")
            target.rename(target.with_suffix(errands.TAKEN))

    with disk.watched(killed), pytest.raises(PenstockError) as told:
        ask(desk.home.path, "DROP SUBSCRIPTION x")
    assert told.value.code == "ENG-066"
    (left,) = left_behind(desk)
    assert left.endswith(errands.TAKEN)
    Errands(desk.home.path, lambda _script, _directory: Done(version=0))
    assert left_behind(desk) == []


def test_errands_of_before_are_not_done(desk: Desk) -> None:
    """Who asked is gone; a subscription of the name may be another one now."""
    root = desk.home.path / DIRECTORY
    disk.make_directory(root)
    write_json(root / f"old{ASKED}", {"script": "DROP SUBSCRIPTION x", "directory": "/"})
    done = list[str]()

    def does(script: str, _directory: Path) -> Done:
        done.append(script)
        return Done(version=1)

    served = Errands(desk.home.path, does)
    served.begin()
    assert ask(desk.home.path, "KEEP ALL") == Done(version=1)
    served.finish()
    assert (done, left_behind(desk)) == (["KEEP ALL"], [])


def test_a_failure_or_a_damaged_errand_is_answered(desk: Desk) -> None:
    def fails(_script: str, _directory: Path) -> Done:
        raise ZeroDivisionError("no")

    served = Errands(desk.home.path, fails)
    served.begin()
    with pytest.raises(PenstockError, match="ZeroDivisionError") as told:
        ask(desk.home.path, "KEEP ALL")
    assert told.value.code == "ENG-066"
    asked = desk.home.path / DIRECTORY / f"x{ASKED}"
    write_json(asked, {"script": "KEEP ALL", "directory": "/", "seal": [1, 1]})
    came = threading.Event()
    for _ in range(600):
        if asked.with_suffix(ANSWER).exists():
            break
        came.wait(0.05)
    served.finish()
    answer = asked.with_suffix(ANSWER)
    assert "ENG-066" in answer.read_text()
    answer.write_bytes(answer.read_bytes()[:-9])
    with pytest.raises(PenstockError, match=r"\[ENG-066\].*cannot be read"):
        errands.answered(desk.home.path, asked)


def test_an_errand_is_its_owners_alone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errands, "TAKEN_S_MAX", 0.0)
    modes = set[str]()

    def see(_deed: disk.Deed, path: Path, target: Path | None) -> None:
        found = target or path
        if found.suffix == ASKED and found.exists():
            modes.add(stat.filemode(found.stat().st_mode))

    with disk.watched(see), pytest.raises(PenstockError):
        ask(desk.home.path, "KEEP ALL")
    assert modes == {"-rw-------"}
    assert stat.S_IMODE((desk.home.path / DIRECTORY).stat().st_mode) == 0o700


def test_statements_that_need_sources_are_refused(desk: Desk) -> None:
    text = "CREATE STREAM s FROM 'rate'"
    told = CliRunner().invoke(app, ["sql", str(desk.home.path), text])
    assert (told.exit_code, told.stderr[:7]) == (2, "CLI-007")
