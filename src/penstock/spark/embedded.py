"""The embedded host: operators live in the engine's own process.

Spark hands each micro-batch to `foreachBatch` as one Arrow table. Before Spark commits the batch,
the operators' deltas and the results are durable under the batch's number; a batch that runs again
starts from the state before it and writes the same again.
"""

from __future__ import annotations

from time import perf_counter

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.delivery.log import ResultLog
from penstock.delivery.parts import write_part
from penstock.operators.shard import Shard
from penstock.registry.versions import RegistryReader
from penstock.spark.hosts import BatchReport, OnBatch, Pipeline, run_batch
from penstock.storage.state import BatchState, StateLog


class EmbeddedHost:
    """Runs one shard in this process."""

    def __init__(self, pipeline: Pipeline, on_batch: OnBatch) -> None:
        self._pipeline = pipeline
        self._on_batch = on_batch
        self._states = StateLog(pipeline.state)
        self._log = ResultLog(pipeline.results)
        self._feed = RegistryReader(pipeline.registry)
        self._shard: Shard | None = None
        self._done = -1

    def writer(self, stream: DataFrame) -> DataStreamWriter:
        """Put the operators behind the stream."""
        return stream.writeStream.foreachBatch(self._run)

    def _run(self, frame: DataFrame, batch: int) -> None:
        table = frame.toArrow()
        started = perf_counter()
        tables, version = self._pipeline.layout.split(table.to_batches())
        shard = self._shard_before(batch)
        # If this batch fails half-way, the shard must not be used again.
        self._shard = None
        part = run_batch(shard, tables, version, self._pipeline.record)
        self._keep(batch, shard)
        name = self._log.part_name(batch, 0)
        written = write_part(part, self._log.directory(batch), name)
        logged = self._log.commit(batch, part.version, [written])
        self._shard, self._done = shard, batch
        self._on_batch(
            BatchReport(
                batch=batch,
                version=part.version,
                rows_in=part.rows_in,
                matches=part.matches,
                seconds=perf_counter() - started,
                sizes=part.sizes,
                counts=part.counts,
                logged=logged,
            )
        )

    def _shard_before(self, batch: int) -> Shard:
        """Give the shard as it was before `batch`: the live one, or restored from the state log."""
        if self._shard is not None and self._done == batch - 1:
            return self._shard
        states = self._states.read(batch - 1)
        if not states:
            return Shard(self._feed)
        shard = Shard(self._feed, states[0].version, states[0].groups)
        for state in states[1:]:
            shard.catch_up(state.version, state.groups)
        return shard

    def _keep(self, batch: int, shard: Shard) -> None:
        deltas = shard.deltas()
        whole = self._states.wants_snapshot(batch)
        groups = shard.snapshots() if whole else deltas
        self._states.write(BatchState(batch, shard.version, groups, whole))
