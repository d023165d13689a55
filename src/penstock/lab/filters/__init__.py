"""The filter experiment: a million standing filters, kernel by kernel and end to end.

Takes: a size.
Gives: a report with the checks that the engine's claims rest on.
Never: two sides measured on different data or at different times.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from penstock.lab.filters import kernel, pipeline, registrations
from penstock.lab.filters.workload import SIZES
from penstock.lab.report import Findings, Size
from penstock.spark.sessions import local_session

__all__ = ["run"]


def run(size: Size) -> Findings:
    """Run the experiment; kernels are judged at every size, what Spark runs at `full`.

    Below, a micro-batch is mostly Spark's own time, and would judge Spark.
    """
    sizes, gates = SIZES[size], size == "full"
    for measure in (kernel.one_thread, kernel.two_threads, kernel.scale):
        yield from measure(sizes, size)
    yield from kernel.curve(sizes)
    spark = local_session()
    with tempfile.TemporaryDirectory(prefix="penstock-lab-") as root:
        bench = pipeline.FilterBench(spark, Path(root))
        for stage in (
            pipeline.throughput,
            pipeline.small_batches,
            pipeline.peers,
            registrations.bulk_load,
            registrations.live_changes,
            registrations.worker_memory,
        ):
            yield from stage(bench, sizes, gates)
        yield from registrations.restart(bench, sizes)
