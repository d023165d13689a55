"""The registry at a million: bulk loads, changes while running, memory, restart after a kill."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.lab.draws import generator
from penstock.lab.filters.pipeline import SQL, WARM_UP_BATCHES, FilterBench
from penstock.lab.filters.workload import DOMAIN, FilterSizes, ranges
from penstock.lab.report import Findings, Table, at_most
from penstock.lab.timing import say
from penstock.spark.hosts import BatchReport

COPIES, LOADS = 3, 2
WAIT_S = 600.0
KILO = 1024
DAEMON = re.compile(rb" -m [\w.]*spark\.daemon ")
"""How the command of a Python worker reads, or of the daemon that it was forked from."""


def bulk_load(bench: FilterBench, sizes: FilterSizes, gates: bool) -> Findings:
    """From a parquet file of parameters to the first match, beside a plain copy by Spark."""
    path = bench.fresh().with_suffix(".parquet")
    given = ranges(sizes.pipeline_queries, 1.0)
    pq.write_table(given.table(), path)
    copies = []
    for number in range(COPIES if gates else 1):
        say(f"registry: Spark copies the parameters, round {number + 1}")
        started = perf_counter()
        target = bench.fresh()
        bench.spark.read.parquet(str(path)).write.parquet(str(target))
        copies.append(perf_counter() - started)
        shutil.rmtree(target)
    rows = min(10_000, sizes.pipeline_rows)
    loads = []
    for number in range(LOADS if gates else 1):
        say(f"registry: {len(given):,} filters from parquet to the first match, round {number + 1}")
        with bench.engine("embedded") as engine:
            engine.stream("events", bench.stream(rows, sizes.small_batches), event_time="ts")
            started = perf_counter()
            found = engine.subscribe(SQL, name="ranges", each=path)
            engine.start()
            next(iter(found.changes(timeout=WAIT_S)))
            loads.append(perf_counter() - started)
    yield Table(
        f"bulk load of {len(given)} filters",
        ("what", "seconds"),
        [("parquet to first match", min(loads)), ("Spark copies the parquet", min(copies))],
    )
    name = "parquet to first match over Spark's copy of the parquet"
    if gates:
        yield at_most(name, min(loads) / min(copies), 5, timed=True)


def live_changes(bench: FilterBench, sizes: FilterSizes, gates: bool) -> Findings:
    """What adds and drops in one micro-batch add to that batch.

    Most of it is Spark's price for a batch with news from the registry, whatever the news: some
    30 ms. So a batch that is long by itself feels it less; the bound is for the batches of the
    throughput experiment.
    """
    runs = {rows: _changing_run(bench, sizes, rows, batches) for rows, batches in sizes.live}
    yield Table(
        f"{sizes.changes} adds and {sizes.changes} drops in a batch",
        ("events", "with_changes_ms", "without_ms", "waiting_for_registration_ms"),
        [(rows, 1000 * w, 1000 * wo, 1000 * r) for rows, (w, wo, r) in runs.items()],
    )
    rows = max(runs)
    ratio = runs[rows][0] / runs[rows][1]
    name = f"batch of {rows} events with adds and drops over one without"
    if gates:
        yield at_most(name, ratio, 1.2, timed=True)


def _changing_run(
    bench: FilterBench, sizes: FilterSizes, rows: int, batches: int
) -> tuple[float, float, float]:
    """Change the registry at the end of every third batch, inside its own time.

    The next batch takes the changes over, the one after that has none. Gives the median seconds
    of a batch with changes, of one without, and of one that waits for the registration.
    """
    given = ranges(sizes.pipeline_queries, 1.0)
    say(f"registry: {sizes.changes:,} adds and drops in a batch of {rows:,} events")
    rng = generator(7)
    width = max(DOMAIN // len(given), 1)
    with bench.engine("embedded") as engine:
        engine.stream("events", bench.stream(rows, batches), event_time="ts")
        found = engine.subscribe(SQL, name="ranges", each=given.table())

        def change(report: BatchReport) -> None:
            if report.batch % 3 == 0:
                done = report.batch // 3 * sizes.changes
                low = rng.integers(0, DOMAIN, sizes.changes)
                numbers = np.arange(sizes.changes, dtype=np.int64) + done
                found.add(pa.table({"id": numbers + len(given), "low": low, "high": low + width}))
                found.drop(pa.array(numbers))

        engine.on_batch(change)
        engine.start()
        last = batches + WARM_UP_BATCHES - 1
        engine.runner.wait_for(lambda report: report.batch >= last, f"Batch {last}", 600.0)
        seconds = engine.figures().batch_seconds
    kinds: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for batch, duration in seconds.items():
        if batch > WARM_UP_BATCHES:
            kinds[batch % 3].append(duration)
    return median(kinds[1]), median(kinds[2]), median(kinds[0])


def worker_memory(bench: FilterBench, sizes: FilterSizes, gates: bool) -> Findings:
    """What the filters add to the largest Python worker of a cluster host."""
    given = ranges(sizes.pipeline_queries, 1.0)
    rows = min(10_000, sizes.pipeline_rows)
    say(f"registry: worker memory with {len(given):,} filters")
    held = {}
    for name, queries in (("idle", None), ("with filters", given)):
        with bench.engine("cluster") as engine:
            engine.stream("events", bench.stream(rows, sizes.small_batches), event_time="ts")
            if queries is not None:
                engine.subscribe(SQL, name="ranges", each=queries.table())
            engine.run_available()
            held[name] = max(_worker_megabytes(), default=0.0)
    yield Table(
        f"memory of the largest Python worker, {len(given)} filters",
        ("worker", "megabytes"),
        list(held.items()),
    )
    name = "worker memory for the filters above the idle worker, MB"
    if gates:
        yield at_most(name, held["with filters"] - held["idle"], 400)


def _worker_megabytes() -> Iterator[float]:
    """Resident memory of this process's Spark workers (grandchildren running its daemon)."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
            # The command of Spark's own process names the daemon among its settings.
            if DAEMON.search(command) and _descends(int(entry.name), os.getpid()):
                status = dict(
                    line.split(":", 1) for line in (entry / "status").read_text().splitlines()
                )
                yield int(status["VmRSS"].split()[0]) / KILO
        except (FileNotFoundError, ProcessLookupError, KeyError):
            continue


