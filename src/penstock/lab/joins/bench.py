"""A place for end-to-end runs: the tables as files, the engine on them, the kernels beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.engine.runner import HostName
from penstock.lab.file_streams import SparkBench, put_batch
from penstock.lab.joins.pipeline_data import (
    PipelineSizes,
    QueryRanges,
    demand,
    inserted,
    queries,
    supply,
)
from penstock.operators.join.runs import Runs
from penstock.operators.join.select import SelectCore

SQL = (
    "SELECT s.number FROM supply s JOIN demand d ON s.product = d.product "
    "WHERE s.quantity BETWEEN :s_lo AND :s_hi AND d.quantity BETWEEN :d_lo AND :d_hi"
)
WARM_UP_BATCHES = 3
"""The first one loads both tables; kernels and Spark warm up in the others."""
BATCHES = 4


class JoinBench(SparkBench):
    """Runs of the engine on homes that are thrown away.

    Micro-batches of one size are the same rows on every side. `found` holds the results of the
    first measured one by side, rows and number of queries: all sides must agree.
    """

    def __init__(self, spark: SparkSession, root: Path, sizes: PipelineSizes) -> None:
        super().__init__(spark, root)
        self.sizes = sizes
        self.demand = demand(sizes.rows)
        self.queries = queries(sizes.queries)
        self.found: dict[tuple[str, int, int], int] = {}

    def batch(self, rows: int, number: int = WARM_UP_BATCHES) -> pa.Table:
        """Give a micro-batch of supply; number 0 loads the table."""
        if number == 0:
            return supply(0, self.sizes.rows, self.sizes.rows)
        first = self.sizes.rows + (number - 1) * rows
        return supply(first, first + rows, self.sizes.rows)

    def files(self, name: str, tables: Sequence[pa.Table]) -> Path:
        """Write tables as files that a stream reads one by one, in order."""
        directory = self.root / name
        if not directory.exists():
            for number, table in enumerate(tables):
                put_batch(directory, number, table)
        return directory

    def engine_run(self, host: HostName, rows: int, given: QueryRanges) -> float:
        """Run the engine over the micro-batches; give the median duration in seconds."""
        numbers = range(WARM_UP_BATCHES + BATCHES)
        sources = {
            "supply": self.files(
                f"supply-{rows}", [inserted(self.batch(rows, n)) for n in numbers]
            ),
            "demand": self.files("demand", [inserted(self.demand)]),
        }
        with self.engine(host) as engine:
            for name, directory in sources.items():
                engine.table(name, f"parquet:{directory}", changes="op", maxFilesPerTrigger=1)
            engine.subscribe(SQL, name="joins", each=given.table(), options={"mode": "identify"})
            engine.run_available()
            reports = [report for report in engine.runner.reports if report.rows_in]
            durations = engine.figures().batch_seconds
        assert len(reports) == len(numbers)
        judged = reports[WARM_UP_BATCHES:]
        assert all(report.rows_in == rows for report in judged)
        self.found[host, rows, len(given)] = judged[0].matches
        return median(durations[report.batch] for report in judged)


class Kernels:
    """The core of select-joins by itself: queries and demand are there, supply comes in batches."""

    def __init__(self, bench: JoinBench) -> None:
        given, rows = bench.queries, bench.demand.num_rows
        self._core = SelectCore("dynamic")
        self._core.add(np.arange(len(given)), given.s_lo, given.s_hi, given.d_lo, given.d_hi)
        self._runs = Runs()
        self._runs.change(
            bench.demand["product"].to_numpy(),
            bench.demand["quantity"].to_numpy(),
            np.arange(rows),
            np.ones(rows, dtype=np.bool_),
        )
        self._bench = bench

    def run(self, rows: int) -> float:
        """Identify the affected queries of each micro-batch, as pairs; give the median seconds."""
        durations, found = [], []
        for number in range(1, WARM_UP_BATCHES + BATCHES):
            batch = self._bench.batch(rows, number)
            keys, codes = batch["quantity"].to_numpy(), batch["product"].to_numpy()
            started = perf_counter()
            tuples, _ = self._core.identify(keys, codes, self._runs)
            durations.append(perf_counter() - started)
            found.append(len(tuples))
        first = WARM_UP_BATCHES - 1
        self._bench.found["kernels", rows, len(self._bench.queries)] = found[first]
        return median(durations[first:])
