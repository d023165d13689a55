"""What KEEP keeps: results go oldest first, small files become volumes, and readers are told."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.delivery.log import ResultLog
from penstock.delivery.log_files import ResultsExpiredError
from penstock.delivery.retention import KeepLimits, LogUpkeep, UpkeepPace
from penstock.engine import Desk
from penstock.engine.home_check import check_home
from penstock.engine.home_verification import verify_home
from penstock.lab.correctness.runs import DeskRun
from penstock.storage import disk
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.losses import LATE_ROWS

TICKS = Relation(
    name="ticks", kind="stream", schema=pa.schema([("v", pa.int64()), ("w", pa.string())])
)
DAY_S = 86_400.0
SOON = UpkeepPace(spare_batches=3, volume_batches=5)


class FastClock:
    """Every batch is a day."""

    def __init__(self) -> None:
        self.now_s = 1_000 * DAY_S

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.engine.upkeep.UpkeepPace", lambda: SOON)


@pytest.fixture
def clock() -> FastClock:
    return FastClock()


@pytest.fixture
def run(tmp_path: Path, clock: FastClock) -> Iterator[DeskRun]:
    with DeskRun(tmp_path / "home", TICKS, clock=clock) as own:
        own.desk.upkeep._clock = clock
        own.desk.subscribe("SELECT v, w FROM ticks WHERE v >= 0", "all")
        yield own


def days(run: DeskRun, clock: FastClock, number: int) -> None:
    for _ in range(number):
        clock.now_s += DAY_S
        run.batch(ticks=[{"v": run.batches, "w": "x" * 20}])


def seen(desk: Desk, since: str | None = None) -> list[int]:
    return [c.row["v"] for c in desk.subscription("all").changes(since, follow=False)]


def files(run: DeskRun) -> list[Path]:
    root = run.desk.home.path / "results"
    return sorted(path for path in root.rglob("*") if path.is_file())


def test_small_files_become_volumes_and_readers_see_the_same(
    run: DeskRun, clock: FastClock
) -> None:
    days(run, clock, 20)
    before, loose = run.desk.subscription("all").read(), len(files(run))
    beside = Desk(run.desk.home.path, read_only=True)
    following = beside.subscription("all").changes(follow=False)
    first = next(following)
    run.desk.upkeep.once()
    assert [path.name for path in files(run) if path.suffix == ".volume"] == [
        "000000000000-000000000004.volume",
        "000000000005-000000000009.volume",
        "000000000010-000000000014.volume",
    ]
    assert len(files(run)) == loose - 15 * 3 + 3
    # Whoever read meanwhile, in another process, reads on; tokens mean what they meant.
    assert [first.row["v"], *(change.row["v"] for change in following)] == list(range(20))
    assert seen(beside, "7:1") == list(range(8, 20))
    assert run.desk.subscription("all").read().equals(before)
    assert verify_home(run.desk).state == "equal"
    run.desk.close()
    assert not check_home(run.desk.home.path).flaws


def test_old_results_go_and_tokens_before_them_are_told(run: DeskRun, clock: FastClock) -> None:
    run.desk.keep("7 days")
    days(run, clock, 20)
    run.desk.upkeep.once()
    # A batch of exactly seven days is kept; volumes were not made of what goes.
    kept = list(range(12, 20))
    assert run.desk.log.first() == 12
    assert seen(run.desk) == kept
    assert run.desk.subscription("all").read()["v"].to_pylist() == kept
    with pytest.raises(PenstockError, match=r"DEL-008.*batch 3 .*begin at batch 12") as told:
        seen(run.desk, "3:1")
    assert "'12:0'" in told.value.remedy
    assert seen(run.desk, "12:0") == kept
    assert run.desk.subscription("all").before_last(100) == "12:0"
    left = [path for path in files(run) if path.suffix == ".parquet"]
    assert {int(path.name[:12]) for path in left} == set(kept)


def test_verification_says_from_where_it_holds(run: DeskRun, clock: FastClock) -> None:
    days(run, clock, 12)
    run.desk.keep("5 batches")
    run.desk.upkeep.once()
    outcome = verify_home(run.desk)
    assert outcome.state == "equal", outcome.findings
    assert outcome.first == 7
    assert outcome.rows == 5
    assert "from batch 7 on" in outcome.words()[0]
    assert run.desk.log.files.kept().recorded == {"ticks": 7}
    run.desk.close()
    assert not check_home(run.desk.home.path).flaws


def test_answers_that_depend_on_what_is_gone_are_not_verified(
    tmp_path: Path, clock: FastClock
) -> None:
    stream = Relation(
        name="s",
        kind="stream",
        schema=pa.schema([("k", pa.int64()), ("at", pa.timestamp("us"))]),
        event_time="at",
    )
    with DeskRun(tmp_path / "home", stream, clock=clock) as run:
        run.desk.subscribe(
            "SELECT a.k FROM s a [RANGE 5 SECONDS], s b [RANGE 5 SECONDS] WHERE a.k = b.k",
            "pairs",
        )
        for _ in range(8):
            run.batch(s=[{"k": 1, "at": run.batches * 1_000_000}])
        run.desk.keep("3 batches")
        run.desk.upkeep.once()
        outcome = verify_home(run.desk)
    assert outcome.state == "unverified"
    assert [error.code for answer in outcome.answers for error in answer.failures] == ["VER-012"]


@pytest.mark.parametrize(
    ("said", "first"),
    [("4 batches", 16), ("6 rows", 14), ("100 KB", 0), ("8 KB", 15), ("all", 0), ("2 weeks", 5)],
)
def test_limits(run: DeskRun, clock: FastClock, said: str, first: int) -> None:
    days(run, clock, 20)
    run.desk.keep(said)
    run.desk.upkeep.once()
    if said == "8 KB":
        root = run.desk.home.path / "results"
        kept = [own for own in root.rglob("0*") if own.is_file() and own.suffix != ".json"]
        assert sum(path.stat().st_size for path in kept) <= 8_000
        assert run.desk.log.first() > 0
    else:
        assert run.desk.log.first() == first


def test_nothing_goes_that_a_sink_has_not_taken(run: DeskRun, clock: FastClock) -> None:
    days(run, clock, 10)
    run.desk.keep("until read")
    run.desk.upkeep.once()
    assert run.desk.log.first() == 0  # nobody reads, so nobody has read
    runner = run.desk.subscription("all").to(lambda _change: None, "reader")
    run.desk.readers.sinks.cursors.set(runner.cursor, "6:0")
    run.desk.upkeep.once()
    assert run.desk.log.first() == 6
    run.desk.keep("2 batches until read")
    run.desk.upkeep.once()
    assert run.desk.log.first() == 6
    run.desk.keep("2 batches")
    run.desk.upkeep.once()
    assert run.desk.log.first() == 8
    # A sink that was not given something goes on with what is kept, and says so.
    woken = threading.Event()
    courier = run.desk.readers.courier
    runner.begin(courier, "6:0", lambda _: woken.set())
    assert runner.follower is not None
    taken: list[int] = []
    runner._changes = lambda change: taken.append(change.row["v"])
    while not runner.ended:
        woken.clear()
        (runner.share,) = courier.take_all((runner.follower,))
        if runner.serve() is None and not runner.ended:
            assert woken.wait(600)
    assert taken == [8, 9]
    assert runner.state.skipped_batches == 2
    assert any("batches 6 to 7" in notice.text for notice in run.desk.notices)


def test_cursors_of_dropped_subscriptions_are_forgotten(run: DeskRun) -> None:
    cursors = run.desk.readers.sinks.cursors
    cursors.set("gone.Sink", "3:0")
    cursors.set("all.Sink", "3:0")
    run.desk.upkeep.once()
    assert cursors.tokens() == {"all.Sink": "3:0"}


class KilledError(Exception):
    """The power is cut."""


class Killer:
    """Kills whoever does one deed more than it lets pass."""

    def __init__(self, deeds: int) -> None:
        self.left = deeds

    def __call__(self, *_deed: object) -> None:
        self.left -= 1
        if self.left < 0:
            raise KilledError


def values(log: ResultLog) -> list[int]:
    """Read all results that are kept, as one who reads every file."""
    found = (log.read(number) for number in range(log.first(), log.newest() + 1))
    return [own for each in found if each for own in each.sections[0].events()["v"].to_pylist()]


def test_a_crash_at_any_deed_loses_nothing_that_is_kept(
    run: DeskRun, clock: FastClock, tmp_path: Path
) -> None:
    """Killed after every single deed of upkeep, the log is whole, and the next run finishes."""
    days(run, clock, 17)
    limits, results = KeepLimits.of_text("12 batches"), run.desk.home.path / "results"
    for deeds in count():
        copy = tmp_path / str(deeds)
        shutil.copytree(results, copy)
        log = ResultLog(copy)
        is_killed = False
        try:
            with disk.watched(Killer(deeds)):
                list(LogUpkeep(log, SOON).steps(limits, clock()))
        except KilledError:
            is_killed = True
            assert values(log) == list(range(log.first(), 17))
            list(LogUpkeep(ResultLog(copy), SOON).steps(limits, clock()))
        assert values(log) == list(range(5, 17))
        left = sorted(path.relative_to(copy) for path in copy.rglob("*") if path.is_file())
        assert not [path for path in left if path.name.startswith(".")]
        assert len([path for path in left if path.suffix == ".volume"]) == 1
        if not is_killed:
            break
    assert deeds > 30


def test_damage_to_volumes_and_settings_is_told(run: DeskRun, clock: FastClock) -> None:
    days(run, clock, 12)
    run.desk.keep("11 batches")
    run.desk.upkeep.once()
    results = run.desk.home.path / "results"
    (volume,) = results.glob("volumes/*")
    for path, code in ((volume, "DEL-011"), (results / "kept.json", "DEL-009")):
        whole = path.read_bytes()
        for damaged in (whole[: len(whole) // 2], b"", _flipped(whole, 40), _flipped(whole, -40)):
            path.write_bytes(damaged)
            with pytest.raises(PenstockError, match=code):
                seen(Desk(run.desk.home.path, read_only=True))
            found = verify_home(run.desk)
            assert found.state == "different"
            assert any(finding.file == path for finding in found.findings), found.findings
        path.write_bytes(whole)
    setting = run.desk.home.path / "retention.json"
    setting.write_text(json.dumps({"age_s": 1}))
    with pytest.raises(PenstockError, match="ENG-064"):
        _ = run.desk.upkeep.limits
    run.desk.upkeep.once()
    assert any("retention.json" in notice.text for notice in run.desk.notices)


def _flipped(data: bytes, at: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


@pytest.mark.parametrize("text", ["", "7", "7 moons", "-1 days", "1.5 rows", "7 days, 8 days"])
def test_what_keep_does_not_take(text: str) -> None:
    with pytest.raises(PenstockError, match="DEL-010"):
        KeepLimits.of_text(text)


def test_a_batch_that_goes_while_it_is_read_is_told(run: DeskRun, clock: FastClock) -> None:
    days(run, clock, 10)
    logged = run.desk.log.read(2)
    assert logged is not None
    run.desk.keep("1 batches")
    run.desk.upkeep.once()
    with pytest.raises(ResultsExpiredError, match="DEL-008"):
        logged.sections[0].events()


def test_what_is_gone_is_forgotten(run: DeskRun) -> None:
    desk = run.desk
    gone = desk.subscribe("SELECT v FROM ticks WHERE v * 2 > 7 OR w = 'x'", "gone")
    groups = {gone.group, desk.subscription("all").group}
    statistics = desk.watcher.statistics
    for group in groups:
        statistics.filters[group] = {"row_s": 1.0}
        desk.left_out.add(group, LATE_ROWS, 1, 0)
    desk.left_out.add("ticks", LATE_ROWS, 1, 0)
    desk.upkeep.once()
    assert set(statistics.filters) == groups
    desk.registry._keep_history = False  # a recorded home lets none go
    gone.drop()
    desk.upkeep.once()
    left = desk.subscription("all").group
    assert set(statistics.filters) == {left}
    assert set(desk.left_out.counts) == {left, "ticks"}
