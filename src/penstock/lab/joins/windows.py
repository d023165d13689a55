"""Window joins: how few rows are in skylines, how many probe, and what each strategy costs.

The publication describes the algorithms and measures none of them. Queries: selections that accept
a tuple in one of ten, ranges of the probed side in about 30 groups, windows between a tenth of the
longest and the longest. Rows arrive in the order of time; tuples are newer than all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from time import thread_time

import numpy as np

from penstock.lab.draws import generator
from penstock.lab.joins.workload import DOMAIN, around, lengths, selections
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized
from penstock.lab.timing import alternate, say
from penstock.operators.join.window import STRATEGIES, TimedRows, WindowCore
from penstock.vocabulary.batches import Ints

QUERIES = sized(500, 5_000, 50_000)
ROWS = sized((100, 1_000), (100, 1_000, 10_000), (100, 1_000, 10_000, 100_000))
TUPLES = sized(20, 100, 200)
ROUNDS = sized(1, 2, 3)
LEAD_MIN = sized(2, 5, 10)
WORST_MAX = sized(5, 3, 2)
PROBES = 20_000
"""About so many probes does "join" make per measurement: this sets its tuples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsMeasured:
    """One number of rows: skyline rows, probes and seconds per tuple by strategy."""

    rows: int
    skyline: int
    probes: dict[str, float]
    cost: dict[str, float]
    affected: float
    differing: int


def queries(count: int, longest: int, seed: int = 1) -> tuple[Ints, ...]:
    """Draw standing window joins: slots, both ranges, windows."""
    rng = generator(seed)
    al, ah = selections(rng, count, 0.1)
    cl, ch = around(rng.integers(0, DOMAIN + 1, count), lengths(rng, 400, 30, count))
    return np.arange(count), al, ah, cl, ch, rng.integers(longest // 10, longest, count)


def stream(count: int, seed: int = 2) -> TimedRows:
    """Rows of one key, one per unit of time."""
    rng = generator(seed)
    rows = TimedRows()
    rows.change(
        np.zeros(count, dtype=np.int32), rng.integers(0, DOMAIN + 1, count), np.arange(count),
        np.arange(count, dtype=np.int32), np.ones(count, dtype=np.bool_),
    )  # fmt: skip
    return rows


def measure(size: Size, count: int) -> WindowsMeasured:
    """Measure all strategies on one number of rows, in windows that hold all of them."""
    rows, asked = stream(count), queries(QUERIES[size], 10 * count)
    a = generator(3).integers(0, DOMAIN + 1, TUPLES[size])
    runs: dict[str, Callable[[], int]] = {}
    tuples, probes = {}, {}
    found: list[set[object]] = []
    skyline = 0
    for name in STRATEGIES:
        core = WindowCore(name, threads=1)
        core.add(*asked)
        some = a[: max(3, PROBES // count)] if name == "join" else a
        runs[name] = _finding(core, some, count, rows)
        places, slots = core.identify(a[:3], *_same(3, count), rows)
        found.append(set(zip(places.tolist(), slots.tolist(), strict=True)))
        tuples[name], probes[name] = len(some), core.counts().get("probes", 0) / 3
        if name == "ssi":
            skyline = core.strategies[name].skylines.size
    affected = runs["selection"]() / tuples["selection"]
    best = alternate(runs, ROUNDS[size], thread_time)
    return WindowsMeasured(
        rows=count,
        skyline=skyline,
        probes=probes,
        cost={name: best[name] / tuples[name] for name in STRATEGIES},
        affected=affected,
        differing=len(set.union(*found) - set.intersection(*found)),
    )


def _same(tuples: int, moment: int) -> tuple[Ints, Ints]:
    return np.zeros(tuples, dtype=np.int64), np.full(tuples, moment, dtype=np.int64)


def _finding(core: WindowCore, a: Ints, moment: int, rows: TimedRows) -> Callable[[], int]:
    codes, moments = _same(len(a), moment)
    return lambda: sum(len(places) for places, _ in core.pieces(a, codes, moments, rows))


def run(size: Size) -> Findings:
    """Run the experiment; ratios are judged at every size, by bounds that hold there."""
    found = []
    for count in ROWS[size]:
        say(f"window joins: {count:,} rows of a key")
        found.append(measure(size, count))
    yield Table(
        "window joins: rows of a key, and those that probe",
        ("rows", "skyline", "skyline_share", "join probes", "ssi probes"),
        [
            (one.rows, one.skyline, one.skyline / one.rows, one.probes["join"], one.probes["ssi"])
            for one in found
        ],
    )
    yield (
        speed := Table(
            "window joins: tuples per second with output, one thread",
            ("rows", "affected_per_tuple", *STRATEGIES),
            [
                (one.rows, one.affected, *(1 / one.cost[name] for name in STRATEGIES))
                for one in found
            ],
        )
    )
    title, x_label = "Window joins: throughput by rows of a key", "rows of the key"
    yield speed.chart(title, "tuples per second", *STRATEGIES, x_label=x_label, log="xy")
    yield from _exact(found)
    yield from _judge(found, size)
    yield (
        "The publication describes window joins and measures none. On this workload skylines "
        f"reach {found[-1].cost['selection'] / found[-1].cost['ssi']:.2f} times the rate of "
        f"selection first at {found[-1].rows:,} rows of a key."
    )


def _exact(found: list[WindowsMeasured]) -> Findings:
    wrong = sum(abs(o.probes["join"] - o.rows) + abs(o.probes["ssi"] - o.skyline) for o in found)
    yield at_most("pairs that a strategy finds differently", sum(o.differing for o in found), 0)
    yield at_most("probes beyond the rows (join) and the skyline (ssi)", wrong, 0)


def _judge(found: list[WindowsMeasured], size: Size) -> Findings:
    shares = [one.skyline / one.rows for one in found]
    falls = min(before / after for before, after in pairwise(shares))
    worst = max(one.cost["dynamic"] / min(one.cost.values()) for one in found)
    yield at_least("skyline share: fall per ten times the rows", falls, 1.5)
    yield at_least(
        f"ssi over join at {found[-1].rows:,} rows",
        found[-1].cost["join"] / found[-1].cost["ssi"],
        LEAD_MIN[size],
        timed=True,
    )
    yield at_most("dynamic over the best strategy, at worst", worst, WORST_MAX[size], timed=True)
