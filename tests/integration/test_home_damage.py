"""Damage to every kind of file in a home is noticed, named, and told with a remedy."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from penstock.delivery.cursors import Cursors
from penstock.engine import Desk
from penstock.engine.home_check import check_home, repair_home
from penstock.engine.sweeps import SweepRequest, sweep
from penstock.kinds.statistics import Statistics
from penstock.lab.crash_points.all_kinds import AllKinds
from penstock.lab.crash_points.lives import HOME, HomeLife
from penstock.lab.crash_points.simulated_disk import Journal
from penstock.registry.store import Registry
from penstock.server.access import AccessTokens
from penstock.spark.provenance import offsets_of
from penstock.storage.disk import watched
from penstock.storage.files import read_json, write_json
from penstock.storage.seals import sealed
from penstock.storage.state import OLDER
from penstock.storage.suspensions import Suspension, Suspensions
from penstock.storage.transcripts import Transcript, Transcripts
from penstock.views.dropped_stores import note_dropped
from penstock.vocabulary.errors import PenstockError
from tests.support.view_lives import view

Damage = Callable[[Path, Path | None], None]


def flip(file: Path, _older: Path | None) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)


def cut(file: Path, _older: Path | None) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def empty(file: Path, _older: Path | None) -> None:
    file.write_bytes(b"")


def delete(file: Path, _older: Path | None) -> None:
    file.unlink()


def swap(file: Path, older: Path | None) -> None:
    assert older is not None
    shutil.copy(older, file)


SWEPT = """
CREATE STREAM positions FROM 'harbour:positions' OPTIONS (event_time = 'ts', rows = 200);
SUBSCRIBE above TO SELECT vessel, starts, ends FROM positions MODEL x = x + vx * t KEY vessel
  WHERE x > :line ERROR WITHIN 10;
"""
HARMLESS = {
    (delete, "registry/announcements/#.txt"): "opening announces what is not announced",
    (delete, "checkpoint/commits/#"): "Spark runs its last batch again: it is taken as it was left",
    (delete, "transcripts/#-#.arrow"): "not needed any more, or refused when its batch comes again",
    (delete, "server/tokens/#.json"): "it is revoked: nobody is admitted by it",
    (delete, "segments/positions-#.parquet"): "a sweep makes it again",
    (delete, "segments/positions-#.json"): "a sweep makes the segments again",
    (delete, "views/owner.json"): "no view of it lives in PostgreSQL",
    (delete, "views/#-#.dropped"): "the schema of a view that was dropped stays in PostgreSQL",
}
"""What a check passes over, and why nothing goes wrong by it."""
NOBODYS = re.compile(r"\.lock|.*\.crc")
"""Who uses the home; Hadoop's checksums of files that are held to the manifests."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a home with every kind of file: batches, folds, sinks, figures and transcripts."""
    place = tmp_path_factory.mktemp("damaged")
    script = AllKinds(0, place / "asked")
    script.texts = script.texts[3:7]
    disk = place / "disk"
    path = disk / HOME
    journal = Journal(disk)
    with watched(journal), HomeLife(disk, script, journal, {}) as life:
        Suspensions(path / "registry").note(Suspension(group="g", reason="It was slow.", batch=3))
        life.live()
    desk = Desk(path)
    desk.subscribe(script.texts[0].sql, "late")
    desk.close()
    _lay_down_older(journal, place / "older")
    for _ in range(2):
        AccessTokens(path).create(["read"])
    Statistics(path / "statistics.json").save()
    write_json(path / OLDER, sealed({"begins": 0, "eras": []}))
    marker = path / "penstock.json"
    write_json(marker, sealed({**read_json(marker), "migrated": [{"noted": [OLDER]}]}))
    for batch in (4, 5):
        offsets = offsets_of(path / "checkpoint", batch)
        told = Transcript(batch, {"g": b"state"}, b"part")
        Transcripts(path / "transcripts").write(0, batch, told, offsets)
    note_dropped(view().step(), path, 99)
    write_json(path / "views" / "owner.json", sealed({"owner": "h"}))
    swept = SweepRequest(script=SWEPT, settings={"line": [0.0]}, directory=path / "segments")
    sweep(swept, None, lambda *_: None)
    return path


