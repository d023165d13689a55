"""Spark's lists of files are shortened by what no start can ask for, and survive a crash."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from penstock.lab.crash_points.simulated_disk import CRASHES, Journal, SimulatedDisk, lay_down
from penstock.spark.file_lists import age_ms_of, flush_lists, shorten_lists
from penstock.spark.provenance import VERSION, fits_sums, sums_file
from penstock.storage import disk

DAY_MS = 86_400_000
STEPS = 30


def entry(path: str, step: int) -> str:
    return json.dumps({"path": path, "timestamp": step * DAY_MS, "batchId": step})


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Give a checkpoint whose sources have read a file a day, and whose last plans are few."""
    root = tmp_path / "checkpoint"
    (root / "offsets").mkdir(parents=True)
    for batch in (20, 29):
        lines = [VERSION, "{}", *[json.dumps({"logOffset": batch})] * 2]
        (root / "offsets" / str(batch)).write_text("\n".join(lines))
    for source in ("0", "1"):
        directory = root / "sources" / source
        directory.mkdir(parents=True)
        for last in (19, 29):
            lines = [entry(f"in/{step:012}.txt", step) for step in range(last + 1)]
            text = "\n".join([VERSION, *lines])
            file = directory / f"{last}.compact"
            file.write_text(text)
            sums = zlib.crc32(text.encode()).to_bytes(4, "big")
            sums_file(file).write_bytes(b"crc\0" + len(text).to_bytes(4, "big") + sums)
            assert fits_sums(file)
    (tmp_path / "announced").mkdir()
    for number in (9, 28, 29):
        (tmp_path / "announced" / f"{number:012}.txt").touch()
    return root


def listed(checkpoint: Path, source: int, last: int = 29) -> list[int]:
    file = checkpoint / "sources" / str(source) / f"{last}.compact"
    assert fits_sums(file)
    return [json.loads(line)["batchId"] for line in file.read_text().split("\n")[1:]]


def shorten(checkpoint: Path, **ages_ms: float) -> None:
    ages = {int(name[1:]): age for name, age in ages_ms.items()}
    list(shorten_lists(checkpoint, checkpoint.parent / "announced", ages, 5))


def test_announcements_that_are_gone_go_and_files_stay_that_nobody_may_forget(
    checkpoint: Path,
) -> None:
    shorten(checkpoint)
    assert listed(checkpoint, 0) == [9, *range(21, 30)], "what is there, or may be run again"
    assert listed(checkpoint, 0, last=19) == list(range(20)), "Spark forgets older ones itself"
    assert listed(checkpoint, 1) == list(range(30))


def test_files_go_that_spark_does_not_look_at(checkpoint: Path) -> None:
    shorten(checkpoint, n1=12 * DAY_MS)
    assert listed(checkpoint, 1) == list(range(17, 30))
    shorten(checkpoint, n1=11 * DAY_MS)
    assert listed(checkpoint, 1) == list(range(17, 30)), "few can go"
    shorten(checkpoint, n1=0)
    assert listed(checkpoint, 1) == list(range(17, 30)), "they are not half of it"


def test_a_list_that_is_not_whole_is_left_to_a_check(checkpoint: Path) -> None:
    file = checkpoint / "sources" / "0" / "29.compact"
    for text in ("", "v1\n{", "v1\n{}", "v2\n" + entry("a", 1)):
        file.write_text(text)
        shorten(checkpoint)
        assert file.read_text() == text
    (checkpoint / "offsets" / "20").write_text("")
    shorten(checkpoint)


def test_a_crash_leaves_the_old_list_or_the_new(checkpoint: Path, tmp_path: Path) -> None:
    journal = Journal(checkpoint)
    laid = {
        str(path.relative_to(checkpoint)): path.read_bytes() if path.is_file() else None
        for path in sorted(checkpoint.rglob("*"))
    }
    with disk.watched(journal):
        shorten(checkpoint)
    assert journal.entries
    simulated, found = SimulatedDisk(laid), set()
    for number, done in enumerate(journal.entries):
        simulated.do(done)
        for crash in CRASHES:
            place = tmp_path / f"{number}-{crash}"
            lay_down(simulated.left(crash), place)
            found.add(len(listed(place, 0)))
    assert found == {30, 10}


def test_options_say_how_long_files_are_looked_at() -> None:
    assert age_ms_of("csv:/in", {}) == 7 * DAY_MS
    assert age_ms_of("csv:/in", {"MAXFILEAGE": "500"}) == 500
    assert age_ms_of("csv:/in", {"maxFileAge": "3 d"}) == 3 * DAY_MS
    assert age_ms_of("csv:/in", {"maxFileAge": "soon"}) is None
    assert age_ms_of("csv:/in", {"latestFirst": "TRUE"}) is None
    assert age_ms_of(None, {}) is None, "a DataFrame of the user's"


def test_lists_are_flushed_once(checkpoint: Path) -> None:
    flushed: dict[str, int] = {}
    journal = Journal(checkpoint.parent)
    with disk.watched(journal):
        flush_lists(checkpoint, flushed)
    names = [done.path.name for done in journal.entries if done.deed == "flushed"]
    assert {"19.compact", ".19.compact.crc", "29.compact", "0", "1"} <= set(names)
    assert names[-2:] == ["sources", "checkpoint"], "in which the directories have their names"
    assert flushed == {"0": 29, "1": 29}
    again = Journal(checkpoint)
    (checkpoint / "sources" / "1" / "30").write_text("v1")
    with disk.watched(again):
        flush_lists(checkpoint, flushed)
    assert [done.path.name for done in again.entries] == ["30", "1"]
