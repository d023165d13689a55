"""Shards that ask a database, run again by Spark: what was told first holds; without a JVM.

Beside the home whose batches come again stands another on the same database, whose batches come
once, at the moment of the first try: parts and state must be the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.catalog import Relation
from penstock.delivery.parts import part_from_bytes
from penstock.engine.pipeline_start import divisions_of
from penstock.language.lookup_clauses import lookup_of, lookup_relation
from penstock.operators.catalogue import figures_of
from penstock.operators.lookup import describe
from penstock.spark import operate
from penstock.spark.lanes import Lane, Lanes, division_from_json
from penstock.spark.layout import TAG, Layout
from penstock.storage import disk
from penstock.storage.transcripts import SPARE_BATCHES, Transcripts
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figure_tables import told_figures
from penstock.vocabulary.shared_figures import ACTUAL_COST
from tests.support.bench import WORKERS, Bench
from tests.support.bounded_streams import KEYS, STREAM, Asking
from tests.support.desk_runs import DeskRun

TEXT = "SELECT a.n, a.k, p.price FROM asks a JOIN prices p ON a.k = p.id WHERE p.price < :most"
ASKS = Relation(name="asks", kind="stream", schema=STREAM, event_time="ts")
LAYOUT = Layout(("asks",), (STREAM,))
FILTERS, LOOKUPS = (0, 1), (2, 3)
"""The shards of either lane."""
VERSION = 4
"""Two relations and two subscriptions."""
AT_ONCE = {"retries": 0, "backoff": "0 seconds", "cooldown": "1 microsecond"}


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """Make snapshots frequent, and flushes free."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operate, "SNAPSHOT_EVERY_STEPS", 3)
        patch.setattr(disk, "flush", lambda path: None)
        yield


class Database:
    """The table of prices, and what may become of it."""

    def __init__(self, asking: Asking) -> None:
        self.asking = asking
        self.changes = 0
        self._is_away = False

    def become(self, what: str) -> None:
        """Change: other prices, fewer rows, no column of prices, no file; or be there again."""
        if self._is_away:
            self.asking.back()
        self._is_away = what == "away"
        if self._is_away:
            self.asking.away()
            return
        self.changes += 1
        column = "cost" if what == "narrow" else "price"
        rows = f"range({KEYS}) r(id) WHERE id % 7 <> 0 AND id % 5 <> {0 if what == 'fewer' else 9}"
        with duckdb.connect(str(self.asking.file)) as db:
            prices = (
                f"SELECT id::BIGINT AS id, id / 4 + {10 * self.changes} AS {column} FROM {rows}"
            )
            db.execute(f"CREATE OR REPLACE TABLE prices AS {prices}")


STATES = ("there", "fewer", "narrow", "away")


def home_of(root: Path, database: Database, **options: Any) -> Bench:
    """Make a home with a filter and lookups, and the bench of its shards."""
    source = f"duckdb:{database.asking.file}"
    lookup = lookup_of("prices", source, "id", 6, options={**AT_ONCE, **options})
    desk = DeskRun(root, ASKS, lookup_relation("prices", describe(lookup), lookup)).desk
    desk.subscribe(TEXT, name="priced", each=[{"id": i, "most": 30.0 * i} for i in (1, 99)])
    desk.subscribe("SELECT n FROM asks WHERE v = 1", name="ones")
    (division,) = divisions_of(desk.registry)
    lanes = Lanes((Lane(None, FILTERS), Lane(division_from_json(division), LOOKUPS)))
    assert desk.registry.version == VERSION
    desk.close()
    return Bench(root, LAYOUT, lanes)


def flat(events: pa.Table, version: int = 0) -> pa.Table:
    """Give a batch as the union of all streams gives it."""
    tags = pa.table({TAG: pa.array([0] * events.num_rows, pa.int64())})
    for number, column in enumerate(events.columns):
        tags = tags.append_column(f"c0_{number}", column)
    news = pa.table({TAG: pa.array([-version] * bool(version), pa.int64())})
    return pa.concat_tables([news, tags], promote_options="default").combine_chunks()


def drawn(asking: Asking, batches: int) -> list[pa.Table]:
    """Draw batches; the first brings the registry's version."""
    asking.put(batches)
    return [flat(own, VERSION * (number == 0)) for number, own in enumerate(asking.feeder.tables)]


def told(parts: dict[int, bytes]) -> dict[int, Any]:
    """Give what parts say, but for the time that it took."""
    found = {}
    for key, payload in parts.items():
        part = part_from_bytes(payload)
        figures = told_figures(part.told, figures_of)
        rows = [(row.group, row.figure.name, row.labels, row.value) for row in figures
                if row.figure != ACTUAL_COST]  # fmt: skip
        sections = [
            (own.relation, own.groups, own.events.to_pylist(), own.matches.to_pylist())
            for own in part.sections
        ]
        found[key] = (part.version, part.rows_in, rows, sections)
    return found


