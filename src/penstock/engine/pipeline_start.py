"""Running: one Spark query from start to end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from penstock.algebra.catalog import Relation, keep_step
from penstock.algebra.physical import ALONE
from penstock.delivery.log import ResultLog
from penstock.engine.home import Home
from penstock.operators.catalogue import OPERATORS
from penstock.registry.store import Registry
from penstock.spark.added_sources import widen_offsets
from penstock.spark.cluster import ClusterHost
from penstock.spark.embedded import EmbeddedHost
from penstock.spark.hosts import Host, OnBatch, Pipeline
from penstock.spark.lanes import division_from_json
from penstock.spark.layout import Layout, unite
from penstock.spark.queries import RunningQuery
from penstock.spark.restoration import restore_checkpoint
from penstock.spark.types import DataFrame, SparkSession
from penstock.storage.disk import make_directory


def divisions_of(registry: Registry) -> list[Any]:
    """List, for JSON, how the joins that are known divide their rows among shards.

    A cluster home is fixed to these at its first start: its shards keep tables by these keys.
    """
    steps = (OPERATORS[step["kind"]].step_from_json(step) for step in registry.steps.values())
    found = {division for step in steps if (division := step.division) is not None}
    if (ALONE,) in found:
        found = {own for own in found if own != (ALONE,)}
        found.add(alone(registry.catalog.values()))
    return [[[relation, list(columns)] for relation, columns in own] for own in sorted(found)]


def alone(relations: Iterable[Relation]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Give the division of those who are alone: all rows pass, also of what came late."""
    return (ALONE, *((name, ()) for name in sorted(each.name for each in relations if each.flows)))


def start_pipeline(
    *,
    spark: SparkSession,
    home: Home,
    frames: Mapping[str, DataFrame],
    relations: Iterable[Relation],
    steps: Mapping[str, dict[str, Any]],
    announcements: Path,
    on_batch: OnBatch,
    available_now: bool,
    trigger_seconds: float,
) -> tuple[RunningQuery, Host]:
    """Put the host that the home was settled on behind all streams, and start."""
    known = {relation.name: relation for relation in relations}
    pipeline = Pipeline(
        engine=home.engine,
        home=home.path,
        layout=Layout(tuple(frames), tuple(known[name].recorded for name in frames)),
        record=home.facts["record"],
        event_times={
            name: relation.followed
            for name, relation in known.items()
            if relation.followed is not None
        },
    )
    log = ResultLog(pipeline.results)
    if log.newest() < 0:
        make_directory(pipeline.checkpoint)  # one that is missing later was removed
    restore_checkpoint(pipeline.checkpoint, log)
    widen_offsets(pipeline.checkpoint, 1 + len(frames))  # the announcements are a source too
    host: Host
    if home.facts["host"] == "embedded":
        host = EmbeddedHost(pipeline, on_batch)
    else:
        lanes = (division_from_json(item) for item in home.facts["lanes"])
        divided = [alone(known.values()) if ALONE in (own or ()) else own for own in lanes]
        tables = [keep_step(known[name]) for name in frames if known[name].keeps]
        host = ClusterHost(spark, pipeline, home.facts["shards"], divided, tables, on_batch)
    # Compile here, once: the first batch, and Spark's workers, find the code on disk.
    for described in steps.values():
        kind = OPERATORS[described["kind"]]
        kind.warm_up(kind.step_from_json(described))
    writer = host.writer(unite(spark, frames, str(announcements)))
    query = RunningQuery(writer, pipeline.checkpoint, available_now, trigger_seconds)
    return query, host
