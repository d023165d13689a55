"""Homes of an older format are copied, migrated and put in their place; killed anywhere, whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.joins import StandingJoin
from penstock.algebra.physical import signature
from penstock.engine import Desk
from penstock.engine.home_verification import verify_home
from penstock.engine.migration import FORMAT, kept_state, relocation
from penstock.kinds.binder import bind
from penstock.operators.join.entries import entry_schema
from penstock.spark.embedded import restored
from penstock.spark.older_state import replayed
from penstock.storage.state import OLDER, StateLog
from penstock.vocabulary.errors import PenstockError
from tests.support.older_homes import told, unpacked

RECORDED, PLAIN, CLUSTER = "home-2-embedded", "home-2-plain", "home-2-cluster"
LATER = ("home-3-embedded", "home-3-plain", "home-3-cluster", "home-3-new")


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


@pytest.mark.parametrize("name", [RECORDED, PLAIN, CLUSTER, *LATER])
def test_a_home_of_the_format_before_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    home = unpacked(name, tmp_path)
    before = files(home)
    desk = Desk(home)
    try:
        assert desk.home.facts["format"] == FORMAT
        assert read(desk) == told(tmp_path)
        if desk.home.facts.get("record"):
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
    begun = int(name.split("-")[1])
    assert f"has format {begun}, this Penstock's is {FORMAT}" in said
    assert ("[ENG-053]" in said) == (name == PLAIN)
    assert files(tmp_path / f"home.format-{begun}") == before
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


@pytest.mark.parametrize("name", [RECORDED, LATER[0], LATER[2]])
def test_groups_are_called_and_described_as_if_they_were_new(tmp_path: Path, name: str) -> None:
    """Who subscribes to the same shape joins the group, and its entries are those of today."""
    desk = Desk(unpacked(name, tmp_path))
    try:
        for record in desk.registry.subscriptions.values():
            blocks = desk.registry.blocks[record.name]
            each = pa.schema(
                [f.with_name(f.name[2:]) for f in blocks[0].table.schema if f.name[:2] == "p_"]
            )
            logical = bind(record.sql, desk.registry.catalog, each, dict(record.options))
            if record.name == "begun":
                logical = replace(logical, snapshot=True)
            assert signature(logical.step()) == record.group, record.name
            if isinstance(logical, StandingJoin):
                (entries,) = desk.registry.entries(record.group).values()
                assert set(entries.column_names) == set(entry_schema(logical.step()).names)
    finally:
        desk.close()


def test_what_operators_kept_in_format_3_is_what_they_would_keep_today(tmp_path: Path) -> None:
    desk = Desk(unpacked(LATER[0], tmp_path))
    try:
        newest, feed = desk.log.newest(), desk.registry.reader
        kept = restored(feed, StateLog(desk.home.path / "state"), newest).snapshots()
        schemas = {each.name: each.recorded for each in desk.registry.catalog.values()}
        again = replayed(feed, desk.log, schemas, newest + 1).snapshots()
        kinds = {group: own["kind"] for group, own in desk.registry.steps.items()}
        assert {kinds[group] for group in kept if kept[group] != again.get(group)} == {
            "lookup_join"
        }, "what a database said is not recorded"
        assert {"select_join", "band_join", "window_join", "multi_join", "bounded_join"} <= {
            kinds[group] for group in kept
        }
    finally:
        desk.close()


def test_states_of_several_formats_in_one_store_are_told_apart(tmp_path: Path) -> None:
    """A cluster home that was migrated from 2 to 3 has shards of both in Spark's store."""
    file = tmp_path / OLDER
    file.write_text(json.dumps({"format": 2, "names": {"a": "b"}}))
    kept_state._note_older(file, 3, {"b": "c"})
    noted = json.loads(file.read_text())
    assert noted["begins"] == (FORMAT - 2) << 32
    assert [(era["below"] >> 32, era["read"], era["names"]["b"]) for era in noted["eras"]] == [
        (1, False, "c"), (2, True, "c"),
    ]  # fmt: skip
    assert noted["eras"][0]["names"]["a"] == "c"
