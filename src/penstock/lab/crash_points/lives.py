"""Lives: what a user, Spark and an engine do on a home, from where the last one died to the end."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from penstock.delivery.cursors import Cursors
from penstock.engine import Desk
from penstock.engine.registration import draft_declaration
from penstock.lab.crash_points.all_kinds import AllKinds, StandingText
from penstock.lab.crash_points.planned_batches import PlannedBatches
from penstock.lab.crash_points.simulated_disk import Journal
from penstock.registry.records import Declaration, Source
from penstock.spark.embedded import EmbeddedHost
from penstock.spark.hosts import BatchReport, Pipeline
from penstock.spark.layout import Layout
from penstock.spark.restoration import restore_checkpoint
from penstock.storage.disk import make_directory
from penstock.storage.state import StateLog

SNAPSHOT_EVERY, SPARE, SETTLED_AFTER = 2, 1, 3
"""Far less than in an engine: a run of a few batches shall forget and fold."""
CONSUMED_AT = 2
"""The consumer takes what there is after this batch, and at the end."""

Row = tuple[Any, ...]
Taken = dict[tuple[str, str], Row]
"""What a consumer has, by subscription and token."""


class HomeLife:
    """One process on a home. `taken` is what a consumer on another machine has by now."""

    def __init__(self, home: Path, script: AllKinds, journal: Journal, taken: Taken) -> None:
        self._home, self._script, self._journal, self._taken = home, script, journal, taken
        self._versions: list[int] = []
        self._desk = Desk(home, record=False)
        self._cursors = Cursors(home / "sinks")

    def live(self) -> None:
        """Go on from where the life before ended, until all has come."""
        self._declare()
        batches, host = self._started()
        for batch in range(batches.next(), self._script.batches):
            for text in self._script.texts:
                self._do(text, batch)
            planned = batches.plan(batch)
            self._script.turn(batch)
            host.run(batch, planned.tables, planned.version)
            batches.commit(batch)
        self._consume()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._desk.close()

    def told(self) -> dict[str, Counter[Row]]:
        """Read all that the home has found: by subscription the rows, how often each."""
        return {own.name: Counter(_rows(own.read())) for own in self._desk.subscriptions()}

    def broken(self, marks: list[tuple[str, Any]]) -> list[str]:
        """Say which promises the home does not keep: what was registered, dropped or told."""
        registry, log = self._desk.registry, self._desk.log
        kept: dict[str, Callable[[Any], bool]] = {
            "declared": lambda name: name in registry.catalog,
            "registered": lambda name: name in registry.subscriptions,
            "dropped": lambda name: not registry.standing(name),
            "told": lambda batch: log.read(batch) is not None,
        }
        return [f"{word} {what}" for word, what in marks if word in kept and not kept[word](what)]

    def _declare(self) -> None:
        registry = self._desk.registry
        for relation in self._script.relations:
            if relation.name not in registry.catalog:
                declaration = Declaration(relation=relation, source=Source())
                registry.publish(draft_declaration(declaration))
                self._journal.mark("declared", relation.name)

    def _started(self) -> tuple[PlannedBatches, EmbeddedHost]:
        """Start as an engine does."""
        home, registry, log = self._desk.home, self._desk.registry, self._desk.log
        streamed = self._script.streamed
        home.settle(host="embedded", shards=1)
        registry.keep_announcements()
        pipeline = Pipeline(
            engine=home.engine,
            home=home.path,
            layout=Layout(
                tuple(own.name for own in streamed), tuple(own.recorded for own in streamed)
            ),
            record=False,
        )
        if log.newest() < 0:
            make_directory(pipeline.checkpoint)
        restore_checkpoint(pipeline.checkpoint, log)
        states = StateLog(pipeline.state, SNAPSHOT_EVERY, SPARE)
        names = list(pipeline.layout.names)
        files = self._script.files()
        batches = PlannedBatches(pipeline.checkpoint, registry.announcements, files, names)
        return batches, EmbeddedHost(pipeline, self._ran, states)

    def _do(self, text: StandingText, batch: int) -> None:
        """Register or drop before a batch what the life before did not."""
        registry, query = self._desk.registry, text.query
        stands = text.name in registry.subscriptions
        if query.begun == batch and not stands:
            options = {"snapshot": True} if query.text.snapshot else None
            self._desk.subscribe(text.sql, name=text.name, options=options)
            self._journal.mark("registered", text.name)
        elif query.ended == batch and registry.standing(text.name):
            self._desk.drop(text.name, [text.name])
            self._journal.mark("dropped", text.name)

    def _ran(self, report: BatchReport) -> None:
        """Do what an engine does after a batch; its consumer takes it now and then."""
        self._journal.mark("told", report.batch)
        self._versions.append(report.version)
        if report.batch == CONSUMED_AT:
            self._consume()
        if len(self._versions) >= SETTLED_AFTER:
            self._desk.registry.tidy(self._versions[-SETTLED_AFTER], versions_max=0)

    def _consume(self) -> None:
        for name in self._desk.registry.subscriptions:
            since = self._cursors.token(name)
            for change in self._desk.subscription(name).changes(since, follow=False):
                row = (change.batch, change.sign, *change.row.values())
                self._taken[name, change.token] = row
                self._journal.mark("took", ((name, change.token), row))
                self._cursors.set(name, change.token)
        self._cursors.write()


def net_of(rows: Counter[Row]) -> Counter[Row]:
    """Add up signs, as whoever asks for the answer that stands."""
    found: Counter[Row] = Counter()
    for (_batch, sign, *values), count in rows.items():
        found[tuple(values)] += sign * count
    return Counter({row: count for row, count in found.items() if count})


def _rows(found: pa.Table) -> Iterator[Row]:
    """Give the batch, the sign and the values of every row; NaN is NULL."""
    names = [name for name in found.column_names if not name.startswith("_")]
    columns = [found["_batch"], found["_sign"], *(found[name] for name in names)]
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return (tuple(None if _is_nan(value) else value for value in row) for row in rows)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)
