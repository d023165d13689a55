"""Sweeps: the answers of a run, for many values at once, from segments that are kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from typer.testing import CliRunner, Result

from penstock.algebra.catalog import Relation
from penstock.cli.main import app
from penstock.engine.past_rows import ScriptRows
from penstock.engine.sweeps import SweepReport, SweepRequest, sweep
from penstock.kinds.model_query import stored_segments
from penstock.kinds.model_query.held_ranges import held_ranges
from penstock.language.parser import parse
from penstock.language.statements import CreateRelation
from penstock.models.segments import Segments
from penstock.models.sources import SegmentSource, SourceRows
from penstock.vocabulary.errors import PenstockError
from penstock.worlds import harbour
from tests.support.desk_runs import DeskRun
from tests.support.model_answers import held

POSITIONS = Relation(
    name="positions", kind="stream", schema=harbour.POSITIONS, event_time="ts", lateness_us=500_000
)
MODEL = "MODEL x = x + vx * t, y = y + vy * t KEY vessel"
PAIR = f"positions a {MODEL} JOIN positions b {MODEL} ON a.vessel <> b.vessel"
TEXTS = {
    "above": f"SELECT vessel, starts, ends, x FROM positions {MODEL} WHERE x > :n ERROR WITHIN 10",
    "ahead": f"SELECT vessel, starts, ends, x, status FROM positions {MODEL} "
    "WHERE x BETWEEN :n - 500 AND :n ERROR WITHIN 10 HORIZON 5 SECONDS",
    "fitted": "SELECT vessel, starts, ends, y FROM positions MODEL y KEY vessel WHERE y < :n "
    "ERROR WITHIN 20",
    "sampled": f"SELECT at, vessel, x FROM positions {MODEL} WHERE x > :n ERROR WITHIN 10 "
    "SAMPLE EVERY 500 MILLISECONDS",
    "pairs": f"SELECT a.vessel, b.vessel AS other, starts, ends FROM {PAIR} "
    "WHERE a.x - b.x > :n ERROR WITHIN 10 HORIZON 5 SECONDS",
    "means": "SELECT vessel, starts, ends, avg(x) AS mean "
    f"FROM positions [SIZE 4 SECONDS ADVANCE 1 SECOND] {MODEL} GROUP BY vessel "
    "HAVING avg(x) > :n ERROR WITHIN 10",
    "furthest": f"SELECT starts, ends, max(x) AS top FROM positions {MODEL} HAVING max(x) > :n "
    "ERROR WITHIN 10",
}
LAST = datetime(2026, 1, 2, 14, 31, 30, tzinfo=UTC)
"""When a row comes that lets all others be told, and says nothing itself."""
NUMBERS = [-2000, 0, 1500, 6000]
SCRIPT = """CREATE STREAM positions FROM '{source}'
  OPTIONS (event_time = 'ts', lateness = '1 second'{more});
SUBSCRIBE east TO SELECT vessel, starts, ends, x FROM positions MODEL x = x + vx * t KEY vessel
  WHERE x > :line AND vessel = :vessel ERROR WITHIN 10;
SUBSCRIBE near TO SELECT a.vessel, b.vessel AS other, starts, ends
  FROM positions a MODEL x = x + vx * t KEY vessel JOIN positions b MODEL x = x + vx * t KEY vessel
    ON a.vessel <> b.vessel AND abs(a.x - b.x) < :distance
  ERROR WITHIN 10;
