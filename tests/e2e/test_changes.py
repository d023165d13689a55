"""Changes of tables on a real Spark, both hosts: files come in Spark's order, not in theirs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.lab.correctness.table_histories import SCHEMA, TableHistory, history
from penstock.lab.correctness.tables import ANSWERS, WAYS, by_duckdb, plain
from tests.e2e.conftest import Open
from tests.support.tables import BEGIN, Feeder

CLOCK = pa.schema([("k", pa.int64()), ("at", pa.timestamp("us", "UTC"))])


def fed(root: Path, name: str, files: tuple[pa.Table, ...]) -> Feeder:
    feeder = Feeder(root / name)
    for table in files:
        feeder.put(table)
    return feeder


def answer(engine: ps.Engine, name: str) -> Counter[tuple[Any, ...]]:
    held: Counter[tuple[Any, ...]] = Counter()
    for change in engine.subscription(name).changes(follow=False):
        held[plain(change.row)] += change.sign
    return Counter({row: count for row, count in held.items() if count})


def equal(engine: ps.Engine) -> bool:
    verdicts = engine.verify().answers
    assert all(verdict.equal for verdict in verdicts), verdicts
    return True


def rows(op: str, numbers: range) -> pa.Table:
    made = [{"id": n, "k": n % 4, "x": 1.0, "lsn": n, "op": op} for n in numbers]
    return pa.Table.from_pylist(made, schema=SCHEMA)


def test_a_delete_that_spark_reads_first_takes_its_row(open_engine: Open, tmp_path: Path) -> None:
    """The newer file is larger, and Spark reads the larger first."""
    newer = pa.concat_tables([rows("delete", range(100)), rows("insert", range(200, 900))])
    feeder = fed(tmp_path, "a", (rows("insert", range(120)), newer))
    other = fed(tmp_path, "b", (rows("insert", range(4)),))
    engine = open_engine()
    engine.table("a", f"parquet:{feeder.directory}", changes="op")
    engine.table("b", f"parquet:{other.directory}", changes="op")
    engine.subscribe("SELECT a.id, b.id AS b FROM a JOIN b ON a.k = b.k", name="pairs")
    engine.subscribe("SELECT id FROM a WHERE x > 0", name="all")
    engine.run_available()
    batch = engine.desk.log.read(engine.desk.log.newest())
    assert batch is not None
    raw = [own.events() for own in batch.sections if own.relation == "a"]
    assert any(own["op"][0].as_py() == "delete" for own in raw), "Spark's order proves nothing"
    stand = [*range(100, 120), *range(200, 900)]
    assert answer(engine, "pairs") == Counter((n, n % 4) for n in stand)
    assert answer(engine, "all") == Counter((n,) for n in stand)
    assert engine.figures().losses == {}
    assert equal(engine)


@pytest.mark.parametrize("order", ["netted", "sequence", "files"])
def test_histories_of_files_end_as_duckdb_says(
    open_engine: Open, tmp_path: Path, seed: int, order: str
) -> None:
    keyed = order != "netted"
    left, right = (history(seed + n, 150, 9, keyed) for n in (0, 1))
    feeders = [fed(tmp_path, n, own.files) for n, own in (("a", left), ("b", right))]
    options = {"netted": "", "sequence": ", key = 'ID', sequence = 'lsn'", "files": ", key = 'id'"}
    tables = "".join(
        f"CREATE TABLE {name} FROM 'parquet:{feeder.directory}' "
        f"OPTIONS (changes = 'op', maxFilesPerTrigger = 5{options[order]});"
        for name, feeder in zip("ab", feeders, strict=True)
    )
    engine = open_engine()
    ticks = fed(tmp_path, "clock", (CLOCK.empty_table(),))
    engine.stream("clock", f"parquet:{ticks.directory}", event_time="at", lateness=0)
    engine.sql(tables + "".join(f"SUBSCRIBE {n} TO {sql};" for n, sql in ANSWERS.items()))
    engine.subscribe(WAYS, name="ways")
    engine.run_available()
    ends(engine, left, right)
    engine.close()
    engine = open_engine()
    more = history(seed + 2, 40, 2, keyed=False)
    if not keyed:
        for table in more.files:
            feeders[0].put(table)
        left = TableHistory((*left.files, *more.files), pa.concat_tables([left.net, more.net]))
    ticks.put(pa.table({"k": range(4), "at": [BEGIN] * 4}, schema=CLOCK))
    engine.run_available()
    ends(engine, left, right)
    over = WAYS.replace("clock c [ROWS 100]", "(VALUES (0), (1), (2), (3)) c(k)")
    assert answer(engine, "ways") == by_duckdb(over, left, right)


def ends(engine: ps.Engine, left: TableHistory, right: TableHistory) -> None:
    for name, sql in ANSWERS.items():
        assert answer(engine, name) == by_duckdb(sql, left, right), name
    assert equal(engine)


def test_words_that_mean_nothing_are_set_aside_and_told(open_engine: Open, tmp_path: Path) -> None:
    words = ["insert", " DELETE ", "t", None, "u", "\u00efnsert", "+I"]
    made = [{"id": n, "k": 0, "x": 1.0, "op": word} for n, word in enumerate(words)]
    feeder = fed(tmp_path, "a", (pa.Table.from_pylist(made, schema=SCHEMA),))
    engine = open_engine()
    engine.table("a", f"parquet:{feeder.directory}", changes="op")
    engine.subscribe("SELECT id FROM a WHERE x > 0", name="all")
    engine.subscribe("SELECT p.id FROM a p JOIN a q ON p.k = q.k AND p.id = q.id", name="pairs")
    engine.run_available()
    assert answer(engine, "all") == answer(engine, "pairs") == Counter([(0,), (6,)])
    assert engine.figures().losses["a"] == {
        "unknown_changes": 3, "updates_without_key": 1, "unknown_deletes": 1
    }  # fmt: skip
    told = " ".join(notice.text for notice in engine.notices)
    assert "3 changes have words that are not understood" in told
    assert "OPTIONS (key = '<column>')" in told
    assert equal(engine)
