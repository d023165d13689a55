"""Joins with a budget of rows on a real Spark, both hosts: never above it, and never wrong."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.planning.explanation import Explanation
from penstock.vocabulary.shared_figures import HELD, ROWS
from tests.e2e.conftest import Open
from tests.support.bounded_streams import Moving
from tests.support.hosts import above_hosts
from tests.support.tables import Feeder, bag
from tests.support.waiting import until_events

BUDGET = 12
WINDOWED = f"""
    SELECT r.n AS r, s.n AS s, r.k FROM r JOIN s ON r.k = s.k WITHIN 3 SECONDS
    MEMORY {BUDGET} ROWS USING HEEB MODEL r AS LINEAR TREND (slope = 1), s AS AUTO
"""
ENDLESS = f"SELECT r.n AS r, s.n AS s FROM r JOIN s ON r.k = s.k MEMORY {BUDGET} ROWS"
SELECTED = """
    SELECT r.n AS r, s.n AS s FROM r [ROWS 12], s [RANGE 2 SECONDS]
    WHERE r.k = s.k AND r.v >= :least AND s.v <= r.v + 2 MEMORY 1000 ROWS
"""

pytestmark = pytest.mark.spark


def judged(engine: ps.Engine) -> dict[str, SubscriptionOutcome]:
    found = {verdict.subscription: verdict for verdict in engine.verify().answers}
    for verdict in found.values():
        assert verdict.equal, verdict
        assert verdict.found > 20, f"too few to prove anything: {verdict}"
    return found


def held_most(engine: ps.Engine, group: str) -> int:
    return max(report.figures[group].total(ROWS) for report in engine.runner.reports)


def test_a_script_runs_within_its_budget(open_engine: Open, tmp_path: Path, seed: int) -> None:
    streams = Moving(tmp_path, seed)
    streams.put(6)
    engine = open_engine()
    pairs = engine.sql(streams.script("pairs", WINDOWED)).subscriptions[0]
    endless = engine.subscribe(ENDLESS, name="endless")
    engine.run_available()

    found = judged(engine)
    for name, subscription in (("pairs", pairs), ("endless", endless)):
        told = engine.figures().memory[name]
        assert told.budget == BUDGET
        assert 0 < sum(told.held.values()) <= BUDGET
        assert held_most(engine, subscription.group) <= BUDGET
        assert 0.0 < (told.hit_rate or 0.0) <= 1.0
        # All keys are in the slice that is counted, so the estimate is no guess.
        true = found[name].recall
        assert true is not None
        assert told.recall == found[name].estimate == pytest.approx(true)
        assert told.results_lost == found[name].missing
        assert set(told.laws) == {"r", "s"}
    assert found["pairs"].missing > 0, "the budget was no burden"
    assert engine.figures().memory["pairs"].laws["r"] == "linear trend"
    explained = engine.explain("pairs")
    assert explained.run["budget"] == BUDGET
    assert "recall" in explained.text()
    assert json.loads(json.dumps(explained.to_json()))["run"]["recall"] == told_recall(engine)
    assert engine.figures().joins[pairs.group].to_json()["recall"] == told_recall(engine)


def told_recall(engine: ps.Engine) -> Any:
    return engine.figures().memory["pairs"].recall


def test_a_restart_changes_nothing(open_engine: Open, tmp_path: Path, seed: int) -> None:
    streams = Moving(tmp_path, seed)
    streams.put(4)
    whole, parted = open_engine("whole"), open_engine("parted")
    for engine in (whole, parted):
        streams.declare(engine)
        engine.subscribe(WINDOWED, name="pairs")
        engine.subscribe(ENDLESS, name="endless")
    parted.run_available()
    parted.close()
    streams.put(4)
    parted = open_engine("parted")
    parted.start()
    until_events(parted, streams.rows // 2)
    parted.stop()
    whole.run_available()
    for name in ("pairs", "endless"):
        one, other = (engine.subscription(name).read() for engine in (whole, parted))
        assert bag(one, "r", "s") == bag(other, "r", "s")
        assert one.num_rows > 20
        verdict = judged(parted)[name]
        assert verdict.estimate == pytest.approx(verdict.recall)


def test_joins_that_share_a_memory_come_and_go(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    streams = Moving(tmp_path, seed)
    streams.feeders["u"] = Feeder(tmp_path / "u")
    streams.put(3)
    engine = open_engine()
    streams.declare(engine)
    memory = f"MEMORY {BUDGET} ROWS SHARED BY u (k), r (k) [RANGE 3 SECONDS], s (k)"
    first = engine.subscribe(
        f"SELECT r.n AS r, s.n AS s FROM r JOIN s ON r.k = s.k {memory}", name="first"
    )
    text = f"SELECT x.n AS r, u.n AS s FROM u JOIN r x USING (k) WHERE u.v >= :least {memory}"
    second = engine.subscribe(text, name="second", each=[{"id": 1, "least": 1}])
    assert first.group == second.group
    engine.run_available()
    engine.close()
    streams.put(3)
    engine = open_engine()
    third = engine.subscribe(text, name="third", each=[{"id": 7, "least": 0}])
    assert third.group == first.group
    engine.subscription("first").drop(["first"])
    engine.run_available()
    found = judged(engine)
    assert set(found) == {"first", "second", "third"}
    assert all(verdict.missing for verdict in found.values())
    assert found["first"].estimate is not None
    assert found["third"].estimate == found["second"].estimate is not None
    told = engine.figures().memory["third"]
    assert 0 < sum(told.held.values()) <= BUDGET
    assert set(told.held) == {"r", "s", "u"}
    assert told.held["s"] == 0, "nobody joins it any more"
    assert held_most(engine, third.group) <= BUDGET


def test_a_budget_with_room_for_all_loses_nothing(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    streams = Moving(tmp_path, seed, spread=4)
    streams.put(3)
    engine = open_engine()
    streams.declare(engine)
    each = [{"id": i, "least": i} for i in range(3)]
    selected = engine.subscribe(SELECTED, name="selected", each=each)
    engine.start()
    until_events(engine, streams.rows)
    selected.drop([1])
    late = engine.subscribe(SELECTED, name="late", each=each[:1])
    assert late.group == selected.group
    streams.put(3)
    until_events(engine, streams.rows)
    engine.stop()
    for verdict in judged(engine).values():
        assert not verdict.may_miss
        assert not verdict.missing
    assert Counter(late.read()["_id"].to_pylist())[0] > 20


def test_budgets_smaller_than_the_shards_are_refused(
    open_engine: Open, host: str, tmp_path: Path, seed: int
) -> None:
    streams = Moving(tmp_path, seed)
    streams.put()
    engine = open_engine()
    streams.declare(engine)
    text = ENDLESS.replace(f"MEMORY {BUDGET}", "MEMORY 1")
    if host == "embedded":
        assert len(engine.subscribe(text, name="one")) == 1
        return
    with pytest.raises(ps.PenstockError, match=r"\[ENG-040\]"):
        engine.subscribe(text, name="one")


@above_hosts
def test_a_join_is_explained_before_it_starts(open_engine: Open, tmp_path: Path, seed: int) -> None:
    streams = Moving(tmp_path, seed)
    streams.put()
    engine = open_engine()
    streams.declare(engine)
    law = "LINEAR TREND (slope = 1, intercept = 0, noise = 'uniform', bound = 6)"
    text = WINDOWED.replace("LINEAR TREND (slope = 1)", law).replace("s AS AUTO", f"s AS {law}")
    (explained,) = engine.sql(f"EXPLAIN {text};").explanations
    assert isinstance(explained, Explanation)
    points = explained.facts["curve"]["points"]
    recalls = [point["recall"] for point in points]
    assert recalls == sorted(recalls)
    assert 0.0 < recalls[0] < recalls[-1] <= 1.0
    assert "recall" in explained.text()


def test_a_silent_stream_is_not_waited_for_by_more_rows_than_may(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    streams = Moving(tmp_path, seed)
    streams.put(1)
    silent = streams.feeders.pop("s")
    streams.put(5)
    streams.feeders["s"] = silent
    engine = open_engine()
    text = SELECTED.partition("MEMORY")[0].replace(":least", "0")
    script = streams.script("joined", f"{text} OPTIONS (waiting = 30)")
    joined = engine.sql(script).subscriptions[0]
    bounded = engine.subscribe(f"{text} MEMORY 1000 ROWS", name="b", options={"waiting": 30})
    engine.run_available()

    judged(engine)
    for group in (joined.group, bounded.group):
        told = [notice for notice in engine.notices if notice.group == group]
        assert [notice.text.count("[ENG-042]") for notice in told] == [1]
        assert max(report.figures[group][HELD] for report in engine.runner.reports) <= 30
        assert engine.figures().joins[group].to_json()["hurried_rows"] > 100
    assert engine.figures().memory["b"].to_json()["hurried_rows"] > 100
    assert engine.figures().metrics["hurried_rows"] > 200
    assert engine.explain("joined").run["hurried_rows"] > 100
