"""The plans of a home: of its multi-way joins as their planner has them, of its filters."""

from __future__ import annotations

from penstock.engine import Desk
from penstock.kinds.filter.loads import DropBox
from penstock.kinds.multi_join.plans import Planner
from penstock.kinds.multi_join.watch import MultiJoinWatch
from penstock.kinds.plan_cycle import PlanBook
from penstock.registry.store import Registry


def planner_of(desk: Desk) -> Planner:
    """Give the planner that an open home asks."""
    watch = desk.watcher.over({"kind": "multi_join"})
    assert isinstance(watch, MultiJoinWatch)
    return watch.cycle.planner


def passing(registry: Registry, group: str) -> float:
    """Give the share of a filter group's rows that its drop box lets pass, as the registry says."""
    box = PlanBook(registry, DropBox.from_json).standing(group)
    return 1.0 if box is None else box.share
