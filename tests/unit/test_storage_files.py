"""Durable files are whole or absent."""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.engine import Desk
from penstock.storage import disk
from penstock.storage.files import (
    publish_directory,
    read_json,
    read_table,
    remove_directory,
    table_from_bytes,
    table_to_bytes,
    write_file,
    write_first,
    write_json,
    write_table,
)
from penstock.storage.state import BatchState, StateLog
from penstock.storage.transcripts import SPARE_BATCHES, Transcript, Transcripts
from penstock.vocabulary.errors import PenstockError


class Crash(BaseException):
    """The process dies here."""


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_file(path, b"old")

    def half(temporary: Path) -> None:
        temporary.write_bytes(b"ne")
        raise Crash

    with pytest.raises(Crash):
        write_file(path, half)
    assert path.read_bytes() == b"old"
    write_file(path, b"new")
    assert path.read_bytes() == b"new"


def test_what_a_killed_process_was_writing_is_removed(tmp_path: Path) -> None:
    """Also by opening a home; what somebody writes who lives, or others, stays."""
    home = tmp_path / "home"
    Desk(home).close()
    (home / "sinks").mkdir()
    gone = subprocess.Popen(["true"])
    gone.wait()
    dead = [f".{name}.{pid}-7.tmp" for name in ("cursors.json", "a") for pid in (gone.pid, 9**20)]
    others = [f".cursors.json.{os.getpid()}-7.tmp", ".mine.tmp", "cursors.json"]
    for name in (*dead, *others):
        (home / "sinks" / name).write_bytes(b"half")
    (home / f".retention.json.{gone.pid}-7.tmp").write_bytes(b"half")
    (home / f".directory.{gone.pid}-7.tmp").mkdir()
    with closing(Desk(home)):
        assert {path.name for path in (home / "sinks").iterdir()} == set(others)
        assert not list(home.glob(".retention*")) and list(home.glob(".directory*"))


def test_a_directory_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "000000000001"

    def half(directory: Path) -> None:
        (directory / "one").write_text("1")
        raise Crash

    with pytest.raises(Crash):
        publish_directory(path, half)
    assert not path.exists()
    assert list(tmp_path.glob("[0-9]*")) == []
    publish_directory(path, lambda directory: write_json(directory / "two.json", {"two": 2}))
    assert [file.name for file in path.iterdir()] == ["two.json"]
    remove_directory(path)
    remove_directory(path)
    assert not path.exists()


def test_everything_is_flushed_before_it_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, flushed = tmp_path / "d", []

    def flush(place: Path) -> None:
        flushed.append((place.name, path.exists()))

    monkeypatch.setattr(disk, "flush", flush)

    def fill(directory: Path) -> None:
        (directory / "a").write_bytes(b"1")

    publish_directory(path, fill)
    names = [name for name, _ in flushed]
    assert names.index("a") < names.index(tmp_path.name)
    assert [seen for name, seen in flushed if name == "a"] == [False]
    assert flushed[-1] == (tmp_path.name, True), "the rename itself is flushed last"


def test_two_threads_may_write_the_same_file(tmp_path: Path) -> None:
    """A batch that was stopped half-way may still be writing when it runs again."""
    path, inside = tmp_path / "file", threading.Barrier(2)
    failures: list[BaseException] = []

    def write() -> None:
        def slowly(temporary: Path) -> None:
            temporary.write_bytes(b"same")
            inside.wait(600)

        try:
            write_file(path, slowly)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert path.read_bytes() == b"same"


