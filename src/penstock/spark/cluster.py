"""The cluster host: operators live in Spark's Python workers, their state in Spark's state store.

pack (`mapInArrow`) turns rows into a few binary rows: one per shard and Arrow batch, the sub-batch
as Arrow IPC bytes. The shuffle brings them to their shard. operate (`transformWithStateInPandas`)
runs the shard. deliver (`foreachBatch`) writes each shard's part from the workers; the driver sees
manifests only. Of a batch that Spark hands over again though its results are in the log, shards
make their state again, and the results stay: readers may stand in the midst of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import perf_counter, time

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # Spark's own custom
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.algebra.physical import ALONE, Division, KeepStep
from penstock.delivery.log import LoggedBatch, ResultLog
from penstock.delivery.parts import part_from_bytes, write_part
from penstock.operators.catalogue import figures_of
from penstock.spark.deferral import DeferredProcessor
from penstock.spark.hosts import BatchReport, OnBatch, Pipeline
from penstock.spark.lanes import Lane, Lanes
from penstock.spark.layout import Layout
from penstock.spark.operate import HEADS, ShardProcessor
from penstock.spark.provenance import read_provenance, refuse_another
from penstock.spark.state_stores import STATE, STORES, seals_of
from penstock.storage.disk import NewFiles
from penstock.storage.files import table_to_bytes
from penstock.storage.seals import Seal
from penstock.storage.suspensions import Suspension
from penstock.vocabulary.figure_tables import FigureTable, merged, together, told_figures

PACKED = "key int, partition int, sequence int, version bigint, relation string, payload binary"
PART = "key int, step bigint, payload binary"
STEP = "step"
ROWS_PER_PAYLOAD_MAX = 1 << 17
KEYS_TRIED_MAX = 10_000


def shard_keys(spark: SparkSession, shards: int, lanes: int) -> list[tuple[int, ...]]:
    """Choose keys so that Spark's hash puts every shard of a lane in a partition of its own.

    Gives, for each lane, a key for each shard.
    """
    hashed = (
        spark.range(KEYS_TRIED_MAX)
        .select(F.col("id").cast("int").alias("key"))
        .select("key", F.pmod(F.hash("key"), F.lit(shards)).alias("partition"))
        .groupBy("partition")
        .agg(F.slice(F.sort_array(F.collect_list("key")), 1, lanes).alias("keys"))
        .orderBy("partition")
        .toArrow()
    )
    keys = hashed["keys"].to_pylist()
    assert len(keys) == shards
    assert all(len(own) == lanes for own in keys)
    return [tuple(own[lane] for own in keys) for lane in range(lanes)]


def packer(
    layout: Layout, lanes: Lanes
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Make the pack stage: flat rows in, a few packed rows out."""
    schema = pa.schema(
        [
            ("key", pa.int32()),
            ("partition", pa.int32()),
            ("sequence", pa.int32()),
            ("version", pa.int64()),
            ("relation", pa.string()),
            ("payload", pa.binary()),
        ]
    )

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        partition = context.partitionId() if context is not None else 0
        sequence = 0
        for chunk in _chunks(batches):
            tables, version = layout.split(chunk)
            rows: list[tuple[int, int, int, int, str | None, bytes | None]] = []
            if version:
                # Every shard learns of a new version, in this very batch.
                rows += [(key, partition, sequence, version, None, None) for key in lanes.keys]
            for relation, table in tables.items():
                for lane in lanes.lanes:
                    for key, own in lane.spread(relation, table, partition + sequence):
                        payload = table_to_bytes(own.combine_chunks())
                        rows.append((key, partition, sequence, 0, relation, payload))
                sequence += 1
            if rows:
                yield pa.RecordBatch.from_arrays(
                    [
                        pa.array(column, field.type)
                        for column, field in zip(zip(*rows, strict=True), schema, strict=True)
                    ],
                    schema=schema,
                )

    return pack


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Gather small Arrow batches, so that a payload is worth its overhead."""
    gathered: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        gathered.append(batch)
        rows += batch.num_rows
        if rows >= ROWS_PER_PAYLOAD_MAX:
            yield gathered
            gathered, rows = [], 0
    if gathered:
        yield gathered


def part_writer(
    log: ResultLog, batch: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Make the deliver stage: packed parts in, parquet files written, manifests out."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in batches:
            keys, manifests = rows.column("key").to_pylist(), []
            steps = rows.column("step").to_pylist()
            for key, step, payload in zip(keys, steps, rows.column("payload"), strict=True):
                part = part_from_bytes(payload.as_py())
                manifest = write_part(part, log.directory(batch), log.part_name(batch, key))
                manifests.append(json.dumps({"shard": key, STEP: step, **manifest}))
            yield pa.RecordBatch.from_pydict(
                {"key": pa.array(keys, pa.int32()), "manifest": pa.array(manifests, pa.string())}
            )

    return write


class ClusterHost:
    """Runs the shards in Spark's workers."""

    def __init__(
        self,
        spark: SparkSession,
        pipeline: Pipeline,
        shards: int,
        divisions: Sequence[Division],
        tables: Sequence[KeepStep],
        on_batch: OnBatch,
    ) -> None:
        self._pipeline = pipeline
        self._on_batch = on_batch
        every = [None, *divisions]
        keys = shard_keys(spark, shards, len(every))
        self._lanes = Lanes(
            tuple(
                Lane(division, own[:1] if ALONE in (division or ()) else own, tuple(tables))
                for division, own in zip(every, keys, strict=True)
            )
        )
        self._log = ResultLog(pipeline.results)
        self._stores = NewFiles(pipeline.checkpoint / STATE)
        self._stores.flush_new()  # and what a run that was killed left
        # A shard without rows in a batch says nothing, and still holds what it held.
        self._known: dict[int, FigureTable] = {}

    def writer(self, stream: DataFrame) -> DataStreamWriter:
        """Put pack, operate and deliver behind the stream."""
        pipeline = self._pipeline
        operated = (
            stream.mapInArrow(packer(pipeline.layout, self._lanes), PACKED)
            .groupBy("key")
            .transformWithStateInPandas(
                DeferredProcessor(ShardProcessor(pipeline, self._lanes)),
                outputStructType=PART,
                outputMode="Append",
                timeMode="None",
            )
        )
        return operated.writeStream.outputMode("append").foreachBatch(self._deliver)

    def _deliver(self, frame: DataFrame, batch: int) -> None:
        started = perf_counter()
        came = read_provenance(self._pipeline.checkpoint, batch)
        refuse_another(self._log, batch, came)
        if (taken := self._log.committed(batch)) is not None:
            self._ran(frame.select("key"), batch)
            stores = (self._log.noted(batch) or {}).get(STORES, {})
            if (again := stores | self._new_seals()) != stores:
                self._log.note(batch, **{STORES: again})
            self._report(taken, self._log.figures(batch, figures_of), started)
            return
        writer = part_writer(self._log, batch)
        rows, suspended = self._ran(frame.mapInArrow(writer, "key int, manifest string"), batch)
        parts = [json.loads(text) for text in rows["manifest"].to_pylist()]
        before = self._log.noted(batch - 1) or {}
        version = max([part["version"] for part in parts] + [before.get("version", 0)])
        # A shard without rows in a batch is left where it was.
        heads = before.get(HEADS, {}) | {str(part["shard"]): part.pop(STEP) for part in parts}
        stores = self._new_seals()
        logged = self._log.commit(
            batch,
            version,
            parts,
            time_s=round(time(), 3),
            provenance=came.to_json(),
            suspended=self._pipeline.rests(batch).noted(version),
            **{HEADS: heads, STORES: stores},
        )
        told = [(part["shard"], told_figures(part, figures_of)) for part in parts]
        self._report(logged, told, started, suspended)

    def _new_seals(self) -> dict[str, Seal]:
        """Flush what Spark wrote of state since the last time, and seal it."""
        return seals_of(self._pipeline.checkpoint / STATE, self._stores.flush_new())

    def _report(
        self,
        logged: LoggedBatch,
        told: list[tuple[int, FigureTable]],
        started: float,
        suspended: tuple[Suspension, ...] = (),
    ) -> None:
        """Say what came of a batch; `told` are the figures of its shards, by their keys."""
        for key, table in told:
            self._known[key] = table.of_kind("gauge")
        self._on_batch(
            BatchReport(
                batch=logged.batch,
                version=logged.version,
                rows_in=logged.rows_in,
                matches=logged.matches,
                seconds=perf_counter() - started,
                figures=self._merged([table for _, table in told]),
                logged=logged,
                suspended=suspended,
            )
        )

    def _ran(self, frame: DataFrame, batch: int) -> tuple[pa.Table, tuple[Suspension, ...]]:
        """Run a batch in all shards; once more if they found groups that it cannot be run with.

        Some shards may have run with such a group and others not: what counts is a run that all
        began with the same suspensions.
        """
        rests = self._pipeline.rests(batch)
        while True:
            before = rests.begun
            try:
                rows = frame.toArrow()
            except PySparkException:
                if len(rests.begun) == len(before):
                    raise
                continue
            if len(rests.begun) == len(before):
                return rows, before

    def _merged(self, told: list[FigureTable]) -> FigureTable:
        stands = standing((self._lanes.of(key)[0], own) for key, own in self._known.items())
        return together([stands, *(own.of_kind("counter") for own in told)])


def standing(shards: Iterable[tuple[Lane, FigureTable]]) -> FigureTable:
    """Say what stands in all shards of all lanes."""
    lanes: dict[Lane, list[FigureTable]] = {}
    for lane, own in shards:
        lanes.setdefault(lane, []).append(own)
    return together(merged(own) for own in lanes.values())