SUBSCRIBE rows TO SELECT vessel FROM positions WHERE x > :x;"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    """A home in which vessels told where they were, in disorder, and a few too late."""
    with DeskRun(tmp_path / "home", POSITIONS) as made:
        yield made


def tell(run: DeskRun, batches: int = 5, size: int = 80) -> None:
    chance = np.random.default_rng(3)
    for number in range(batches):
        rows = pa.Table.from_batches([harbour.positions(number * size, (number + 1) * size)])
        rows = rows.take(pa.array(chance.permutation(size)))
        if number == 3:
            rows = pa.concat_tables([rows, pa.Table.from_batches([harbour.positions(0, 5)])])
        run.batch(positions=rows)
    run.batch(positions=[{"ts": LAST}])


def told(run: DeskRun, name: str, until: int) -> dict[Any, tuple[int, float, int, int]]:
    """Add up what a subscription was told, instant by instant: the slow twin of a sweep."""
    found = {}
    for query, by_key in held(run.desk.subscription(name).read(), until).items():
        ranges = [each for own in by_key.values() for each in own]
        seconds = sum(high - low for low, high in ranges) / 1e6
        ends = min(low for low, _ in ranges), max(high for _, high in ranges)
        found[query] = (len(ranges), seconds, *ends)
    return found


def swept(run: DeskRun, text: str, numbers: list[Any] = NUMBERS) -> SweepReport:
    request = SweepRequest(
        script=f"SUBSCRIBE s TO {text}", settings={"n": numbers},
        directory=run.desk.home.path / "segments",
    )  # fmt: skip
    return sweep(request, run.desk, lambda *_: None)


@pytest.mark.parametrize("form", TEXTS)
def test_a_sweep_finds_what_a_run_has_told(form: str, run: DeskRun) -> None:
    each = [{"id": str(number), "n": float(number)} for number in NUMBERS]
    run.desk.subscribe(TEXTS[form], "told", each)
    tell(run)
    table = swept(run, TEXTS[form]).table
    expected = told(run, "told", round(LAST.timestamp() * 1e6))
    assert sum(own[0] for own in expected.values()) > 2
    for row in table.to_pylist():
        own = expected.get(str(row["n"]))
        if own is None:
            assert (row["answers"], row["first"], row["last"]) == (0, None, None)
            continue
        assert row["answers"] == own[0]
        assert round(row["first"].timestamp() * 1e6) == own[2]
        assert round(row["last"].timestamp() * 1e6) == own[3]
        if form == "sampled":
            assert row["seconds"] is None
        else:
            assert row["seconds"] == pytest.approx(own[1], abs=1e-4)


def test_segments_are_kept_until_something_changes(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(run, 3)
    made: list[object] = []
    process = SegmentSource.process

    def counted(self: SegmentSource, rows: SourceRows) -> Segments:
        made.append(rows)
        return process(self, rows)

    monkeypatch.setattr(SegmentSource, "process", counted)
    first = swept(run, TEXTS["above"])
    assert "made now" in first.notes[0] and len(made) == 1
    again = swept(run, TEXTS["above"])
    assert "unchanged" in again.notes[0] and len(made) == 1
    assert again.table.equals(first.table)
    # A condition that all share is part of the plan, and leaves the models as they are.
    swept(run, TEXTS["above"].replace("WHERE", "WHERE vessel = 3 AND"))
    assert len(made) == 1
    for changed in ("WITHIN 11", "WITHIN 10 HORIZON 9 SECONDS"):
        swept(run, TEXTS["above"].replace("WITHIN 10", changed))
    assert len(made) == 3
    (path,) = [own for own in run.desk.home.path.glob("segments/*.parquet")
               if str(own) in first.notes[0]]  # fmt: skip
    table = pq.read_table(path)
    names = ["vessel", "reference", "low", "high", "x", "y", "sign", "serial"]
    assert table.column_names == names
    assert 0 < table.num_rows < 60
    path.write_bytes(path.read_bytes()[:-9] + b"x" * 9)
    assert "was damaged and is made again" in swept(run, TEXTS["above"]).notes[0]
    tell_more = pa.Table.from_batches([harbour.positions(900, 940)])
    run.batch(positions=tell_more)
    assert "made now" in swept(run, TEXTS["above"]).notes[0]


def test_what_was_not_used_for_longest_makes_room(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(run, 2)
    place = run.desk.home.path / "segments"
    place.mkdir()
    (place / "mine.parquet").write_bytes(b"not ours")

    def asked(within: int) -> SweepReport:
        return swept(run, TEXTS["above"].replace("WITHIN 10", f"WITHIN {within}"))

    def kept() -> int:
        assert (place / "mine.parquet").is_file()
        return len(list(place.glob("positions-*.json")))

    monkeypatch.setattr(stored_segments, "FILES_MAX", 2)
    assert len(asked(10).notes) == len(asked(11).notes) == 1
    assert "unchanged" in asked(10).notes[0]
    report = asked(12)  # 11 goes: 10 was used since
    assert f"removed from {place}: 1, of " in report.notes[1] and kept() == 2
    assert "unchanged" in asked(10).notes[0] and "made now" in asked(11).notes[0]
    monkeypatch.setattr(stored_segments, "BYTES_MAX", 1)
    report = asked(13)
    assert f"removed from {place}: 2, of " in report.notes[1] and kept() == 1
    assert "unchanged" in asked(13).notes[0]


def test_what_another_sweep_removes_is_made_again(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes room between any two looks at a file, and nothing was damaged."""
    tell(run, 2)
    first = swept(run, TEXTS["above"])
    place = run.desk.home.path / "segments"
    for name in ("_noted", "seal_of_file", "read_table"):
        own = getattr(stored_segments, name)
        left = list(place.iterdir())

        def looked(path: Path, own: Any = own, left: list[Path] = left) -> Any:
            while left:
                left.pop().unlink()
            return own(path)

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(stored_segments, name, looked)
            report = swept(run, TEXTS["above"])
        assert "made now" in report.notes[0] and "damaged" not in report.notes[0], name
        assert report.table.equals(first.table)


