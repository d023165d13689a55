"""Pathway beside standing joins. It needs packages that Penstock's environment cannot hold.

`make peers` makes `.venv-pathway` with them; a script of ours runs there, on files.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.lab.joins.bench import JoinBench
from penstock.lab.joins.peers import Engine
from penstock.lab.joins.pipeline_data import queries
from penstock.lab.report import Cell, Table
from penstock.lab.timing import say

SCRIPT = Path(__file__).with_name("pathway_run.py")
PYTHON = Path(__file__).parents[4] / ".venv-pathway" / "bin" / "python"
COLUMNS = ("queries", "batch", "side", "batch_ms", "time_over_engine")


def beside_pathway(bench: JoinBench, engine: Engine) -> Table:
    """Pathway at the largest number of queries that it finishes in time, and with buckets."""
    rows = bench.sizes.pathway_batch
    title = f"end to end beside Pathway ({bench.sizes.pathway_limit_s:g} s at most)"
    if not PYTHON.exists():
        said: tuple[Cell, ...] = (None, rows, "pathway: not installed: make peers", None, None)
        return Table(title, COLUMNS, [said])
    lines: list[tuple[Cell, ...]] = []
    for form, count, seconds in _largest(bench):
        # What loading costs is not a batch's: the same run with a single row is taken off.
        batch = seconds - (_run(bench, form, count, 1) or 0.0)
        own = engine(rows, count)
        lines.append((count, rows, "embedded", 1000 * own, 1.0))
        lines.append((count, rows, f"pathway, {form}", 1000 * batch, batch / own))
    return Table(title, COLUMNS, lines)


def _largest(bench: JoinBench) -> Iterator[tuple[str, int, float]]:
    """Double the queries while Pathway is in time; give the last number and its seconds.

    A run that takes more than half of the time is the last: twice as many would not end.
    """
    sizes = bench.sizes
    for form, first in (("filter", sizes.pathway_first), ("buckets", sizes.queries)):
        count, last = first, None
        while count <= sizes.queries:
            say(f"joins: Pathway ({form}), {count:,} queries")
            seconds = _run(bench, form, count, sizes.pathway_batch)
            if seconds is None:
                break
            last = (form, count, seconds)
            if seconds > sizes.pathway_limit_s / 2:
                break
            count *= 2
        if last is not None:
            yield last


def _run(bench: JoinBench, form: str, count: int, rows: int) -> float | None:
    """Run the script; None if it did not end in time."""
    directory = bench.fresh()
    directory.mkdir()
    batch = bench.batch(bench.sizes.pathway_batch).slice(0, rows)
    tables: dict[str, pa.Table] = {
        "supply": batch,
        "demand": bench.demand,
        "queries": queries(count).table(),
    }
    for name, table in tables.items():
        pq.write_table(table, directory / f"{name}.parquet")
    try:
        ran = subprocess.run(
            [PYTHON, SCRIPT, form, *(directory / f"{name}.parquet" for name in tables)],
            capture_output=True,
            text=True,
            check=True,
            timeout=bench.sizes.pathway_limit_s,
        )
    except subprocess.TimeoutExpired:
        return None
    told = json.loads(ran.stdout.splitlines()[-1])
    if rows == bench.sizes.pathway_batch:
        bench.found[f"pathway, {form}", rows, count] = told["pairs"]
    return float(told["seconds"])
