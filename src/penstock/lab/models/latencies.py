"""Latency: how long answers are behind their rows at one steady rate, as the bound grows tighter.

The query is that of `model-macd`. Rows come in batches at a rate that takes a good part of a core
where the bound is 1 %. What each batch costs is measured, and from that it is reckoned when each
would be done, one behind the other: a queue with one server, without the clock of this machine.
"""

from __future__ import annotations

from itertools import pairwise
from time import thread_time

import numpy as np

from penstock.lab.draws import generator
from penstock.lab.models.queries import QueryRun, macd
from penstock.lab.models.sources import tick_rows
from penstock.lab.models.workload import SECOND, regular_ticks
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized
from penstock.lab.timing import say
from penstock.models.sources import SourceRows
from penstock.models.tolerances import SourceTolerances
from penstock.vocabulary.batches import Floats

SHARES = (0.001, 0.002, 0.003, 0.005, 0.01, 0.02)
USUAL = 0.01
ROWS = sized(4_000, 200_000, 1_000_000)
SYMBOLS = sized(5, 50, 200)
BATCH = sized(500, 1_000, 2_000)
ROUNDS = sized(1, 3, 3)
LOAD = 0.45
"""The share of a core that rows take under the usual bound: that of the published experiment."""
PERIOD_US = SECOND // 10


def run(size: Size) -> Findings:
    """Measure every batch under every bound; reckon how long each is behind."""
    rows = tick_rows(regular_ticks(generator(86), SYMBOLS[size], ROWS[size], PERIOD_US))
    taken = {}
    for share in SHARES:
        say(f"model-latency: bound {share:.1%}, {len(rows):,} rows")
        taken[share] = _taken(rows, share, BATCH[size], ROUNDS[size])
    pause = float(taken[USUAL][0].mean()) / LOAD
    found = []
    for share in SHARES:
        seconds, violations = taken[share]
        behind = waits(seconds, pause)
        found.append(
            {
                "bound (%)": share * 100, "violations": violations,
                "share of a core": float(seconds.mean()) / pause,
                "latency (ms)": float(behind.mean()) * 1e3,
                "its 99th percentile (ms)": float(np.quantile(behind, 0.99)) * 1e3,
            }
        )  # fmt: skip
    rate = BATCH[size] / pause
    table = Table.of(f"MACD at {rate:,.0f} rows a second, in batches of {BATCH[size]:,}", found)
    yield table
    yield table.chart(
        "Answers behind their rows", "milliseconds", "latency (ms)", "its 99th percentile (ms)",
        log="xy",
    )  # fmt: skip
    counted = [int(each["violations"]) for each in found]
    rising = sum(a < b for a, b in pairwise(counted))
    yield at_most("Bounds that are wider and broken more often", rising, 0)
    if size == "tiny":
        return
    usual = SHARES.index(USUAL)
    latency = [float(each["latency (ms)"]) for each in found]
    yield at_most("Latency at 2 % over that at 1 %", latency[-1] / latency[usual], 1, timed=True)
    yield at_least("Latency at 0.1 % over that at 1 %", latency[0] / latency[usual], 3, timed=True)


def waits(seconds: Floats, pause: float) -> Floats:
    """Say how long after the end of its batch the answers of each are there.

    >>> waits(np.array([1.0, 5.0, 1.0, 1.0]), 2.0).tolist()
    [1.0, 5.0, 4.0, 3.0]
    """
    found = np.empty(len(seconds))
    done = 0.0
    for number, own in enumerate(seconds.tolist()):
        came = number * pause
        done = max(done, came) + own
        found[number] = done - came
    return found


def _taken(rows: SourceRows, share: float, batch: int, rounds: int) -> tuple[Floats, int]:
    """Give the least processor seconds that every batch took, and how many rows were off."""
    best = np.full(-(-len(rows) // batch), np.inf)
    violations = 0
    for _ in range(rounds):
        ran = QueryRun(macd(), SourceTolerances.relative(share / 2))
        for number in range(len(best)):
            own = rows.take(slice(number * batch, (number + 1) * batch))
            started = thread_time()
            ran.take([own])
            best[number] = min(best[number], thread_time() - started)
        violations = int(ran.sources[0].counts["violations"])
    return best, violations