def penstock(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def script_of(tmp_path: Path, source: str, more: str = "") -> Path:
    path = tmp_path / "app.sql"
    path.write_text(SCRIPT.format(source=source, more=more))
    return path


def test_sources_are_read_without_spark(tmp_path: Path) -> None:
    """A made-up world, and the same rows as Parquet and CSV, give the same table."""
    rows = pa.Table.from_batches([harbour.positions(0, 2_000)])
    for kind in ("parquet", "csv"):
        (tmp_path / kind).mkdir()
    for place in range(2):
        part = rows.slice(place * 1_000, 1_000)
        pq.write_table(part, tmp_path / "parquet" / f"{place}.parquet")
        semicolons = csv.WriteOptions(delimiter=";")
        csv.write_csv(part, tmp_path / "csv" / f"{place}.csv", semicolons)
    names = ("x", "y", "vx", "vy")
    columns = f"(ts TIMESTAMPTZ, vessel BIGINT, {' DOUBLE, '.join(names)} DOUBLE, report_id BIGINT)"
    tables = []
    for source, more in (
        ("harbour:positions", ", rows = 2000, pace = TRUE, rate = 20"),
        (f"parquet:{tmp_path}/parquet", ""),
        (f"csv:{tmp_path}/csv", ", header = TRUE, sep = ';'"),
    ):
        path = script_of(tmp_path, source, more)
        if source.startswith("csv"):
            script = path.read_text().replace("positions FROM", f"positions {columns} FROM", 1)
            path.write_text(script.replace("'ts'", "'TS'"))  # names match without regard to case
        asked = ("sweep", path, "--set", "line=0:2000:1000", "--set", "vessel=1,4,77", "--json")
        result = penstock(*asked)
        assert result.exit_code == 0, result.output
        tables.append(json.loads(result.stdout)["combinations"])
    assert tables[0] == tables[1] == tables[2]
    assert [(row["line"], row["vessel"]) for row in tables[0]][:4] == [
        (0, 1),
        (0, 4),
        (0, 77),
        (1000, 1),
    ]
    assert {row["answers"] for row in tables[0] if row["vessel"] == 77} == {0}
    assert sum(row["answers"] for row in tables[0]) > 0
    assert list((tmp_path / "segments").glob("positions-*.parquet"))


def test_a_value_inside_the_plan_is_swept_too(tmp_path: Path) -> None:
    path = script_of(tmp_path, "harbour:positions", ", rows = 600")
    out = tmp_path / "near.csv"
    result = penstock("sweep", path, "--set", "distance=100:500:200", "--out", out, "--rows", 400)
    assert result.exit_code == 0, result.output
    assert "the first 400 rows" in " ".join(result.output.split())
    found = csv.read_csv(out)
    assert found.column_names == ["distance", "answers", "seconds", "first", "last"]
    seconds = found.column("seconds").to_pylist()
    assert seconds == sorted(seconds) and 0 < seconds[0] < seconds[-1]
    for rows, is_cut in ((599, True), (600, False)):  # There are 600.
        whole = penstock("sweep", path, "--set", "distance=300", "--rows", rows)
        assert ("say --rows for more" in " ".join(whole.output.split())) is is_cut
    shown = penstock("sweep", path, "--set", "distance=300", "--rows", 400)
    assert f"{found.column('answers')[1].as_py()}" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--set", "x=1:3"], "SWP-001"),
        (["--set", "line=1", "--subscription", "wrong"], "SWP-002"),
        (["--set", "lines=1"], "SWP-003"),
        (["--set", "line=1"], "SWP-003"),
        (["--set", "line=1", "--set", "x=2"], "SWP-003"),
        (["--set", "line=1:10:0"], "SWP-004"),
        (["--set", "line=1:nan"], "SWP-004"),
        (["--set", "line=10:1"], "SWP-004"),
        (["--set", "line=1,,2"], "SWP-004"),
        (["--set", "line"], "SWP-004"),
        (["--set", "line=1", "--set", "line=2"], "SWP-004"),
        (["--set", "line=0:1:0.000001"], "SWP-005"),
        (["--set", "line=1:1000", "--set", "vessel=1:1000"], "SWP-005"),
        (["--set", "line=1", "--set", "vessel=x"], "SQL-030"),
        (["--set", "line=1", "--set", "vessel=1,x"], "SQL-030"),
        (["--set", "line=1", "--set", "vessel=1", "--out", "f.txt"], "SWP-008"),
        (["--set", "line=1", "--set", "vessel=1", "--out", "no/f.csv"], "SWP-008"),
    ],
)  # fmt: skip
def test_what_cannot_be_swept_is_said(arguments: list[str], code: str, tmp_path: Path) -> None:
    path = script_of(tmp_path, "harbour:positions", ", rows = 100")
    result = penstock("sweep", path, *arguments)
    assert result.exit_code == 2, result.output
    assert code in result.output


