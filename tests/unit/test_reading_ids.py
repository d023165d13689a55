"""One id of many is read without the others, whatever its type, from loose parts and volumes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.algebra.catalog import Relation
from penstock.cli.main import app
from penstock.delivery import parts, retention
from penstock.delivery.log import ResultLog
from penstock.delivery.parts import ROW_GROUP_ROWS, Part, assemble, write_part
from penstock.delivery.volumes import Volume
from penstock.engine import Desk
from penstock.lab.correctness.runs import DeskRun
from penstock.vocabulary.batches import Results
from penstock.vocabulary.errors import PenstockError

SCHEMA = pa.schema([("ts", pa.timestamp("us")), ("k", pa.int64()), ("x", pa.float64())])
STREAM = Relation(name="t", kind="stream", schema=SCHEMA, event_time="ts")
EQUAL = "SELECT k, x FROM t WHERE k = :k"
IDS = 50_000


def batch_of(rng: np.random.Generator, rows: int, ids: int) -> pa.Table:
    keys, values = rng.integers(0, ids, rows), rng.random(rows)
    return pa.table({"ts": np.zeros(rows, dtype="M8[us]"), "k": keys, "x": values}).cast(SCHEMA)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    with DeskRun(tmp_path / "home", STREAM, record=False) as run:
        yield run


class RowsRead:
    """Counts the rows that are read of Parquet files by row groups."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows = 0

        class Counted(pq.ParquetFile):
            def read_row_groups(own, numbers: list[int], **given: Any) -> pa.Table:  # noqa: N805
                self.rows += sum(own.metadata.row_group(each).num_rows for each in numbers)
                return super().read_row_groups(numbers, **given)

            def read_row_group(own, number: int, **given: Any) -> pa.Table:  # noqa: N805
                self.rows += own.metadata.row_group(number).num_rows
                return super().read_row_group(number, **given)

        def whole(*_: object, **__: object) -> None:
            raise AssertionError("a whole file is read")

        monkeypatch.setattr("penstock.delivery.row_groups.pq.ParquetFile", Counted)
        monkeypatch.setattr(pq, "read_table", whole)


