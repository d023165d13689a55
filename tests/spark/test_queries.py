"""Python processes of Spark: workers begin ready; queries outlive slow and dying ones."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pyarrow as pa
import pytest

from penstock.kernels.machine_code import compiled
from penstock.spark import queries
from penstock.spark.queries import RunningQuery
from penstock.spark.sessions import TASK_TRIES
from penstock.spark.sources import open_source
from penstock.spark.types import SparkSession
from penstock.vocabulary.errors import PenstockError

pytestmark = pytest.mark.spark

SLOW = """#!/bin/sh
case "$*" in *python_streaming_source_runner*)
  echo >> {begun}
  if [ $(wc -l < {begun}) -le {slow} ]; then sleep 12; fi
esac
exec {python} "$@"
"""


def running(spark: SparkSession, folder: Path, rows: list[int]) -> RunningQuery:
    frame = open_source(spark, "market:trades", {"rows": 500, "rows_per_batch": 500})
    writer = frame.writeStream.foreachBatch(lambda batch, _: rows.append(batch.count()))
    return RunningQuery(writer, folder / "checkpoint", available_now=True, trigger_seconds=0.0)


def test_workers_are_forked_with_all_imports_done(spark: SparkSession) -> None:
    def known(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        loaded = {"penstock.spark.operate", "numba", "pandas"} <= set(sys.modules)
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"loaded": [loaded], "compiled": [compiled()]})

    found = spark.range(1, numPartitions=1).mapInArrow(known, "loaded boolean, compiled bigint")
    assert found.toArrow().to_pylist() == [{"loaded": True, "compiled": 0}]


def test_a_frame_that_aggregates_for_ever_is_explained(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.readStream.format("rate").load().groupBy("value").count()
    writer = frame.writeStream.foreachBatch(lambda _batch, _number: None)
    with pytest.raises(PenstockError, match=r"\[SRC-008\].*aggregates.*CREATE VIEW"):
        RunningQuery(writer, tmp_path / "checkpoint", available_now=False, trigger_seconds=0.0)


@pytest.mark.parametrize(("slow", "starts"), [(1, 5), (1, 1)])
def test_a_query_whose_python_begins_too_slowly_is_started_again(
    slow: int, starts: int, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, python = tmp_path / "begun", tmp_path / "python"
    begun.touch()
    python.write_text(SLOW.format(begun=begun, slow=slow, python=sys.executable))
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    monkeypatch.setattr(queries, "STARTS_MAX", starts)
    rows: list[int] = []
    query = running(spark, tmp_path, rows)
    if starts == 1:
        with pytest.raises(PenstockError, match="RUN-007"):
            query.wait(None)
        assert query.failed and not rows
    else:
        while sum(rows) < 500:  # nobody asks how the query fares
            sleep(0.1)
        assert query.wait(None) and not query.failed


@pytest.mark.parametrize(("deaths", "starts"), [(TASK_TRIES, 2), (2 * TASK_TRIES, 2)])
def test_a_query_whose_workers_die_is_started_again(
    deaths: int, starts: int, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task is given up after some deaths, and with it a start of the query."""
    died = tmp_path / "died"
    died.touch()
    monkeypatch.setattr(queries, "STARTS_MAX", starts)

    def deadly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if died.stat().st_size < deaths:
            with died.open("a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    frame = open_source(spark, "market:trades", {"rows": 500, "rows_per_batch": 500})
    rows: list[int] = []
    writer = frame.coalesce(1).mapInArrow(deadly, frame.schema).writeStream
    query = RunningQuery(
        writer.foreachBatch(lambda batch, _: rows.append(batch.count())),
        tmp_path / "checkpoint",
        available_now=True,
        trigger_seconds=0.0,
    )
    if deaths > TASK_TRIES:
        with pytest.raises(PenstockError, match="RUN-002"):
            query.wait(None)
        assert query.failed and not rows
    else:
        assert query.wait(None) and not query.failed
        assert rows == [500]
    assert died.stat().st_size == deaths
