"""The cluster host's work with rows shuffled one by one: what packing is measured against.

The same operator, the same state store, the same delivery; only the rows cross the shuffle, and
Spark's door to Python, as rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from penstock.algebra.physical import BranchShape, FilterStep
from penstock.delivery.log import ResultLog
from penstock.delivery.parts import Part, assemble, part_to_bytes
from penstock.operators.filter import FilterOperator
from penstock.spark.cluster import PART, part_writer, shard_keys
from penstock.storage.files import read_table, write_table
from penstock.vocabulary.batches import QueryChanges

_LIVE: dict[str, FilterOperator] = {}


class RowProcessor(StatefulProcessor):
    """Matches rows that came one by one."""

    def __init__(self, entries: str, schema: pa.Schema) -> None:
        self._entries = entries
        self._schema = schema

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the shard's state, as the cluster host does."""
        self._head = handle.getValueState("head", "rows bigint")

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        """Gather the rows, match, pack the results."""
        frame = pd.concat(list(rows), ignore_index=True)
        table = pa.Table.from_pandas(frame[self._schema.names], self._schema, preserve_index=False)
        results = _operator(self._entries).process({"events": table})
        sections = assemble([("group", result) for result in results], {"events": table}, False)
        part = Part(version=1, rows_in=len(frame), sections=sections)
        self._head.update((len(frame),))
        # Nobody goes on from the step.
        payload = part_to_bytes(part)
        yield pd.DataFrame({"key": [int(key[0])], "step": [0], "payload": [payload]})

    def close(self) -> None:
        """Leave the operator for the next batch."""


def _operator(entries: str) -> FilterOperator:
    if entries not in _LIVE:
        shape = BranchShape(ranges=(("x", pa.int64()),))
        operator = FilterOperator(FilterStep(relation="events", branches=(shape,)))
        operator.apply(QueryChanges(adds={"branch0": read_table(Path(entries))}))
        _LIVE[entries] = operator
    return _LIVE[entries]


def unpacked_writer(
    spark: SparkSession, stream: DataFrame, given: pa.Table, directory: Path
) -> DataStreamWriter:
    """Build the pipeline: key each row, shuffle, match, deliver."""
    directory.mkdir(parents=True)
    entries = directory / "entries.arrow"
    shared = pa.array([False] * given.num_rows)
    table = pa.table([given["id"], shared, given["low"], given["high"]],
                     names=["query", "shared", "l0", "h0"])  # fmt: skip
    write_table(entries, table)
    log = ResultLog(directory / "results")
    shards = int(spark.conf.get("spark.sql.shuffle.partitions") or 2)
    keys = F.array(*(F.lit(key) for key in shard_keys(spark, shards, 1)[0]))
    schema = pa.schema(
        [("ts", pa.timestamp("us", "UTC")), ("symbol", pa.string()), ("x", pa.int64()),
         ("number", pa.int64())]
    )  # fmt: skip
    processor = RowProcessor(str(entries), schema)
    operated = (
        stream.withColumn("key", keys[(F.col("number") % shards).cast("int")])
        .groupBy("key")
        .transformWithStateInPandas(processor, PART, "Append", "None")
    )

    def deliver(frame: DataFrame, batch: int) -> None:
        frame.mapInArrow(part_writer(log, batch), "key int, manifest string").toArrow()

    return operated.writeStream.outputMode("append").foreachBatch(deliver)
