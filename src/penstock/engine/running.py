"""Running: one Spark query from start to end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from penstock.engine.home import Home
from penstock.operators.catalogue import OPERATORS
from penstock.spark.cluster import ClusterHost
from penstock.spark.embedded import EmbeddedHost
from penstock.spark.hosts import Host, OnBatch, Pipeline
from penstock.spark.layout import Layout, unite
from penstock.spark.queries import RunningQuery
from penstock.spark.types import DataFrame, SparkSession


def start_pipeline(
    *,
    spark: SparkSession,
    home: Home,
    frames: Mapping[str, DataFrame],
    schemas: Mapping[str, pa.Schema],
    announcements: Path,
    on_batch: OnBatch,
    available_now: bool,
    trigger_seconds: float,
) -> RunningQuery:
    """Put the host that the home was settled on behind all streams, and start."""
    pipeline = Pipeline(
        engine=home.engine,
        home=home.path,
        layout=Layout(tuple(frames), tuple(schemas[name] for name in frames)),
        record=home.facts["record"],
    )
    host: Host
    if home.facts["host"] == "embedded":
        host = EmbeddedHost(pipeline, on_batch)
    else:
        host = ClusterHost(spark, pipeline, home.facts["shards"], on_batch)
    # Compile here, once: the first batch, and Spark's workers, find the code on disk.
    for kind in OPERATORS.values():
        kind.warm_up()
    writer = host.writer(unite(spark, frames, str(announcements)))
    return RunningQuery(writer, pipeline.checkpoint, available_now, trigger_seconds)
