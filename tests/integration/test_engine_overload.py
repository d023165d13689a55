"""Rows are dropped on measured overload only, for as long as it lasts, and that is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.engine import Desk
from penstock.engine.losses import Losses
from penstock.engine.verification import verify
from penstock.kinds.multi_join import cycle
from penstock.kinds.multi_join.plans import StandingPlan
from penstock.vocabulary import shared_figures
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.losses import SHED_ROWS
from penstock.vocabulary.shared_figures import ARRIVED
from tests.support.desk_runs import DeskRun
from tests.support.feeding import CHAIN as NARROW
from tests.support.feeding import RATES as SLOW
from tests.support.feeding import Feeding, relations
from tests.support.planners import planner_of

RATES = {name: 20 * rate for name, rate in SLOW.items()}
CHAIN = NARROW.replace("ROWS 10", "ROWS 30")
"""Enough rows for what joins cost to count beside what batches and rows that come cost."""
SECONDS = 0.1
MADE = 98_000
"""What the joins make in a second of these rates."""
LOOKS = 2
"""Batches from look to look, in these tests."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DeskRun]:
    monkeypatch.setattr(cycle, "LOOK_EVERY_BATCHES", LOOKS)
    monkeypatch.setattr(cycle, "REPLAN_AFTER_BATCHES", 2 * LOOKS)
    made = DeskRun(tmp_path / "home", *relations(*RATES.values()))
    yield made
    made.desk.close()


def worked(figures: FigureTable) -> int:
    """Count what a batch was worth: rows that came, and rows that joins made of them."""
    return figures.total(ARRIVED) + figures.total(shared_figures.MADE)


def fed(feeding: Feeding, batches: int, needed: float, busy: float | None = None) -> None:
    """Run batches that would need so many processors if nothing were dropped.

    The host is as busy as that makes it, or as is said.
    """
    every = SECONDS * (sum(RATES.values()) + MADE)
    feeding.spent_s = lambda told: needed * SECONDS * worked(told) / every
    feeding.busy_s = SECONDS * (min(needed, 1.0) if busy is None else busy)
    for _ in range(batches):
        feeding.batch(SECONDS, RATES)


def standing(run: DeskRun) -> StandingPlan:
    plan = planner_of(run.desk).book.standing(run.desk.subscription("s").group)
    assert plan is not None
    return plan


def told(feeding: Feeding) -> str:
    return "\n".join(notice.text for notice in feeding.watcher.notices)


@pytest.mark.parametrize("rates", [(None, None, None), (1e9, 1e9, 1e9)])
def test_no_row_is_dropped_on_what_is_assumed_or_declared(
    tmp_path: Path, rates: tuple[float | None, ...]
) -> None:
    run = DeskRun(tmp_path / "home", *relations(*rates))
    options = {"headroom": 0.9999999}
    receipt = run.desk.subscribe(CHAIN, name="s", options=options).receipt
    assert receipt is not None
    assert receipt.verdict == "INSUFFICIENT"
    assert "as many rows" in receipt.notes[0]
    assert "Nothing is dropped unless the run itself is measured" in receipt.notes[1]
    assert ("rate(a)" in receipt.notes[1]) == (rates[0] is None), "which figures are guesses"
    assert not standing(run).sheds
    text = run.desk.explain("s").text()
    assert "once it is seen to fall behind" in text
    feeding = Feeding(run)
    fed(feeding, 20, needed=0.5, busy=0.01)
    assert not standing(run).sheds
    (verdict,) = verify(run.desk.registry, run.desk.log)
    assert verdict.equal and not verdict.is_shed
    run.desk.close()


def test_who_wants_it_from_the_first_row_says_so_with_figures(run: DeskRun, tmp_path: Path) -> None:
    options = {"headroom": 0.9999, "shed_at_once": True}
    receipt = run.desk.subscribe(CHAIN, name="s", options=options).receipt
    assert receipt is not None
    assert len(receipt.notes) == 1
    plan = standing(run)
    assert plan.sheds and plan.found < plan.kept < 1.0
    guessing = DeskRun(tmp_path / "guessing", *relations(None))
    receipt = guessing.desk.subscribe(CHAIN, name="s", options=options).receipt
    assert receipt is not None
    assert "Nobody has said or measured rate(a)" in receipt.notes[1]
    assert not standing(guessing).sheds
    guessing.desk.close()


