"""A home's embedded host, started as an engine starts it, on batches that are planned here."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.algebra.catalog import Relation
from penstock.engine import Desk
from penstock.lab.crash_points.planned_batches import Files, PlannedBatches
from penstock.spark.embedded import EmbeddedHost
from penstock.spark.hosts import OnBatch, Pipeline
from penstock.spark.layout import Layout
from penstock.spark.restoration import restore_checkpoint
from penstock.storage.disk import make_directory
from penstock.storage.state import StateLog

SNAPSHOT_EVERY, SPARE, SPARK_RETAINED = 2, 1, 4
"""Far less than in an engine: a run of a few batches shall expire, pack, forget and fold."""


def planned_host(
    desk: Desk, streamed: Sequence[Relation], files: Files, on_batch: OnBatch
) -> tuple[PlannedBatches, EmbeddedHost]:
    """Start where the process before left things; relations come as files, one for a batch."""
    home, registry, log = desk.home, desk.registry, desk.log
    home.settle(host="embedded", shards=1)
    registry.keep_announcements()
    names, schemas = [own.name for own in streamed], [own.recorded for own in streamed]
    pipeline = Pipeline(
        engine=home.engine,
        home=home.path,
        layout=Layout(tuple(names), tuple(schemas)),
        record=False,
    )
    if log.newest() < 0:
        make_directory(pipeline.checkpoint)
    restore_checkpoint(pipeline.checkpoint, log)
    states = StateLog(pipeline.state, SNAPSHOT_EVERY, SPARE)
    batches = PlannedBatches(
        pipeline.checkpoint, registry.announcements, files, names, SPARK_RETAINED
    )
    return batches, EmbeddedHost(pipeline, on_batch, states)
