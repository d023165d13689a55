"""Shares of pairs that match, stated by users: once, or one for each way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.algebra.multi_joins import MultiJoin
from penstock.engine.scripts import execute
from penstock.kinds.input_pairs import paired, stated_pairs
from penstock.language.assumptions import assumptions_of
from penstock.planning.model import InputModel, JoinModel, PredicateModel
from penstock.vocabulary.errors import PenstockError
from tests.support.desk_runs import DeskRun
from tests.support.feeding import CHAIN, RATES, Feeding, relations
from tests.support.planners import planner_of

UNEVEN = "selectivity(b, a) = 0.5, selectivity(a, b) = 0.05"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    made = DeskRun(tmp_path / "home", *relations())
    yield made
    made.desk.close()


def test_what_if_and_options_state_both_ways(run: DeskRun) -> None:
    order = {"order": "((a b) c)"}
    options = {"selectivity_A_b": 0.05, "selectivity_b_a": 0.5, **order}
    assumed = run.desk.explain(CHAIN, options=order, what_if=UNEVEN).plan
    declared = run.desk.explain(CHAIN, options=options).plan
    assert assumed is not None and declared is not None
    line = "a.x = b.x: a row of a meets 5 % of b, one of b 50 % of a"
    assert f"{line} [what if]" in assumed.text()
    assert f"{line} [declared]" in declared.text()
    assert assumed.to_json()["predicates"][0]["ways"] == {"a": 0.05, "b": 0.5}
    # 10 rows a second meet 0.05 * 10 rows each, 20 meet 0.5 * 10: 105 a second, 35 at a time.
    for plan in (assumed, declared):
        (pair,) = [each for each in _joins(plan.to_json()["tree"]) if each["mask"] == 0b011]
        assert pair["output_rate"] == pytest.approx(105)
    # The mean of both ways gives as many rows, and other drop boxes.
    even = run.desk.explain(CHAIN, options=order, what_if="selectivity(a, b) = 0.35").plan
    assert even is not None and even.output_rate == pytest.approx(assumed.output_rate)
    slow = "cost = 5 ms, headroom = 0"
    one, other = (
        run.desk.explain(CHAIN, options=order, what_if=f"{slow}, {ways}").plan
        for ways in (UNEVEN, "selectivity(a, b) = 0.35")
    )
    assert one is not None and other is not None
    assert one.shedding is not None and other.shedding is not None
    assert dict(one.shedding.ratios) != pytest.approx(dict(other.shedding.ratios))


def _joins(tree: dict[str, object]) -> list[dict[str, object]]:
    below = [_joins(tree[side]) for side in ("left", "right") if side in tree]  # type: ignore[arg-type]
    return [*([tree] if "join" in tree else []), *(each for part in below for each in part)]


def test_in_a_script_too(run: DeskRun) -> None:
    outcome = execute(run.desk, f"EXPLAIN {CHAIN} WHAT IF ({UNEVEN})")
    assert "one of b 50 % of a" in outcome.explanations[0].text()


def test_one_way_is_stated_once() -> None:
    with pytest.raises(PenstockError, match="SQL-006"):
        assumptions_of({"selectivity(a, b)": 0.1, "selectivity(A, b)": 0.2})


def test_a_key_of_three_has_one_way(run: DeskRun) -> None:
    text = CHAIN.replace("b.y = c.y", "b.x = c.x")
    with pytest.raises(PenstockError, match="ENG-035"):
        run.desk.explain(text, what_if=UNEVEN)
    assert run.desk.explain(text, what_if="selectivity(b, a) = 0.3").plan is not None


def test_other_predicates_of_the_two_are_left_with_nothing() -> None:
    inputs = tuple(InputModel(name=name, rate=10, rows=10) for name in "ab")
    near = PredicateModel(mask=3, selectivity=0.3, is_equality=False)
    model = JoinModel(inputs=inputs, predicates=(near, near))
    (both,) = stated_pairs([(("b", "a"), 0.4, None), (("a", "b"), 0.1, None)], "ab")
    found = paired(model, both)
    assert [(each.selectivity, each.reverse) for each in found.predicates] == [
        (0.1, 0.4), (1.0, None),
    ]  # fmt: skip
    (one,) = stated_pairs([(("b", "a"), 0.4, None)], "ab")
    again = paired(found, one)
    assert [(each.selectivity, each.reverse) for each in again.predicates] == [
        (0.4, None), (1.0, None),
    ]  # fmt: skip


def test_what_is_measured_is_better_than_ways_that_are_declared(run: DeskRun) -> None:
    options = {"selectivity_a_b": 0.1, "selectivity_b_a": 0.4}
    group = run.desk.subscribe(CHAIN, name="s", options=options).group
    feeding = Feeding(run)
    for _ in range(20):
        feeding.batch(2.0, RATES)
    feeding.watcher.finish()
    logical = feeding.watcher._logical(group)
    assert logical is not None
    assert isinstance(logical, MultiJoin)
    model = planner_of(run.desk).modelled(logical, group, 1).model
    assert not any(each.ways for each in model.predicates)
    assert model.crossing(0b01, 0b10) == pytest.approx(1 / 4, rel=0.15), "what the rows do"


def test_both_ways_are_measured(run: DeskRun) -> None:
    """Rows of b ask for rows of a that came, which ask for nothing: nobody said so."""
    group = run.desk.subscribe(CHAIN, name="s", options={"order": "((a b) c)"}).group
    feeding = Feeding(run, follows=True)
    for _ in range(20):
        feeding.batch(2.0, RATES)
    feeding.watcher.finish()
    logical = feeding.watcher._logical(group)
    assert isinstance(logical, MultiJoin)
    model = planner_of(run.desk).modelled(logical, group, 1).model
    (ways,) = [each for each in model.predicates if each.ways]
    assert ways.mask == 0b011
    assert ways.selectivity < 0.01
    assert ways.reverse == pytest.approx(0.1, rel=0.15)
    told = run.desk.explain("s").plan
    assert told is not None
    assert "a row of a meets" in told.text() and "[measured]" in told.text()
