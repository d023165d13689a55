"""Peers of range minima: updates joined to subscriptions, and the minima of those recomputed.

DuckDB and Spark are asked the same text, of tables that they hold already: what it takes to bring a
batch to them is not counted, nor is what it takes to bring it to the server.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, thread_time
from typing import NamedTuple, Protocol

import duckdb
import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.expressions.connections import connect
from penstock.lab.dissemination.answers import RangeAnswers
from penstock.lab.dissemination.workload import AskedRanges, UpdateTrace
from penstock.lab.processor_time import ThreadsClock
from penstock.spark.java_process import JavaProcess
from penstock.spark.sessions import local_session
from penstock.vocabulary.batches import Ints

RECOMPUTED = """
SELECT s.slot, min(t.y) AS y FROM subscriptions s JOIN tuples t ON t.x BETWEEN s.x1 AND s.x2
WHERE EXISTS (SELECT * FROM updates u WHERE u.x BETWEEN s.x1 AND s.x2)
GROUP BY s.slot
"""


class PeerTime(NamedTuple):
    """What a batch takes: seconds that go by, and those of processors, all threads together."""

    wall: float
    processor: float

    @property
    def least(self) -> float:
        """The kinder of both: a busy machine makes one of them longer, threads the other."""
        return min(self)


class RangePeer(Protocol):
    """Something that holds the subscriptions, and recomputes those that updates stab."""

    name: str

    def load(self, **tables: pa.Table) -> None:
        """Hold tables by name, in the place of those before."""

    def recompute(self) -> tuple[PeerTime, pa.Table]:
        """Give what it takes, and the minima by slot."""


class DuckDbPeer:
    """DuckDB on one thread, as the kernels are."""

    name = "DuckDB"

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database

    def load(self, **tables: pa.Table) -> None:
        """Hold tables by name."""
        for name, table in tables.items():
            self._database.register("given", table)
            self._database.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given")

    def recompute(self) -> tuple[PeerTime, pa.Table]:
        """Recompute, into Arrow."""
        walls, processors = perf_counter(), thread_time()
        found = self._database.sql(RECOMPUTED).to_arrow_table()
        return PeerTime(perf_counter() - walls, thread_time() - processors), found


class SparkPeer:
    """Plain Spark on all cores, its tables cached; it joins by nested loops, as it must."""

    name = "Spark"

    def __init__(self, spark: SparkSession) -> None:
        process = JavaProcess().number
        assert process is not None, "Java is not our own"
        self._spark, self._clock = spark, ThreadsClock(process)
        self._frames: dict[str, DataFrame] = {}

    def load(self, **tables: pa.Table) -> None:
        """Hold tables by name, cached."""
        for name, table in tables.items():
            if name in self._frames:
                self._frames[name].unpersist(blocking=True)
            frame = self._spark.createDataFrame(table).repartition(2).cache()
            frame.count()
            frame.createOrReplaceTempView(name)
            self._frames[name] = frame

    def recompute(self) -> tuple[PeerTime, pa.Table]:
        """Recompute, into Arrow."""
        walls, processors = perf_counter(), self._clock()
        found = self._spark.sql(RECOMPUTED).toArrow()
        return PeerTime(perf_counter() - walls, self._clock() - processors), found

    def close(self) -> None:
        """Hold nothing any more."""
        for name, frame in self._frames.items():
            self._spark.catalog.dropTempView(name)
            frame.unpersist(blocking=True)


@contextmanager
def peers() -> Iterator[list[RangePeer]]:
    """Give both peers."""
    spark = SparkPeer(local_session())
    with connect(threads=1, files=True) as database:
        try:
            yield [DuckDbPeer(database), spark]
        finally:
            spark.close()


class PeerFigures(NamedTuple):
    """What batches took, the least of each side, and how many answers differed."""

    server: float
    peers: dict[str, PeerTime]
    differing: dict[str, int]


def beside_peers(
    trace: UpdateTrace, ranges: AskedRanges, batches: list[tuple[Ints, Ints]]
) -> PeerFigures:
    """Make batches of updates, tuples with their new values, on every side in turn.

    Of one tuple there must be one update in a batch. The first batch warms all sides up, and is
    counted if there is no other.
    """
    extremes, answers, zeros = trace.extremes(), RangeAnswers(), np.zeros_like(ranges.x1s)
    slots = np.arange(len(ranges.x1s))
    known = extremes.answers(zeros, ranges.x1s, ranges.x2s)
    answers.add(slots, zeros, ranges.x1s, ranges.x2s, *known)
    own, times, differing = list[float](), dict[str, list[PeerTime]](), dict[str, int]()
    now = trace.ys.copy()
    with peers() as sides:
        for side in sides:
            side.load(subscriptions=pa.table({"slot": slots, "x1": ranges.x1s, "x2": ranges.x2s}))
        for who, new in batches:
            updates = UpdateTrace(trace.xs, now, who, now[who], new).updates()
            begun = thread_time()
            answers.tell(extremes.net_updates(updates))
            own.append(thread_time() - begun)
            now[who] = new
            for side in sides:
                side.load(
                    tuples=pa.table({"x": trace.xs, "y": now}),
                    updates=pa.table({"x": trace.xs[who]}),
                )
                spent, found = side.recompute()
                times.setdefault(side.name, []).append(spent)
                wrong = found["y"].to_numpy() != answers.values[found["slot"].to_numpy()]
                differing[side.name] = differing.get(side.name, 0) + int(wrong.sum())
                assert len(found), "no update stabs a subscription: nothing is shown"
    return PeerFigures(
        min(own[1:] or own),
        {
            name: min(each[1:] or each, key=lambda spent: spent.least)
            for name, each in times.items()
        },
        differing,
    )
