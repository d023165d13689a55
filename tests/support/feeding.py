"""Runs of a three-way join, batch by batch, of which a watcher is told."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.shared_figures import ACTUAL_COST
from tests.support.desk_runs import DeskRun

SCHEMA = pa.schema(
    [("x", pa.int64()), ("y", pa.int64()), ("v", pa.int64()), ("ts", pa.timestamp("us", "UTC"))]
)
TABLE = pa.schema([("y", pa.int64()), ("w", pa.int64()), ("op", pa.string())])
CHAIN = """
    SELECT a.v AS a, b.v AS b, c.v AS c FROM a [ROWS 10], b [ROWS 10], c [ROWS 10]
    WHERE a.x = b.x AND b.y = c.y
"""
RATES = {"a": 20.0, "b": 30.0, "c": 50.0}


def stream(name: str, rate: float | None, **distinct: int) -> Relation:
    return Relation(
        name=name,
        kind="stream",
        schema=SCHEMA,
        event_time="ts",
        lateness_us=0,
        rate=rate,
        distinct=distinct,
    )


def relations(a: float | None = 10, b: float | None = 20, c: float | None = 70) -> list[Relation]:
    table = Relation(name="t", kind="table", schema=TABLE, change_column="op", size=50)
    return [
        stream("a", a, x=2),
        stream("b", b, x=2, y=5),
        stream("c", c, y=5),
        table,
    ]


class Feeding:
    """Batches of drawn rows at given rates, each followed by a report to a watcher.

    Where `spent_s` is set, batches are reported to have taken so much time, whatever they took; it
    may depend on the batch's figures. With `follows`, every row of b has the key of one of the last
    five rows of a, each of which has a key of its own.
    """

    spent_s: float | Callable[[FigureTable], float] | None = None
    busy_s: float | None = None
    """What the host is reported to have taken for a batch, where not so long as its rows came."""

    def __init__(self, run: DeskRun, seed: int = 7, *, follows: bool = False) -> None:
        self._run = run
        self._chance = np.random.default_rng(seed)
        self._second = 0.0
        self._follows, self._before = follows, np.arange(5.0)
        self.watcher = run.desk.watcher
        self.watcher.clock_s = lambda: self._second

    def batch(self, seconds: float, rates: dict[str, float]) -> None:
        tables = {}
        for name, rate in rates.items():
            count = int(rate * seconds)
            times = np.sort(self._chance.random(count)) * seconds + self._second
            keys = self._chance.integers(0, 4, count)
            if self._follows and name == "a":
                keys = len(self._before) + np.arange(count)
                self._before = np.append(self._before, times)
            elif self._follows:
                newest = np.searchsorted(self._before[5:], times) + 5
                keys = newest - self._chance.integers(1, 6, count)
            columns = [
                pa.array(keys),
                pa.array(self._chance.integers(0, 5, count)),
                pa.array(self._chance.integers(0, 10, count)),
                pa.array((times * 1e6).astype(np.int64)).cast(SCHEMA.types[3]),
            ]
            tables[name] = pa.Table.from_arrays(columns, schema=SCHEMA)
        self._second += seconds
        self._run.batch(**tables)
        number = self._run.batches - 1
        logged = self._run.desk.log.read(number)
        assert logged is not None
        figures = self._run.figures
        if self.spent_s is not None:
            spent = [tally for tally in figures.values() if ACTUAL_COST in tally]
            assert spent
            took_s = self.spent_s(figures) if callable(self.spent_s) else self.spent_s
            for tally in spent:
                tally[ACTUAL_COST] = round(took_s * 1e9)
        self.watcher.take(
            BatchReport(
                batch=number,
                version=logged.version,
                rows_in=logged.rows_in,
                matches=logged.matches,
                seconds=seconds if self.busy_s is None else self.busy_s,
                figures=figures,
                logged=logged,
            )
        )
