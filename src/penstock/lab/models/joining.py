"""Joins of two streams of objects, over models and over tuples: who is left of whom.

The tuple side meets every tuple of the other side in a window of a tenth of a second, by nested
loops; DuckDB joins the same tuples by their times, and beside it DuckDB, Spark and Flink do so by
equal buckets of time. A pair of segments is solved once.
"""

from __future__ import annotations

from functools import partial

import duckdb
import numpy as np
import pyarrow as pa

from penstock.lab.draws import generator
from penstock.lab.kernels.tuple_queries import tuples_join
from penstock.lab.models.break_even import crossover, seconds_each
from penstock.lab.models.peers import PeerQuery, beside, peer_runs, times_checks
from penstock.lab.models.queries import QueryRun, crossed
from penstock.lab.models.sources import motion_rows
from penstock.lab.models.workload import SECOND, Motion, moving_objects
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized
from penstock.models.sources import SourceRows
from penstock.models.tolerances import SourceTolerances

ROWS = sized(4_000, 100_000, 400_000)
PER_SEGMENT = sized((3, 100), (1, 3, 10, 30, 100, 300), (1, 3, 10, 30, 100, 300, 1_000))
RATES = sized((1_000, 4_000), (1_000, 2_000, 4_000, 8_000, 16_000), (1_000, 4_000, 16_000, 64_000))
OBJECTS, BATCH, RATE, FITTING = 4, 50_000, 8_000, 100
WINDOW_US = SECOND // 10
PEER_ROWS = 10_000
"""DuckDB joins the first so many rows: its cost for a row does not depend on how many there are."""


def run(size: Size) -> Findings:
    """Time three sides: models that fit better, and streams that are faster."""
    by_fit = [_sides(size, per_segment, RATE) for per_segment in PER_SEGMENT[size]]
    yield Table.of(f"a.x < b.x within 0.1 s, {RATE:,} rows/s a side, processor time", by_fit)
    by_rate = [_sides(size, FITTING, rate) for rate in RATES[size]]
    at_100 = next(each for each in by_fit if each["rows/segment"] == FITTING)
    some = [own[:PEER_ROWS] for own in _merged(_streams(size, FITTING, RATE))]
    peers, models = peer_runs(peer_query(*some), size), at_100["models (ns/row)"] * 1e-9
    title = f"Peers over {len(some[0]):,} rows, {FITTING} rows per segment"
    yield beside(title, peers, models)
    table = Table.of(
        f"The same by rate, {FITTING} rows per segment",
        [{"rows/s": each.pop("rows/s"), **each} for each in by_rate],
    )
    yield table
    yield table.chart(
        "A join by rate", "nanoseconds per row", "models (ns/row)", "tuples (ns/row)",
        "DuckDB (ns/row)", log="xy",
    )  # fmt: skip
    over = [[each[f"{name} (ns/row)"] for each in by_fit] for name in ("models", "tuples")]
    found = crossover(PER_SEGMENT[size], *over)
    yield {"break-even (rows per segment)": found}
    if size == "tiny":
        return
    yield at_least("Tuples, compiled, over models at 100", at_100["times"], 10, timed=True)
    yield from times_checks("at 100 rows per segment", peers, models, 50)
    # Of twice the rate, twice the rows come in a second: it costs the rate times a row's cost.
    slopes = {
        name: float(
            np.polyfit(
                np.log(RATES[size]),
                np.log([each[name] * each["rows/s"] for each in _named(table)]), 1,
            )[0]
        )
        for name in ("models (ns/row)", "tuples (ns/row)")
    }  # fmt: skip
    yield at_least(
        "Tuples: cost a second by rate, slope", slopes["tuples (ns/row)"], 1.8, timed=True
    )
    yield at_most(
        "Models: cost a second by rate, slope", slopes["models (ns/row)"], 1.2, timed=True
    )


def _named(table: Table) -> list[dict[str, float]]:
    return [
        {name: float(cell or 0) for name, cell in zip(table.columns, row, strict=True)}
        for row in table.rows
    ]


def _streams(size: Size, per_segment: int, rate: int) -> list[Motion]:
    period_us = OBJECTS * SECOND // rate
    return [
        moving_objects(generator(79, side), OBJECTS, ROWS[size] // 2, per_segment, period_us)
        for side in range(2)
    ]


def _sides(size: Size, per_segment: int, rate: int) -> dict[str, float]:
    both = _streams(size, per_segment, rate)
    at, side, x = _merged(both)
    rows = [motion_rows(each, "x") for each in both]
    sides = {
        "models": partial(_over_models, rows),
        "tuples": partial(_over_tuples, at, side, x),
    }
    each = seconds_each(sides, len(at))
    some = [own[:PEER_ROWS] for own in (at, side, x)]
    peer = seconds_each({"DuckDB": partial(_over_duckdb, *some)}, len(some[0]), 1)
    return {
        "rows/segment": per_segment, "rows/s": rate, "models (ns/row)": each["models"] * 1e9,
        "tuples (ns/row)": each["tuples"] * 1e9, "DuckDB (ns/row)": peer["DuckDB"] * 1e9,
        "times": each["tuples"] / each["models"],
    }  # fmt: skip


def _merged(both: list[Motion]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    at = np.concatenate([each.at for each in both])
    side = np.repeat(np.arange(2), [len(each) for each in both])
    order = np.argsort(at, kind="stable")
    return at[order], side[order], np.concatenate([each.x for each in both])[order]


def _over_models(rows: list[SourceRows]) -> int:
    ran = QueryRun(crossed(), SourceTolerances.absolute(0.001), shared=False)
    ran.run(rows, BATCH)
    return ran.answers


def _over_tuples(at: np.ndarray, side: np.ndarray, x: np.ndarray) -> int:
    kept = np.zeros((2, 1 << 14, 2))
    return tuples_join(at, side, x, WINDOW_US, kept, np.zeros(4, np.int64))


def peer_query(at: np.ndarray, side: np.ndarray, x: np.ndarray) -> PeerQuery:
    """Ask for the same: tuples meet those of the other side by equal buckets of time."""
    table = pa.table({"side": side, "ts": at, "x": x, "slot": at // WINDOW_US})
    near = " UNION ALL ".join(
        f"SELECT {{0}}, x, slot + {k} AS slot FROM reports WHERE side = 1" for k in (-1, 0, 1)
    )
    joined = (
        "SELECT count(*) FROM (SELECT {0}, x, slot FROM reports WHERE side = 0) a "
        f"JOIN ({near}) b ON a.slot = b.slot WHERE a.x < b.x AND "
    )
    text = joined.format("ts") + f"b.ts > a.ts - {WINDOW_US} AND b.ts < a.ts + {WINDOW_US}"
    window = f"INTERVAL '{WINDOW_US / SECOND:.3f}' SECOND(1, 3)"
    flink = joined.format("moment")
    flink += f"b.moment BETWEEN a.moment - {window} AND a.moment + {window}"
    return PeerQuery(tables={"reports": table}, text=text, flink=flink)


def _over_duckdb(at: np.ndarray, side: np.ndarray, x: np.ndarray) -> int:
    rows = pa.table({"at": at, "side": side, "x": x})
    with duckdb.connect(config={"threads": 1}) as db:
        db.register("rows", rows)
        found = db.execute(
            "SELECT count(*) FROM (FROM rows WHERE side = 0) a JOIN (FROM rows WHERE side = 1) b "
            f"ON b.at > a.at - {WINDOW_US} AND b.at < a.at + {WINDOW_US} WHERE a.x < b.x"
        ).fetchone()
    assert found is not None
    return int(found[0])
