"""Odd places: a disk that is full or only read, no writable HOME, files with odd names."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock as ps
from penstock.kernels import machine_code
from penstock.spark.failures import explain_failure
from penstock.spark.source_texts import settled_source
from penstock.storage import disk
from penstock.storage.files import write_first
from tests.support.desks import desk_with_events

NOBODY = 65_534
LARGE = "SELECT n FROM t WHERE n > 1"


@pytest.fixture
def locked_home() -> Iterator[Path]:
    """Make a home of one standing query that this process may read and not write."""
    with tempfile.TemporaryDirectory() as above:
        Path(above).chmod(0o755)
        home = Path(above) / "home"
        desk = desk_with_events(home)
        desk.subscribe(LARGE, name="large")
        desk.close()
        modes = {path: path.stat().st_mode for path in (home, *home.rglob("*"))}
        for path in modes:
            path.chmod(0o555 if path.is_dir() else 0o444)
        is_root = os.geteuid() == 0
        if is_root:  # whom no mode holds back
            os.seteuid(NOBODY)
        try:
            yield home
        finally:
            if is_root:
                os.seteuid(0)
            for path, mode in modes.items():
                path.chmod(mode)


@pytest.mark.parametrize("place", ["file", "file/below", "a" * 300, "below/" + "b" * 300])
def test_a_place_that_can_be_no_directory_is_told(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    code = "ENG-003" if place == "file" else "ENG-063"
    with pytest.raises(ps.PenstockError, match=code) as refused:
        ps.Engine(tmp_path / place)
    assert str(tmp_path / place.removesuffix("/below"))[:90] in refused.value.fact
    with pytest.raises(ps.PenstockError, match="ENG-063"):
        write_first(tmp_path / place / "one", b"1")


def test_a_home_that_cannot_be_written_is_read_and_says_why_no_engine_opens_it(
    locked_home: Path,
) -> None:
    with pytest.raises(ps.PenstockError) as refused:
        ps.Engine(locked_home)
    assert refused.value.code == "ENG-063"
    assert str(locked_home) in refused.value.fact
    desk = ps.Desk(locked_home, read_only=True)
    assert [each.name for each in desk.subscriptions()] == ["large"]
    assert desk.subscription("large").read().num_rows == 0
    desk.close()


def test_a_full_disk_is_told_and_nothing_is_half_registered(tmp_path: Path) -> None:
    desk = desk_with_events(tmp_path / "home")

    def full(deed: str, path: Path, _target: Path | None) -> None:
        if deed == "wrote":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with disk.watched(full), pytest.raises(ps.PenstockError) as refused:
        desk.subscribe(LARGE, name="large")
    assert refused.value.code == "RUN-015"
    assert desk.subscribe(LARGE, name="large").name == "large"
    desk.close()


def test_a_disk_that_was_full_in_a_batch_has_a_code() -> None:
    error = explain_failure(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert error.code == "RUN-015"


def test_without_a_writable_home_kernels_are_kept_with_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")  # and put back at the end
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "below"))
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    machine_code.code_directory.cache_clear()
    try:
        machine_code.keep_code_in(tmp_path / "kernels")
        assert machine_code.code_directory().is_relative_to(tmp_path / "kernels")
        os.environ["NUMBA_CACHE_DIR"] = str(tmp_path / "given")
        machine_code.keep_code_in(tmp_path / "kernels")
        machine_code.code_directory.cache_clear()
        assert machine_code.code_directory().is_relative_to(tmp_path / "given")
    finally:
        machine_code.code_directory.cache_clear()


def test_a_relative_source_is_settled_where_it_is_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert settled_source("csv:data/in [1]") == f"csv:{tmp_path}/data/in [1]"
    assert settled_source("csv:s3://bucket/data") == "csv:s3://bucket/data"
    assert settled_source("kafka") == "kafka"


def test_files_that_were_written_after_the_clock_was_set_back_are_flushed(tmp_path: Path) -> None:
    files = disk.NewFiles(tmp_path)
    flushed: list[Path] = []

    def seen(deed: str, path: Path, _target: Path | None) -> None:
        if deed == "flushed":
            flushed.append(path)

    with disk.watched(seen):
        (tmp_path / "a").write_text("1")
        files.flush_new()
        (tmp_path / "b").write_text("2")
        os.utime(tmp_path / "b", (0, 0))
        files.flush_new()
        files.flush_new()
    assert sorted(path.name for path in flushed if path != tmp_path) == ["a", "b"]
