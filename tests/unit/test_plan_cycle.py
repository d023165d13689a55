"""A plan cycle of a toy kind: proposed, published as an entry, watched, replanned.

The toy is a schedule that says how many batches a group rests between two looks, as views and
model queries will have one: no planner, no drop boxes, only the protocol.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock.delivery.log import LoggedBatch
from penstock.engine import Desk
from penstock.kinds.plan_cycle import (
    Outlook,
    PlanBook,
    PlanCycle,
    PlanWatch,
    Revision,
    WatchedBatch,
)
from penstock.kinds.watch import House
from penstock.operators.catalogue import OPERATORS
from penstock.registry.records import Draft
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.figures import Tally
from tests.support.tally import KIND, TALLIED, TALLY, TallyStep, tallies

GROUP = f"{KIND}-1"


@dataclass(frozen=True)
class Schedule:
    """A plan that is a number of batches."""

    number: int
    every: int

    def to_json(self) -> dict[str, Any]:
        return {"every": self.every}

    @classmethod
    def from_json(cls, number: int, data: dict[str, Any]) -> Schedule:
        return cls(number, data["every"])


class ToyCycle(PlanCycle[Schedule]):
    """Rests twice as long when a batch brought little; what a run learnt ends with it."""

    def __init__(self, house: House) -> None:
        self.book = PlanBook(house.registry, Schedule.from_json)
        self.seen: list[tuple[int, int | None, bool]] = []
        self.finished: list[int] = []

    def watches(self, described: Mapping[str, Any]) -> bool:
        return bool(described["kind"] == KIND)

    def propose(
        self,
        logical: Any,
        group: str,
        arriving: int,
        plan: Schedule | None,
    ) -> Outlook[Schedule]:
        if plan is not None:
            return Outlook(verdict="AS BEFORE")
        return Outlook(verdict="RESTS", notes=(f"{arriving} rest.",), make=at(logical))

    def renew(self, group: str, plan: Schedule) -> Callable[[int], Schedule] | None:
        return at(1) if plan.every > 1 else None

    def watch(self, batch: WatchedBatch[Schedule]) -> bool:
        every = None if batch.plan is None else batch.plan.every
        self.seen.append((batch.report.batch, every, batch.settled))
        return batch.settled

    def review(self, batch: WatchedBatch[Schedule]) -> Revision[Schedule] | None:
        assert batch.plan is not None
        rows = batch.report.figures[batch.group][TALLIED]
        if rows == 13:
            raise PenstockError("TOY-001", "Thirteen rows cannot be planned for.", "Bring more.")
        if rows >= 10:
            return None
        every = 2 * batch.plan.every
        return Revision(at(every), f"it rests for {every} batches.")

    def finish(self, group: str, plan: Schedule | None) -> None:
        self.finished.append(0 if plan is None else plan.every)


def at(every: int) -> Callable[[int], Schedule]:
    return lambda number: Schedule(number, every)


class Toy:
    """A home with a group of the toy kind, and the watch over it."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.registry = desk, desk.registry
        self.notices: list[str] = []
        house = House(
            registry=desk.registry,
            statistics=desk.watcher.statistics,
            tell=lambda _group, _batch, text: self.notices.append(text),
            logical_of=lambda _group: None,
        )
        self.cycle = ToyCycle(house)
        self.watch = PlanWatch(house, self.cycle)

    def register(self, logical: int) -> str | None:
        with self.registry.reserve():
            first = self.registry.next_query
            draft = Draft(changes={GROUP: QueryChanges(adds=tallies(first, [3]))})
            if GROUP not in self.registry.steps:
                draft.steps[GROUP] = TallyStep(relation="t").to_json()
            promise = self.watch.plan(logical, GROUP, 1, draft)
            promise.took(self.registry.publish(draft))
        return promise.verdict

    def batch(self, number: int, rows: int, version: int | None = None) -> None:
        told = FigureTable({GROUP: Tally({TALLIED: rows})})
        under = self.registry.version if version is None else version
        logged = LoggedBatch(number, under, rows, 0, ())
        report = BatchReport(
            batch=number, version=under, rows_in=rows, matches=0, seconds=0.0, figures=told,
            logged=logged,
        )  # fmt: skip
        self.watch.take(report, float(number))

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The plans that stand, as operators read them."""
        return [
            json.loads(text) for text in self.registry.entries(GROUP)["plan"]["plan"].to_pylist()
        ]


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Toy]:
    monkeypatch.setitem(OPERATORS, KIND, TALLY)
    with_desk = Desk(tmp_path / "home")
    yield Toy(with_desk)
    with_desk.close()


def test_a_plan_is_proposed_with_what_is_registered_and_is_an_entry(toy: Toy) -> None:
    assert toy.register(4) == "RESTS"
    assert toy.entries == [{"every": 4}]
    version = toy.registry.version
    changes = [
        change for each in toy.registry.reader(0, version) for change in each.changes.values()
    ]
    assert set(changes[-1].adds) == {"tallies", "plan"}, "queries and plan begin together"
    assert toy.register(9) == "AS BEFORE"
    assert toy.entries == [{"every": 4}]


def test_a_group_is_watched_and_replanned_as_a_version_of_its_own(toy: Toy) -> None:
    toy.register(1)
    before = toy.registry.version
    toy.batch(0, rows=20)
    assert toy.registry.version == before, "nothing is better"
    toy.batch(1, rows=2)
    assert toy.registry.version == before + 1
    assert toy.entries == [{"every": 2}], "one plan stands"
    assert toy.notices == ["it rests for 2 batches."]
    # A batch that began before the plan ran under the old one, and is no reason for a third.
    toy.batch(2, rows=2, version=before)
    toy.batch(3, rows=2)
    assert toy.cycle.seen == [(0, 1, True), (1, 1, True), (2, 1, False), (3, 2, True)]
    assert toy.entries == [{"every": 4}]


def test_another_process_knows_which_plan_a_batch_ran_under(toy: Toy) -> None:
    """A batch that is run again after a crash was told to have followed the newest plan."""
    toy.register(1)
    first = toy.registry.version
    toy.batch(0, rows=2)
    later = Toy(toy.desk)
    assert later.cycle.book.standing(GROUP) == toy.cycle.book.standing(GROUP)
    later.batch(1, rows=2, version=first)
    later.batch(2, rows=20)
    assert later.cycle.seen == [(1, 1, False), (2, 2, True)]


def test_a_planner_that_refuses_ends_no_run_and_is_told_once(toy: Toy) -> None:
    toy.register(1)
    toy.batch(0, rows=13)
    toy.batch(1, rows=13)
    toy.batch(2, rows=20)
    toy.batch(3, rows=13)
    refusals = [text for text in toy.notices if "TOY-001" in text]
    assert len(refusals) == len(toy.notices) == 2
    assert refusals[0].startswith("the plan stays as it is. [TOY-001] Thirteen rows")
    assert toy.entries == [{"every": 1}]


def test_a_run_begins_with_the_plan_that_it_should(toy: Toy) -> None:
    toy.register(4)
    toy.watch.begin(once=False, shards=1)
    assert toy.entries == [{"every": 1}]
    version = toy.registry.version
    toy.watch.begin(once=False, shards=1)
    assert toy.registry.version == version
    toy.watch.finish()
    assert toy.cycle.finished == [1]


def test_a_plan_outlives_the_process(toy: Toy) -> None:
    toy.register(4)
    again = PlanBook(toy.registry, Schedule.from_json)
    standing = again.standing(GROUP)
    assert standing is not None
    assert standing.every == 4
    assert standing == again.in_force(GROUP, toy.registry.version)
    assert again.standing("another") is None
