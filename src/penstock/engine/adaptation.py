"""Watching a run: every kind is told of every batch, and users are told what they should know."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from penstock.algebra.catalog import ATTENDANTS
from penstock.algebra.logical import Logical
from penstock.algebra.physical import Step
from penstock.engine.registration import Receipt, Request
from penstock.engine.silent_streams import Hurrying, Waiting
from penstock.engine.subscription_blocks import bind_blocks, by_text
from penstock.kinds.statistics import Statistics
from penstock.kinds.table import KINDS, kind_of
from penstock.kinds.watch import House, Shedding, Watch
from penstock.planning.plan_run import SeenPlan
from penstock.registry.records import Draft
from penstock.registry.store import Registry
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.figure_tables import FigureTable

NOTICES_KEPT = 200
LOG = logging.getLogger("penstock.notices")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something that a user of a subscription should know."""

    batch: int
    group: str
    subscriptions: tuple[str, ...]
    text: str


class Watcher:
    """Follows the reports of a run; `clock_s` tells how long the host waits between batches."""

    def __init__(
        self, registry: Registry, statistics: Statistics, clock_s: Callable[[], float] = monotonic
    ) -> None:
        self.clock_s = clock_s
        self.statistics = statistics
        self.notices: deque[Notice] = deque(maxlen=NOTICES_KEPT)
        self._registry = registry
        self._hurrying = Hurrying(registry, self.tell)
        self._waiting = Waiting(registry, self.tell)
        house = House(
            registry=registry, statistics=statistics, tell=self.tell, logical_of=self._logical
        )
        self._watches = {name: kind.watch(house) for name, kind in KINDS.items()}

    def over(self, step: Step | Mapping[str, Any]) -> Watch:
        """Give who watches over the groups of a step."""
        return self._watches[kind_of(step).name]

    def over_group(self, group: str) -> Watch:
        """Give who watches over a group that stands."""
        return self.over(self._registry.steps[group])

    def publish(self, request: Request, draft: Draft, receipt: Receipt) -> Receipt:
        """Publish a draft, with what its kind adds: a plan, a verdict; call under the lock."""
        if not receipt.accepted:
            self._registry.publish(draft)
            return receipt
        watch, group = self.over(request.step), request.record.group
        promise = watch.plan(request.logical, group, receipt.accepted, draft)
        promise.took(self._registry.publish(draft))
        return replace(receipt, verdict=promise.verdict, notes=promise.notes)

    def begin(self, once: bool, shards: int) -> None:
        """Begin a run; with `once` it ends when all that is there is processed."""
        for watch in self._watches.values():
            watch.begin(once, shards)

    def take(self, report: BatchReport) -> None:
        """Take a batch's report."""
        now_s = self.clock_s()
        self._hurrying.take(report)
        self._waiting.take(report)
        for watch in self._watches.values():
            watch.take(report, now_s)

    def forget_others(self, groups: Collection[str]) -> None:
        """Forget what was seen and measured of groups that are not named: they stand no more."""
        self.statistics.forget_others(groups)
        self._hurrying.forget_others(groups)
        self._waiting.forget_others(groups)
        for watch in self._watches.values():
            watch.forget_others(groups)

    def finish(self) -> None:
        """Let what was measured be kept, when a run ends, and say what waits."""
        self._waiting.finish()
        for watch in self._watches.values():
            watch.finish()

    def plan_run(self, group: str) -> SeenPlan | None:
        """Say what a group was seen to do in this run, beside what its plan predicts."""
        if group not in self._registry.steps:
            return None
        seen = self.over_group(group).plan_run(group)
        hurried = self._hurrying.rows.get(group)
        return replace(seen, hurried_rows=hurried) if seen is not None and hurried else seen

    def shedding(self) -> dict[str, Shedding]:
        """Say of every subscription what is let through, what was dropped, and what remains."""
        told = (
            (name, self.over_group(record.group).shedding(record.group))
            for name, record in self._registry.subscriptions.items()
        )
        return {name: own for name, own in told if own is not None}

    def figures(self) -> FigureTable:
        """Give what planning has counted in this run, and what it expects, by group."""
        steps = list(self._registry.steps.items())
        planned = [(group, own) for group, own in steps if own["kind"] not in ATTENDANTS]
        return FigureTable({group: self.over(own).figures(group) for group, own in planned})

    def _logical(self, group: str) -> Logical | None:
        """Bind the newest text of a group."""
        blocks = [
            block
            for own in self._registry.blocks.values()
            for block in own
            if block.record.group == group
        ]
        if not blocks:
            return None
        newest = by_text([max(blocks, key=lambda block: block.version)])[0]
        return bind_blocks(self._registry.catalog, newest)

    def tell(self, group: str, batch: int, text: str) -> None:
        """Leave a notice for those who read a group, or about a relation."""
        if group not in self._registry.steps:
            self._leave(Notice(batch=batch, group="", subscriptions=(), text=f"{group}: {text}"))
            return
        names = tuple(
            name for name, record in self._registry.subscriptions.items() if record.group == group
        )
        listed = f"{'queries' if len(names) > 1 else 'query'} {', '.join(names)}"
        words = f"Standing {listed}: {text}"
        self._leave(Notice(batch=batch, group=group, subscriptions=names, text=words))

    def tell_subscription(self, name: str, text: str) -> None:
        """Leave a notice about one subscription, or about none: its name is empty then."""
        names = (name,) if name else ()
        self._leave(Notice(batch=-1, group="", subscriptions=names, text=text))

    def _leave(self, notice: Notice) -> None:
        self.notices.append(notice)
        where = f"Batch {notice.batch}: " if notice.batch >= 0 else ""
        LOG.warning("%s%s", where, notice.text)
