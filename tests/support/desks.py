"""A home with a stream and no Spark: what registration can be tested on."""

from __future__ import annotations

from pathlib import Path

from penstock.algebra.catalog import Relation
from penstock.engine import Desk
from penstock.registry.records import Declaration, Draft, Source
from tests.support.tables import EVENTS


def desk_with_events(home: Path, record: bool | None = None) -> Desk:
    """Open a home that knows the stream `t` of `tests.support.tables`."""
    desk = Desk(home, record)
    if "t" not in desk.registry.catalog:
        relation = Relation(name="t", kind="stream", schema=EVENTS, event_time="ts")
        desk.registry.publish(Draft(declarations=[Declaration(relation=relation, source=Source())]))
    return desk
