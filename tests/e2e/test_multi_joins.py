"""Multi-way window joins on a real Spark, both hosts: equal to DuckDB, whatever the plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import penstock as ps
from penstock.algebra.physical import PLAN_PORT
from penstock.kinds.multi_join import cycle
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.planning.explanation import Explanation
from tests.e2e.conftest import Open
from tests.support.hosts import above_hosts
from tests.support.planners import planner_of
from tests.support.streams import Streams
from tests.support.waiting import until_events

CHAIN = """
    SELECT a.n AS a, b.n AS b, c.n AS c
    FROM a [ROWS 10], b [ROWS 8], c [RANGE 5 SECONDS]
    WHERE a.x = b.x AND b.y = c.y AND c.v >= :least
"""
TABLE = """
    SELECT a.n AS a, b.n AS b, t.w FROM a [RANGE 3 SECONDS], b [ROWS 6], t
    WHERE a.y = b.y AND b.y = t.y AND a.v <= b.v
"""
SELF = "SELECT l.n AS l, r.n AS r FROM a [ROWS 5] AS l, a [RANGE 2 SECONDS] AS r WHERE l.x = r.x"
LEAST = [{"id": i, "least": float(i)} for i in range(1, 4)]
SCARCE = {"processors": 1, "headroom": 0.999999}
"""What is left is next to nothing: every plan is judged not to keep up."""
THINNED = {**SCARCE, "shed_at_once": True}
"""And rows are dropped from the first on."""


def judged(engine: ps.Engine) -> dict[str, SubscriptionOutcome]:
    found = {verdict.subscription: verdict for verdict in engine.verify().answers}
    for verdict in found.values():
        assert verdict.equal, verdict
        assert verdict.found > 5, f"too few to prove anything: {verdict}"
    return found


def test_joins_of_many_streams_answer_as_duckdb(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    streams = Streams(tmp_path, seed)
    streams.put(5)
    engine = open_engine()
    streams.declare(engine, a=4, b=4, c=4)
    chain = engine.subscribe(CHAIN, name="chain", each=LEAST)
    engine.subscribe(TABLE, name="table")
    engine.subscribe(SELF, name="self")
    assert chain.verdict == "ABUNDANT"
    assert chain.receipt is not None
    assert chain.receipt.notes[0].startswith("Abundant")
    engine.run_available()
    judged(engine)
    assert engine.figures().metrics["late_rows"] > 0
    kept = engine.figures().shedding["chain"]
    assert kept.expected_share == kept.measured_share == 1.0
    explained = engine.explain("chain")
    assert explained.plan is not None
    assert explained.plan.verdict == "ABUNDANT"
    assert explained.plan.run is not None
    assert explained.plan.run.made["a, b, c"].observed > 0
    assert explained.run["made"]["a, b, c"]["observed"] > 0
    assert "measured" in explained.text()


def test_plans_change_while_running(open_engine: Open, tmp_path: Path, seed: int) -> None:
    streams = Streams(tmp_path, seed)
    streams.put()
    engine = open_engine()
    streams.declare(engine, a=4, b=4, c=4)
    chain = engine.subscribe(CHAIN, name="chain", each=LEAST[:1])
    engine.subscribe(SELF, name="self")
    first = planner_of(engine.desk).book.standing(chain.group)
    engine.start()
    until_events(engine, streams.rows)
    late = chain.add(LEAST[1:])
    other = engine.subscribe(CHAIN, name="other", each=LEAST, options={"order": "((a c) b)"})
    assert other.group == chain.group
    second = planner_of(engine.desk).book.standing(chain.group)
    assert first is not None
    assert second is not None
    assert second.number > first.number
    assert second.plan.tree != first.plan.tree
    streams.put(2)
    assert other.receipt is not None
    engine.wait_for_version(other.receipt.version, timeout=600)
    until_events(engine, streams.rows)
    assert late.verdict == "ABUNDANT"
    chain.drop([1])
    engine.close()

    streams.put(2)
    again = open_engine()
    plans = again.desk.registry.entries(chain.group)[PLAN_PORT]
    assert plans["query"].to_pylist() == [second.number], "the plan before is gone"
    kept_least = {"headroom": 0.99999, **{f"minimum_{name}": 0.3 for name in "abc"}}
    options = {**THINNED, "selectivity_c": 0.5, **kept_least}
    again.subscribe(CHAIN, name="thinned", each=LEAST, options=options)
    assert again.subscription("thinned").verdict == "INSUFFICIENT"
    again.run_available()
    judged(again)
    kept = again.figures().shedding["thinned"]
    assert kept.expected_share < 1.0
    assert min(kept.passed.values()) < 1.0


def test_boxes_drop_the_same_rows_for_everybody(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    streams = Streams(tmp_path, seed, rows=120)
    streams.put(4)
    engine = open_engine()
    streams.declare(engine, a=30, b=30, c=30)
    options = {**THINNED, "headroom": 0.99999, "minimum_a": 0.3, "minimum_b": 0.3}
    text = CHAIN.replace(":least", "0")
    engine.subscribe(text, name="faithful", options={**options, "selectivity_c": 0.5})
    subset = {**THINNED, "shedding": "subset", "selectivity_a_b": 0.1}
    engine.subscribe(TABLE, name="subset", options=subset)
    engine.subscribe(SELF, name="late", options={**SCARCE, "shedding": "off"})
    receipt = engine.subscription("late").receipt
    assert receipt is None
    engine.run_available()
    found = {verdict.subscription: verdict for verdict in engine.verify().answers}
    assert all(verdict.equal for verdict in found.values()), found
    assert found["faithful"].found > 5
    kept = engine.figures().shedding
    assert kept["late"].expected_share == 1.0
    assert kept["faithful"].verdict == kept["late"].verdict == "INSUFFICIENT"
    for name, share in kept["faithful"].passes.items():
        assert kept["faithful"].passed[name] == pytest.approx(share, abs=0.15)


def test_adapting_changes_the_plan_and_no_answer(
    open_engine: Open, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cycle, "LOOK_EVERY_BATCHES", 1)
    monkeypatch.setattr(cycle, "REPLAN_AFTER_BATCHES", 1)
    monkeypatch.setattr(cycle, "CHEAPER", 0.0)
    streams = Streams(tmp_path, seed, late=False)
    counts = {"a": 200, "b": 100, "c": 20}
    streams.put(1, counts)
    engine = open_engine()
    # The owner is wrong by far: most rows come where he expects the fewest.
    streams.declare(engine, a=1, b=10, c=1000)
    text = """
        SELECT a.n AS a, b.n AS b, c.n AS c FROM a [ROWS 10], b [ROWS 10], c [ROWS 10]
        WHERE a.x = b.x AND b.y = c.y
    """
    chain = engine.subscribe(text, name="chain", options={"adapt": True})
    before = planner_of(engine.desk).book.standing(chain.group)
    assert before is not None
    engine.start()
    after = before
    for _ in range(8):
        streams.put(1, counts)
        until_events(engine, streams.rows)
        after = planner_of(engine.desk).book.standing(chain.group) or before
        if after.plan.tree != before.plan.tree:
            break
    assert after.plan.tree != before.plan.tree, engine.figures().statistics
    assert any("a new plan comes into force" in each.text for each in engine.notices)
    streams.put(3, counts)
    engine.wait_for_version(engine.desk.registry.version, timeout=600)
    until_events(engine, streams.rows)
    engine.close()
    again = open_engine()
    streams.put(1, counts)
    assert again.figures().statistics["rates"]["a"] == pytest.approx(50, rel=0.3)
    again.run_available()
    judged(again)


@above_hosts
def test_scripts_explain_and_ask_what_if(open_engine: Open, tmp_path: Path, seed: int) -> None:
    streams = Streams(tmp_path, seed)
    streams.put()
    engine = open_engine()
    streams.declare(engine, a=10, b=20, c=70)
    text = "SELECT a.n FROM a [ROWS 10], b [ROWS 10], c [ROWS 10] WHERE a.x = b.x AND b.y = c.y"
    script = f"""
        SUBSCRIBE s TO {text} ADAPT;
        EXPLAIN SUBSCRIPTION s;
        EXPLAIN SUBSCRIPTION s WHAT IF (cost = 5 MILLISECONDS, headroom = 0,
            selectivity(a, b) = 0.5, selectivity(b, c) = 0.2);
        EXPLAIN {text} WHAT IF (rate(c) = 500/s, window(b) = 100, cores = 4, memory = '1 GB');
    """
    plain, overloaded, larger = engine.sql(script).explanations
    assert isinstance(plain, Explanation)
    assert isinstance(overloaded, Explanation)
    assert isinstance(larger, Explanation)
    assert overloaded.plan is not None
    assert overloaded.plan.verdict == "INSUFFICIENT"
    assert "91.7 %" in overloaded.text()
    assert larger.plan is not None
    assert json.loads(json.dumps(larger.to_json()))["plan"]["verdict"] == "ABUNDANT"
    assert "500/s" in larger.text()
    assert "<svg" in overloaded.plan.svg()
    filtered = engine.explain("SELECT n FROM a WHERE n > 1", what_if={"cores": 2})
    assert "ABUNDANT" in filtered.text()