def test_one_id_of_many_is_read_without_the_others(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    each = pa.table({"id": np.arange(IDS), "k": np.arange(IDS)})
    limits = run.desk.subscribe(EQUAL, name="limits", each=each)
    tables = [batch_of(rng, 20 * ROW_GROUP_ROWS, IDS) for _ in range(2)]
    for table in tables:
        run.batch(t=table)
    whole = limits.read()
    assert len(whole) == 40 * ROW_GROUP_ROWS
    for id_ in (0, 17_171, IDS - 1):
        expected = whole.filter(pa.compute.equal(whole["_id"], id_))
        with monkeypatch.context() as watched:
            read = RowsRead(watched)
            assert limits.read(ids=[id_]).equals(expected)
            changes = list(limits.changes(follow=False, ids=[id_]))
        assert [(each.id, each.row["x"]) for each in changes] == [
            (id_, x) for x in expected["x"].to_pylist()
        ]
        events = 2 * len(expected) * ROW_GROUP_ROWS
        pairs = read.rows - events
        assert pairs <= 2 * 2 * 2 * ROW_GROUP_ROWS, "twice, of two batches, two row groups"


def test_a_single_query_among_many_is_read_alone(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    run.desk.subscribe(EQUAL, name="many", each=pa.table({"k": np.arange(IDS)}))
    run.desk.subscribe(EQUAL.replace(":k", "7"), name="one")
    run.batch(t=batch_of(rng, 10 * ROW_GROUP_ROWS, IDS))
    read = RowsRead(monkeypatch)
    assert {row["k"] for row in run.desk.subscription("one").read().to_pylist()} == {7}
    assert read.rows <= 11 * ROW_GROUP_ROWS  # one row group of pairs; of events, all at most
    rows_before = read.rows
    assert run.desk.subscription("one").read(since="1:0").num_rows == 0
    assert read.rows == rows_before


def test_parts_lie_by_ranges_and_say_the_same(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = {"a": 40_000, "b": 100, "c": ROW_GROUP_ROWS + 1, "d": 0}
    events = pa.table({"v": np.arange(1_000)})
    results = []
    for number, (group, count) in enumerate(counts.items()):
        query = number * 10_000 + rng.integers(0, 10_000, count)
        event = rng.integers(0, 1_000, count).astype(np.int32)
        results.append((group, Results(relation="t", query=query, event=event)))
    before = [(one.query.copy(), one.event.copy()) for _, one in results]
    part = Part(version=1, rows_in=1_000, sections=assemble(results, {"t": events}, True))
    log = ResultLog(tmp_path)
    written = write_part(part, log.directory(0), log.part_name(0, 0))
    section = log.commit(0, 1, [written]).sections[0]
    for (group, one), (query, event) in zip(results, before, strict=True):
        assert np.array_equal(one.query, query) and np.array_equal(one.event, event)
        pairs = sorted(zip(query.tolist(), event.tolist(), strict=True))
        found = section.pairs(group)
        assert sorted(zip(*(each.tolist() for each in found), strict=True)) == pairs
        for wanted in (query[:3], query[:3] + 10_000, query):
            few = np.unique(wanted)
            known = set(few.tolist())
            own = [np.asarray(each) for each in section.pairs(group, few)]
            mine = np.isin(own[0], few)
            expected = [pair for pair in pairs if pair[0] in known]
            assert sorted(zip(*(each[mine].tolist() for each in own), strict=True)) == expected


def test_a_part_of_before_is_read(run: DeskRun, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    limits = run.desk.subscribe(EQUAL, name="limits", each=pa.table({"k": np.arange(1_000)}))
    monkeypatch.setattr(parts, "ROW_GROUP_ROWS", 1 << 20)  # one row group, in any order
    run.batch(t=batch_of(rng, 4 * ROW_GROUP_ROWS, 1_000))
    whole = limits.read()
    read = RowsRead(monkeypatch)
    assert limits.read(ids=[5]).equals(whole.filter(pa.compute.equal(whole["_id"], 5)))
    assert read.rows == 2 * 4 * ROW_GROUP_ROWS


def test_volumes_have_files_of_one_kind_side_by_side(
    run: DeskRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("penstock.delivery.volumes.BLOCK_BYTES", 1 << 14)
    rng = np.random.default_rng(seed)
    limits = run.desk.subscribe(EQUAL, name="limits", each=pa.table({"k": np.arange(IDS)}))
    for number in range(50):
        rows = batch_of(rng, 500, IDS)
        if number == 20:
            rows = rows.set_column(1, "k", pa.array(np.full(500, 7)))
        run.batch(t=rows)
    whole = limits.read()
    pace = retention.UpkeepPace(spare_batches=1, volume_batches=40)
    list(retention.LogUpkeep(run.desk.log, pace).steps(retention.KeepLimits(), 0.0))
    (packed,) = (tmp_path / "home/results/volumes").iterdir()
    blocks: list[int] = []
    unpack = Volume._block

    def noted(own: Volume, number: int) -> Any:
        blocks.append(number)
        return unpack(own, number)

    monkeypatch.setattr(Volume, "_block", noted)
    reader = Desk(tmp_path / "home", read_only=True)
    subscription = reader.subscription("limits")
    assert subscription.read(ids=[7]).equals(whole.filter(pa.compute.equal(whole["_id"], 7)))
    volume = Volume(packed)
    of_events = {volume._files[name][0] for name in volume if "events" in name}
    of_others = {volume._files[name][0] for name in volume if "events" not in name}
    assert not of_events & of_others
    assert len(of_events) > 5
    assert len(of_events & set(blocks)) <= 2


@pytest.mark.parametrize(
    ("ids", "asked", "found"),
    [
        ([7, -3, 2**62], ["--id", "-3"], [-3]),
        ([7, -3, 2**62], [f"--id={2**62}", "--id", "07"], [7, 2**62]),
        (["Zoë", "Zoe", "名前 🚰"], ["--id", "名前 🚰"], ["名前 🚰"]),
        (["a,b", "a b", "'; --", "*"], ["--id", "'; --", "--id", "*"], ["'; --", "*"]),
        (["x" * 10_000, "x" * 9_999], ["--id", "x" * 9_999], ["x" * 9_999]),
        (["7", "07", " 7"], ["--id", "07"], ["07"]),
    ],
)
def test_ids_of_any_kind_are_tailed(
    run: DeskRun, tmp_path: Path, ids: list[Any], asked: list[str], found: list[Any]
) -> None:
    run.desk.subscribe(EQUAL, name="limits", each=[{"id": each, "k": 1} for each in ids])
    for x in (1.0, 2.0):
        run.batch(t=[{"k": 1, "x": x}])
    command = ["tail", str(tmp_path / "home"), "limits", "--json", "-n", str(len(found)), *asked]
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 0, told.output
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    assert sorted(line["id"] for line in lines) == sorted(found)
    assert {line["row"]["x"] for line in lines} == {2.0}, "the last ones of these ids"


@pytest.mark.parametrize("asked", ["x", "\udcff", "9" * 30, "7.5", ""])
def test_an_id_that_nobody_has_is_said(run: DeskRun, tmp_path: Path, asked: str) -> None:
    run.desk.subscribe(EQUAL, name="limits", each=[{"id": 7, "k": 1}])
    run.batch(t=[{"k": 1, "x": 1.0}])
    told = CliRunner().invoke(app, ["tail", str(tmp_path / "home"), "limits", "--id", asked])
    assert told.exit_code == 2
    assert told.stderr.startswith(("REG-017", "REG-020"))


def test_ids_are_followed(run: DeskRun, tmp_path: Path) -> None:
    limits = run.desk.subscribe(EQUAL, name="limits", each=[{"id": n, "k": n} for n in (1, 2)])
    reader = Desk(tmp_path / "home", read_only=True).subscription("limits")
    changes = reader.changes(timeout=60, ids=[2])
    run.batch(t=[{"k": 1, "x": 1.0}, {"k": 2, "x": 2.0}])
    first = next(changes)
    assert (first.id, first.token) == (2, "0:1")
    limits.drop([2])
    limits.add([{"id": 2, "k": 1}])
    run.batch(t=[{"k": 2, "x": 3.0}, {"k": 1, "x": 4.0}])
    assert next(changes).row["x"] == 4.0, "also the next query of this id"
    again = reader.changes(since=first.token, follow=False, ids=[2])
    assert [change.row["x"] for change in again] == [4.0]
    with pytest.raises(PenstockError, match="REG-017"):
        reader.read(ids=[3])
