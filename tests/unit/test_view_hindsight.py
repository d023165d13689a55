"""What a view's plan cycle sees of it: misses with their causes, regret, and what EXPLAIN says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.delivery.log import LoggedBatch
from penstock.engine import Desk
from penstock.kinds.plan_cycle import WatchedBatch
from penstock.kinds.view.cycle import ViewCycle
from penstock.kinds.view.explanation import plan_facts
from penstock.kinds.view.hindsight import Hindsight
from penstock.kinds.view.prices import BAR, MOMENTS, Foretold, Price
from penstock.kinds.watch import Explained, House
from penstock.language.assumptions import assumptions_of
from penstock.operators.view import figures
from penstock.planning.explanation import Explanation
from penstock.spark.hosts import BatchReport
from penstock.views.maintenance.curves import CostCurve
from penstock.views.maintenance.decisions import Decisions, FlushPlan
from penstock.views.maintenance.policies import followed
from penstock.views.maintenance.problems import Freshness, Problem
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.figures import Tally
from tests.support.view_lives import view

CURVES = (CostCurve.linear(each=2.0, fixed=1.0), CostCurve.linear(each=1.0, fixed=12.0))
BOUND = 24.0
NO_RATES: Mapping[str, str | float] = {}
OPTIMUM, NAIVE = 91.0, 125.0
"""Of the golden trace: one change of each table at each of 20 moments."""


def told(flushed: tuple[int, int], pending: tuple[int, int], **more: int) -> Tally:
    """Give what a batch tells."""
    found = Tally({figures.TURNS: 1})
    for number in range(2):
        found[figures.FLUSHED, number] = flushed[number]
        found[figures.FLUSHES, number] = int(flushed[number] > 0)
        found[figures.PENDING, number] = pending[number]
    for name, value in more.items():
        found[getattr(figures, name)] = value
    return found


def naive_moments() -> Iterator[Tally]:
    for moment in range(1, 21):
        waiting = moment % 4
        yield told((0, 0), (waiting, waiting)) if waiting else told((4, 4), (0, 0))


def test_regret_is_what_was_paid_over_the_optimum_in_hindsight() -> None:
    seen = Hindsight(2)
    for each in naive_moments():
        seen.note(each)
    assert seen.regret(CURVES, BOUND) == pytest.approx(NAIVE / OPTIMUM - 1)


def test_what_a_reader_had_flushed_is_no_regret() -> None:
    seen = Hindsight(2)
    for _ in range(3):
        seen.note(told((0, 0), (1, 1)))
    # A reader refreshed what waited; then the batch brought one change of each.
    seen.note(told((1, 1), (1, 1), REFRESHES=1))
    assert seen.regret(CURVES, BOUND) is None, "too little is known since"
    for moment in range(2, 10):
        seen.note(told((0, 0), (moment, 1)))
    assert seen.regret(CURVES, 1e9) == pytest.approx(0.0), "nothing was flushed that need not be"


def test_inputs_are_flushed_together_where_that_is_cheaper() -> None:
    seen = Hindsight(2)
    assert not seen.is_together(CURVES, BOUND), "one waits for its large fixed cost"
    alike = (CostCurve.linear(each=0.014, fixed=2.1), CostCurve.linear(each=0.14, fixed=2.1))
    for moment in range(1, 100):
        seen.note(told((0, 0), (2 * moment, 2 * moment)))
    assert seen.is_together(alike, 19.4) and not seen.is_together(alike, 9.2)
    plan = FlushPlan(number=1, curves=alike, together=True, headroom=1.0)
    pending = np.array([100, 100])
    assert Decisions("online", 16.0, plan).choose(pending, pending, "") == ((0, 1), "")
    assert FlushPlan.from_json(plan.to_json()).together


@pytest.fixture
def cycle(tmp_path: Path) -> Iterator[ViewCycle]:
    desk = Desk(tmp_path / "home")
    house = House(
        registry=desk.registry, statistics=desk.watcher.statistics, tell=lambda *_: None,
        logical_of=lambda _: None,
    )  # fmt: skip
    yield ViewCycle(house)
    desk.close()


def watched(
    number: int, tally: Tally, plan: FlushPlan | None, now_s: float = 0.0
) -> WatchedBatch[FlushPlan]:
    return WatchedBatch(
        group="view-1",
        described=view().step().to_json(),
        plan=plan,
        settled=True,
        report=BatchReport(
            batch=number, version=0, rows_in=0, matches=0, seconds=0.0,
            figures=FigureTable({"view-1": tally}), logged=LoggedBatch(number, 0, 0, 0, ()),
        ),
        now_s=now_s,
    )  # fmt: skip


def test_a_miss_is_told_with_its_cause_and_leaves_less_waiting(cycle: ViewCycle) -> None:
    plan = FlushPlan(number=3, curves=CURVES, headroom=0.8)
    missed = told((1, 1), (0, 0), REFRESHES=1, REFRESH_TIME=2_000_000_000)
    missed[figures.MISSES, "burst"] = 1
    batch = watched(1, missed, plan)
    assert cycle.watch(batch)
    revision = cycle.review(batch)
    assert revision is not None and "more came at once than the bound allows (1)" in revision.text
    assert revision.make(4).headroom == pytest.approx(0.64)


def test_where_the_bound_is_kept_long_more_may_wait_again(cycle: ViewCycle) -> None:
    plan = FlushPlan(number=3, curves=CURVES, headroom=0.6)
    kept = told((1, 1), (0, 0), REFRESHES=600)
    assert not cycle.watch(watched(1, kept, plan))
    last = watched(2, kept, plan)
    assert cycle.watch(last)
    revision = cycle.review(last)
    assert revision is not None and "the bound was kept long" in revision.text
    assert revision.make(4).headroom == pytest.approx(0.75)
    assert not cycle.watch(watched(3, kept, plan)), "it is counted anew"
    assert not cycle.watch(watched(4, kept, replace(plan, headroom=0.8))), "more may not"


def test_rehearsals_are_told_when_they_say_something_new(cycle: ViewCycle) -> None:
    plan, texts = None, []
    for number, took_s in enumerate((0.001, 0.002, 9.0, 8.0, 0.001)):
        tally = told((1, 1), (0, 0))
        tally[figures.REHEARSAL, 0, 1] = round(took_s * 1e9)
        batch = watched(number, tally, plan)
        assert cycle.watch(batch)
        revision = cycle.review(batch)
        assert revision is not None
        plan = revision.make(number + 1)
        texts.append(revision.text)
    assert [bool(text) for text in texts] == [True, False, True, False, True]
    assert "takes 2 ms, and may take" in texts[0] and "cannot be kept" in texts[2]


def test_a_look_back_is_part_of_the_next_plan(cycle: ViewCycle) -> None:
    plan = FlushPlan(number=3, curves=CURVES, headroom=BOUND / 0.5)
    for number, each in enumerate(naive_moments()):
        cycle.watch(watched(number, each, plan))
    last = told((0, 0), (0, 0))
    last[figures.REHEARSAL, 0, 1] = last[figures.REHEARSAL, 1, 1] = 5_000_000
    batch = watched(21, last, plan)
    assert cycle.watch(batch)
    revision = cycle.review(batch)
    assert revision is not None
    assert revision.make(4).regret == pytest.approx(NAIVE / OPTIMUM - 1)
    again = FlushPlan.from_json(revision.make(4).to_json())
    assert again.regret == revision.make(4).regret


def test_explain_says_what_happened_in_this_run(cycle: ViewCycle) -> None:
    first = told((4, 0), (0, 3), REFRESHES=2, REFRESH_WORST=7_000_000)
    first[figures.MISSES, "store"] = 1
    cycle.watch(watched(1, first, None))
    cycle.watch(watched(2, told((1, 0), (0, 5), REFRESH_WORST=7_000_000), None))
    seen = cycle.told("view-1")
    assert seen[figures.FLUSHED, 0] == 5 and seen[figures.PENDING, 1] == 5
    assert seen[figures.REFRESHES] == 2 and seen[figures.MISSES, "store"] == 1
    explanation = Explanation(
        sql="", group="view-1", relation="v", operator="view", queries=1, is_new=False
    )
    plan = FlushPlan(number=1, curves=CURVES, regret=0.25)
    facts = plan_facts(Explained(explanation=explanation, logical=view()), plan, seen).facts
    assert facts["in this run"][1] == ("items: 0 flushes of 0 changes, 5 wait",)
    assert "worst 7 ms; 1 longer than the bound (1 for a store)" in facts["refreshes"]
    assert facts["regret"].startswith("25 % beyond")


def test_a_schedule_is_replayed_where_deciding_from_time_to_time_is_dearer() -> None:
    # One table scans its partner; the other has a fixed cost that counts when it is flushed often.
    curves = (
        CostCurve.linear(each=0.008, fixed=6.6),
        CostCurve.linear(each=0.012, fixed=1.2),
    )
    bound, seen = 8.5, Hindsight(2)
    assert seen.replayed(curves, bound) == ((), 0), "nothing is known of rates"
    for moment in range(1, 201):
        seen.note(told((0, 0), (2 * moment, 2 * moment)))
    replayed, period = seen.replayed(curves, bound)
    assert period == 200 and {(0,), (1,)} <= set(replayed)
    plan = FlushPlan(number=1, curves=curves, replayed=replayed, period=period, headroom=1.0)
    plan = FlushPlan.from_json(plan.to_json())
    fresh = Freshness.of(list(curves), bound)
    costs, come, memo = dict[str, float](), np.array([2, 2]), ""
    for name, own in (("replay", plan), ("online", replace(plan, replayed=()))):
        pending, memo, cost = np.zeros(2, np.int64), "", 0.0
        for _ in range(400):
            pending += come
            chosen, memo = Decisions("online", bound, own).choose(come, pending, memo)
            cost += float(fresh.curves.parts(pending)[list(chosen)].sum())
            pending[list(chosen)] = 0
            assert not fresh.is_full(pending)
        costs[name] = cost
    assert costs["replay"] < 0.9 * costs["online"]
    # Behind a refresh the schedule begins again; what another rule remembered is of no use.
    for other in (plan, replace(plan, replayed=())):
        assert Decisions("online", bound, other).choose(come, come, memo)[0] == ()


def explained(plan: FlushPlan, what_if: Mapping[str, str | float] = NO_RATES) -> dict[str, Any]:
    """Give what EXPLAIN says of a plan, under what is assumed."""
    found = Explanation(
        sql="", group="view-1", relation="v", operator="view", queries=1, is_new=False
    )
    asked = Explained(explanation=found, logical=view(), what_if=assumptions_of(what_if))
    return plan_facts(asked, plan, Tally()).facts


def test_explain_foretells_by_what_came_lately(cycle: ViewCycle) -> None:
    plan = FlushPlan(number=3, curves=CURVES)
    assert cycle.informed("view-1", plan) is plan, "nothing is known"
    cycle.watch(watched(0, told((9_000, 9_000), (0, 0)), plan))
    for number in range(1, 12):
        cycle.watch(watched(number, told((10 * number, 0), (0, number)), plan, number / 2))
    known = cycle.informed("view-1", plan)
    assert known is not None and known.come[1] == 1.0 and known.every_s == 0.5
    assert FlushPlan.from_json(known.to_json()).come == known.come
    assert explained(plan)["changes come"] == "as often of each input"
    exact = replace(known, come=(10.0, 1.0))
    assert explained(exact)["changes come"] == "orders 20/s, items 2/s, in batches every 500 ms"
    assumed = explained(exact, {"rate(items)": "40/s"})
    assert assumed["changes come"] == "orders 20/s, items 40/s, in batches every 500 ms"
    assert assumed["cost of a change"] != explained(exact)["cost of a change"]
    assert explained(plan, {"rate(items)": "9/s"})["changes come"] == "as often of each input"


def test_explain_draws_what_a_change_costs_against_the_bound() -> None:
    plan = FlushPlan(number=3, curves=tuple(each.scaled(0.001) for each in CURVES), headroom=1.0)
    facts = explained(plan, {"bound": "24 milliseconds"})
    head, *lines = facts["chart"]
    assert head.split() == ["bound", "a", "change", "all", "at", "once"]
    assert [line.split()[0] for line in lines] == ["3", "6", "12", "24", "48", "96", "192"]
    costs = [float(line.split()[2]) for line in lines]
    bars = [line.count("█") for line in lines]
    assert costs == sorted(costs, reverse=True) and bars == sorted(bars, reverse=True)
    assert bars[0] == BAR and lines[3].split()[2] in facts["cost of a change"]


def test_a_schedule_that_is_replayed_is_foretold_by_batches() -> None:
    """Its period is one of batches, however many changes each brings."""
    plan = FlushPlan(
        number=1, curves=CURVES, headroom=1.0, replayed=((0,), (1,)), period=5,
        come=(3.0, 3.0), every_s=1.0,
    )  # fmt: skip
    fresh = Freshness.of(list(CURVES), BOUND)
    price = Price(plan=plan, foretold=Foretold.of(["orders", "items"], plan, ()), bound_s=BOUND)
    real = followed(Problem.uniform(fresh, MOMENTS, 3), plan.replay(fresh))
    assert price.planned.cost == pytest.approx(real.cost)
    slow = replace(plan, come=(0.1, 0.1), period=500)
    price = replace(price, foretold=Foretold.of(["orders", "items"], slow, ()), plan=slow)
    assert price.foretold.batches == 10.0 and price.foretold.moment_s == 10.0
    ones = followed(Problem.uniform(fresh, MOMENTS), replace(slow, period=50).replay(fresh))
    assert price.planned.cost == pytest.approx(ones.cost)
