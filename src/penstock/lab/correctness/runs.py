"""Runs of a home without Spark: batches pass the same shard, parts and logs as on a host."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import time
from typing import Any, Self

import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.delivery.parts import write_part
from penstock.engine import Desk
from penstock.engine.registration import draft_declaration
from penstock.engine.verification import verify
from penstock.expressions.allowances import batch_seconds
from penstock.operators.catalogue import figures_of
from penstock.operators.protocol import Share
from penstock.operators.shard import Shard
from penstock.registry.records import Declaration, Source
from penstock.spark.embedded import restored
from penstock.spark.hosts import Rests, run_alone, run_batch
from penstock.storage.state import BatchState, StateLog
from penstock.vocabulary.figure_tables import FigureTable, told_figures

SNAPSHOT_EVERY = 3


MEMORY = Path("/dev/shm")  # noqa: S108 — a home of a moment, in a directory of its own


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Make a directory for a home of a moment: in memory, where that can be."""
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix="penstock-lab-", dir=place)


class DeskRun:
    """A home, recorded if it is not said otherwise, and the embedded host's work by hand."""

    def __init__(
        self,
        home: Path,
        *relations: Relation,
        record: bool = True,
        clock: Callable[[], float] = time,
    ) -> None:
        self.desk = Desk(home, record=record)
        self._record, self._clock = record, clock
        for relation in relations:
            declaration = Declaration(relation=relation, source=Source())
            self.desk.registry.publish(draft_declaration(declaration))
        self._states = StateLog(home / "state")
        self._share = Share(home=str(home))
        self._shard: Shard | None = Shard(self.desk.registry.reader, share=self._share)
        self.batches = 0
        self.figures = FigureTable()

    def batch(self, **rows: list[dict[str, Any]] | pa.Table) -> None:
        """Run one micro-batch: rows by relation."""
        catalog = self.desk.registry.catalog
        tables = {
            name: given
            if isinstance(given, pa.Table)
            else pa.Table.from_pylist(given, schema=catalog[name].recorded)
            for name, given in rows.items()
        }
        number, log, registry = self.batches, self.desk.log, self.desk.registry
        home = self.desk.home.path
        rests = Rests(home / "registry", home / "results", number, batch_seconds())
        shard, part = run_alone(
            self._before,
            rests,
            lambda shard: run_batch(
                shard, tables, registry.version, self._record, resting=(rests, self._before)
            ),
        )
        self._shard = shard
        whole = number % SNAPSHOT_EVERY == 0
        deltas = shard.deltas()
        groups = shard.snapshots() if whole else deltas
        self._states.write(BatchState(number, shard.version, groups, whole))
        written = write_part(part, log.directory(number), log.part_name(number, 0))
        log.commit(number, part.version, [written], time_s=self._clock())
        self.figures = told_figures(part.told, figures_of)
        self.batches += 1
        self.desk.suspended.tell(rests.begun)

    def _before(self) -> Shard:
        shard, self._shard = self._shard, None
        return shard or self._restored()

    def _restored(self) -> Shard:
        reader = self.desk.registry.reader
        return restored(reader, self._states, self.batches - 1, share=self._share)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._shard is not None:
            self._shard.close()
        self.desk.close()

    def unverified(self) -> list[tuple[str, str]]:
        """Verify; give the subscriptions that differ from DuckDB's answers, and how."""
        outcomes = verify(self.desk.registry, self.desk.log)
        return [(each.subscription, f"verify: {each}"[:400]) for each in outcomes if not each.equal]

    def restart(self) -> None:
        """Go on with a shard restored from its state."""
        if self._shard is not None:
            self._shard.close()
        self._shard = self._restored()
