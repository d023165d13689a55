"""The end-to-end experiment: joins with a budget of rows through Spark, beside their kernels.

Two streams with a common trend are joined within a window. Every budget is a standing query of its
own, all in one run. What the join with a tenth of the window's rows keeps must be what the kernels
keep when they are fed by hand under the same policy, row for row; what it says of its recall is
held against the truth.
*Told* joins know the laws and how long rows stay, *steered* ones the laws, *auto* ones nothing.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.algebra.memories import AUTO, Memory, StreamLaw
from penstock.engine import Engine
from penstock.kinds.budgets import BudgetUse
from penstock.lab.caching.pipeline_streams import EFFORTS, BoundedEffort, BoundedStreams
from penstock.lab.caching.policies import Heeb
from penstock.lab.file_streams import file_stream, query_batches
from penstock.lab.report import Chart, Findings, Size, Table, at_least, at_most, chart
from penstock.lab.timing import say
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.policies import CompiledPolicy
from penstock.operators.bounded.policies_baselines import Rand
from penstock.operators.bounded.policy_control import Steering
from penstock.operators.bounded.weightings import Exponential, alpha_of
from penstock.spark.sessions import local_session
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.shared_figures import ROWS

SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Budgets, in shares of the rows that both windows hold."""
ASKED = 0.1
ESTIMATE_ERROR_MAX = 0.03
FORECAST_ERROR_MAX = 0.05
AUTO_SHARE_MIN = 0.95
EXACT_SHARE_MIN = 0.999
"""Tables of the engine have some tens of cells per deviation of the noise, not one per key."""


def fed_by_hand(streams: BoundedStreams, memory: Memory) -> Ints:
    """Feed the kernels with all rows under the engine's steering; give the pairs of row numbers."""
    of, keys, ticks, times = streams.arrivals()
    sizes = (streams.window_us, streams.window_us)
    windows = tuple(map(float, sizes))
    steering = Steering(memory, numeric=True, budget=memory.rows, windows=windows)
    cache = JoinCache(memory.rows, steering.policy(), windows=sizes)
    nows = np.column_stack([times, times])
    fed = steering.feed(cache, of, keys, ticks, stamps=times, nows=nows, emit=True)
    return _by_stream(np.concatenate([done.pairs for _, done in fed]))


def _by_stream(pairs: Ints) -> Ints:
    """Turn arrival numbers into ticks of the row of r and of the row of s, sorted."""
    swapped = np.where((pairs[:, :1] % 2 == 0), pairs, pairs[:, ::-1])
    found: Ints = swapped // 2
    return found[np.lexsort((found[:, 1], found[:, 0]))]


