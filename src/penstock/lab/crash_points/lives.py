"""Lives: what a user, Spark and an engine do on a home, from where the last one died to the end.

Some of it another process asks for: by errands. And the changes of one subscription go into a
directory, beside the home, by a sink that the home knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.delivery.retention import UpkeepPace
from penstock.engine import Desk
from penstock.engine.errands import Done, Errands, answered, leave
from penstock.engine.registration import draft_declaration
from penstock.engine.scripts import execute
from penstock.engine.upkeep import Upkeep
from penstock.expressions.quotation import quoted
from penstock.lab.correctness.joins import countable
from penstock.lab.crash_points.all_kinds import AllKinds, StandingText
from penstock.lab.crash_points.planned_batches import PlannedBatches
from penstock.lab.crash_points.planned_host import planned_host
from penstock.lab.crash_points.simulated_disk import Journal
from penstock.registry.records import Declaration, Source
from penstock.spark.embedded import EmbeddedHost
from penstock.spark.hosts import BatchReport

KEPT_BATCHES = 4
PACE = UpkeepPace(spare_batches=1, volume_batches=2, versions=0, listed=2)
"""Far less than in an engine: a run of a few batches shall expire, pack, forget and fold."""
CONSUMED_EVERY = 3
"""The consumer takes what there is after so many batches, and at the end; nothing goes before."""
HOME, SINK = "home", "sunk"
"""The directories on the disk of a life: the home, and what a sink fills."""
PATIENCE_S = 60.0

Row = tuple[Any, ...]
Taken = dict[tuple[str, str], Row]
"""What a consumer has, by subscription and token."""


class HomeLife:
    """One process on a disk. `taken` is what a consumer on another machine has by now."""

    def __init__(self, disk: Path, script: AllKinds, journal: Journal, taken: Taken) -> None:
        self._disk, self._script, self._journal, self._taken = disk, script, journal, taken
        self._desk = desk = Desk(disk / HOME, record=False)
        self._host: EmbeddedHost | None = None
        self._errands = Errands(disk / HOME, self._carry_out)
        self._cursors = desk.readers.sinks.cursors
        self._upkeep = Upkeep(
            desk.home, desk.registry, desk.readers, desk.watcher, desk.left_out, pace=PACE
        )

    def live(self) -> None:
        """Go on from where the life before ended, until all has come."""
        self._upkeep.keep(f"{KEPT_BATCHES} batches until read")
        self._declare()
        batches, self._host = self._started()
        for batch in range(batches.next(), self._script.batches):
            for text in self._script.texts:
                self._do(text, batch)
            planned = batches.plan(batch)
            self._script.turn(batch)
            self._host.run(batch, planned.tables, planned.version)
            batches.commit(batch)
        self._consume()
        self._upkeep.once()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._host is not None:
            self._host.close()
        self._desk.close()

    def told(self) -> dict[str, Counter[Row]]:
        """Read all that the home keeps: by subscription the rows, how often each."""
        since = f"{self.first}:0"
        return {own.name: Counter(_rows(own.read(since))) for own in self._desk.subscriptions()}

    @property
    def first(self) -> int:
        """The first batch whose results are kept."""
        return self._desk.log.first()

    def broken(self, marks: list[tuple[str, Any]]) -> list[str]:
        """Say which promises the home does not keep: what was registered, dropped or told."""
        registry, log = self._desk.registry, self._desk.log
        kept: dict[str, Callable[[Any], bool]] = {
            "declared": lambda name: name in registry.catalog,
            "registered": lambda name: name in registry.subscriptions,
            "sunk": lambda batch: batch in {row[0] for row in self.sunk()},
            "dropped": lambda name: not registry.standing(name),
            "told": lambda batch: batch < log.first() or log.read(batch) is not None,
        }
        broken = [f"{word} {what}" for word, what in marks if word in kept and not kept[word](what)]
        if log.first() > max(log.newest() + 1 - KEPT_BATCHES, 0):
            broken.append(f"batches before {log.first()} are gone")
        return broken

    def neglected(self) -> list[str]:
        """Say what upkeep could not do."""
        return [own.text for own in self._desk.notices if "not kept small" in own.text]

    def _declare(self) -> None:
        registry = self._desk.registry
        for relation in self._script.relations:
            if relation.name not in registry.catalog:
                declaration = Declaration(relation=relation, source=Source())
                registry.publish(draft_declaration(declaration))
                self._journal.mark("declared", relation.name)

    def _started(self) -> tuple[PlannedBatches, EmbeddedHost]:
        """Start as an engine does."""
        files = self._script.files().__getitem__
        return planned_host(self._desk, self._script.streamed, files, self._ran)

    def _do(self, text: StandingText, batch: int) -> None:
        """Register or drop before a batch what the life before did not."""
        registry, query = self._desk.registry, text.query
        stands = text.name in registry.subscriptions
        if query.begun == batch and not stands:
            if text.options:
                self._desk.subscribe(text.sql, name=text.name, options=text.options)
            else:
                into = f" INTO '{self._disk / SINK}'" if text == self._script.sunk else ""
                self._ask(f"SUBSCRIBE {quoted(text.name)} TO {text.sql}{into}")
            self._journal.mark("registered", text.name)
        elif query.ended == batch and registry.standing(text.name):
            self._ask(f"DROP SUBSCRIPTION {quoted(text.name)} WHERE ID IN ('{text.name}')")
            self._journal.mark("dropped", text.name)

    def _ask(self, script: str) -> None:
        """Ask for something as another process does."""
        asked = leave(self._disk / HOME, script)
        self._errands.take()
        answered(self._disk / HOME, asked)

    def _carry_out(self, script: str, directory: Path) -> Done:
        return execute(self._desk, script, directory=directory).done(self._desk.registry.version)

    def _ran(self, report: BatchReport) -> None:
        """Do what an engine does after a batch; its consumer takes it now and then."""
        self._journal.mark("told", report.batch)
        if (report.batch + 1) % CONSUMED_EVERY == 0:
            self._consume()
        self._upkeep.once()

    def _consume(self) -> None:
        for name in self._desk.registry.subscriptions:
            cursor = f"{name}.consumer"
            since = self._cursors.token(cursor)
            for change in self._desk.subscription(name).changes(since, follow=False):
                row = (change.batch, change.sign, *map(countable, change.row.values()))
                self._taken[name, change.token] = row
                self._journal.mark("took", ((name, change.token), row))
            self._cursors.set(cursor, f"{self._desk.log.newest() + 1}:0")
        self._cursors.write()
        self._sink()

    def _sink(self) -> None:
        """Feed the directory with all that there is, as at the end of a run."""
        pool = self._desk.readers.sinks
        pool.begin(self._desk.readers.courier)
        pool.finish(drain=True, patience_s=PATIENCE_S)
        for batch in {row[0] for row in self.sunk()}:
            self._journal.mark("sunk", batch)

    def sunk(self) -> Counter[Row]:
        """Read what the sink wrote: the rows, how often each."""
        files = sorted((self._disk / SINK).glob("*.parquet"))
        return sum((Counter(_rows(pq.read_table(file))) for file in files), Counter())


def net_of(rows: Counter[Row]) -> Counter[Row]:
    """Add up signs, as whoever asks for the answer that stands."""
    found: Counter[Row] = Counter()
    for (_batch, sign, *values), count in rows.items():
        found[tuple(values)] += sign * count
    return Counter({row: count for row, count in found.items() if count})


def _rows(found: pa.Table) -> Iterator[Row]:
    """Give the batch, the sign and the values of every row; NaN is NULL, and a list a tuple."""
    names = [name for name in found.column_names if not name.startswith("_")]
    columns = [found["_batch"], found["_sign"], *(found[name] for name in names)]
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return (tuple(map(countable, row)) for row in rows)
