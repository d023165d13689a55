"""Peers of model queries: DuckDB, plain Spark and Flink, asked the same of the same rows.

DuckDB has the rows as tables and one thread, Spark has them cached and all cores; of Spark the
lesser of its processor time and of the time that went by is told. Flink reads files as a stream, on
one task, in an environment of its own (`make peers`); what it takes to start is taken off.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter, thread_time

import pyarrow as pa
from pyarrow import csv

from penstock.expressions.connections import connect
from penstock.lab.processor_time import ThreadsClock
from penstock.lab.report import Cell, Check, Size, Table, at_least
from penstock.lab.timing import say
from penstock.spark.java_process import JavaProcess
from penstock.spark.sessions import local_session

SCRIPT = Path(__file__).with_name("flink_run.py")
FLINK_PYTHON = Path(__file__).parents[4] / ".venv-flink" / "bin" / "python"
FLINK_LIMIT_S = 600
FEW = 20
"""Rows of a run that only tells what it takes to start."""
TYPES = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE"}
DUCKDB, SPARK, FLINK = "DuckDB", "Spark", "Flink"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerQuery:
    """One query for all peers: a count over tables, in the words of each.

    Every table has a column `ts`, its event time in microseconds, and is sorted by it.
    """

    tables: Mapping[str, pa.Table]
    text: str
    """What DuckDB and Spark are asked."""
    flink: str
    views: Mapping[str, str] = field(default_factory=dict)
    """Queries that Flink's text names."""
    flink_rows: int | None = None
    """Flink has only the first so many rows, if all would take too long."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(table.num_rows for table in self.tables.values())


@dataclass(frozen=True, slots=True)
class PeerRun:
    """What a peer took for a row, and what it counted; no seconds of one that is not here."""

    seconds: float | None
    count: int | None
    remark: str = ""


def peer_runs(query: PeerQuery, size: Size) -> dict[str, PeerRun]:
    """Ask the peers: at the smallest size DuckDB alone, which starts in no time."""
    if size == "tiny":
        return {DUCKDB: _duckdb(query)}
    return {DUCKDB: _duckdb(query), SPARK: _spark(query), FLINK: _flink(query)}


def beside(title: str, runs: Mapping[str, PeerRun], own: float) -> Table:
    """Say what peers take for a row, beside the seconds of models; and who is not here."""
    lines: list[tuple[Cell, ...]] = [("models", own * 1e6, 1.0, None, "")]
    for name, ran in runs.items():
        figures = (None, None) if ran.seconds is None else (ran.seconds * 1e6, ran.seconds / own)
        lines.append((name, *figures, ran.count, ran.remark))
    return Table(title, ("side", "µs/row", "times models", "counted", "remark"), lines)


def times_checks(
    what: str, runs: Mapping[str, PeerRun], own: float, bound: float
) -> Iterator[Check]:
    """Check how many times the seconds of models every peer takes that is here."""
    for name, ran in runs.items():
        if ran.seconds is not None:
            yield at_least(f"{name} over models {what}", ran.seconds / own, bound, timed=True)


def _duckdb(query: PeerQuery) -> PeerRun:
    say("models: DuckDB")
    with connect(threads=1, files=True) as database:
        for name, table in query.tables.items():
            database.register("given", table)
            database.execute(f"CREATE TABLE {name} AS FROM given")
        started = thread_time()
        found = database.execute(query.text).fetchone()
        seconds = thread_time() - started
    assert found is not None
    return PeerRun(seconds / query.rows, int(found[0]))


def _spark(query: PeerQuery) -> PeerRun:
    """Ask Spark twice: the first time it compiles."""
    say("models: Spark")
    spark = local_session()
    process = JavaProcess().number
    assert process is not None, "Java is not our own"
    clock = ThreadsClock(process)
    frames = {}
    for name, table in query.tables.items():
        frames[name] = spark.createDataFrame(table).cache()
        frames[name].count()
        frames[name].createOrReplaceTempView(name)
    best, count = float("inf"), 0
    for _ in range(2):
        wall, processor = perf_counter(), clock()
        count = int(spark.sql(query.text).collect()[0][0])
        best = min(best, perf_counter() - wall, clock() - processor)
    for name, frame in frames.items():
        spark.catalog.dropTempView(name)
        frame.unpersist(blocking=True)
    return PeerRun(best / query.rows, count)


def _flink(query: PeerQuery) -> PeerRun:
    if not FLINK_PYTHON.exists():
        return PeerRun(None, None, "Flink is not installed: make peers")
    if query.flink_rows is not None:
        some = {name: table.slice(0, query.flink_rows) for name, table in query.tables.items()}
        query = replace(query, tables=some)
    say("models: Flink")
    with tempfile.TemporaryDirectory() as scratch:
        plan = Path(scratch) / "plan.json"
        plan.write_text(
            json.dumps(
                {
                    "tables": _files(query, Path(scratch), None),
                    "tables_few": _files(query, Path(scratch), FEW),
                    "views": dict(query.views),
                    "query": query.flink,
                }
            )
        )
        try:
            ran = subprocess.run(
                [FLINK_PYTHON, SCRIPT, plan], capture_output=True, text=True, check=False,
                timeout=FLINK_LIMIT_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return PeerRun(None, None, f"Flink did not end within {FLINK_LIMIT_S} s")
    if ran.returncode:
        raise RuntimeError(f"Flink failed: {ran.stderr[-2_000:]}")
    told = json.loads(ran.stdout.splitlines()[-1])
    remark = f"{query.rows:,} rows"
    return PeerRun(float(told["seconds"]) / query.rows, int(told["count"]), remark)


def _files(query: PeerQuery, directory: Path, rows: int | None) -> dict[str, dict[str, str]]:
    found = {}
    for name, table in query.tables.items():
        path = directory / f"{name}_{rows}.csv"
        csv.write_csv(table.slice(0, rows), path, csv.WriteOptions(include_header=False))
        columns = ", ".join(f"{own.name} {TYPES[own.type]}" for own in table.schema)
        found[name] = {"path": str(path), "columns": columns}
    return found
