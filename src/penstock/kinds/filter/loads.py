"""Loads of filters: what their rows take, and drop boxes for groups that may drop some.

By the same laws as those of joins (`penstock.kinds.overload`): a box closes when several looks in
a row have seen that the group takes more processor time for a second of events than it may, and
opens when all would fit again. It is a plan: an entry that comes with a version of the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.algebra.logical import StandingFilter
from penstock.kinds.filter.plans import planned_filter, resources_of
from penstock.kinds.overload import EASED, LOOK_EVERY_BATCHES, Load, Pressure
from penstock.kinds.plan_cycle import Outlook, PlanBook, PlanCycle, Revision, WatchedBatch
from penstock.kinds.statistics import MICRO, NANO, ROWS_MIN
from penstock.kinds.watch import House
from penstock.operators.filter.figures import FILTERED_ROWS, FILTERED_US
from penstock.planning.figures import percent
from penstock.vocabulary.forgetting import keep_named
from penstock.vocabulary.losses import SHED_ROWS
from penstock.vocabulary.shared_figures import ACTUAL_COST

KIND = "filter"
PASS_STEP = 0.05
"""A drop box is not moved by less."""
LEAST = 0.001
"""The least share that passes where the options name none: what nothing enters measures nothing."""


@dataclass(slots=True)
class _Group:
    """One group since the last look: its load, the rows that it looked at; what was decided."""

    load: Load = field(default_factory=Load)
    pressure: Pressure = field(default_factory=Pressure)
    rows: int = 0
    kept: int = 0
    batches: int = 0


@dataclass(frozen=True, slots=True)
class DropBox:
    """The plan of a group of filters: the share of its rows that passes."""

    number: int
    share: float

    def to_json(self) -> dict[str, Any]:
        """Describe the box, as operators read it."""
        return {"pass": self.share}

    @classmethod
    def from_json(cls, number: int, data: dict[str, Any]) -> DropBox:
        """Give back the box that `to_json` described."""
        return cls(number, data["pass"])


class FilterCycle(PlanCycle[DropBox]):
    """Measures what rows of filters take; closes, moves and opens drop boxes."""

    def __init__(self, house: House) -> None:
        self.book = PlanBook(house.registry, DropBox.from_json)
        self._house = house
        self._groups: dict[str, _Group] = {}
        self._may_shed = True

    def watches(self, described: Mapping[str, Any]) -> bool:
        """Watch all filters: what their rows take is measured also where none may be dropped."""
        return bool(described["kind"] == KIND)

    def plans_for(self, described: Mapping[str, Any]) -> bool:
        """Plan where rows may be dropped."""
        return bool(described.get("dropping"))

    def propose(
        self,
        logical: StandingFilter,
        group: str,
        arriving: int,  # noqa: ARG002
        plan: DropBox | None,  # noqa: ARG002
    ) -> Outlook[DropBox]:
        """Judge filters that may drop rows; a drop box closes when a run is seen to need it."""
        if not logical.dropping:
            return Outlook()
        relation = self._house.registry.catalog[logical.relation.lower()]
        planned, facts = planned_filter(relation, group, self._house.statistics, logical.options)
        return Outlook(verdict=planned.verdict, notes=(facts["verdict"],))

    def begin(self, once: bool, shards: int) -> None:  # noqa: ARG002
        """Begin a run; with `once` it has all the time that it needs."""
        self._may_shed = not once
        self._groups.clear()

    def renew(self, group: str, plan: DropBox) -> Callable[[int], DropBox] | None:  # noqa: ARG002
        """Begin a run with open boxes."""
        return None if plan.share >= 1.0 else _boxing(1.0)

    def watch(self, batch: WatchedBatch[DropBox]) -> bool:
        """Take what a batch took; look at a group when it had rows in so many batches."""
        told = batch.report.figures[batch.group]
        rows = told[FILTERED_ROWS]
        if not rows:
            return False
        known = self._groups.setdefault(batch.group, _Group())
        is_first = known.load.last_s is None
        known.load.add(
            spent_s=told[ACTUAL_COST] * NANO,
            span_s=told[FILTERED_US] * MICRO,
            busy_s=batch.report.seconds,
            now_s=batch.now_s,
        )
        if is_first or not batch.settled:
            known.load.forget()
            return False
        known.rows += rows
        known.kept += rows - told[SHED_ROWS]
        known.batches += 1
        return known.batches >= LOOK_EVERY_BATCHES

    def review(self, batch: WatchedBatch[DropBox]) -> Revision[DropBox] | None:
        """Measure what a row takes, and close, move or open the drop box."""
        known, options = self._groups[batch.group], batch.described.get("dropping") or {}
        load, revision = known.load, None
        if known.kept >= ROWS_MIN and load.spent_s:
            figures = self._house.statistics.filters.setdefault(batch.group, {})
            figures["row_s"] = load.spent_s / known.kept
            if self._may_shed and not load.is_busy and load.wall_s:
                figures["rate"] = known.rows / load.wall_s  # it keeps up: rows go as they come
        if options and self._may_shed and load.needed is not None:
            share = 1.0 if batch.plan is None else batch.plan.share
            revision = _followed(known, options, load.needed, share)
        load.forget()
        known.rows = known.kept = known.batches = 0
        return revision

    def forget_others(self, groups: Collection[str]) -> None:
        """Forget what was seen of groups that are not named."""
        keep_named(self._groups, groups)

    def finish(self, group: str, plan: DropBox | None) -> None:  # noqa: ARG002
        """Keep what was measured for the next run."""
        if self._groups.pop(group, None) is not None:
            self._house.statistics.save()


def _followed(
    known: _Group, options: Mapping[str, Any], needed: float, share: float
) -> Revision[DropBox] | None:
    """Close, move or open the drop box by what the group takes."""
    bound = resources_of(options).bound
    full = needed / max(share, LEAST)
    move = known.pressure.judge(needed, full, bound, known.load.is_busy, share < 1.0)
    if move == "stay":
        return None
    least = float(options.get("minimum", LEAST))
    new = 1.0 if move == "open" else max(least, min(1.0, EASED * bound / full))
    if move == "shed" and abs(new - share) <= PASS_STEP:
        return None
    known.pressure = Pressure()
    needs = f"{percent(full)} of a processor, and {percent(bound)} may be used"
    text = f"it cannot keep up: all of it needs {needs}. {percent(1.0 - new)} of its rows go."
    if move == "open":
        text = f"the overload is over: all of it needs {needs}. Nothing is dropped now."
    return Revision(_boxing(new), text)


def _boxing(share: float) -> Callable[[int], DropBox]:
    return lambda number: DropBox(number, share)