def test_measured_overload_drops_and_its_end_ends_that(run: DeskRun) -> None:
    run.desk.subscribe(CHAIN, name="s")
    feeding = Feeding(run)
    losses = Losses(feeding.watcher.tell)
    fed(feeding, 2 * LOOKS, needed=2.0)
    assert not standing(run).sheds, "one look, or two, may err"
    fed(feeding, 2 * LOOKS, needed=2.0)
    first = standing(run)
    assert first.sheds
    assert "it cannot keep up: it was measured to need" in told(feeding)
    # Behind its drop boxes it takes what it may.
    fed(feeding, 8 * LOOKS, needed=2.0)
    settled = standing(run).number
    fed(feeding, 6 * LOOKS, needed=2.0)
    assert standing(run).sheds and standing(run).number - settled <= 1, "no flapping"
    facts = feeding.watcher.shedding()["s"]
    assert facts.expected_found < facts.expected_share < 1.0
    assert facts.measured_share == pytest.approx(facts.expected_share, abs=0.15)
    dropped = sum(facts.dropped_rows.values())
    assert 0 < dropped < sum(facts.arrived_rows.values())
    assert run.figures.total(SHED_ROWS) > 0
    # It gets easier, a little: less is dropped. Then it is over.
    fed(feeding, 6 * LOOKS, needed=1.2)
    eased = standing(run)
    assert eased.sheds and eased.kept > first.kept
    fed(feeding, 8 * LOOKS, needed=0.3)
    assert not standing(run).sheds
    assert "the overload is over" in told(feeding)
    assert "Nothing is dropped now" in told(feeding)
    fed(feeding, 3 * LOOKS, needed=0.3)
    assert not standing(run).sheds
    assert not losses.counts
    (verdict,) = verify(run.desk.registry, run.desk.log)
    assert verdict.equal and verdict.is_shed, verdict
    assert verdict.full is not None and verdict.full_found < verdict.full


@pytest.mark.parametrize(
    ("options", "needed", "busy"),
    [
        ({"shedding": "off"}, 2.0, None),
        ({}, 2.0, 0.1),  # few rows of one moment on a machine that mostly waits
        ({}, 0.65, None),  # within the bound
        ({"processors": 4}, 2.0, None),
    ],
)
def test_what_is_no_overload_drops_nothing(
    run: DeskRun, options: dict[str, Any], needed: float, busy: float | None
) -> None:
    run.desk.subscribe(CHAIN, name="s", options=options)
    feeding = Feeding(run)
    fed(feeding, 6 * LOOKS, needed=needed, busy=busy)
    assert not standing(run).sheds


def test_a_short_overload_drops_nothing(run: DeskRun) -> None:
    run.desk.subscribe(CHAIN, name="s")
    feeding = Feeding(run)
    for _ in range(5):
        fed(feeding, LOOKS, needed=3.0)
        fed(feeding, LOOKS, needed=0.1)
    assert not standing(run).sheds


def test_a_run_over_what_is_there_has_all_the_time_it_needs(run: DeskRun) -> None:
    run.desk.subscribe(CHAIN, name="s")
    feeding = Feeding(run)
    feeding.watcher.begin(once=True, shards=1)
    fed(feeding, 6 * LOOKS, needed=3.0)
    assert not standing(run).sheds


def test_a_new_run_measures_for_itself(run: DeskRun) -> None:
    run.desk.subscribe(CHAIN, name="s")
    feeding = Feeding(run)
    fed(feeding, 5 * LOOKS, needed=3.0)
    assert standing(run).sheds
    run.desk.close()
    again = Desk(run.desk.home.path)
    run.desk = again
    assert standing(run).sheds
    Feeding(run).watcher.begin(once=False, shards=1)
    assert not standing(run).sheds


def test_what_one_puts_up_with_another_need_not(run: DeskRun) -> None:
    some = run.desk.subscribe(CHAIN, name="s")
    none = run.desk.subscribe(CHAIN, name="all", options={"shedding": "off"})
    assert some.group != none.group
    feeding = Feeding(run)
    fed(feeding, 6 * LOOKS, needed=3.0)
    assert standing(run).sheds
    verdicts = {each.subscription: each for each in verify(run.desk.registry, run.desk.log)}
    assert verdicts["s"].is_shed and verdicts["s"].full_found < verdicts["all"].found
    assert not verdicts["all"].is_shed
    assert verdicts["s"].full == verdicts["all"].found
