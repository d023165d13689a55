"""A database beside range minima: updates joined to subscriptions, their minima recomputed."""

from __future__ import annotations

from time import thread_time

import numpy as np
import pyarrow as pa

from penstock.expressions.connections import connect
from penstock.lab.dissemination.answers import RangeAnswers
from penstock.lab.dissemination.workload import AskedRanges, UpdateTrace
from penstock.vocabulary.batches import Ints

RECOMPUTED = """
CREATE OR REPLACE TABLE answers AS
SELECT s.slot, min(t.y) AS y FROM subscriptions s JOIN tuples t ON t.x BETWEEN s.x1 AND s.x2
WHERE EXISTS (SELECT * FROM updates u WHERE u.x BETWEEN s.x1 AND s.x2)
GROUP BY s.slot
"""


def beside_duckdb(trace: UpdateTrace, ranges: AskedRanges) -> tuple[float, float, int]:
    """Make the trace's updates as one batch in both; give seconds, and in how many they differ.

    Of one tuple there must be one update. The database runs on one thread, as the kernels do.
    """
    updates = trace.updates()
    extremes, answers, zeros = trace.extremes(), RangeAnswers(), np.zeros_like(ranges.x1s)
    slots = np.arange(len(ranges.x1s))
    known = extremes.answers(zeros, ranges.x1s, ranges.x2s)
    answers.add(slots, zeros, ranges.x1s, ranges.x2s, *known)
    begun = thread_time()
    answers.tell(extremes.net_updates(updates))
    ours = thread_time() - begun
    now = trace.ys.copy()
    now[trace.who] = trace.new
    theirs, found = _recomputed(
        pa.table({"x": trace.xs, "y": now}),
        pa.table({"slot": slots, "x1": ranges.x1s, "x2": ranges.x2s}),
        pa.table({"x": updates.new_xs}),
    )
    return ours, theirs, int((found != answers.values[: len(slots)])[found != 0].sum())


def _recomputed(tuples: pa.Table, subscriptions: pa.Table, updates: pa.Table) -> tuple[float, Ints]:
    """Give the seconds that a recomputation takes, and the minima, 0 of what no update stabs."""
    minima = np.zeros(subscriptions.num_rows, np.int64)
    with connect(threads=1, files=True) as database:
        for name, table in (
            ("tuples", tuples), ("subscriptions", subscriptions), ("updates", updates),
        ):  # fmt: skip
            database.register("given", table)
            database.execute(f"CREATE TABLE {name} AS FROM given")
        begun = thread_time()
        database.execute(RECOMPUTED)
        seconds = thread_time() - begun
        rows = database.execute("FROM answers").fetchnumpy()
    minima[rows["slot"]] = rows["y"]
    return seconds, minima
