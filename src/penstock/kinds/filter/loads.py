"""Loads of filters: what their rows take, and drop boxes for groups that may drop some.

By the same laws as those of joins (`penstock.kinds.overload`): a box closes when several looks in
a row have seen that the group takes more processor time for a second of events than it may, and
opens when all would fit again. It is a plan: an entry that comes with a version of the registry.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.multi_joins import PLAN_PORT
from penstock.kinds.filter.plans import resources_of
from penstock.kinds.overload import EASED, Load, Pressure
from penstock.kinds.statistics import MICRO, NANO, ROWS_MIN, Statistics
from penstock.operators.filter.figures import FILTERED_ROWS, FILTERED_US
from penstock.planning.figures import percent
from penstock.registry.records import Draft
from penstock.registry.store import Registry
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.losses import SHED_ROWS
from penstock.vocabulary.shared_figures import ACTUAL_COST

KIND = "filter"
PASS_STEP = 0.05
"""A drop box is not moved by less."""

Tell = Callable[[str, int, str], None]
"""`(group, batch, text)`: leaves a notice."""


@dataclass(slots=True)
class _Group:
    """One group since the last look: its load, the rows that it looked at; what was decided."""

    load: Load = field(default_factory=Load)
    pressure: Pressure = field(default_factory=Pressure)
    rows: int = 0
    kept: int = 0
    batches: int = 0
    since: int = 0
    """The version with which its drop box came."""


class FilterLoads:
    """Follows the reports of a run."""

    def __init__(self, registry: Registry, statistics: Statistics, tell: Tell) -> None:
        self._registry = registry
        self._statistics = statistics
        self._tell = tell
        self._groups: dict[str, _Group] = {}
        self._boxes: dict[str, tuple[int | None, float]] = {}
        self._may_shed = True

    def begin(self, once: bool) -> None:
        """Begin a run with open boxes; with `once` it has all the time that it needs."""
        self._may_shed = not once
        self._groups.clear()
        for group, described in list(self._registry.steps.items()):
            is_thinned = described["kind"] == KIND and described.get("dropping")
            if is_thinned and self._box(group)[1] < 1.0:
                self._publish(group, 1.0)

    def take(self, report: BatchReport, now_s: float, every: int) -> None:
        """Take a batch's report; look at a group when it had rows in so many batches."""
        for group, described in list(self._registry.steps.items()):
            rows = report.figures[group][FILTERED_ROWS]
            if described["kind"] != KIND or not rows:
                continue
            known = self._groups.setdefault(group, _Group())
            is_first = known.load.last_s is None
            known.load.add(
                spent_s=report.figures[group][ACTUAL_COST] * NANO,
                span_s=report.figures[group][FILTERED_US] * MICRO,
                busy_s=report.seconds,
                now_s=now_s,
            )
            if is_first or report.version < known.since:
                known.load.forget()
                continue
            known.rows += rows
            known.kept += rows - report.figures[group][SHED_ROWS]
            known.batches += 1
            if known.batches >= every:
                self._look(group, known, described.get("dropping") or {}, report.batch)

    def finish(self) -> None:
        """Keep what was measured for the next run."""
        if self._groups:
            self._statistics.save()

    def _look(self, group: str, known: _Group, options: dict[str, Any], batch: int) -> None:
        load = known.load
        if known.kept >= ROWS_MIN and load.spent_s:
            figures = self._statistics.filters.setdefault(group, {})
            figures["row_s"] = load.spent_s / known.kept
            if self._may_shed and not load.is_busy and load.wall_s:
                figures["rate"] = known.rows / load.wall_s  # it keeps up: rows go as they come
        if options and self._may_shed and load.needed is not None:
            self._follow(group, known, options, load.needed, batch)
        load.forget()
        known.rows = known.kept = known.batches = 0

    def _follow(
        self, group: str, known: _Group, options: dict[str, Any], needed: float, batch: int
    ) -> None:
        """Close, move or open the drop box by what the group takes."""
        _, share = self._box(group)
        bound = resources_of(options).bound
        full = needed / max(share, LEAST)
        move = known.pressure.judge(needed, full, bound, known.load.is_busy, share < 1.0)
        if move == "stay":
            return
        least = float(options.get("minimum", LEAST))
        new = 1.0 if move == "open" else max(least, min(1.0, EASED * bound / full))
        if move == "shed" and abs(new - share) <= PASS_STEP:
            return
        known.since = self._publish(group, new)
        known.pressure = Pressure()
        needs = f"{percent(full)} of a processor, and {percent(bound)} may be used"
        text = f"it cannot keep up: all of it needs {needs}. {percent(1.0 - new)} of its rows go."
        if move == "open":
            text = f"the overload is over: all of it needs {needs}. Nothing is dropped now."
        self._tell(group, batch, text)

    def _publish(self, group: str, share: float) -> int:
        """Put a drop box in the place of the one that stands; give the version."""
        with self._registry.reserve():
            old, _ = self._box(group)
            draft = Draft()
            number = draft.following(self._registry.next_query)
            table = pa.table(
                {
                    "query": pa.array([number], pa.int64()),
                    "plan": pa.array([json.dumps({"pass": share})], pa.string()),
                }
            )
            drops = np.array([] if old is None else [old], dtype=np.int64)
            draft.changes[group] = QueryChanges(adds={PLAN_PORT: table}, drops=drops)
            version = self._registry.publish(draft)
            self._boxes[group] = number, share
            return version

    def _box(self, group: str) -> tuple[int | None, float]:
        """Give a group's drop box; the registry is asked once, as its entries may be a million."""
        if group not in self._boxes:
            self._boxes[group] = passing(self._registry, group)
        return self._boxes[group]


LEAST = 0.001
"""The least share that passes where the options name none: what nothing enters measures nothing."""


def passing(registry: Registry, group: str) -> tuple[int | None, float]:
    """Give the number of a filter group's drop box, if it has one, and the share that passes."""
    table = registry.entries(group).get(PLAN_PORT)
    if table is None or not table.num_rows:
        return None, 1.0
    last = max(table.to_pylist(), key=lambda row: row["query"])
    return last["query"], json.loads(last["plan"])["pass"]