def _lay_down_older(journal: Journal, place: Path) -> None:
    """Write a view's file as it was after an early turn."""
    place.mkdir()
    written = [own for own in journal.entries if own.data and own.path.parent.name == "views"]
    for entry in written[: len(written) // 2]:
        assert entry.data is not None
        (place / entry.path.name).write_bytes(entry.data)
    for file in place.glob("*.duckdb"):
        duckdb.connect(str(file)).close()


def kind_of(home: Path, file: Path) -> str:
    """Name a file without its numbers and groups."""
    name = file.relative_to(home).as_posix()
    name = re.sub(r"(views|tokens)/[0-9a-f]+", r"\1/#", name)
    name = re.sub(r"(segments/\w+)-[0-9a-f]+", r"\1-#", name)
    name = re.sub(r"(registry/\w+/\d+)/(?!block|manifest).*", r"\1/entries", name)
    return re.sub(r"\d+", "#", name)


def newest_of_kinds(home: Path) -> dict[str, tuple[Path, Path | None]]:
    """Give of every kind the newest file, and one before it that says something else."""
    files: dict[str, list[Path]] = {}
    for file in sorted(home.rglob("*")):
        if file.is_file() and not NOBODYS.fullmatch(file.name):
            files.setdefault(kind_of(home, file), []).append(file)
    found: dict[str, tuple[Path, Path | None]] = {}
    for kind, own in files.items():
        if own[-1].suffix == ".duckdb":
            found[kind] = (own[-1], home.parents[1] / "older" / own[-1].name)
            continue
        others = [file for file in own[:-1] if file.read_bytes() != own[-1].read_bytes()]
        found[kind] = (own[-1], others[-1] if others else None)
    return found


def told_of(home: Path) -> list[tuple[str, str]]:
    """Give what a check, or opening, says: the fact with its file, and the remedy."""
    try:
        flaws = check_home(home).flaws
    except PenstockError as error:
        return [(f"[{error.code}] {error.fact}", error.remedy)]
    return [(str(flaw.finding), flaw.remedy) for flaw in flaws]


def test_a_home_has_the_kinds_of_files_that_are_known(home: Path) -> None:
    assert told_of(home) == []
    assert set(newest_of_kinds(home)) == {
        "penstock.json", "retention.json", "retention.edition", OLDER, "transcripts/#-#.arrow",
        "statistics.json", "statistics.edition", "sinks/cursors.json", "sinks/cursors.edition",
        "registry/announcements/#.txt", "registry/suspensions/batch-#-g.json", "state/#.arrow",
        "checkpoint/metadata", "views/#-#.duckdb", "views/#-#.dropped", "views/owner.json",
        "server/tokens/#.json",
        "segments/positions-#.parquet", "segments/positions-#.json",
        "checkpoint/offsets/#", "checkpoint/commits/#", "checkpoint/sources/#/#",
        "results/kept.json", "results/volumes/#-#.volume",
        "results/#/#.json", "results/#/#-#-#-events.parquet", "results/#/#-#-#-matches.parquet",
        *(
            f"registry/{place}/#/{name}"
            for place in ("versions", "bases")
            for name in ("manifest.json", "block-#.arrow", "entries")
        ),
    }  # fmt: skip


@pytest.mark.parametrize("damage", [flip, cut, empty, delete, swap])
def test_damage_to_every_kind_of_file_is_named_with_a_remedy(home: Path, damage: Damage) -> None:
    silent = []
    for kind, (file, older) in newest_of_kinds(home).items():
        if damage is swap and older is None:
            continue  # written once, or see below
        data = file.read_bytes()
        damage(file, older)
        told = told_of(home)
        file.write_bytes(data)
        named = [fact for fact, _ in told if file.name in fact or file.parent.name in fact]
        if file.suffix == ".volume" and damage is delete:
            named = [fact for fact, _ in told if "batch and results are" in fact]
        if kind.startswith("segments/"):
            named = [fact for fact in named if "[SWP-011]" in fact]
        if kind.startswith("views/"):
            code = {".duckdb": "[VIEW-012]", ".json": "[VIEW-016]"}.get(file.suffix, "[VIEW-015]")
            named = [fact for fact in named if code in fact]
        if not named and (damage, kind) not in HARMLESS:
            silent.append((kind, told))
        assert all(remedy for _, remedy in told)
    assert silent == []


def test_a_marker_of_before_the_first_start_is_refused(home: Path) -> None:
    marker = home / "penstock.json"
    data, facts = marker.read_bytes(), read_json(marker)
    for gone in ({"host", "shards"}, {"lanes"}):
        older = {**facts, "host": "cluster"}
        write_json(marker, sealed({name: own for name, own in older.items() if name not in gone}))
        ((fact, remedy),) = told_of(home)
        with pytest.raises(PenstockError, match=r"\[ENG-006\].*older than the batches"):
            Desk(home)
        marker.write_bytes(data)
        assert "[ENG-006]" in fact
        assert "copy" in remedy


def test_files_without_seals_are_those_of_older_homes(tmp_path: Path) -> None:
    write_json(tmp_path / "cursors.json", {"s.function": "8:0"})
    assert Cursors(tmp_path).tokens() == {"s.function": "8:0"}
    write_json(tmp_path / "cursors.json", {"s.function": "8:0", "sfal": [1, 2]})
    with pytest.raises(PenstockError, match=r"\[DEL-007\].*cursors.json"):
        Cursors(tmp_path).tokens()
    figures = {"rates": {"a": 1.0}, "rows": {}, "groups": {}}
    write_json(tmp_path / "statistics.json", figures)
    assert Statistics(tmp_path / "statistics.json").rates == {"a": 1.0}
    write_json(tmp_path / "statistics.json", {**figures, "sfal": [1, 2]})
    with pytest.raises(PenstockError, match=r"\[ENG-038\]"):
        Statistics(tmp_path / "statistics.json")


def test_a_transcript_of_other_rows_is_refused(tmp_path: Path) -> None:
    transcripts, told = Transcripts(tmp_path), Transcript(3, {"g": b"delta"}, b"part")
    assert transcripts.write(0, 7, told, "[1]")
    assert transcripts.read(0, 7, "[1]") == told
    assert transcripts.read(0, 7) == told, "who does not know the offsets takes it"
    with pytest.raises(PenstockError, match=r"\[RUN-014\].*other rows"):
        transcripts.read(0, 7, "[2]")
    assert transcripts.write(1, 7, told)
    assert transcripts.read(1, 7, "[2]") == told, "those of older homes do not say"
    assert sorted(transcripts.all()) == [(0, 7, 0), (1, 7, 0)]


def test_what_was_written_before_is_not_taken_for_the_newest(home: Path, tmp_path: Path) -> None:
    """Editions of cursors and statistics, put back or removed, and suspensions put back."""
    here = tmp_path / "home"
    shutil.copytree(home, here)
    cursors, statistics = Cursors(here / "sinks"), Statistics(here / "statistics.json")
    files = [cursors.path, here / "statistics.json"]
    before = {file: file.read_bytes() for file in files}
    cursors.set("s.function", "2:0")
    cursors.write()
    statistics.save()
    assert told_of(here) == []
    for file in files:
        newest = file.read_bytes()
        file.write_bytes(before[file])
        ((fact, remedy),) = told_of(here)
        assert f"{file} is older than the newest" in fact
        assert remedy
        file.unlink()
        assert any(f"{file} is missing" in fact for fact, _ in told_of(here))
        file.write_bytes(newest)
    files[1].unlink()
    assert [flaw.finding.code for flaw in repair_home(here).done] == ["ENG-038"]
    assert told_of(here) == []


def test_a_suspension_that_is_put_back_is_noticed(home: Path, tmp_path: Path) -> None:
    here = tmp_path / "home"
    shutil.copytree(home, here)
    suspensions = Suspensions(here / "registry")
    (file,) = suspensions.root.iterdir()
    resting = file.read_bytes()
    suspensions.resume("g", Registry(here / "registry", read_only=True).version + 1)
    assert told_of(here) == [], "it rests in the newest batch, and runs again behind it"
    suspensions.resume("g", 1)
    file.write_bytes(resting.replace(b'"batch":3', b'"batch":4'))
    assert "REG-022" in told_of(here)[0][0]
    write_json(file, sealed({**read_json(file), "batch": 99}))
    ((fact, _),) = told_of(here)
    assert "is missing or older: it rested in batch 5" in fact
