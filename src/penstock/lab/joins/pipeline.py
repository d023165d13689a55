"""The end-to-end experiment: standing select-joins through Spark, beside kernels and peers."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from penstock.lab.joins import peers, peers_pathway
from penstock.lab.joins.bench import JoinBench, Kernels
from penstock.lab.joins.pipeline_data import SIZES, queries
from penstock.lab.report import Check, Findings, Size, Table, at_least, at_most
from penstock.lab.timing import say
from penstock.spark.sessions import local_session


def throughput(bench: JoinBench, gates: bool) -> Findings:
    """Rows per second of both hosts and of the kernels, alternating."""
    sizes, kernels, count = bench.sizes, Kernels(bench), len(bench.queries)
    lines: list[tuple[int, str, float, float, float, float]] = []
    for rows in sizes.batches:
        own: list[float] = []
        embedded: list[float] = []
        for number in range(sizes.rounds):
            say(f"joins: micro-batches of {rows:,} rows, round {number + 1}")
            own.append(kernels.run(rows))
            embedded.append(bench.engine_run("embedded", rows, bench.queries))
        say(f"joins: micro-batches of {rows:,} rows, cluster")
        best = {
            "kernels": min(own),
            "embedded": min(embedded),
            "cluster": bench.engine_run("cluster", rows, bench.queries),
        }
        affected = bench.found["kernels", rows, count] / rows
        lines += [
            (rows, name, 1000 * seconds, rows / seconds, best["kernels"] / seconds, affected)
            for name, seconds in best.items()
        ]
        if rows == sizes.judged and gates:
            name = f"embedded host over its kernels, micro-batches of {rows}"
            yield at_least(name, best["kernels"] / best["embedded"], 0.25, timed=True)
    yield Table(
        f"end to end, {count} select-joins, tables of {sizes.rows} rows, identify",
        ("batch", "side", "batch_ms", "rows_per_s", "rate_over_kernels", "affected_per_row"),
        lines,
    )


def agreement(bench: JoinBench) -> Check:
    """Claim that all sides found equally many results for the same micro-batch and queries."""
    by_work: dict[tuple[int, int], list[int]] = {}
    for (_, rows, count), found in bench.found.items():
        by_work.setdefault((rows, count), []).append(found)
    assert all(max(found) > 0 for found in by_work.values()), "nothing was found: nothing is shown"
    differing = sum(max(found) - min(found) for found in by_work.values())
    return at_most("results that a side counts differently", differing, 0)


def run(size: Size) -> Findings:
    """Run the experiment; only at `full` is speed judged."""
    sizes, gates = SIZES[size], size == "full"
    with tempfile.TemporaryDirectory(prefix="penstock-lab-") as root:
        bench = JoinBench(local_session(), Path(root), sizes)

        @cache
        def engine(rows: int, count: int) -> float:
            return bench.engine_run("embedded", rows, queries(count))

        yield from throughput(bench, gates)
        yield from peers.beside_duckdb(bench, engine, gates)
        yield from peers.beside_spark(bench, engine, gates)
        yield peers_pathway.beside_pathway(bench, engine)
        yield agreement(bench)
