"""Columns of any name, through Spark, the result log, readers, sinks and verification."""

from __future__ import annotations

import errno
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.expressions.quotation import quoted
from penstock.storage import disk
from tests.e2e.conftest import Open
from tests.support.names import NAMES

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


def put(directory: Path, extra: dict[str, Any], rows: int = 6) -> None:
    directory.mkdir()
    columns = {"k": [n % 2 for n in range(rows)], **{name: list(range(rows)) for name in NAMES}}
    pq.write_table(pa.table({**columns, **extra}), directory / "one.parquet")


def test_columns_of_any_name(open_engine: Open, tmp_path: Path) -> None:
    put(tmp_path / "s", {"ts": [BEGIN + timedelta(seconds=n) for n in range(6)]})
    put(tmp_path / "t", {"op": ["insert"] * 6})
    engine = open_engine()
    engine.stream("s", f"parquet:{tmp_path / 's'}", event_time="ts", lateness="0 seconds")
    engine.table("t", f"parquet:{tmp_path / 't'}", changes="op")
    columns = [quoted(name) for name in NAMES]
    every = " AND ".join(f"{column} >= 2" for column in columns[:90])
    engine.subscribe("SELECT * FROM s", name="star")
    engine.subscribe(f"SELECT {', '.join(columns)} FROM s WHERE {every}", name="filter")
    engine.subscribe(
        f"SELECT {', '.join(f'{column} + 1 AS {column}' for column in columns)} FROM t "
        f"WHERE {' AND '.join(f'{column} % 2 = 1' for column in columns[40:])}",
        name="table",
    )
    engine.subscribe(
        f"SELECT {', '.join(f's.{column}' for column in columns)} FROM s [ROWS 9], t "
        "WHERE s.k = t.k AND s._id = t._batch AND s.filename + t._sign > 3",
        name="join",
    )
    taken: list[ps.Change] = []

    def take(change: ps.Change) -> None:
        taken.append(change)

    engine.subscription("filter").to(take)
    engine.run_available()
    for name in NAMES:
        assert sorted(change.row[name] for change in taken) == [2, 3, 4, 5], name
    assert sorted(c.row["_id"] for c in engine.subscription("table").changes(follow=False)) == [
        2, 4, 6,
    ]  # fmt: skip
    read = engine.subscription("star").read()
    assert read["_id"].to_pylist() == ["star"] * 6
    assert sorted(read["_id_1"].to_pylist()) == list(range(6))
    assert engine.subscription("join").read().num_rows == 4
    verdicts = engine.verify().answers
    assert all(verdict.equal and verdict.found for verdict in verdicts), verdicts


def test_names_that_spark_cannot_tell_apart(open_engine: Open, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"a": [1], "A": [2]}), tmp_path / "in" / "one.parquet")
    engine = open_engine()
    with pytest.raises(ps.PenstockError, match="CAT-013"):
        engine.stream("t", f"parquet:{tmp_path / 'in'}")
    columns = pa.schema([("a", pa.int64()), ("A", pa.int64())])
    with pytest.raises(ps.PenstockError, match="CAT-013"):
        engine.stream("t", f"csv:{tmp_path / 'in'}", schema=columns)


ODD = "in [a] {b} *?\\ é"


def test_odd_names_of_homes_and_sources_are_names(spark: SparkSession, tmp_path: Path) -> None:
    """Spark reads paths as patterns; a full disk in between costs no row."""
    source = tmp_path / ODD
    source.mkdir()
    pq.write_table(pa.table({"v": [1, 2, 3]}), source / "1 [x].parquet")
    engine = ps.Engine(tmp_path / f"home {ODD}", spark=spark, record=True)
    engine.stream("numbers", f"parquet:{source}")
    every = engine.subscribe("SELECT v FROM numbers WHERE v > 1", name="every")

    def full(deed: str, path: Path, _target: Path | None) -> None:
        if deed == "wrote" and "results" in path.parts:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with disk.watched(full), pytest.raises(ps.PenstockError, match="RUN-015"):
        engine.run_available()
    engine.run_available()
    assert sorted(every.read()["v"].to_pylist()) == [2, 3]
    assert engine.verify().state == "equal"
    engine.close()
