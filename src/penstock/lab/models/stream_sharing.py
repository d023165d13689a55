"""Sharing: what standing model queries of many shapes cost over one stream.

Every shape alone holds all rows against models of its own. Together they read one model stream, and
behind its gates only those segments that may concern them. Most shapes wait for what seldom comes;
one in twenty keeps a moving average. All sides see the same batches, one after the other.
"""

from __future__ import annotations

from time import thread_time
from typing import Any

import numpy as np

from penstock.kinds.model_query.gate_cycle import PERIOD_MAX
from penstock.lab.draws import generator
from penstock.lab.models.gate_costs import gate_costs
from penstock.lab.models.stream_sides import SYMBOLS, SideGates, differing, rows_of, side, texts
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized
from penstock.lab.timing import say
from penstock.models.shapes import source_shape
from penstock.models.source_histograms import SourceHistograms
from penstock.operators.model_query.stream_operator import ModelStreamOperator

SHAPES = sized((20,), (100, 400), (100, 1_000))
ROWS = sized(1_000, 20_000, 50_000)
BATCHES = sized(2, 4, 6)


def run(size: Size) -> Findings:
    """Run all shapes alone, with one source, and with gates, over the same batches."""
    rows: list[tuple[Any, ...]] = []
    differs, shares, ratio = 0, 0.0, 0.0
    for number in SHAPES[size]:
        chance = generator(number)
        written = texts(number, chance)
        alone = side("alone", written, shared=False)
        source, gated = (side(name, written, shared=True) for name in ("one source", "gates"))
        gates, planned_s = SideGates(gated), 0.0
        for batch in range(BATCHES[size] + 2):
            say(f"model-sharing: {number:,} shapes, batch {batch}")
            drawn = {"ticks": rows_of(batch, ROWS[size], chance)}
            for own in (alone, source, gated):
                own.process(drawn)
            differs += differing(source, gated)
            if batch == 1:
                gates.note()
                planned_s = gates.look()
        best = {own.name: float(np.median(own.spent_s[2:])) for own in (alone, source, gated)}
        # The first looks come after 8, 16, 32, … batches; later ones are as far apart as may be.
        looks = int(np.log2(PERIOD_MAX / 8))
        shares = max(shares, looks * planned_s / (PERIOD_MAX * best["gates"]))
        ratio = best["alone"] / best["gates"]
        rows.append(
            (
                number, *(1e3 * best[own] for own in ("alone", "one source", "gates")),
                best["alone"] / best["one source"], ratio, 1e3 * planned_s, len(gates.plan.gates),
            )
        )  # fmt: skip
    yield Table(
        f"{ROWS[size]:,} rows of {SYMBOLS} symbols a batch, milliseconds of processor time",
        ("shapes", "alone", "one source", "gates", "times, source", "times, gates", "planning",
         "gates planned"),
        rows,
    )  # fmt: skip
    yield at_most("Answers that gates change", differs, 0)
    yield from gate_costs(size)
    yield from _upkeep(size)
    if size != "tiny":
        yield at_least("All shapes alone over shared", ratio, 5, timed=True)
        yield at_most("Share of planning in the first thousand batches", shares, 0.01, timed=True)


def _upkeep(size: Size) -> Findings:
    """Say what share of a run with one filter it takes to keep its stream's histograms."""
    chance = generator(7)
    one = side("one filter", texts(2, chance)[1:], shared=True)
    gates = SideGates(one)
    stream = one.shard.operator(gates.stream)
    assert isinstance(stream, ModelStreamOperator)
    histograms = SourceHistograms(source_shape(one.steps[gates.stream].source).degrees)
    kept_s, changes = 0.0, 0
    batches = 10 * BATCHES[size]
    for batch in range(batches):
        one.process({"ticks": rows_of(batch, ROWS[size], chance)})
        made = stream.changed(net=False, reader="")
        changes += len(made)
        started = thread_time()
        histograms.count(made)
        kept_s += thread_time() - started
    share = kept_s / sum(one.spent_s)
    rows = [(batches, batches * ROWS[size], changes, 1e3 * sum(one.spent_s), 1e3 * kept_s, share)]
    yield Table(
        "One filter over one stream, milliseconds of processor time",
        ("batches", "rows", "changes of segments", "run", "histograms", "share"),
        rows,
    )
    if size != "tiny":
        yield at_most("Keeping histograms, of a run with one filter", share, 0.05, timed=True)
