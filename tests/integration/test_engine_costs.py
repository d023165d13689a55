"""What joins take by the processor's clock corrects what the planner thinks they take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.engine import Desk
from penstock.kinds.statistics import COSTED_ROWS_MIN, FACTOR_RANGE
from tests.support.desk_runs import DeskRun
from tests.support.feeding import CHAIN, RATES, Feeding, relations

BUSY = {name: 10 * rate for name, rate in RATES.items()}
OPTIONS = {"order": "((a b) c)"}
"""One order, so that the plan in force and the next one are the same."""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    made = DeskRun(tmp_path / "home", *relations(*BUSY.values()))
    yield made
    made.desk.close()


def fed(run: DeskRun, spent_s: float | None, seconds: float = 1.0, batches: int = 8) -> Feeding:
    """Subscribe, and run batches that are said to have taken so long."""
    run.desk.subscribe(CHAIN, name="s", options=OPTIONS)
    feeding = Feeding(run)
    # The first batch also loads what the others find in memory: it must not count.
    feeding.spent_s = 1000.0
    feeding.batch(seconds, BUSY)
    feeding.spent_s = spent_s
    for _ in range(batches):
        feeding.batch(seconds, BUSY)
    feeding.watcher.finish()
    return feeding


def group_of(desk: Desk) -> str:
    return desk.subscription("s").group


def factor_of(desk: Desk) -> float | None:
    factor: float | None = desk.statistics()["groups"][group_of(desk)]["cost_factor"]
    return factor


def test_the_factor_is_actual_by_modelled_cost(run: DeskRun) -> None:
    feeding = fed(run, 0.004)
    seen = feeding.watcher.plan_run(group_of(run.desk))
    assert seen is not None and seen.processors is not None
    told = seen.processors
    assert told.observed == pytest.approx(0.004, rel=0.02)
    assert 0.0004 < told.predicted < 0.04, "or the bounds hide what was learnt"
    found = factor_of(run.desk)
    assert found == pytest.approx(told.observed / told.predicted, rel=0.01)
    # It corrects the costs of the library, not those corrected before.
    feeding.watcher.finish()
    assert factor_of(run.desk) == found
    feeding.spent_s = 0.008
    for _ in range(30):
        feeding.batch(1.0, BUSY)
    feeding.watcher.finish()
    now = factor_of(run.desk)
    assert found is not None and now is not None
    assert 1.7 * found < now < 2.1 * found, "older batches weigh less and less"


@pytest.mark.parametrize(("spent_s", "bound"), [(0.0, FACTOR_RANGE[0]), (50.0, FACTOR_RANGE[1])])
def test_the_factor_is_bounded(run: DeskRun, spent_s: float, bound: float) -> None:
    fed(run, spent_s)
    assert factor_of(run.desk) == bound


def test_the_next_plan_uses_what_was_measured_and_says_so(run: DeskRun) -> None:
    desk = run.desk
    before = desk.explain(CHAIN, options=OPTIONS).plan
    assert before is not None
    assert before.costs != "measured"
    fed(run, 4 * before.utilisation)
    after = desk.explain(CHAIN, options=OPTIONS).plan
    assert after is not None
    assert after.costs == "measured"
    assert "costs      measured" in after.text()
    assert after.to_json()["costs"] == "measured"
    assert after.utilisation == pytest.approx(4 * before.utilisation, rel=0.02)
    headroom = {"headroom": 1.0 - 3 * before.utilisation}
    verdict = desk.explain(CHAIN, options=OPTIONS, what_if=headroom).plan
    assert verdict is not None
    assert verdict.verdict == "INSUFFICIENT"
    # A cost that is assumed takes the place of all that is known.
    assumed = desk.explain(CHAIN, what_if={"cost": "5 ms"}).plan
    assert assumed is not None
    assert assumed.costs == "5 ms per row and join"


def test_what_was_measured_outlives_the_run(run: DeskRun) -> None:
    fed(run, 0.004)
    run.desk.close()
    with_factor = Desk(run.desk.home.path)
    assert factor_of(with_factor) == factor_of(run.desk)
    plan = with_factor.explain(CHAIN, options=OPTIONS).plan
    assert plan is not None
    assert plan.costs == "measured"
    with_factor.close()


def test_small_batches_prove_nothing(run: DeskRun) -> None:
    seconds = 0.9 * COSTED_ROWS_MIN / sum(BUSY.values())
    feeding = fed(run, 5.0, seconds=seconds)
    assert factor_of(run.desk) is None
    seen = feeding.watcher.plan_run(group_of(run.desk))
    assert seen is None or seen.processors is None
    plan = run.desk.explain(CHAIN, options=OPTIONS).plan
    assert plan is not None
    assert plan.costs != "measured"


def test_another_group_keeps_its_own_costs(run: DeskRun) -> None:
    other = CHAIN.replace("c [ROWS 10]", "c [ROWS 12]")
    fed(run, 0.004)
    plan = run.desk.explain(other).plan
    assert plan is not None
    assert plan.costs != "measured"
