"""End to end through Spark: reports of ships in, alerts out, on each host, beside no queries.

Who comes within a kilometre of whom in the next two minutes, and who crosses which of some lines:
rows come as files, one micro-batch each. Both hosts must tell the same.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.engine.runner import HostName
from penstock.lab.draws import generator
from penstock.lab.file_streams import SparkBench, file_stream
from penstock.lab.models.workload import vessels
from penstock.lab.report import Cell, Findings, Size, Table, at_least, at_most, sized
from penstock.lab.timing import say
from penstock.spark.sessions import local_session
from penstock.spark.sources import replay

ROWS = sized(300, 20_000, 100_000)
BATCHES = sized(1, 6, 8)
SHIPS = sized(20, 200, 500)
LINES = sized(5, 100, 1_000)
ROUNDS = sized(1, 2, 2)
WARM_UP_BATCHES = 2
"""The first batches of a run load the registry, make the first models and warm Spark up."""
HOSTS: tuple[HostName, ...] = ("embedded", "cluster")
SHIPS_MODEL = "MODEL x = x + vx * t, y = y + vy * t KEY vessel"
NEAR = f"""SELECT a.vessel, b.vessel AS other, starts, ends, status
    FROM ships a {SHIPS_MODEL} JOIN ships b {SHIPS_MODEL}
    ON a.vessel <> b.vessel AND sqrt(pow(a.x - b.x, 2) + pow(a.y - b.y, 2)) < 1000
    ERROR WITHIN 50 HORIZON 2 MINUTES"""
CROSSED = f"""SELECT vessel, starts, ends, x FROM ships {SHIPS_MODEL} WHERE x > :line
    ERROR WITHIN 50 HORIZON 2 MINUTES"""
SUBSCRIPTIONS = ("near", "crossed")


class PipelineRun(NamedTuple):
    """One run: seconds of a micro-batch in the middle, and what was told in the end."""

    seconds: float
    told: dict[str, list[tuple[str, ...]]]


class ShipBench(SparkBench):
    """Reports as files, one micro-batch each, and homes that are thrown away."""

    def __init__(self, spark: SparkSession, root: Path, size: Size) -> None:
        super().__init__(spark, root)
        self._size = size
        total = ROWS[size] * (BATCHES[size] + WARM_UP_BATCHES)
        replay(spark, _reports(SHIPS[size], total), root / "reports", ROWS[size])

    def run(self, host: HostName, *, asked: bool) -> PipelineRun:
        """Run the engine over all reports, with its queries or with none."""
        reports = file_stream(self.spark, self.root / "reports")
        with self.engine(host) as engine:
            engine.stream("ships", reports, event_time="ts", lateness=0)
            if asked:
                lines = np.linspace(-20_000, 20_000, LINES[self._size])
                engine.subscribe(NEAR, name="near")
                engine.subscribe(CROSSED, name="crossed", each=pa.table({"line": lines}))
            engine.run_available()
            seconds = list(engine.figures().batch_seconds.values())[WARM_UP_BATCHES:]
            names = SUBSCRIPTIONS if asked else ()
            told = {name: _sorted(engine.subscription(name).read()) for name in names}
        return PipelineRun(median(seconds), told)


def _reports(ships: int, rows: int) -> pa.Table:
    motion = vessels(generator(89), ships, rows * 7 // ships + 60).first(rows)
    assert len(motion) == rows
    at = pa.array(motion.at + 1_700_000_000_000_000).cast(pa.timestamp("us", "UTC"))
    columns = {name: getattr(motion, name) for name in ("x", "y", "vx", "vy")}
    return pa.table({"ts": at, "vessel": motion.key, **columns})


def _sorted(table: pa.Table) -> list[tuple[str, ...]]:
    return sorted(tuple(map(repr, row.values())) for row in table.to_pylist())


def run(size: Size) -> Findings:
    """Run both hosts with and without queries, alternately; hold their answers side by side."""
    best: dict[tuple[HostName, bool], PipelineRun] = {}
    with tempfile.TemporaryDirectory(prefix="penstock-lab-") as root:
        bench = ShipBench(local_session(), Path(root), size)
        for number in range(ROUNDS[size]):
            for host in HOSTS:
                for asked in (True,) if size == "tiny" else (True, False):
                    say(f"models: {host}, {'with' if asked else 'no'} queries, round {number + 1}")
                    one = bench.run(host, asked=asked)
                    old = best.get((host, asked), one)
                    best[host, asked] = min(one, old, key=lambda each: each.seconds)
    rows = ROWS[size]
    lines: list[tuple[Cell, ...]] = [
        (host, "queries" if asked else "none", 1000 * each.seconds, rows / each.seconds,
         *(len(each.told.get(name, ())) for name in SUBSCRIPTIONS))
        for (host, asked), each in best.items()
    ]  # fmt: skip
    yield Table(
        f"{SHIPS[size]} ships, {LINES[size] + 1:,} queries, batches of {rows:,} reports",
        ("host", "asked", "batch_ms", "rows_per_s", *SUBSCRIPTIONS),
        lines,
    )
    mine, others = (best[host, True].told for host in HOSTS)
    for name in SUBSCRIPTIONS:
        yield at_least(f"rows told of '{name}'", len(mine[name]), 1)
        differing = len(set(mine[name]) ^ set(others[name]))
        yield at_most(f"rows of '{name}' that only one host told", differing, 0)
    if size == "tiny":
        return
    for host in HOSTS:
        share = best[host, False].seconds / best[host, True].seconds
        yield at_least(f"{host} host over itself without queries", share, 0.5, timed=True)
