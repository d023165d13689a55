"""A replay without gates: what queries of a recorded home would have been told without any plan.

The registry's versions and the recorded batches pass one shard again, in this process, but no plan
of a stream does. What was told beside it is counted by batch, to the last bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from penstock.algebra.physical import PLAN_PORT
from penstock.delivery.log import LoggedBatch
from penstock.engine import Desk
from penstock.kinds.recorded import sections_of
from penstock.operators.shard import Shard
from penstock.vocabulary.batches import VersionChanges

Rows = Counter[tuple[Any, ...]]
"""How often each row was told, by group, query and content."""


def differing_rows(desk: Desk) -> tuple[int, int]:
    """Count what was not told and should have been, and what was told besides, batch by batch."""
    lost = surplus = 0
    shard = Shard(lambda after, upto: unplanned(desk, after, upto))
    for number in range(desk.log.newest() + 1):
        logged = desk.log.read(number)
        assert logged is not None
        shard.advance(logged.version)
        expected, found = ungated(shard, desk, logged), told(desk, logged)
        lost += (expected - found).total()
        surplus += (found - expected).total()
    return lost, surplus


def unplanned(desk: Desk, after: int, upto: int) -> Iterator[VersionChanges]:
    """Give the registry's versions without the plans of streams."""
    for version in desk.registry.reader(after, upto):
        changes = {
            group: replace(own, adds={p: each for p, each in own.adds.items() if p != PLAN_PORT})
            for group, own in version.changes.items()
        }
        yield replace(version, changes=changes)


def ungated(shard: Shard, desk: Desk, logged: LoggedBatch) -> Rows:
    """Run a recorded batch through a shard that has no plans; give what queries are told."""
    batch = {}
    for name, relation in desk.registry.catalog.items():
        parts = [section.events() for _, _, section in sections_of([logged], name)]
        batch[name] = pa.concat_tables(parts) if parts else relation.recorded.empty_table()
    found = Rows()
    for group, own in shard.process(batch):
        assert own.rows is not None
        _count(found, group, own.query.tolist(), own.event.tolist(), own.rows)
    return found


def told(desk: Desk, logged: LoggedBatch) -> Rows:
    """Read what queries were told in a batch."""
    found = Rows()
    for section in logged.sections:
        for group in section.groups:
            if desk.registry.steps[group]["kind"] == "model_query":
                query, event = section.pairs(group)
                _count(found, group, query.tolist(), event.tolist(), section.events())
    return found


def _count(found: Rows, group: str, query: list[int], event: list[int], rows: pa.Table) -> None:
    texts = [repr(sorted(row.items())) for row in rows.to_pylist()]
    found.update((group, own, texts[at]) for own, at in zip(query, event, strict=True))
