"""Nothing is lost or doubled by a crash behind any write, and an experiment on it that can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.lab.crash_points import STATES
from penstock.lab.crash_points.simulated_disk import (
    CRASHES,
    Crash,
    Journal,
    SimulatedDisk,
    different_homes,
    lay_down,
)
from penstock.lab.experiments import EXPERIMENTS
from penstock.storage import disk
from penstock.storage.files import remove_directory, write_file, write_first


def crashed(journal: Journal, deeds: int, crash: Crash) -> dict[str, bytes | None]:
    simulated = SimulatedDisk()
    for entry in journal.entries[:deeds]:
        simulated.do(entry)
    return simulated.left(crash)


def test_a_simulated_disk_keeps_what_was_flushed_and_cuts_the_rest(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    journal = Journal(home)
    with disk.watched(journal):
        disk.write(tmp_path / "elsewhere", b"not of the home")
        disk.write(home / "bare", b"never flushed")
        write_file(home / "whole", b"flushed")
        write_first(home / "first", b"linked")
        disk.make_directory(home / "gone")
        disk.write(home / "gone" / "file", b"x")
        remove_directory(home / "gone")
        disk.rename(home / "bare", home / "renamed")
    last = len(journal.entries)
    killed = crashed(journal, last, "killed")
    assert killed == {"renamed": b"never flushed", "whole": b"flushed", "first": b"linked"}
    lost = crashed(journal, last, "lost")
    assert (lost.pop("whole"), lost.pop("first")) == (b"flushed", b"linked")
    assert lost == {"bare": b"", "gone": None}, "names of flushed directories, and no bytes"
    torn = crashed(journal, last, "torn")
    assert torn["renamed"] in {b"", b"never ", b"never flushe"}
    assert {**torn, "renamed": b"never flushed"} == killed
    lay_down(killed, tmp_path / "again")
    assert (tmp_path / "again" / "whole").read_bytes() == b"flushed"
    onward = SimulatedDisk(killed)
    assert onward.left("lost") == killed


def test_equal_homes_are_gone_on_from_once_unless_something_was_promised(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with disk.watched(journal):
        disk.write(tmp_path / "a", b"never flushed")
        disk.write(tmp_path / "b", b"never flushed")
        journal.mark("told", 1)
        disk.write(tmp_path / "c", b"never flushed")
        disk.flush(tmp_path / "c")
    found = different_homes(journal)
    assert [at for at, crash in found if crash == "lost"] == [0, 2], "nothing is safe, and promised"
    assert [at for at, crash in found if crash == "killed"] == [0, 1, 2]
    write_file(tmp_path / "whole", b"x")
    flushed = Journal(tmp_path)
    with disk.watched(flushed):
        disk.make_directory(tmp_path / "made")
    assert len(different_homes(flushed)) < len(CRASHES) * len(flushed.entries)


def test_crashes_lose_and_double_nothing() -> None:
    report = EXPERIMENTS["crash-points"].run("tiny")
    assert not report.broken, report.notes
    (table, _deeds) = report.tables
    assert [row[0] for row in table.rows] == list(CRASHES)
    assert all(row[2] == STATES["tiny"] for row in table.rows)


def test_an_engine_that_does_not_flush_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "flush", lambda _path: None)
    monkeypatch.setitem(STATES, "tiny", 2)
    report = EXPERIMENTS["crash-points"].run("tiny")
    assert {"promises broken", "starts refused"} & {check.name for check in report.broken}
