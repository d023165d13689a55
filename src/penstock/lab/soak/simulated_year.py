"""A simulated year: batches and registrations by a fast clock, on the code that keeps a home.

Registry, state, result log, retention, volumes, folds, suspensions, cursors and statistics are the
engine's own; what Spark writes is written by a stand-in that plans and forgets as Spark does. Rows
of every batch come from two streams and a table. Some subscriptions of every kind and a view stand
all the year; others come and go, of known shapes and of shapes of their own, and some are
suspended meanwhile.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Self

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.delivery.retention import UpkeepPace
from penstock.engine import Desk
from penstock.engine.registration import draft_declaration
from penstock.engine.upkeep import Upkeep
from penstock.lab.crash_points.planned_batches import PlannedBatches
from penstock.lab.draws import generator
from penstock.lab.report import Cell
from penstock.lab.soak.samples import IN_YARDSTICKS, MB, resident_mb, sizes_of
from penstock.lab.soak.yardstick import Yardstick
from penstock.registry.records import Declaration, Source
from penstock.spark.embedded import EmbeddedHost
from penstock.spark.hosts import BatchReport, Pipeline
from penstock.spark.layout import Layout
from penstock.spark.sessions import BATCHES_TO_RETAIN

YEAR_S = 365 * 86_400.0
BEGIN_S = 1_700_000_000.0
KEPT = "90 days"
ROWS = 20
SYMBOLS = 12
RETAINED = BATCHES_TO_RETAIN
STANDING = 8
"""So many subscriptions come and go; each batch brings one and ends the oldest."""
SAVED_EVERY, UPKEEP_EVERY, YARDSTICK_EVERY = 10, 8, 4

TRADES = pa.schema(
    [("ts", pa.timestamp("us")), ("symbol", pa.string()), ("price", pa.float64()),
     ("size", pa.int64())]
)  # fmt: skip
ORDERS = pa.schema(
    [("id", pa.int64()), ("symbol", pa.string()), ("size", pa.int64()), ("op", pa.string())]
)
RELATIONS = (
    Relation(name="trades", kind="stream", schema=TRADES, event_time="ts"),
    Relation(name="quotes", kind="stream", schema=TRADES, event_time="ts"),
    Relation(name="orders", kind="table", schema=ORDERS, change_column="op", key=("id",)),
)
LASTING = {
    "cheap": "SELECT symbol, price FROM trades WHERE price < 20",
    "pairs": "SELECT t.symbol, q.price FROM trades t JOIN quotes q ON t.symbol = q.symbol "
    "WITHIN 1 SECONDS",
    "kept": "SELECT t.symbol, q.price FROM trades t JOIN quotes q ON t.symbol = q.symbol "
    "WITHIN 1 MINUTE MEMORY 50 ROWS",
    "large": "SELECT id, symbol FROM orders WHERE size > 5",
    "most": "SELECT max(size) AS most, count(*) AS n FROM orders WHERE size BETWEEN 2 AND 9",
    "curves": "SELECT symbol, starts, price FROM trades MODEL price KEY symbol ERROR WITHIN 5",
}
VIEWS = {
    "totals": "SELECT symbol, count(*) AS n, sum(size) AS total FROM orders GROUP BY symbol",
}
VIEW_OPTIONS = {"refresh": "1 minute", "policy": "immediate"}
COMING = (
    "SELECT symbol, price FROM trades WHERE price BETWEEN {0} AND {0} + 2",
    "SELECT price FROM trades WHERE symbol = 'S{0}' AND size * {0} > price + {1}",
    "SELECT id FROM orders WHERE size = {0}",
    "SELECT t.price, q.price AS ask FROM trades t JOIN quotes q ON t.symbol = q.symbol "
    "WITHIN 2 SECONDS WHERE t.price < {0} AND q.price * t.price > {1}",
    "SELECT x.symbol FROM trades x [RANGE 1 SECONDS], quotes y [ROWS 2] "
    "WHERE x.symbol = y.symbol AND y.size > {0} AND x.size + y.size <> {1}",
    "SELECT sum(size) AS total FROM orders WHERE id BETWEEN {0} AND {0} + 20 AND size <> {1}",
    "SELECT symbol, starts, ends FROM trades MODEL price KEY symbol "
    "WHERE price > {0} AND price < 50 + {1} ERROR WITHIN 5",
    "SELECT symbol, n FROM totals WHERE n > {0}",
)
"""With a number of a few values, and one of its own that makes a shape of its own."""
OF_ITS_OWN = 1
"""Among them, a filter of a shape of its own."""


class YearHome:
    """A home in which every batch is so many seconds of a year."""

    def __init__(self, home: Path, batches: int, pace: UpkeepPace | None = None) -> None:
        self._step_s, self.batches = YEAR_S / batches, batches
        self.now_s = BEGIN_S
        self._home = home
        self._desk = Desk(home, record=False)
        self._desk.keep(KEPT)
        for relation in RELATIONS:
            declaration = Declaration(relation=relation, source=Source(name="parquet:in"))
            self._desk.registry.publish(draft_declaration(declaration))
        desk = self._desk
        self._upkeep = Upkeep(
            desk.home, desk.registry, desk.readers, desk.watcher, desk.left_out,
            lambda: self.now_s, pace,
        )  # fmt: skip
        self._coming: deque[str] = deque()
        self._spent_s: dict[str, float] = dict.fromkeys(("batch", "registration", "upkeep"), 0.0)
        self._yardstick = Yardstick()
        self._registered = self._since = self.matches = 0
        for name, sql in VIEWS.items():
            self._desk.subscribe(sql, name=name, options={"view": name, **VIEW_OPTIONS})
        for name, sql in LASTING.items():
            self._desk.subscribe(sql, name=name)
        self._plans, self._host = self._started()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._host.close()
        self._desk.close()
        self._yardstick.close()

    def live(self, samples: int) -> Iterator[Mapping[str, Cell]]:
        """Live through the year; now and then say how large everything is."""
        every = max(self.batches // samples, 1)
        for batch in range(self.batches):
            self.now_s += self._step_s
            with self._timed("registration"):
                self._register(batch)
            planned = self._plans.plan(batch)
            with self._timed("batch"):
                self._host.run(batch, planned.tables, planned.version)
            self._plans.commit(batch)
            if batch % YARDSTICK_EVERY == 0:
                self._yardstick.lay_on()
            if batch % UPKEEP_EVERY == 0:
                with self._timed("upkeep"):
                    self._upkeep.once()
            if (batch + 1) % every == 0:
                yield self._sample(batch + 1)

    @property
    def found(self) -> list[str]:
        """The subscriptions of the whole year that were told something."""
        names = [*LASTING, *VIEWS]
        return [name for name in names if self._desk.subscription(name).read().num_rows]

    def _started(self) -> tuple[PlannedBatches, EmbeddedHost]:
        desk = self._desk
        desk.home.settle(host="embedded", shards=1)
        desk.registry.keep_announcements()
        names = tuple(relation.name for relation in RELATIONS)
        pipeline = Pipeline(
            engine=desk.home.engine,
            home=desk.home.path,
            layout=Layout(names, tuple(relation.recorded for relation in RELATIONS)),
            record=False,
        )
        desk.watcher.begin(once=False, shards=1)
        clock = lambda: self.now_s  # noqa: E731 — read when it is asked
        files = lru_cache(4)(self._rows)
        plans = PlannedBatches(
            pipeline.checkpoint, desk.registry.announcements, files, names, RETAINED, clock
        )
        return plans, EmbeddedHost(pipeline, self._ran, clock=clock)

    def _ran(self, report: BatchReport) -> None:
        """Do what an engine does after a batch; a consumer takes what was found."""
        desk = self._desk
        self.matches += report.matches
        desk.left_out.take(report)
        desk.suspended.tell(report.suspended)
        desk.watcher.take(report)
        cursors = desk.readers.sinks.cursors
        for name in [*LASTING, *self._coming]:
            cursors.set(f"{name}.consumer", f"{report.batch + 1}:0")
        if report.batch % SAVED_EVERY == 0:
            cursors.write()

    def _register(self, batch: int) -> None:
        """Let one subscription come and the oldest go; suspend some, and resume some of these."""
        desk, name = self._desk, f"s{batch}"
        sql = COMING[batch % len(COMING)].format(batch % SYMBOLS, batch)
        desk.subscribe(sql, name=name)
        self._coming.append(name)
        if batch % len(COMING) == OF_ITS_OWN:
            desk.suspended.suspend(desk.subscription(name).group, "[LAB-000] It is suspended.")
            if batch % 2:
                desk.resume(name)
        if len(self._coming) > STANDING:
            desk.drop(self._coming.popleft())
        self._registered += 1

    def _rows(self, batch: int) -> Mapping[str, pa.Table]:
        """Draw what comes in a batch."""
        chance = generator(19, batch)
        first_us = int((BEGIN_S + batch * self._step_s) * 1e6)
        found = {name: traded(chance, first_us, ROWS, 5_000_000) for name in ("trades", "quotes")}
        return {**found, "orders": ordered(chance, ROWS)}

    def _sample(self, batches: int) -> Mapping[str, Cell]:
        sizes = sizes_of(self._home)
        count = batches - self._since
        spent = {f"{name} ms": 1e3 * own / count for name, own in self._spent_s.items()}
        self._since, self._spent_s = batches, dict.fromkeys(self._spent_s, 0.0)
        length_ms = 1e3 * self._yardstick.length_s()
        return {
            "day": round((self.now_s - BEGIN_S) / 86_400, 1),
            "batches": batches,
            "resident MB": resident_mb([os.getpid()]),
            "files": sizes.pop("files"),
            "home MB": sizes.pop("bytes") / MB,
            **{f"{part} MB": size / MB for part, size in sizes.items()},
            **spent,
            "yardstick ms": length_ms,
            IN_YARDSTICKS: spent["batch ms"] / length_ms,
        }

    def _timed(self, name: str) -> _Timed:
        return _Timed(self._spent_s, name)


class _Timed:
    """Adds up processor time of this process."""

    def __init__(self, spent_s: dict[str, float], name: str) -> None:
        self._spent_s, self._name = spent_s, name

    def __enter__(self) -> None:
        self._began_s = process_time()

    def __exit__(self, *_error: object) -> None:
        self._spent_s[self._name] += process_time() - self._began_s


def _symbols(chance: np.random.Generator, rows: int) -> list[str]:
    return [f"S{number}" for number in chance.integers(0, SYMBOLS, rows)]


def traded(chance: np.random.Generator, first_us: int, rows: int, span_us: int) -> pa.Table:
    """Draw rows of a stream whose event times lie in a span."""
    moments = np.sort(first_us + chance.integers(0, span_us, rows))
    columns = {
        "ts": moments.astype("datetime64[us]"),
        "symbol": _symbols(chance, rows),
        "price": chance.uniform(1, 100, rows),
        "size": chance.integers(0, SYMBOLS, rows),
    }
    return pa.table(columns, schema=TRADES)


def ordered(chance: np.random.Generator, rows: int) -> pa.Table:
    """Draw changes of a table that stays small."""
    columns = {
        "id": chance.integers(0, 100, rows),
        "symbol": _symbols(chance, rows),
        "size": chance.integers(0, SYMBOLS, rows),
        "op": chance.choice(["insert", "delete"], rows),
    }
    return pa.table(columns, schema=ORDERS)
