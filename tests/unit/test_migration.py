"""Homes of an older format are copied, migrated and put in their place; killed anywhere, whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.engine import Desk
from penstock.engine.home_verification import verify_home
from penstock.engine.migration import FORMAT, relocation
from penstock.spark.embedded import restored
from penstock.storage.state import StateLog
from penstock.vocabulary.errors import PenstockError
from tests.support.older_homes import told, unpacked

RECORDED, PLAIN, CLUSTER = "home-2-embedded", "home-2-plain", "home-2-cluster"


def read(desk: Desk) -> dict[str, list[dict[str, Any]]]:
    """Read everything that subscribers have been told."""
    found = {}
    for name in desk.registry.subscriptions:
        rows = desk.subscription(name).read().to_pylist()
        found[name] = json.loads(json.dumps(rows, default=str))
    return found


def files(home: Path) -> dict[str, bytes]:
    own = (path for path in home.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(home)): path.read_bytes() for path in own}


@pytest.mark.parametrize("name", [RECORDED, PLAIN, CLUSTER])
def test_a_home_of_the_format_before_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    home = unpacked(name, tmp_path)
    before = files(home)
    desk = Desk(home)
    try:
        assert desk.home.facts["format"] == FORMAT
        assert read(desk) == told(tmp_path)
        if desk.home.facts["record"]:
            outcome = verify_home(desk)
            assert not outcome.findings
            differ = {each.subscription: each for each in outcome.answers if not each.equal}
            # What came and went in one batch was told of both before tables had weights.
            assert set(differ) <= {"rows"}
            assert all(each.missing == 0 for each in differ.values())
            found = {each.subscription: each.found for each in outcome.answers}
            assert all(found[name] for name in told(tmp_path))
    finally:
        desk.close()
    said = capsys.readouterr().err
    assert f"has format 2, this Penstock's is {FORMAT}" in said
    assert ("[ENG-053]" in said) == (name == PLAIN)
    assert files(tmp_path / "home.format-2") == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    Desk(home).close()
    assert capsys.readouterr().err == ""


def test_state_is_as_if_the_home_had_always_been_of_this_format(tmp_path: Path) -> None:
    """Tables hold what they held, and what begins anew is named."""
    shards, kinds, notes = {}, {}, []
    for name in (RECORDED, PLAIN):
        desk = Desk(unpacked(name, tmp_path / name))
        try:
            newest = desk.log.newest()
            states = StateLog(desk.home.path / "state")
            shards[name] = restored(desk.registry.reader, states, newest).snapshots()
            kinds = {group: own["kind"] for group, own in desk.registry.steps.items()}
            notes = desk.home.facts["migrated"][0]["notes"]
        finally:
            desk.close()
    alike = {group for group in kinds if shards[RECORDED].get(group) == shards[PLAIN].get(group)}
    # Rows of a select-join have other numbers: one that comes and goes in a batch takes none now.
    carried = {"keep", "window_join", "filter"}
    assert {kind for group, kind in kinds.items() if group not in alike}.isdisjoint(carried)
    assert all(
        (group in notes[0]) == (kind in {"multi_join", "bounded_join"})
        for group, kind in kinds.items()
    )


class Killed(BaseException):
    """The process ends here: nothing is caught, nothing is tidied up."""


@pytest.mark.parametrize(
    ("moment", "is_new"),
    [
        ("migrate_format", False),
        ("write_json", False),
        (".home.migrating", False),
        ("home", False),
        (".home.migrated", True),
    ],
)
def test_killed_at_any_moment_it_is_the_old_home_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, is_new: bool
) -> None:
    """The last three are the renamings, by what is renamed: killed right before each."""
    home = unpacked(RECORDED, tmp_path)
    before, rename = files(home), Path.rename

    def killed(*_: Any) -> None:
        raise Killed

    def renamed(path: Path, target: Path) -> Path:
        if path.parent == tmp_path and path.name == moment:
            raise Killed
        return rename(path, target)

    if hasattr(relocation, moment):
        monkeypatch.setattr(relocation, moment, killed)
    monkeypatch.setattr(Path, "rename", renamed)
    with pytest.raises(Killed):
        Desk(home)
    monkeypatch.undo()
    assert home.exists() != is_new
    assert files(tmp_path / "home.format-2" if is_new else home) == before
    desk = Desk(home)
    try:
        assert desk.home.facts["format"] == FORMAT
        assert read(desk) == told(tmp_path)
    finally:
        desk.close()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"home", "home.format-2", "data", "told.json"}


def test_a_home_that_cannot_be_copied_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = unpacked(RECORDED, tmp_path)
    before = files(home)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(relocation, "_copy", full)
    with pytest.raises(PenstockError, match="ENG-052") as error:
        Desk(home)
    assert "No space left" in str(error.value)
    assert files(home) == before
    monkeypatch.undo()
    Desk(home).close()
