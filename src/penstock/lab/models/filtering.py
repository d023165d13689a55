"""A filter over models beside one over tuples, by rows per segment.

The tuple side is one comparison in a compiled loop, a third of a nanosecond: no row can be held
against a model for less. DuckDB, Spark and Flink filter the same rows. What models bring to filters
are bounds, predictions, and very many queries on one stream (`model-thresholds`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from penstock.lab.draws import generator
from penstock.lab.kernels.tuple_queries import tuples_filter
from penstock.lab.models.break_even import crossover, seconds_each
from penstock.lab.models.peers import DUCKDB, PeerQuery, beside, peer_runs
from penstock.lab.models.queries import QueryRun, below, values_at
from penstock.lab.models.sources import motion_rows, straight_motion
from penstock.lab.models.workload import Motion, moving_objects
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized
from penstock.models.crossings import Crossings
from penstock.models.netting import netted
from penstock.models.sources import SegmentSource, SourceRows
from penstock.models.tolerances import SourceTolerances

ROWS = sized(10_000, 500_000, 2_000_000)
PER_SEGMENT = sized((10, 100), (1, 10, 100, 1_000, 10_000), (1, 10, 100, 1_000, 10_000))
OBJECTS, BATCH, BOUND, TOLERANCE = 10, 100_000, 500.0, 0.001
JUDGED = 5_000
"""So many rows are compared one by one."""
QUERIES, FITTING = 1_000, 1_000
"""So many filters on one stream: over tuples one by one, over models by the index of thresholds.
They are judged where models stand for so many rows."""
SIDES = ("models", "tuples")
PUBLISHED = 1_050
"""From so many rows per segment on the thesis's filter was cheaper over models."""


def run(size: Size) -> Findings:
    """Time both sides, alternately, as models fit better and better."""
    rows = []
    for per_segment in PER_SEGMENT[size]:
        motion = moving_objects(generator(77), OBJECTS, ROWS[size], per_segment)
        given = motion_rows(motion, "x")
        places = np.empty(len(motion), np.int32)
        runs: list[QueryRun] = []

        def over_models(given: SourceRows = given, runs: list[QueryRun] = runs) -> None:
            runs.append(QueryRun(below(BOUND), SourceTolerances.absolute(TOLERANCE)))
            runs[-1].run([given], BATCH)

        sides: dict[str, Callable[[], object]] = {
            "models": over_models,
            "tuples": partial(tuples_filter, motion.x, BOUND, places),
            "many": partial(_many, given),
        }
        each = seconds_each(sides, len(motion))
        rows.append(
            {
                "rows/segment": per_segment, "models (ns/row)": each["models"] * 1e9,
                "tuples (ns/row)": each["tuples"] * 1e9,
                f"{QUERIES} filters over models": each["many"] * 1e9,
                f"{QUERIES} filters over tuples": each["tuples"] * 1e9 * QUERIES,
                "changes": runs[-1].changes, "answers": runs[-1].answers,
            }
        )  # fmt: skip
    table = Table.of(f"x < {BOUND:g} over {ROWS[size]:,} rows, processor time", rows)
    yield table
    yield table.chart(
        "A filter by rows per segment", "nanoseconds per row", "models (ns/row)",
        "tuples (ns/row)", log="xy",
    )  # fmt: skip
    names = [str(each) for each in table.columns]
    columns = dict(zip(names, zip(*table.rows, strict=True), strict=True))
    found = crossover(PER_SEGMENT[size], columns["models (ns/row)"], columns["tuples (ns/row)"])
    yield at_most("Rows that are answered wrongly, and not near the bound", _misjudged(size), 0)
    yield {"break-even (rows per segment)": _shown(found)}
    place = PER_SEGMENT[size].index(min(FITTING, PER_SEGMENT[size][-1]))
    motion = moving_objects(generator(77), OBJECTS, ROWS[size], PER_SEGMENT[size][place])
    peers = peer_runs(peer_query(motion), size)
    title = f"Peers over {len(motion):,} rows, {PER_SEGMENT[size][place]:,} rows per segment"
    yield beside(title, peers, columns["models (ns/row)"][place] * 1e-9)
    for name, ran in peers.items():
        if ran.seconds is None:
            continue
        costs = [ran.seconds * 1e9] * len(PER_SEGMENT[size])
        even = crossover(PER_SEGMENT[size], columns["models (ns/row)"], costs)
        yield {f"break-even, {name} (rows per segment)": _shown(even)}
        if size != "tiny" and name != DUCKDB:  # Its vectors are as quick as a compiled loop.
            yield at_most(f"Break-even over {name}, rows", even, PUBLISHED / 2, timed=True)
    if math.isinf(found):
        yield (
            "One filter is never cheaper over models here (published: from 1,050 rows per segment "
            "on): a compiled comparison costs less than holding a row against its model."
        )
    if size != "tiny":
        many, single = (columns[f"{QUERIES} filters over {of}"][place] for of in SIDES)
        yield at_least(f"{QUERIES} filters: tuples over models", single / many, 1, timed=True)


def _shown(even: float) -> str:
    return "never" if math.isinf(even) else f"{even:.0f}"


def peer_query(motion: Motion) -> PeerQuery:
    """Ask for the same."""
    text = f"SELECT count(*) FROM reports WHERE x < {BOUND!r}"
    reports = pa.table({"ts": motion.at, "x": motion.x})
    return PeerQuery(tables={"reports": reports}, text=text, flink=text)


def _many(rows: SourceRows) -> int:
    """Answer many filters at once: their numbers are spread over all values that there are."""
    source = SegmentSource(straight_motion(axes="x"), SourceTolerances.absolute(TOLERANCE))
    bounds = np.linspace(0, 1_000, QUERIES)
    crossings = Crossings(np.zeros(QUERIES, np.int64), bounds, np.arange(QUERIES))
    made = netted(source.process(rows))
    partition = np.zeros(len(made), np.int64)
    found = crossings.find(partition, made.coefficients[:, 0], made.low, made.high, "<")
    return len(found.index)


def _misjudged(size: Size) -> int:
    """Count rows that the query tells and should not, or does not tell and should."""
    motion = moving_objects(generator(80), OBJECTS, min(ROWS[size], JUDGED), 30)
    rows = motion_rows(motion, "x")
    ran = QueryRun(below(BOUND), SourceTolerances.absolute(TOLERANCE))
    ran.run([rows], 1_000, keep=True)
    # Segments meet at the times of rows: a microsecond later it is clear which one holds.
    told = ~np.isnan(values_at(ran.answer, rows.key, rows.at + 1))
    clear = np.abs(motion.x - BOUND) > 2 * TOLERANCE
    return int(np.count_nonzero(clear & (told != (motion.x < BOUND))))
