"""MACD: the difference of two moving averages of prices, over models, tuples and by peers.

Averages over 10 and over 60 seconds, every 2; told where the short one is above. A price may be off
by half of the bound on its side (EQUI), so that the difference is within it. Ticks are made up: no
real ones are to be had; they are regular, since over tuples an average weighs ticks and over
models time. Beside a run over rows stands the historical way: the segments of these rows, stored
once as Parquet, are read and go through the same plan.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.algebra.models import ModelQueryStep
from penstock.lab.draws import generator
from penstock.lab.kernels.tuple_queries import tuples_average
from penstock.lab.models.break_even import seconds_each
from penstock.lab.models.peers import PeerQuery, beside, peer_runs, times_checks
from penstock.lab.models.queries import QueryRun, macd, values_at
from penstock.lab.models.sources import tick_rows
from penstock.lab.models.workload import SECOND, Ticks, regular_ticks
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized
from penstock.models.netting import netted
from penstock.models.segments import Segments
from penstock.models.sources import SegmentSource, SourceRows
from penstock.models.storage import from_table, to_table
from penstock.models.tolerances import SourceTolerances
from penstock.operators.model_query.replay import SegmentReplay

ROWS = sized(12_000, 400_000, 2_000_000)
SYMBOLS = sized(5, 50, 200)
BOUNDS = sized((0.01,), (0.001, 0.003, 0.01, 0.03), (0.001, 0.003, 0.01, 0.03))
SHORT, LONG, SLIDE = 10, 60, 2
PERIOD_US, BATCH, SAMPLES = SECOND // 10, 50_000, 300


def run(size: Size) -> Findings:
    """Compare values with those over tuples; time all sides, by the bound."""
    ticks = regular_ticks(generator(81), SYMBOLS[size], ROWS[size], PERIOD_US)
    rows = tick_rows(ticks)
    tuples = seconds_each({"tuples": partial(over_tuples, ticks)}, len(ticks))["tuples"]
    peers = peer_runs(peer_query(ticks), size)
    found: list[dict[str, float]] = []
    apart = 0.0
    for bound in BOUNDS[size]:
        taken: dict[str, QueryRun] = {}
        stored = StoredTicks(rows, bound)

        def over_models(bound: float = bound, taken: dict[str, QueryRun] = taken) -> None:
            taken["ran"] = _ran(rows, bound)

        sides: dict[str, Callable[[], object]] = {
            "models": over_models,
            "stored": stored.replay,
            "tuples": partial(over_tuples, ticks),
        }
        each = seconds_each(sides, len(ticks))
        models = each["models"]
        ran = taken["ran"]
        apart = max(apart, stored.off(ticks, _ran(rows, bound, keep=True).answer))
        found.append(
            {
                "bound (%)": bound * 100,
                "rows/segment": len(ticks) / max(ran.sources[0].counts["segments"], 1),
                "models (ns/row)": models * 1e9, "stored (ns/row)": each["stored"] * 1e9,
                "tuples (ns/row)": tuples * 1e9, "tuples/models": tuples / models,
                "models/stored": models / each["stored"], "answers": ran.answers,
                "farthest off, of 1": _off(ticks, rows, bound),
            }
        )  # fmt: skip
    table = Table.of(f"MACD over {len(ticks):,} ticks of {SYMBOLS[size]} symbols", found)
    yield table
    yield table.chart(
        "MACD by bound", "nanoseconds per row", "models (ns/row)", "stored (ns/row)",
        "tuples (ns/row)", log="xy",
    )  # fmt: skip
    one = next(each for each in found if each["bound (%)"] == 1.0)
    own = one["models (ns/row)"] * 1e-9
    yield beside("Peers, at 1 %", peers, own)
    worst = max(float(each["farthest off, of 1"]) for each in found)
    yield at_most("Distance from the averages over tuples, over the bound", worst, 1 + 1e-9)
    yield at_most("Distance of answers over stored segments from those of a run", apart, 1e-9)
    if size == "tiny":
        return
    yield at_least("Tuples, compiled, over models at 1 %", float(one["tuples/models"]), 1.5,
                   timed=True)  # fmt: skip
    least = min(float(each["models/stored"]) for each in found)
    yield at_least("A run over rows, over stored segments, at any bound", least, 1, timed=True)
    yield from times_checks("at 1 %", peers, own, 5)


def _ran(rows: SourceRows, bound: float, *, keep: bool = False) -> QueryRun:
    ran = QueryRun(macd(SHORT, LONG, SLIDE), SourceTolerances.relative(bound / 2))
    ran.run([rows], BATCH, keep=keep)
    return ran


class StoredTicks:
    """The segments of ticks, stored once, and replayed."""

    def __init__(self, rows: SourceRows, bound: float) -> None:
        plan = macd(SHORT, LONG, SLIDE)
        self._step = ModelQueryStep(plan=plan, key=(("key", pa.int64()),), attributes=("diff",))
        source = self._step.sources[0]
        made = SegmentSource(source, SourceTolerances.relative(bound / 2))
        segments = netted(made.process(rows))
        self._names = tuple(each.name for each in source.attributes)
        file = pa.BufferOutputStream()
        key = pa.table({"key": segments.key[:, 0]})
        pq.write_table(to_table(segments, key, self._names), file, compression="zstd")
        self._file = file.getvalue()

    def replay(self) -> Segments:
        """Read the segments, and let them through the plan; both averages are of the same."""
        table = pq.read_table(pa.BufferReader(self._file))
        segments = from_table(table, table["key"].to_numpy()[:, None], self._names)
        return SegmentReplay(self._step).said([segments, segments])

    def off(self, ticks: Ticks, told: Segments) -> float:
        """Give the largest distance of answers from those of a run, at many instants."""
        chance = generator(83)
        key = chance.integers(0, int(ticks.key.max()) + 1, SAMPLES)[:, None]
        at = chance.integers((LONG + 1) * SECOND, int(ticks.at[-1]), SAMPLES)
        one, two = (values_at(each, key, at) for each in (self.replay(), told))
        assert (np.isnan(one) == np.isnan(two)).all(), "the same answers hold"
        there = ~np.isnan(one)
        return float(np.abs(one[there] - two[there]).max(initial=0.0))


def averages(ticks: Ticks, size_s: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give key, number of the window and average of every window that closed, over tuples."""
    symbols = int(ticks.key.max()) + 1
    windows = size_s // SLIDE + 1
    room = symbols * (int(ticks.at[-1]) // (SLIDE * SECOND) + windows)
    out = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    count = tuples_average(
        ticks.key, ticks.at, ticks.price, size_s * SECOND, SLIDE * SECOND,
        np.zeros((symbols, windows)), np.zeros((symbols, windows), np.int64),
        np.full(symbols, -1), *out,
    )  # fmt: skip
    return out[0][:count], out[1][:count], out[2][:count]


def over_tuples(ticks: Ticks) -> int:
    """Join both averages by key and window; count where the short one is above."""
    short, long = averages(ticks, SHORT), averages(ticks, LONG)
    span = max(int(short[1].max()), int(long[1].max())) + 1
    _, mine, other = np.intersect1d(
        short[0] * span + short[1], long[0] * span + long[1], return_indices=True
    )
    return int(np.count_nonzero(short[2][mine] > long[2][other]))


def peer_query(ticks: Ticks) -> PeerQuery:
    """Ask for the same by windows over each symbol's ticks, at every slide."""
    slot = ticks.at // (SLIDE * SECOND)
    table = pa.table({"id": ticks.key, "ts": ticks.at, "price": ticks.price, "slot": slot})
    over = "(PARTITION BY id ORDER BY ts RANGE BETWEEN {} PRECEDING AND CURRENT ROW)"
    text = (
        "SELECT count(*) FROM (SELECT slot, "
        "lead(slot) OVER (PARTITION BY id ORDER BY ts) AS later, "
        f"avg(price) OVER {over.format(SHORT * SECOND)} AS s, "
        f"avg(price) OVER {over.format(LONG * SECOND)} AS l FROM ticks) AS told "
        "WHERE s > l AND slot <> later"
    )
    mean = (
        "SELECT id, window_end AS ends, avg(price) AS mean FROM TABLE(HOP(TABLE ticks, "
        f"DESCRIPTOR(moment), INTERVAL '{SLIDE}' SECOND, INTERVAL '{{}}' SECOND)) "
        "GROUP BY id, window_start, window_end"
    )
    views = {"short": mean.format(SHORT), "longer": mean.format(LONG)}
    flink = (
        "SELECT count(*) FROM short s JOIN longer l ON s.id = l.id AND s.ends = l.ends "
        "WHERE s.mean > l.mean"
    )
    return PeerQuery(tables={"ticks": table}, text=text, flink=flink, views=views)


def _off(ticks: Ticks, rows: SourceRows, bound: float) -> float:
    """Give the largest distance of a told difference from that over tuples, over its bound.

    The bound is of the values: half of it for each average. A window over tuples is one that ends
    at a multiple of the slide; ticks are regular, so that a tick stands for the time behind it.
    """
    answer = _ran(rows, bound, keep=True).answer
    short, long = averages(ticks, SHORT), averages(ticks, LONG)
    span = max(int(short[1].max()), int(long[1].max())) + 1
    keys, mine, other = np.intersect1d(
        short[0] * span + short[1], long[0] * span + long[1], return_indices=True
    )
    full = keys % span * SLIDE >= LONG + 1
    chosen = generator(82).permutation(np.flatnonzero(full))[:SAMPLES]
    key = (keys[chosen] // span)[:, None]
    phase = key[:, 0] * (PERIOD_US // int(ticks.key.max() + 1))
    # Segments meet at the times of ticks: a microsecond later it is clear which one holds.
    at = keys[chosen] % span * SLIDE * SECOND + phase + 1
    told = values_at(answer, key, at)
    exact = (short[2][mine] - long[2][other])[chosen]
    there = ~np.isnan(told)
    if not there.any():
        return 0.0
    allowed = bound * long[2][other][chosen][there]
    return float((np.abs(told[there] - exact[there]) / allowed).max())