def answered(parts: dict[int, bytes]) -> list[tuple[int, float]]:
    """Give which rows found which prices."""
    return [
        (row["i0.n"], row["i1.price"])
        for key in LOOKUPS
        if key in parts
        for section in part_from_bytes(parts[key]).sections
        for row in section.events.to_pylist()
    ]


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5)
def test_what_was_told_first_holds_whatever_the_database_says_later(seed: int) -> None:
    chance = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        database = Database(Asking(root, seed, rows=12))
        again, once = home_of(root / "again", database), home_of(root / "once", database)
        found: list[tuple[int, float]] = []
        for number, table in enumerate(drawn(database.asking, 8)):
            database.become(str(chance.choice(STATES, p=(0.6, 0.1, 0.1, 0.2))))
            before = again.store()
            first = again.run(table, int(chance.integers(WORKERS)), number)
            assert told(first) == told(once.run(table, 0, number))
            while chance.random() < 0.5:
                # Its state was never committed; workers and database go their ways.
                again.roll_back(before)
                again.workers[int(chance.integers(WORKERS))].clear()
                database.become(str(chance.choice(STATES)))
                parts = again.run(table, int(chance.integers(WORKERS)), number)
                assert {key: parts[key] for key in LOOKUPS if key in parts} == {
                    key: first[key] for key in LOOKUPS if key in first
                }
                assert told(parts) == told(first)
            assert again.store() == once.store()
            found += answered(first)
        numbers = [n for n, _ in found]
        assert len(set(numbers)) == len(numbers), "a row was answered twice"


def test_a_twin_that_was_slower_takes_what_the_faster_one_was_told(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(Asking(tmp_path, seed))
    slower = home_of(tmp_path / "home", database)
    faster = Bench(tmp_path / "home", LAYOUT, slower.lanes)
    batches = drawn(database.asking, 3)
    assert slower.run(batches[0], 0, 0).keys() >= set(LOOKUPS)
    faster.roll_back(slower.store())
    write, first = Transcripts.write, {}

    def overtaken(self: Transcripts, *arguments: Any) -> bool:
        """Let the twin be done before this task has written its transcript."""
        monkeypatch.setattr(Transcripts, "write", write)
        database.become("there")
        first.update(faster.run(batches[1], 1, 1))
        return write(self, *arguments)

    database.become("there")
    monkeypatch.setattr(Transcripts, "write", overtaken)
    taken = slower.run(batches[1], 0, 1)
    assert [taken[key] for key in LOOKUPS] == [first[key] for key in LOOKUPS]
    tens = {int(price // 10) for _, price in answered(taken)}
    assert 2 in tens, "the prices that the faster one saw"
    assert slower.store() == faster.store()
    assert told(slower.run(batches[2], 0, 2)) == told(faster.run(batches[2], 1, 2))
    assert slower.store() == faster.store()


def test_only_what_asks_outside_has_transcripts_and_only_the_last_stay(
    tmp_path: Path, seed: int
) -> None:
    database = Database(Asking(tmp_path, seed))
    home = tmp_path / "home"
    bench = home_of(home, database)
    batches, parts = drawn(database.asking, 9), dict[int, bytes]()
    for number, table in enumerate(batches):
        parts = bench.run(table, number % WORKERS, number)
        assert any(key in parts for key in FILTERS)
        names = sorted(path.name for path in (home / "transcripts").iterdir())
        last = range(max(number - SPARE_BATCHES, 0), number + 1)
        assert names == [f"{key}-{batch:012d}.arrow" for key in LOOKUPS for batch in last]
    # The next batch is another one, also if it brings the same rows.
    database.become("fewer")
    same = bench.run(batches[-1], 0, len(batches))
    assert told(same) != told(parts)


def test_a_batch_that_failed_has_no_transcript(tmp_path: Path, seed: int) -> None:
    database = Database(Asking(tmp_path, seed))
    bench = home_of(tmp_path / "home", database, waiting=10)
    table, before = drawn(database.asking, 1)[0], bench.store()
    database.become("away")
    with pytest.raises(PenstockError, match="LKP-009"):
        bench.run(table, 0, 0)
    assert Transcripts(tmp_path / "home" / "transcripts").read(LOOKUPS[0], 0) is None
    database.become("there")
    bench.roll_back(before)
    assert sorted(n for n, _ in answered(bench.run(table, 0, 0))) == [
        n for n, _, _ in database.asking.expected
    ]
