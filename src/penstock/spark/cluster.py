"""The cluster host: operators live in Spark's Python workers, their state in Spark's state store.

pack (`mapInArrow`) turns rows into a few binary rows: one per shard and Arrow batch, the sub-batch
as Arrow IPC bytes. The shuffle brings them to their shard. operate (`transformWithStateInPandas`)
runs the shard. deliver (`foreachBatch`) writes each shard's part from the workers; the driver sees
manifests only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from time import perf_counter

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # Spark's own custom
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.delivery.log import ResultLog
from penstock.delivery.parts import part_from_bytes, write_part
from penstock.spark.hosts import BatchReport, OnBatch, Pipeline
from penstock.spark.layout import Layout
from penstock.spark.operate import ShardProcessor
from penstock.storage.files import table_to_bytes
from penstock.vocabulary.batches import added

PACKED = "key int, partition int, sequence int, version bigint, relation string, payload binary"
PART = "key int, payload binary"
ROWS_PER_PAYLOAD_MAX = 1 << 17
KEYS_TRIED_MAX = 10_000


def shard_keys(spark: SparkSession, shards: int) -> tuple[int, ...]:
    """Choose a key for each shard so that Spark's hash puts every shard in its own partition."""
    hashed = (
        spark.range(KEYS_TRIED_MAX)
        .select(F.col("id").cast("int").alias("key"))
        .select("key", F.pmod(F.hash("key"), F.lit(shards)).alias("partition"))
        .groupBy("partition")
        .agg(F.min("key").alias("key"))
        .orderBy("partition")
        .toArrow()
    )
    assert hashed.num_rows == shards
    return tuple(hashed["key"].to_pylist())


def packer(
    layout: Layout, keys: tuple[int, ...]
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
                rows += [(key, partition, sequence, version, None, None) for key in keys]
            for relation, table in tables.items():
                # Whole Arrow batches go round the shards: no row is looked at on its own.
                key = keys[(partition + sequence) % len(keys)]
                payload = table_to_bytes(table.combine_chunks())
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
            for key, payload in zip(keys, rows.column("payload"), strict=True):
                part = part_from_bytes(payload.as_py())
                manifest = write_part(part, log.directory(batch), log.part_name(batch, key))
                manifests.append(json.dumps(manifest))
            yield pa.RecordBatch.from_pydict(
                {"key": pa.array(keys, pa.int32()), "manifest": pa.array(manifests, pa.string())}
            )

    return write


class ClusterHost:
    """Runs the shards in Spark's workers."""

    def __init__(
        self, spark: SparkSession, pipeline: Pipeline, shards: int, on_batch: OnBatch
    ) -> None:
        self._pipeline = pipeline
        self._on_batch = on_batch
        self._keys = shard_keys(spark, shards)
        self._log = ResultLog(pipeline.results)

    def writer(self, stream: DataFrame) -> DataStreamWriter:
        """Put pack, operate and deliver behind the stream."""
        pipeline = self._pipeline
        operated = (
            stream.mapInArrow(packer(pipeline.layout, self._keys), PACKED)
            .groupBy("key")
            .transformWithStateInPandas(
                ShardProcessor(pipeline),
                outputStructType=PART,
                outputMode="Append",
                timeMode="None",
            )
        )
        return operated.writeStream.outputMode("append").foreachBatch(self._deliver)

    def _deliver(self, frame: DataFrame, batch: int) -> None:
        started = perf_counter()
        writer = part_writer(self._log, batch)
        rows = frame.mapInArrow(writer, "key int, manifest string").toArrow()
        parts = [json.loads(text) for text in rows["manifest"].to_pylist()]
        before = self._log.read(batch - 1)
        version = max([part["version"] for part in parts] + [before.version if before else 0])
        logged = self._log.commit(batch, version, parts)
        self._on_batch(
            BatchReport(
                batch=batch,
                version=version,
                rows_in=logged.rows_in,
                matches=logged.matches,
                seconds=perf_counter() - started,
                # Every shard holds all queries of its groups: what stands is not added up.
                sizes=max((part["sizes"] for part in parts), key=len, default={}),
                counts=added(part["counts"] for part in parts),
                logged=logged,
            )
        )