def _descends(process: int, ancestor: int) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        stat = Path(f"/proc/{process}/stat").read_text()
        process = int(stat.rsplit(")", 1)[1].split()[1])
    return False


def restart(bench: FilterBench, sizes: FilterSizes) -> Findings:
    """Kill an engine with all filters, start it again: from process start to the next match."""
    path, home = bench.fresh().with_suffix(".parquet"), bench.fresh()
    pq.write_table(ranges(sizes.pipeline_queries, 1.0).table(), path)
    rows = min(10_000, sizes.pipeline_rows)
    bench.stream(rows, sizes.small_batches)
    events = bench.root / f"events-{rows}-{sizes.small_batches}"
    say(f"restart: {sizes.pipeline_queries:,} filters, kill -9, start again")
    command = [
        sys.executable,
        "-m",
        "penstock.lab.filters.victim",
        str(home),
        str(events),
        str(path),
    ]
    times = {}
    for name in ("first start", "restart after kill -9"):
        started = perf_counter()
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            line = json.loads(process.stdout.readline())
            times[name] = perf_counter() - started
            assert line["matches"] > 0
            os.kill(process.pid, signal.SIGKILL)
        sleep(1.0)
    shutil.rmtree(home)
    yield Table(
        f"from process start to a match, {sizes.pipeline_queries} filters",
        ("what", "seconds"),
        list(times.items()),
    )
    yield at_most(
        "restart after kill -9 to the next match, s", times["restart after kill -9"], 60, timed=True
    )