def kept_by(streams: BoundedStreams, budget: int, policy: CompiledPolicy) -> int:
    """Count the results of a policy of the kernels."""
    of, keys, ticks, times = streams.arrivals()
    cache = JoinCache(budget, policy, windows=(streams.window_us, streams.window_us))
    fed = cache.feed(of, keys, ticks, stamps=times, nows=np.column_stack([times, times]))
    return int(fed.made.sum() + fed.together.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRun:
    """What one run of the engine did, by subscription."""

    pairs: dict[str, Ints]
    memory: dict[str, BudgetUse]
    held_most: dict[str, int]
    forecast: dict[str, Any]


class BoundedBench:
    """Homes and files for runs on the same streams."""

    def __init__(self, spark: SparkSession, root: Path, effort: BoundedEffort) -> None:
        self.spark = spark
        self.root = root
        self.streams = BoundedStreams(effort)
        self.files = root / "files"
        self.streams.write(self.files)

    def engine(self, name: str, memories: dict[str, Memory], **options: Any) -> BoundedRun:
        """Run the engine over all files, a standing query for each budget."""
        with Engine(self.root / name, spark=self.spark, **options) as engine:
            for stream in "rs":
                engine.stream(
                    stream,
                    f"parquet:{self.files / stream}",
                    event_time="ts",
                    lateness=0,
                    maxFilesPerTrigger=1,
                )
            for label, memory in memories.items():
                engine.subscribe(self.sql(memory), name=label, options=memory.options)
            forecast = engine.explain(next(iter(memories))).facts.get("curve", {})
            engine.run_available()
            groups = {each.name: each.group for each in engine.subscriptions()}
            return BoundedRun(
                pairs={label: _pairs(engine, label) for label in memories},
                memory=engine.figures().memory,
                held_most={
                    label: max(
                        report.figures[group].total(ROWS) for report in engine.runner.reports
                    )
                    for label, group in groups.items()
                },
                forecast=forecast,
            )

    def sql(self, memory: Memory) -> str:
        """Write the join with a budget."""
        return (
            "SELECT r.n AS r, s.n AS s FROM r JOIN s ON r.k = s.k "
            f"WITHIN {self.streams.window_us} MICROSECONDS MEMORY {memory.rows} ROWS "
            f"USING {memory.policy} MODEL r AS {_words(memory.laws[0])}, "
            f"s AS {_words(memory.laws[1])}"
        )

    def spark_rows(self) -> int:
        """Let Spark join the streams by itself; give the most rows that it kept."""
        sides = [self._side(name) for name in "rs"]
        limit = f"interval {self.streams.window_us} microseconds"
        close = f"r_ts > s_ts - {limit} AND s_ts > r_ts - {limit}"
        joined = sides[0].join(sides[1], F.expr(f"r_k = s_k AND {close}"))
        writer = joined.select("r_n", "s_n").writeStream.format("noop")
        return max(
            sum(int(operator["numRowsTotal"]) for operator in each["stateOperators"])
            for each in query_batches(writer, self.root / "native")
        )

    def _side(self, name: str) -> DataFrame:
        frame = file_stream(self.spark, self.files / name, f"{name}_")
        return frame.withWatermark(f"{name}_ts", "0 seconds")


def _words(law: StreamLaw) -> str:
    said = (
        f"{name} = {value!r}" if isinstance(value, str) else f"{name} = {value:g}"
        for name, value in law.parameters.items()
    )
    return law.family.upper() + (f" ({', '.join(said)})" if law.parameters else "")


def _pairs(engine: Engine, name: str) -> Ints:
    table = engine.subscription(name).read()
    found = np.column_stack([table[side].to_numpy() for side in ("r", "s")]).astype(np.int64)
    return found[np.lexsort((found[:, 1], found[:, 0]))]


def told_memory(law: StreamLaw, rows: int) -> Memory:
    """Give a budget with everything said: the laws, and how long rows stay on average."""
    return Memory(rows=rows, laws=(law, law), options={"lifetime": max(rows / 2, 1.05)})


def run(size: Size) -> Findings:
    """Run all budgets through Spark, and the asked one by hand."""
    with tempfile.TemporaryDirectory(prefix="penstock-lab-") as root:
        bench = BoundedBench(local_session(), Path(root), EFFORTS[size])
        streams = bench.streams
        asked, law = streams.budget(ASKED), streams.law()
        told = {
            f"told {share:g}": told_memory(law, streams.budget(share))
            for share in (ASKED, *(share for share in SHARES if share != ASKED))
        }
        others = {
            "steered": Memory(rows=asked, laws=(law, law)),
            "auto": Memory(rows=asked, laws=(AUTO, AUTO)),
        }
        say(f"bounded joins: {len(told) + len(others)} budgets through Spark")
        ours = bench.engine("embedded", {**told, **others})
        say("bounded joins: the kernels by hand")
        everything = kept_by(streams, streams.window_rows + 2, Rand())
        heeb = Heeb(
            laws=streams.laws,
            weighting=Exponential(alpha_of(asked / 2)),
            window=streams.effort.window,
        )
        by_hand = fed_by_hand(streams, told[f"told {ASKED:g}"])
        kernel = kept_by(streams, asked, heeb)
        sharded, native = None, None
        if size != "tiny":
            say("bounded joins: two shards on the cluster host, and Spark's own join")
            first = {"told": told[f"told {ASKED:g}"]}
            sharded = bench.engine("cluster", first, host="cluster", shards=2)
            native = bench.spark_rows()
    yield from report(size, streams, told, ours, by_hand, kernel, everything, sharded, native)


def report(
    size: Size,
    streams: BoundedStreams,
    told: dict[str, Memory],
    ours: BoundedRun,
    by_hand: Ints,
    kernel: int,
    everything: int,
    sharded: BoundedRun | None,
    native: int | None,
) -> Findings:
    """Show what every budget kept, and hold it against the kernels and the truth."""
    first = f"told {ASKED:g}"
    asked = streams.budget(ASKED)
    rows: list[tuple[str, int, float, float | None, int]] = []
    runs = [(label, ours, label) for label in (*told, "steered", "auto")]
    if sharded is not None:
        runs.append(("told, two shards", sharded, "told"))
    for shown, one, label in runs:
        facts = one.memory[label]
        share = len(one.pairs[label]) / everything
        rows.append((shown, facts.budget, share, facts.recall, one.held_most[label]))
    same = len(by_hand) == len(ours.pairs[first]) and bool((by_hand == ours.pairs[first]).all())
    errors = [abs(row[2] - (row[3] or 0.0)) for row in rows]
    over = [row[4] - row[1] for row in rows]
    kept = len(ours.pairs[first])
    yield at_least("the same rows as the kernels by hand", float(same), 1.0)
    yield at_least("results over HEEB's with tables of every key", kept / kernel, EXACT_SHARE_MIN)
    yield at_most("rows held above the budget, at any batch's end", max(over), 0)
    yield at_most("largest error of the recall estimate", max(errors), ESTIMATE_ERROR_MAX)
    if size != "tiny":
        ratio = len(ours.pairs["auto"]) / len(ours.pairs["steered"])
        yield at_least("AUTO's results over those with the law", ratio, AUTO_SHARE_MIN)
        wrong = abs(_forecast(ours.forecast, asked) - kept / everything)
        yield at_most("error of the recall that EXPLAIN told", wrong, FORECAST_ERROR_MAX)
    yield Table(
        "recall by budget, through Spark",
        ("query", "budget", "recall", "estimated", "held_most"),
        rows,
    )
    yield Table(
        f"a window of {streams.window_rows:,} rows: who keeps how many",
        ("side", "rows_most", "results", "share"),
        [
            ("penstock, a tenth", ours.held_most[first], kept, kept / everything),
            ("HEEB in the kernels", asked, kernel, kernel / everything),
            ("everything", streams.window_rows, everything, 1.0),
            *([("spark", native, everything, 1.0)] if native is not None else []),
        ],
    )
    yield _figure(streams, ours, rows[: len(told)])


def _forecast(curve: dict[str, Any], rows: int) -> float:
    points = curve["points"]
    budgets = [point["rows"] for point in points]
    return float(np.interp(np.log(rows), np.log(budgets), [p["recall"] for p in points]))


def _figure(
    streams: BoundedStreams, ours: BoundedRun, rows: list[tuple[str, int, float, float | None, int]]
) -> Chart:
    """Draw recall against memory: as EXPLAIN told before, as estimated while, as it was."""
    rows = sorted(rows, key=lambda row: row[1])
    budgets = [float(row[1]) for row in rows]
    points = ours.forecast.get("points", [])
    inside = [p for p in points if budgets[0] <= p["rows"] <= budgets[-1]]
    return chart(
        f"recall of a join of two windows, {streams.window_rows:,} rows in all",
        "rows of memory",
        "share of the results",
        {
            "EXPLAIN, before the run": (
                [float(p["rows"]) for p in inside],
                [p["recall"] for p in inside],
            ),
            "the run's own estimate": (budgets, [row[3] or 0.0 for row in rows]),
            "in truth": (budgets, [row[2] for row in rows]),
        },
        log="x",
    )
