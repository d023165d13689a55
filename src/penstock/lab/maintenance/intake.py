"""Intake: how many changes of base tables a second a view takes in through Spark, embedded.

Changes come in files, one of each table per batch, after a first one that fills the tables. They
are taken in, kept, queued, and flushed by the schedule; the view is compared with DuckDB's answer.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine import Engine
from penstock.lab.draws import generator
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized, timed
from penstock.lab.timing import say
from penstock.operators.view.figures import FLUSHES, REHEARSAL
from penstock.spark.sessions import local_session
from penstock.vocabulary.batches import Ints

QUERY = (
    "SELECT s.nation, min(o.cost) AS low, count(*) AS offers FROM offers o JOIN suppliers s "
    "ON o.supplier = s.supplier GROUP BY s.nation"
)
NATIONS = 25
RATE_MIN = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeEffort:
    """Offers and suppliers that stand, changes of offers in a batch, and batches."""

    offers: int
    suppliers: int
    changes: int
    batches: int


EFFORTS = sized(
    IntakeEffort(offers=2_000, suppliers=50, changes=1_000, batches=3),
    IntakeEffort(offers=80_000, suppliers=1_000, changes=100_000, batches=6),
    IntakeEffort(offers=800_000, suppliers=10_000, changes=200_000, batches=12),
)


class DrawnTables:
    """Offers and suppliers as they stand, and files of what changes in them."""

    def __init__(self, effort: IntakeEffort, root: Path) -> None:
        self._effort, self._root = effort, root
        self._chance = generator(41)
        self.supplier = self._chance.integers(0, effort.suppliers, effort.offers)
        self.cost = self._chance.integers(100, 100_000, effort.offers)
        self.nation = self._chance.integers(0, NATIONS, effort.suppliers)
        self._batch = 0

    def write(self) -> None:
        """Write the file that fills the tables, and those of every batch."""
        effort, chance = self._effort, self._chance
        everything = [np.arange(effort.offers), np.arange(effort.suppliers)]
        self._files(self._offers(everything[0], "insert"), self._suppliers(everything[1], "insert"))
        for _ in range(effort.batches):
            offers = chance.choice(effort.offers, min(effort.changes // 2, effort.offers), False)
            suppliers = chance.choice(effort.suppliers, max(effort.suppliers // 100, 1), False)
            before = self._offers(offers, "delete"), self._suppliers(suppliers, "delete")
            self.cost[offers] = chance.integers(100, 100_000, len(offers))
            self.nation[suppliers] = chance.integers(0, NATIONS, len(suppliers))
            after = self._offers(offers, "insert"), self._suppliers(suppliers, "insert")
            self._files(*(pa.concat_tables(own) for own in zip(before, after, strict=True)))

    def answer(self) -> list[tuple[int, int, int]]:
        """Ask DuckDB over what stands in the end."""
        with duckdb.connect(":memory:") as db:
            db.register("offers", pa.table({"supplier": self.supplier, "cost": self.cost}))
            db.register(
                "suppliers",
                pa.table({"supplier": np.arange(len(self.nation)), "nation": self.nation}),
            )
            return sorted(db.sql(QUERY).fetchall())

    def _offers(self, rows: Ints, word: str) -> pa.Table:
        return pa.table(
            {
                "id": rows, "supplier": self.supplier[rows], "cost": self.cost[rows].copy(),
                "op": pa.array([word] * len(rows)),
            }
        )  # fmt: skip

    def _suppliers(self, rows: Ints, word: str) -> pa.Table:
        nations = self.nation[rows].copy()
        return pa.table({"supplier": rows, "nation": nations, "op": pa.array([word] * len(rows))})

    def _files(self, *tables: pa.Table) -> None:
        for name, table in zip(("offers", "suppliers"), tables, strict=True):
            path = self._root / name / f"part-{self._batch:03d}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, path)
            # Spark takes files in the order of their times.
            os.utime(path, (1_700_000_000 + self._batch, 1_700_000_000 + self._batch))
        self._batch += 1


def run(size: Size) -> Findings:
    """Take all files in, and say how fast."""
    effort = EFFORTS[size]
    with tempfile.TemporaryDirectory(prefix="penstock-lab-") as root:
        tables = DrawnTables(effort, Path(root))
        tables.write()
        say("view-intake: through Spark, embedded")
        with Engine(Path(root) / "home", spark=local_session()) as engine:
            for name in ("offers", "suppliers"):
                engine.table(
                    name, f"parquet:{Path(root) / name}", changes="op", maxFilesPerTrigger=1
                )
            engine.sql(f"CREATE VIEW lowest REFRESH WITHIN 5 SECONDS AS {QUERY}")
            engine.run_available()
            told, seconds = engine.figures().told, engine.figures().batch_seconds
            reports = [each for each in engine.runner.reports if each.rows_in][1:]
            rows = engine.view("lowest").read(fresh=True)
        rates = [each.rows_in / seconds[each.batch] for each in reports]
        plain = [each.figures.total(REHEARSAL) == 0 for each in reports]
        steady = [rate for rate, own in zip(rates, plain, strict=True) if own] or rates
        yield Table(
            "Batches",
            ("batch", "changes", "seconds", "changes_per_s", "rehearsed"),
            [
                (each.batch, each.rows_in, seconds[each.batch], rate, not own)
                for each, rate, own in zip(reports, rates, plain, strict=True)
            ],
        )
        yield {"flushes": told.whole().total(FLUSHES), "changes_per_s": median(steady)}
        found = sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True))
        wrong = len(set(found) ^ set(tables.answer()))
        yield at_most("Rows of the view that DuckDB has not, or the other way round", wrong, 0)
        if size != "tiny":
            yield from timed(
                at_least("Changes taken in per second, median", median(steady), RATE_MIN)
            )
