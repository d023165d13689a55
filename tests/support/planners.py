"""The planner of a home's multi-way joins, where its watch keeps it."""

from __future__ import annotations

from penstock.engine import Desk
from penstock.kinds.multi_join.plans import Planner
from penstock.kinds.multi_join.watch import MultiJoinWatch


def planner_of(desk: Desk) -> Planner:
    """Give the planner that an open home asks."""
    watch = desk.watcher.over({"kind": "multi_join"})
    assert isinstance(watch, MultiJoinWatch)
    return watch.planner