def test_a_sweep_of_no_rows_finds_nothing(tmp_path: Path) -> None:
    path = script_of(tmp_path, "harbour:positions", ", rows = 100")
    text = path.read_text().replace("AND vessel = :vessel", "AND vessel = :vessel AND vx > 1e6")
    path.write_text(text)
    result = penstock("sweep", path, "--set", "line=1", "--set", "vessel=1,2", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [each["answers"] for each in found["combinations"]] == [0, 0], found


def test_sources_that_need_spark_are_refused(tmp_path: Path) -> None:
    for source in ("kafka", f"csv:{tmp_path}", f"parquet:{tmp_path}/none"):
        path = script_of(tmp_path, source)
        result = penstock("sweep", path, "--set", "line=1", "--set", "vessel=1")
        assert (result.exit_code, "SWP-006" in result.output) == (2, True), result.output


def test_csv_files_are_read_as_a_run_reads_them(tmp_path: Path) -> None:
    """NA was no key, a file whose columns had other cases failed, and options were passed over."""

    def read(first: str, more: str = "") -> pa.Table:
        (tmp_path / "in").mkdir(exist_ok=True)
        lines = f'{first}\n2026-01-02T00:00:00Z,NA,1.5\n\n2026-01-02T00:00:01Z,"",\n'
        (tmp_path / "in" / "a.csv").write_text(lines)
        (stream,) = parse(
            "CREATE STREAM p (ts TIMESTAMPTZ, k VARCHAR, x DOUBLE) "
            f"FROM 'csv:{tmp_path}/in' OPTIONS (header = TRUE, event_time = 'ts'{more})"
        )
        assert isinstance(stream, CreateRelation)
        return ScriptRows({"p": stream}, 10).read("p")[0]

    found = read("TS,K,X", ", maxFilesPerTrigger = 1")
    values = [column.to_pylist() for column in found.columns[1:]]
    assert values == [["NA", None], [1.5, None]]
    for first, more, fact in (
        ("ts,x,k", "", "its first line is ts, x, k"),
        ("ts,k,x", ", nullValue = 'NA'", "nullvalue"),
    ):
        with pytest.raises(PenstockError, match=rf"\[SWP-006\].*{fact}"):
            read(first, more)


def test_two_queries_of_one_parameter_are_told_apart(tmp_path: Path) -> None:
    path = script_of(tmp_path, "harbour:positions", ", rows = 100")
    text = path.read_text()
    path.write_text(text + "\n" + text[text.index("SUBSCRIBE east"):text.index("SUBSCRIBE near")]
                    .replace("east", "west").replace(">", "<"))  # fmt: skip
    asked = ["sweep", path, "--set", "line=1", "--set", "vessel=1"]
    assert "SWP-007" in penstock(*asked).output
    assert penstock(*asked, "--subscription", "west").exit_code == 0


def test_a_home_without_records_cannot_be_swept(tmp_path: Path) -> None:
    with (
        DeskRun(tmp_path / "home", POSITIONS, record=False) as run,
        pytest.raises(PenstockError, match="SWP-010"),
    ):
        swept(run, TEXTS["above"])


def test_points_and_ranges_are_added_up() -> None:
    """Two keys of one query, a point inside a range, one beside it, and what is taken back."""
    told = [(0, 0, 10, 20, 1), (0, 0, 15, 15, 1), (0, 0, 22, 30, 1), (0, 0, 40, 40, 1),
            (0, 1, 12, 50, 1), (0, 1, 30, 50, -1), (1, 0, 5, 9, 1), (1, 0, 5, 9, -1),
            (1, 0, 90, 99, 1)]  # fmt: skip
    slot, key, starts, ends, sign = (np.array(own) for own in zip(*told, strict=True))
    found = held_ranges(slot, key, starts, ends, sign, 80)
    assert list(zip(*(own.tolist() for own in found), strict=True)) == [
        (0, 10, 30), (0, 40, 40), (0, 12, 30),
    ]  # fmt: skip
    # However far they are apart, and however many.
    far = [(slot, 0, at, at + 5, 1) for slot in range(4) for at in (-(1 << 61), 1 << 61)]
    slot, key, starts, ends, sign = (np.array(own) for own in zip(*far, strict=True))
    found = held_ranges(slot, key, starts, ends, sign, 1 << 62)
    assert list(zip(*(own.tolist() for own in found), strict=True)) == [
        (slot, at, at + 5) for slot, _, at, _, _ in far
    ]


def test_a_plan_that_says_too_much_is_given_up(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(run, 2)
    monkeypatch.setattr("penstock.operators.model_query.replay.SAID_MAX", 10)
    with pytest.raises(PenstockError, match="SWP-009"):
        swept(run, TEXTS["pairs"])


def test_segments_pass_the_plan_some_at_a_time(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few of them go through a plan together, it says the same in the end."""
    tell(run)
    whole = {form: swept(run, TEXTS[form]).table for form in ("pairs", "means", "furthest")}
    monkeypatch.setattr("penstock.operators.model_query.replay.TOGETHER", 3)
    monkeypatch.setattr("penstock.kinds.model_query.sweep.PIECES_MAX", 1)
    for form, table in whole.items():
        assert swept(run, TEXTS[form]).table.equals(table)
