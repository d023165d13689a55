"""Plan cycles: how groups come by their plans. Propose, publish as an entry, watch, replan.

A plan changes how a group works, not what its queries mean. It is an entry of the group's port
`plan`: it takes a number as a standing query does, begins with a version of the registry, so with
the same batch in every shard and on every replay, and is dropped by the version that brings the
next. What a plan says, and when another is better, is the kind's to know; everything else is here.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from penstock.algebra.physical import PLAN_PORT
from penstock.kinds.watch import House, Promise, Watch
from penstock.registry.records import Draft
from penstock.registry.store import Registry
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.forgetting import keep_named


class EntryPlan(Protocol):
    """A plan that can be an entry."""

    @property
    def number(self) -> int:
        """The number of the entry."""

    def to_json(self) -> dict[str, Any]:
        """Describe the plan, for the operator and for the next start."""


P = TypeVar("P", bound=EntryPlan)


@dataclass(frozen=True, slots=True)
class Revision(Generic[P]):
    """What a look at a group comes to: a plan, made with the number that it gets, and why.

    Without a text nobody is told: queries are answered as before.
    """

    make: Callable[[int], P]
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook(Generic[P]):
    """What is said of queries when they are registered; without `make`, what stands stays."""

    verdict: str | None = None
    notes: tuple[str, ...] = ()
    make: Callable[[int], P] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedBatch(Generic[P]):
    """What a group is watched by: a batch's report, the plan that it ran under, and the time.

    `settled`: no other plan is on its way. A group without a plan has none in force, and is
    settled.
    """

    group: str
    described: Mapping[str, Any]
    plan: P | None
    settled: bool
    report: BatchReport
    now_s: float


NO_PLANS = pa.table({})


class PlanBook(Generic[P]):
    """The plans of the groups of one kind, as the registry has them."""

    def __init__(self, registry: Registry, read: Callable[[int, dict[str, Any]], P]) -> None:
        self._registry = registry
        self._read = read
        self._plans: dict[str, list[tuple[int, P]]] = {}

    def standing(self, group: str) -> P | None:
        """Give the plan that a group was given last."""
        plans = self._of(group)
        return plans[-1][1] if plans else None

    def in_force(self, group: str, version: int) -> P | None:
        """Give the plan that a group follows under a version of the registry."""
        own = [plan for since, plan in self._of(group) if since <= version]
        return own[-1] if own else None

    def _of(self, group: str) -> list[tuple[int, P]]:
        """Give a group's plans, by the versions that they came with.

        The registry is asked once, as its entries may be a million. A group that was let go has
        none, and none of its old ones if it comes again.
        """
        if group not in self._registry.steps:
            self.forget(group)
            return []
        plans = self._plans.get(group)
        if plans is None:
            plans = self._plans[group] = [
                (version, self._read(row["query"], json.loads(row["plan"])))
                for version, change in self._registry.changes_of(group)
                for row in change.adds.get(PLAN_PORT, NO_PLANS).to_pylist()
            ]
        return plans

    def add(self, draft: Draft, group: str, make: Callable[[int], P]) -> P:
        """Add a plan to a draft, in place of the one that stands; call under the registry's lock.

        Tell `took` once the draft is published.
        """
        before = draft.changes.get(group, QueryChanges())
        plan = make(draft.following(self._registry.next_query))
        drops = before.drops
        if (standing := self.standing(group)) is not None:
            drops = np.unique(np.append(drops, standing.number))
        adds = {**before.adds, PLAN_PORT: entry_of(plan)}
        draft.changes[group] = QueryChanges(adds=adds, drops=drops)
        return plan

    def took(self, group: str, plan: P, version: int) -> None:
        """Note that a plan was published as part of a version."""
        self._plans.setdefault(group, []).append((version, plan))

    def forget(self, group: str) -> None:
        """Forget the plans of a group: its life is over."""
        self._plans.pop(group, None)

    def forget_others(self, groups: Collection[str]) -> None:
        """Forget the plans of groups that are not named."""
        keep_named(self._plans, groups)

    def publish(self, group: str, make: Callable[[int], P]) -> P | None:
        """Put a plan in the place of the one that stands, as a version of its own.

        None: the group was let go meanwhile.
        """
        with self._registry.reserve():
            if group not in self._registry.steps:
                return None
            draft = Draft()
            plan = self.add(draft, group, make)
            self.took(group, plan, self._registry.publish(draft))
        return plan


def entry_of(plan: EntryPlan) -> pa.Table:
    """Give a plan as an entry of its port."""
    return pa.table(
        {
            "query": pa.array([plan.number], pa.int64()),
            "plan": pa.array([json.dumps(plan.to_json())], pa.string()),
        }
    )


class PlanCycle(ABC, Generic[P]):
    """What a kind whose groups have plans knows of them, in one home."""

    book: PlanBook[P]

    @abstractmethod
    def propose(self, logical: Any, group: str, arriving: int, plan: P | None) -> Outlook[P]:
        """Judge queries that come to a group, and plan for them if what stands will not do."""

    @abstractmethod
    def watches(self, described: Mapping[str, Any]) -> bool:
        """Say whether the group of a step is watched."""

    def plans_for(self, described: Mapping[str, Any]) -> bool:
        """Say whether the group of a step may have a plan; of the others nobody asks for one."""
        return self.watches(described)

    def begin(self, once: bool, shards: int) -> None:
        """Begin a run; with `once` it ends when all that is there is processed."""

    def renew(self, group: str, plan: P) -> Callable[[int], P] | None:  # noqa: ARG002
        """Make another plan to begin a run with, if the one before should not stand."""
        return None

    @abstractmethod
    def watch(self, batch: WatchedBatch[P]) -> bool:
        """Take what a batch told; say whether it is time to look at the group."""

    @abstractmethod
    def review(self, batch: WatchedBatch[P]) -> Revision[P] | None:
        """Look at a group: give the plan that should take the place of the one in force, if any."""

    def forget_others(self, groups: Collection[str]) -> None:
        """Forget what was seen of groups that are not named."""

    def finish(self, group: str, plan: P | None) -> None:
        """Keep what was measured of a group, when a run ends."""


class PlanWatch(Watch, Generic[P]):
    """Drives the plan cycle of a kind in one home; it knows nothing of what plans say."""

    def __init__(self, house: House, cycle: PlanCycle[P]) -> None:
        super().__init__(house)
        self.cycle = cycle
        self.book = cycle.book
        self._refusals: dict[str, str] = {}

    def plan(self, logical: Any, group: str, arriving: int, draft: Draft) -> Promise:
        """Let the cycle judge what is registered, and add its plan to the draft."""
        outlook = self.cycle.propose(logical, group, arriving, self.book.standing(group))
        promise = Promise(verdict=outlook.verdict, notes=outlook.notes)
        if outlook.make is None:
            return promise
        plan = self.book.add(draft, group, outlook.make)
        return Promise(
            verdict=outlook.verdict,
            notes=outlook.notes,
            took=lambda version: self.book.took(group, plan, version),
        )

    def begin(self, once: bool, shards: int) -> None:
        """Begin a run, with other plans where those of the run before should not stand."""
        self.cycle.begin(once, shards)
        for group, described in self._groups():
            plan = self._standing(group, described)
            make = None if plan is None else self.cycle.renew(group, plan)
            if make is not None:
                self.book.publish(group, make)

    def take(self, report: BatchReport, now_s: float) -> None:
        """Let every group that told something be watched; look at those whose time it is."""
        for group, described in self._groups():
            if not report.figures[group].of_kind("counter"):
                continue
            standing = self._standing(group, described)
            plan = standing and self.book.in_force(group, report.version)
            batch = WatchedBatch(
                group=group,
                described=described,
                plan=plan,
                settled=plan is standing,
                report=report,
                now_s=now_s,
            )
            if self.cycle.watch(batch):
                self._look(batch)

    def forget_others(self, groups: Collection[str]) -> None:
        """Forget plans, refusals and what was seen of groups that are not named."""
        self.cycle.forget_others(groups)
        self.book.forget_others(groups)
        keep_named(self._refusals, groups)

    def finish(self) -> None:
        """Let what was measured be kept."""
        for group, described in self._groups():
            self.cycle.finish(group, self._standing(group, described))

    def _look(self, batch: WatchedBatch[P]) -> None:
        """Follow what a look comes to; a planner that refuses must not end the run."""
        group, number = batch.group, batch.report.batch
        try:
            revision = self.cycle.review(batch)
        except PenstockError as error:
            if str(error) != self._refusals.get(group):
                self._refusals[group] = str(error)
                self.house.tell(group, number, f"the plan stays as it is. {error}")
            return
        self._refusals.pop(group, None)
        if revision is not None:
            self.book.publish(group, revision.make)
            if revision.text:
                self.house.tell(group, number, revision.text)

    def _groups(self) -> list[tuple[str, Mapping[str, Any]]]:
        steps = list(self.house.registry.steps.items())
        return [(group, own) for group, own in steps if self.cycle.watches(own)]

    def _standing(self, group: str, described: Mapping[str, Any]) -> P | None:
        return self.book.standing(group) if self.cycle.plans_for(described) else None
