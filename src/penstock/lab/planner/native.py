"""Spark's own stream-stream join of a query: the peer of the end-to-end experiment.

Every pair of streams gets the interval predicate that its windows ask for, and every stream a
watermark, so that Spark may forget; the joins stand in the order of the text, as Spark leaves them.
Spark allows one event time per joined side: of a joined pair the first stream keeps it, the others
go on as plain numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.lab.file_streams import batch_seconds, file_stream, query_batches
from penstock.lab.planner.plan_runs import ids_of
from penstock.lab.planner.workload import PlannerQuery
from penstock.vocabulary.batches import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeRun:
    """What Spark did: seconds and state rows of every micro-batch that brought rows."""

    seconds: tuple[float, ...]
    rows: tuple[int, ...]
    state_rows: tuple[int, ...]
    found: Ints


def native_run(spark: SparkSession, query: PlannerQuery, files: Path, home: Path) -> NativeRun:
    """Join the streams under `files` (a directory each, a file per micro-batch) with Spark."""
    joined = native_frame(spark, query, files)
    names = [f"{source.name}_id" for source in query.sources]
    writer = joined.select(*names).writeStream.format("parquet").option("path", str(home / "out"))
    progress = query_batches(writer, home / "checkpoint")
    return NativeRun(
        seconds=tuple(batch_seconds(each) for each in progress),
        rows=tuple(each["numInputRows"] for each in progress),
        state_rows=tuple(
            sum(operator["numRowsTotal"] for operator in each["stateOperators"])
            for each in progress
        ),
        found=ids_of(spark.read.parquet(str(home / "out")).select(*names).toArrow()),
    )


def native_frame(spark: SparkSession, query: PlannerQuery, files: Path) -> DataFrame:
    """Give the streaming join, left-deep in the order of the sources."""
    assert all(source.window.kind == "range" for source in query.sources)
    joined = _stream(spark, query, 0, files)
    for number in range(1, len(query.sources)):
        other = _stream(spark, query, number, files)
        joined = joined.join(other, F.expr(_condition(query, number)), "inner")
        name = query.sources[number].name
        joined = joined.withColumn(f"{name}_us", F.expr(f"unix_micros({name}_seen)"))
        joined = joined.drop(f"{name}_seen")
    return joined


def _stream(spark: SparkSession, query: PlannerQuery, number: int, files: Path) -> DataFrame:
    name = query.sources[number].name
    return file_stream(spark, files / name, f"{name}_").withWatermark(f"{name}_seen", "0 seconds")


def _condition(query: PlannerQuery, number: int) -> str:
    """Write what joins a source with all before it: equal keys, and every pair close in time."""
    sources = query.sources
    assert not query.relatings and all(each.accepted == 1.0 for each in sources)
    name, size = sources[number].name, sources[number].window.size
    found = []
    for i, key in enumerate(query.keys):
        earlier = [each for each in key.inputs if each < number]
        if number in key.inputs and earlier:
            found.append(f"{sources[earlier[-1]].name}_k{i} = {name}_k{i}")
    for other in sources[:number]:
        if other is sources[0]:
            found.append(
                f"{name}_seen < {other.name}_seen + INTERVAL {other.window.size} MICROSECONDS "
                f"AND {other.name}_seen < {name}_seen + INTERVAL {size} MICROSECONDS"
            )
        else:
            found.append(
                f"unix_micros({name}_seen) - {other.name}_us < {other.window.size} "
                f"AND {other.name}_us - unix_micros({name}_seen) < {size}"
            )
    return " AND ".join(found)
