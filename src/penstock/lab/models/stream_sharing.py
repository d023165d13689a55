"""Sharing: what standing model queries of many shapes cost over one stream.

Every shape alone holds all rows against models of its own. Together they read one model stream, and
behind its gates only those segments that may concern them. Most shapes wait for what seldom comes;
one in twenty keeps a moving average. All sides see the same batches, one after the other.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from time import thread_time
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.algebra.model_streams import StreamPlan
from penstock.algebra.physical import PLAN_PORT, signature
from penstock.kinds.binder import bind
from penstock.kinds.model_query.gate_cycle import PERIOD_MAX, StreamSeen
from penstock.kinds.model_query.gate_plans import plan_gates
from penstock.kinds.model_query.streams import stream_of
from penstock.lab.draws import generator
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized
from penstock.lab.timing import say
from penstock.models.streams import first_condition
from penstock.operators.catalogue import OPERATORS
from penstock.operators.shard import Shard
from penstock.vocabulary.batches import QueryChanges, Results, VersionChanges

SHAPES = sized((20,), (100, 400), (100, 1_000))
ROWS = sized(1_000, 20_000, 50_000)
BATCHES = sized(2, 4, 6)
SYMBOLS = 200
BATCH_US = 10_000_000
TICKS = Relation(
    name="ticks",
    kind="stream",
    schema=pa.schema(
        [("symbol", pa.string()), ("price", pa.float64()), ("slope", pa.float64()),
         ("ts", pa.timestamp("us"))]
    ),
    event_time="ts",
    lateness_us=0,
)  # fmt: skip
MODEL = "MODEL price = price + slope * t KEY symbol"
TAIL = "ERROR WITHIN price 0.5 HORIZON 60 SECONDS"


def texts(number: int, chance: np.random.Generator) -> list[str]:
    """Write queries of so many shapes: the numbers in them are no parameters."""
    found = []
    for place in range(number):
        high, low = 108 + 8 * chance.random(), 92 - 8 * chance.random()
        where = f"WHERE price > {high:.6f} OR price < {low:.6f}"
        if place % 20 == 0:
            found.append(
                f"SELECT symbol, avg(price) AS mean FROM ticks [SIZE {place + 5} SECONDS ADVANCE "
                f"5 SECONDS] {MODEL} GROUP BY symbol HAVING avg(price) > 1000 {TAIL}"
            )
        elif place % 3 == 0:
            own = f"price * {1 + place / 7:.6f} AS scaled"
            found.append(f"SELECT symbol, {own} FROM ticks {MODEL} {where} {TAIL}")
        else:
            found.append(f"SELECT symbol, price FROM ticks {MODEL} {where} {TAIL}")
    return found


def rows_of(batch: int, rows: int, chance: np.random.Generator) -> pa.Table:
    """Draw prices that swing slowly about 100, each symbol in its own time."""
    at = batch * BATCH_US + np.sort(chance.integers(0, BATCH_US, rows))
    symbol = chance.integers(0, SYMBOLS, rows)
    phase = at / 4e7 + symbol
    return pa.table(
        {
            "symbol": pa.array(np.char.add("s", symbol.astype(str))),
            "price": 100 + 8 * np.sin(phase) + chance.normal(0, 0.1, rows),
            "slope": 0.2 * np.cos(phase),
            "ts": pa.array(at).cast(pa.timestamp("us")),
        },
        schema=TICKS.schema,
    )


@dataclass
class SharingSide:
    """All shapes in a shard, and what it took."""

    name: str
    shard: Shard
    steps: dict[str, Any]
    spent_s: list[float] = field(default_factory=list)
    told: Counter[Any] = field(default_factory=Counter)

    def process(self, batch: dict[str, pa.Table]) -> None:
        """Run a batch, and write what changed."""
        started = thread_time()
        found = self.shard.process(batch)
        self.shard.deltas()
        self.spent_s.append(thread_time() - started)
        for _, own in found:
            self._note(own)

    def _note(self, own: Results) -> None:
        assert own.rows is not None
        rows = [repr(row) for row in own.rows.to_pylist()]
        pairs = zip(own.query.tolist(), own.event.tolist(), strict=True)
        self.told.update((query, rows[event]) for query, event in pairs)


def side(name: str, written: list[str], *, shared: bool) -> SharingSide:
    """Register all texts in a shard, each with one query."""
    steps: dict[str, Any] = {}
    changes: dict[str, QueryChanges] = {}
    for number, sql in enumerate(written):
        logical: Any = bind(sql, {"ticks": TICKS}, None, {})
        step = logical.shape if shared else replace(logical.shape, reads=())
        if shared:
            stream = stream_of(step)
            assert stream is not None
            steps.setdefault(signature(stream), stream)
        entry = OPERATORS[step.kind].register(logical, step, pa.table({"id": [number]}), number)
        steps[signature(step)] = step
        changes[signature(step)] = QueryChanges(adds=entry.adds)
    described = {group: step.to_json() for group, step in steps.items()}
    version = VersionChanges(version=1, steps=described, changes=changes)
    shard = Shard(lambda after, upto: [version] if after < 1 <= upto else [])
    shard.advance(1)
    return SharingSide(name, shard, steps)


def put_gates(own: SharingSide, seen: StreamSeen, stream: str) -> tuple[StreamPlan, float]:
    """Plan gates by what was counted, and put them in force; give the plan and what it took."""
    started = thread_time()
    asked = {
        group: condition
        for group in own.shard.readers(stream)
        if (condition := first_condition(own.steps[group])) is not None
    }
    plan = StreamPlan()
    plan = plan_gates(asked, own.steps[stream].source, seen.counted(plan), plan).plan
    spent_s = thread_time() - started
    entry = pa.table({"query": pa.array([1 << 40]), "plan": [json.dumps(plan.to_json())]})
    operator = own.shard.operator(stream)
    assert operator is not None
    operator.apply(QueryChanges(adds={PLAN_PORT: entry}))
    return plan, spent_s


def run(size: Size) -> Findings:
    """Run all shapes alone, with one source, and with gates, over the same batches."""
    rows: list[tuple[Any, ...]] = []
    differs, shares, ratio = 0, 0.0, 0.0
    for number in SHAPES[size]:
        chance = generator(number)
        written = texts(number, chance)
        alone = side("alone", written, shared=False)
        source, gated = (side(name, written, shared=True) for name in ("one source", "gates"))
        seen, planned_s, plan = StreamSeen(), 0.0, StreamPlan()
        (stream,) = {own for own in gated.steps if own.startswith("model_stream")}
        for batch in range(BATCHES[size] + 2):
            say(f"model-sharing: {number:,} shapes, batch {batch}")
            drawn = {"ticks": rows_of(batch, ROWS[size], chance)}
            for own in (alone, source, gated):
                own.process(drawn)
            if batch == 1:
                figures = gated.shard.figures()
                seen.note(figures[stream], {own: figures[own] for own in gated.steps})
                seen.told = figures[stream]
                plan, planned_s = put_gates(gated, seen, stream)
        best = {own.name: float(np.median(own.spent_s[2:])) for own in (alone, source, gated)}
        differs += sum(((source.told - gated.told) + (gated.told - source.told)).values())
        # The first looks come after 8, 16, 32, … batches; later ones are as far apart as may be.
        looks = int(np.log2(PERIOD_MAX / 8))
        shares = max(shares, looks * planned_s / (PERIOD_MAX * best["gates"]))
        ratio = best["alone"] / best["gates"]
        rows.append(
            (
                number, *(1e3 * best[own] for own in ("alone", "one source", "gates")),
                best["alone"] / best["one source"], ratio, 1e3 * planned_s, len(plan.gates),
            )
        )  # fmt: skip
    yield Table(
        f"{ROWS[size]:,} rows of {SYMBOLS} symbols a batch, milliseconds of processor time",
        ("shapes", "alone", "one source", "gates", "times, source", "times, gates", "planning",
         "gates planned"),
        rows,
    )  # fmt: skip
    yield at_most("Answers that gates change", differs, 0)
    if size != "tiny":
        yield at_least("All shapes alone over shared", ratio, 5, timed=True)
        yield at_most("Share of planning in the first thousand batches", shares, 0.01, timed=True)
