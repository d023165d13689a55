"""Streams of files, for end-to-end experiments: a file is a micro-batch, for every side alike."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.engine import Engine
from penstock.engine.runner import HostName

FIRST_S = 1_700_000_000


def put_batch(directory: Path, number: int, table: pa.Table) -> None:
    """Write the file of a micro-batch: Spark takes files in the order of their times."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"part-{number:06d}.parquet"
    pq.write_table(table, path)
    os.utime(path, (FIRST_S + number, FIRST_S + number))


def file_stream(spark: SparkSession, directory: Path, prefix: str = "") -> DataFrame:
    """Read the files of a directory as Spark does by itself, a file a micro-batch.

    The columns get a prefix, if there is one.
    """
    schema = spark.read.parquet(str(directory)).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    frame = reader.parquet(str(directory))
    return frame.withColumnsRenamed({name: prefix + name for name in frame.columns})


def query_batches(writer: DataStreamWriter, checkpoint: Path) -> list[Mapping[str, Any]]:
    """Run a query of Spark's own over what is there; give what it says of batches with rows."""
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    return [each for each in query.recentProgress if each["numInputRows"]]


def batch_seconds(batch: Mapping[str, Any]) -> float:
    """Give what Spark says that a batch took."""
    return float(batch["durationMs"]["triggerExecution"]) / 1000


class SparkBench:
    """A place for runs of one session: files, and homes that are thrown away."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.root = root
        self._runs = 0

    def fresh(self) -> Path:
        """Name a directory for one run."""
        self._runs += 1
        return self.root / f"run-{self._runs}"

    @contextmanager
    def engine(self, host: HostName = "auto") -> Iterator[Engine]:
        """Give an engine on a new home, which goes when the run has ended well."""
        home = self.fresh()
        with Engine(home, spark=self.spark, host=host) as engine:
            yield engine
        shutil.rmtree(home)
