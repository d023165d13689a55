"""The embedded host: operators live in the engine's own process.

Spark hands each micro-batch to `foreachBatch` as one Arrow table. Before Spark commits the batch,
the operators' deltas and the results are durable under the batch's number. A batch that Spark hands
over again, because it died before its own commit, starts from the state before it and writes the
same again; if its results were in the log already, what it left is taken as it is: readers may have
seen it, and what a database says to a lookup may be something else today.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock
from time import perf_counter, time
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.delivery.log import LoggedBatch, ResultLog
from penstock.delivery.parts import write_part
from penstock.operators.catalogue import figures_of
from penstock.operators.protocol import WHOLE, Share
from penstock.operators.shard import Shard
from penstock.registry.versions import RegistryReader
from penstock.spark.hosts import BatchReport, OnBatch, Pipeline, run_alone, run_batch
from penstock.spark.older_state import restored_from
from penstock.spark.provenance import read_provenance, refuse_another
from penstock.storage.seals import Seal
from penstock.storage.state import BatchState, StateLog
from penstock.vocabulary.batches import Feed
from penstock.vocabulary.figure_tables import told_figures

Answer = TypeVar("Answer")


class EmbeddedHost:
    """Runs one shard in this process; `clock` gives the time at which a batch is committed."""

    def __init__(
        self,
        pipeline: Pipeline,
        on_batch: OnBatch,
        states: StateLog | None = None,
        clock: Callable[[], float] = time,
    ) -> None:
        self._pipeline, self._clock = pipeline, clock
        self._on_batch = on_batch
        self._states = states or StateLog(pipeline.state)
        self._log = ResultLog(pipeline.results)
        self._feed = RegistryReader(pipeline.registry)
        self._share = Share(home=str(pipeline.home))
        self._shard: Shard | None = None
        self._done = -1
        self._between = RLock()
        """Of several threads; within one, a question may ask others."""

    def ask(self, question: Callable[[Shard], Answer]) -> Answer | None:
        """Ask the live shard something between two batches; None if no batch has run yet."""
        with self._between:
            return None if self._shard is None else question(self._shard)

    def close(self) -> None:
        """Let the shard go, with all that its operators hold open."""
        with self._between:
            if self._shard is not None:
                self._shard.close()
            self._shard = None

    def writer(self, stream: DataFrame) -> DataStreamWriter:
        """Put the operators behind the stream."""
        return stream.writeStream.foreachBatch(self._run)

    def _run(self, frame: DataFrame, batch: int) -> None:
        self.run(batch, *self._pipeline.layout.split(frame.toArrow().to_batches()))

    def run(self, batch: int, tables: Mapping[str, pa.Table], version: int) -> None:
        """Run a batch that Spark has planned: its rows by relation, under a registry version."""
        with self._between:
            report = self._process(batch, tables, version)
        self._on_batch(report)

    def _process(self, batch: int, tables: Mapping[str, pa.Table], version: int) -> BatchReport:
        started = perf_counter()
        came = read_provenance(self._pipeline.checkpoint, batch)
        logged = self._log.committed(batch)
        if logged is not None:
            refuse_another(self._log, batch, came, sum(own.num_rows for own in tables.values()))
            if batch == self._log.newest():
                return self._taken(logged, started)
        pipeline, rests = self._pipeline, self._pipeline.rests(batch)

        def before() -> Shard:
            return self._shard_before(batch)

        shard, part = run_alone(
            before,
            rests,
            lambda shard: run_batch(
                shard,
                tables,
                version,
                pipeline.record,
                event_times=pipeline.event_times,
                resting=(rests, before),
            ),
        )
        state = self._keep(batch, shard)
        name = self._log.part_name(batch, 0)
        written = write_part(part, self._log.directory(batch), name)
        logged = self._log.commit(
            batch,
            part.version,
            [written],
            time_s=round(self._clock(), 3),
            provenance=came.to_json(),
            state=state,
            suspended=rests.noted(part.version),
        )
        self._shard, self._done = shard, batch
        return BatchReport(
            batch=batch,
            version=part.version,
            rows_in=part.rows_in,
            matches=part.matches,
            seconds=perf_counter() - started,
            figures=told_figures(part.told, figures_of),
            logged=logged,
            suspended=rests.begun,
        )

    def _taken(self, logged: LoggedBatch, started: float) -> BatchReport:
        """Take a batch that was run and logged before Spark died, as it left things."""
        self._shard = restored(self._feed, self._states, logged.batch, self._log, self._share)
        self._done = logged.batch
        ((_, told),) = self._log.figures(logged.batch, figures_of)
        return BatchReport(
            batch=logged.batch,
            version=logged.version,
            rows_in=logged.rows_in,
            matches=logged.matches,
            seconds=perf_counter() - started,
            figures=told,
            logged=logged,
        )

    def _shard_before(self, batch: int) -> Shard:
        """Give the shard as it was before `batch`: the live one, or restored from the state log.

        The live one is given away: if the batch fails half-way, it must not be used again.
        """
        shard, self._shard = self._shard, None
        if shard is not None and self._done == batch - 1:
            return shard
        return restored(self._feed, self._states, batch - 1, self._log, self._share)

    def _keep(self, batch: int, shard: Shard) -> Seal:
        deltas = shard.deltas()
        whole = self._states.wants_snapshot(batch)
        groups = shard.snapshots() if whole else deltas
        return self._states.write(BatchState(batch, shard.version, groups, whole))


def restored(
    feed: Feed, states: StateLog, batch: int, log: ResultLog | None = None, share: Share = WHOLE
) -> Shard:
    """Give the shard as it was after `batch`, from the state log; the result log has its seals."""

    def seal(number: int) -> Seal | None:
        manifest = None if log is None else log.noted(number)
        return None if manifest is None else manifest.get("state")

    found = states.read(batch, seal)
    return restored_from(feed, found, share) if found else Shard(feed, share=share)
