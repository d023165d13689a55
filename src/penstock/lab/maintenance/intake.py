"""Intake: how many changes of base tables a second a view takes in through Spark, embedded.

Changes come in files, one of each table per batch. The first run fills the tables and takes in a
few: its flushes are rehearsed, and Java gets up to speed. The second has the plan that came of it:
changes are taken in, kept, queued, and flushed by the schedule. The view is compared with DuckDB's
answer. On a machine that others use, rates by the processor's time say more than by the clock's.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import process_time

import duckdb
import numpy as np
import pyarrow as pa

from penstock.engine import Engine
from penstock.lab.draws import generator
from penstock.lab.file_streams import put_batch
from penstock.lab.processor_time import family_seconds
from penstock.lab.report import Cell, Findings, Size, Table, at_least, at_most, sized, timed
from penstock.lab.timing import say
from penstock.operators.view.figures import FLUSHED, FLUSHES, PENDING, REHEARSAL
from penstock.spark.hosts import BatchReport
from penstock.spark.sessions import local_session
from penstock.vocabulary.batches import Ints

QUERY = (
    "SELECT s.nation, min(o.cost) AS low, count(*) AS offers FROM offers o JOIN suppliers s "
    "ON o.supplier = s.supplier GROUP BY s.nation"
)
NATIONS = 25
RATE_MIN = 100_000
WARM = 3
"""Batches of the first run, after the one that fills the tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeEffort:
    """Offers and suppliers that stand, changes of offers in a batch, and batches."""

    offers: int
    suppliers: int
    changes: int
    batches: int


EFFORTS = sized(
    IntakeEffort(offers=2_000, suppliers=50, changes=1_000, batches=4),
    IntakeEffort(offers=80_000, suppliers=1_000, changes=100_000, batches=12),
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

    def fill(self) -> None:
        """Write the file that fills the tables."""
        everything = [np.arange(self._effort.offers), np.arange(self._effort.suppliers)]
        self._files(self._offers(everything[0], "insert"), self._suppliers(everything[1], "insert"))

    def change(self, batches: int) -> None:
        """Write the files of some batches."""
        effort, chance = self._effort, self._chance
        for _ in range(batches):
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
            put_batch(self._root / name, self._batch, table)
        self._batch += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBatch:
    """A batch of the second run: how many changes it had, and what it took."""

    report: BatchReport
    seconds: float
    processor_s: float

    @property
    def is_rehearsed(self) -> bool:
        """Whether flushes were rehearsed after it."""
        return self.report.figures.total(REHEARSAL) > 0

    @property
    def cells(self) -> dict[str, Cell]:
        """What a table says of it."""
        rows, figures = self.report.rows_in, self.report.figures
        return {
            "batch": self.report.batch,
            "changes": rows,
            "seconds": self.seconds,
            "processor_s": self.processor_s,
            "changes_per_s": rows / self.seconds,
            "changes_per_processor_s": rows / self.processor_s,
            "flushed": figures.total(FLUSHED),
            "pending": figures.total(PENDING),
            "rehearsed": self.is_rehearsed,
        }


def run(size: Size) -> Findings:
    """Take all files in, and say how fast."""
    effort = EFFORTS[size]
    with tempfile.TemporaryDirectory(prefix="penstock-lab-") as root:
        tables = DrawnTables(effort, Path(root))
        tables.fill()
        tables.change(WARM)
        say("view-intake: through Spark, embedded")
        with Engine(Path(root) / "home", spark=local_session()) as engine:
            for name in ("offers", "suppliers"):
                engine.table(
                    name, f"parquet:{Path(root) / name}", changes="op", maxFilesPerTrigger=1
                )
            engine.sql(f"CREATE VIEW lowest REFRESH WITHIN 100 MILLISECONDS AS {QUERY}")
            engine.run_available()
            tables.change(effort.batches)
            taken = _taken(engine)
            begun = process_time()
            rows = engine.view("lowest").read(fresh=True)
            refresh_s = process_time() - begun
        steady = [each for each in taken if not each.is_rehearsed] or taken
        rate = median(each.report.rows_in / each.seconds for each in steady)
        yield Table.of("Batches", [each.cells for each in taken])
        yield {
            "flushes": sum(each.report.figures.total(FLUSHES) for each in taken),
            "changes_per_s": rate,
            "changes_per_processor_s": sum(each.report.rows_in for each in taken)
            / sum(each.processor_s for each in taken),
            "waited": taken[-1].report.figures.total(PENDING),
            "refresh_processor_s": refresh_s,
        }
        found = sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True))
        wrong = len(set(found) ^ set(tables.answer()))
        yield at_most("Rows of the view that DuckDB has not, or the other way round", wrong, 0)
        if size != "tiny":
            yield from timed(at_least("Changes taken in per second, median", rate, RATE_MIN))


def _taken(engine: Engine) -> list[TakenBatch]:
    """Take in what has come since; of the first batch, what begins a run is left out."""
    marks: list[tuple[BatchReport, float]] = []
    engine.on_batch(lambda report: marks.append((report, family_seconds())))
    engine.run_available()
    seconds = engine.figures().batch_seconds
    full = [(report, spent) for report, spent in marks if report.rows_in]
    return [
        TakenBatch(report=report, seconds=seconds[report.batch], processor_s=spent - before)
        for (_, before), (report, spent) in pairwise(full)
    ]
