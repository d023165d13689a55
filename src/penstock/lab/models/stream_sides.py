"""Sides of the experiments with shared model streams: shapes in a shard, and what they take.

Prices of many symbols swing slowly. A side is all shapes with sources of their own, with one that
they share, or with gates that are planned by what was counted, as an engine plans them.
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
from penstock.kinds.model_query.gate_cycle import StreamSeen
from penstock.kinds.model_query.gate_plans import is_worth, plan_gates
from penstock.kinds.model_query.streams import stream_of
from penstock.models.streams import first_condition
from penstock.operators.catalogue import OPERATORS
from penstock.operators.shard import Shard
from penstock.vocabulary.batches import QueryChanges, Results, VersionChanges

SYMBOLS = 200
BATCH_US = 10_000_000
FIRST_PLAN = 1 << 40
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


def rows_of(batch: int, rows: int, chance: np.random.Generator, mean: float = 100.0) -> pa.Table:
    """Draw prices that swing slowly about a mean, each symbol in its own time."""
    at = batch * BATCH_US + np.sort(chance.integers(0, BATCH_US, rows))
    symbol = chance.integers(0, SYMBOLS, rows)
    phase = at / 4e7 + symbol
    return pa.table(
        {
            "symbol": pa.array(np.char.add("s", symbol.astype(str))),
            "price": mean + 8 * np.sin(phase) + chance.normal(0, 0.1, rows),
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
    found: list[tuple[str, Results]] = field(default_factory=list)
    """What the last batch told."""

    def process(self, batch: dict[str, pa.Table]) -> None:
        """Run a batch, and write what changed."""
        started = thread_time()
        self.found = self.shard.process(batch)
        self.shard.deltas()
        self.spent_s.append(thread_time() - started)

    def told(self) -> Counter[Any]:
        """Give what the last batch told, by query and content."""
        counted: Counter[Any] = Counter()
        for _, own in self.found:
            assert own.rows is not None
            rows = [repr(row) for row in own.rows.to_pylist()]
            pairs = zip(own.query.tolist(), own.event.tolist(), strict=True)
            counted.update((query, rows[event]) for query, event in pairs)
        return counted


def differing(one: SharingSide, other: SharingSide) -> int:
    """Count what the last batch told one side and not the other."""
    mine, theirs = one.told(), other.told()
    return ((mine - theirs) + (theirs - mine)).total()


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


@dataclass
class SideGates:
    """The gates of a side's stream: what was seen of them, and the plan in force."""

    side: SharingSide
    seen: StreamSeen = field(default_factory=StreamSeen)
    plan: StreamPlan = field(default_factory=StreamPlan)
    plans: int = 0
    """How many plans were put in force."""

    @property
    def stream(self) -> str:
        """The group of the stream."""
        (found,) = {own for own in self.side.steps if own.startswith("model_stream")}
        return found

    def note(self) -> None:
        """Count the last batch."""
        figures = self.side.shard.figures()
        self.seen.told = figures[self.stream]
        self.seen.note(self.seen.told, {own: figures[own] for own in self.side.steps})

    def look(self) -> float:
        """Plan by what was counted, and follow what saves enough; give what planning took."""
        started = thread_time()
        shard, steps = self.side.shard, self.side.steps
        asked = {
            group: condition
            for group in shard.readers(self.stream)
            if (condition := first_condition(steps[group])) is not None
        }
        self.seen.counts = self.seen.counted(self.plan)
        found = plan_gates(asked, steps[self.stream].source, self.seen.counts, self.plan)
        spent_s = thread_time() - started
        self.seen.begin()
        if is_worth(found, self.plan):
            self._put(found.plan)
        return spent_s

    def _put(self, plan: StreamPlan) -> None:
        number = FIRST_PLAN + self.plans
        entry = pa.table({"query": pa.array([number]), "plan": [json.dumps(plan.to_json())]})
        operator = self.side.shard.operator(self.stream)
        assert operator is not None
        drops = np.array([number - 1], np.int64)
        operator.apply(QueryChanges(adds={PLAN_PORT: entry}, drops=drops))
        self.plan, self.plans = plan, self.plans + 1