def test_of_several_writers_one_is_the_first(tmp_path: Path) -> None:
    path = tmp_path / "file"
    first: list[bytes] = []

    def write(data: bytes) -> None:
        if write_first(path, data):
            first.append(data)

    threads = [threading.Thread(target=write, args=(b"%d" % number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.read_bytes()] == first
    assert list(tmp_path.iterdir()) == [path], "nothing is left beside it"


def test_tables_come_back(tmp_path: Path) -> None:
    table = pa.table({"a": [1, None], "b": ["x", ""]}).replace_schema_metadata({"k": "v"})
    assert table_from_bytes(table_to_bytes(table)).equals(table, check_metadata=True)
    write_table(tmp_path / "t.arrow", table)
    assert read_table(tmp_path / "t.arrow").equals(table, check_metadata=True)
    write_json(tmp_path / "j.json", {"a": [1, "ü"]})
    assert read_json(tmp_path / "j.json") == {"a": [1, "ü"]}


# The state log


def fill(log: StateLog, batches: range) -> None:
    for batch in batches:
        data = {"g": f"{batch}".encode()}
        log.write(BatchState(batch, batch * 10, data, log.wants_snapshot(batch)))


def test_a_state_is_a_snapshot_and_the_deltas_behind_it(tmp_path: Path) -> None:
    log = StateLog(tmp_path / "state")
    assert log.read(-1) == []
    fill(log, range(200))
    for batch in (199, 192, 191, 150, 128):
        states = log.read(batch)
        assert states[0].whole
        assert [state.batch for state in states] == list(range(batch // 64 * 64, batch + 1))
        assert states[-1].version == batch * 10
        assert states[-1].groups == {"g": f"{batch}".encode()}
        assert not any(state.whole for state in states[1:])


def test_old_states_are_forgotten_but_never_one_that_a_replay_needs(tmp_path: Path) -> None:
    log = StateLog(tmp_path / "state")
    fill(log, range(129))
    # Batch 128 may run again: it starts from the state after 127.
    assert [state.batch for state in log.read(127)] == list(range(64, 128))
    assert len(list((tmp_path / "state").glob("*.arrow"))) < 129
    fill(log, range(128, 130))
    assert [state.batch for state in log.read(129)] == [128, 129]


def test_a_missing_state_is_said_clearly(tmp_path: Path) -> None:
    log = StateLog(tmp_path / "state")
    fill(log, range(3))
    (tmp_path / "state" / f"{1:012d}.arrow").unlink()
    with pytest.raises(PenstockError, match=r"\[ENG-020\] The state of batch 1 is missing"):
        log.read(2)


def test_a_state_that_does_not_fit_its_seal_is_refused(tmp_path: Path) -> None:
    log = StateLog(tmp_path / "state")
    seals = {n: log.write(BatchState(n, n, {"g": b"%d" % n}, n == 0)) for n in range(3)}
    assert [state.batch for state in log.read(2, seals.get)] == [0, 1, 2]
    path = tmp_path / "state" / f"{1:012d}.arrow"
    older = tmp_path / "state" / f"{0:012d}.arrow"
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[:99] + b"?" + whole[100:], older.read_bytes()):
        path.write_bytes(damaged)
        with pytest.raises(PenstockError, match=rf"\[ENG-058\] {path}"):
            log.read(2, seals.get)


def test_leftovers_of_a_crash_are_nobodys_state(tmp_path: Path) -> None:
    log = StateLog(tmp_path / "state")
    fill(log, range(2))
    (tmp_path / "state" / f".{2:012d}.arrow.77-1.tmp").write_bytes(b"half")
    assert [state.batch for state in StateLog(tmp_path / "state").read(1)] == [0, 1]


# Transcripts


def test_the_first_transcript_of_a_batch_stays_until_it_is_old(tmp_path: Path) -> None:
    transcripts = Transcripts(tmp_path / "transcripts")
    assert transcripts.read(1, 0) is None
    for batch in range(9):
        first = Transcript(batch, {"g": b"", "h": b"%d" % batch}, b"part")
        assert transcripts.write(1, batch, first)
        assert not transcripts.write(1, batch, Transcript(99, {}, b"other"))
        assert transcripts.write(11, batch, Transcript(0, {}, b""))
        assert transcripts.read(1, batch) == first
        assert transcripts.read(11, batch) == Transcript(0, {}, b"")
    there = [batch for batch in range(10) if transcripts.read(1, batch) is not None]
    assert there == list(range(8 - SPARE_BATCHES, 9))
