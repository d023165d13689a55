"""EXPLAIN of joins and of tuples, options in scripts, what manifests remember."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.catalog import LATENESS_US, Relation
from penstock.engine import Desk
from penstock.engine.scripts import execute
from penstock.operators.join import JoinOperator
from penstock.operators.protocol import RouteCosts
from penstock.planning.explanation import Explanation, TupleExplanation
from penstock.registry.records import Declaration, Source, SubscriptionRecord
from penstock.vocabulary.durations import microseconds
from penstock.vocabulary.errors import PenstockError
from tests.support.desk_runs import DeskRun

SIDE = pa.schema(
    [("k", pa.int64()), ("x", pa.float64()), ("day", pa.date32()), ("op", pa.string())]
)
TEXT = "SELECT a.x FROM a JOIN b ON a.k = b.k WHERE a.x BETWEEN 1 AND 5 AND b.x BETWEEN 2 AND 6"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    sides = [
        Relation(name=name, kind="table", schema=SIDE, change_column="op") for name in ("a", "b")
    ]
    made = DeskRun(tmp_path / "home", *sides)
    yield made
    made.desk.close()


def say(desk: Desk, text: str) -> list[Explanation | TupleExplanation]:
    """Carry out statements that need no Spark."""
    return execute(desk, text).explanations


def test_a_join_is_explained(run: DeskRun) -> None:
    new = run.desk.explain(TEXT, options={"mode": "identify"})
    assert new.is_new
    assert new.operator == "select_join"
    assert new.relation == "a, b"
    sub = run.desk.subscribe(TEXT, name="s", options={"mode": "identify"})
    standing = run.desk.explain("s")
    assert (standing.group, standing.queries) == (sub.group, 1)
    assert new.group == sub.group
    assert run.desk.explain(TEXT).group != sub.group, "another mode is another group"
    assert standing.to_json()["group"] == sub.group
    assert standing.text().splitlines()[1].split()[:2] == ["group", sub.group]


def test_rows_that_would_be_refused_are_named(run: DeskRun, tmp_path: Path) -> None:
    """Of a text whose group is new and of one whose group stands, and where there is a plan."""
    rows = tmp_path / "each.csv"
    rows.write_text("who,low,high\na,1,5\nb,x,5\nc,9,2\na,1,5\n")
    ranged = TEXT.replace("1 AND 5", ":low AND :high")
    script = f"EXPLAIN {ranged} FOR EACH ROW OF '{rows}' KEY who"
    (new,) = say(run.desk, script)
    say(run.desk, script.replace("EXPLAIN", "SUBSCRIBE s TO"))
    (standing,) = say(run.desk, script)
    receipt = run.desk.add("s", rows).refused
    assert isinstance(new, Explanation) and isinstance(standing, Explanation)
    for explained in (new, standing):
        text, notes = explained.text(), explained.notes
        assert [note[:6] for note in notes] == ["Row 1 ", "Row 2 ", "Row 3 "]
        assert "[REG-005] Value 'x'" in notes[0]
        assert "[REG-004]" in notes[1] and "[REG-003]" in notes[2]
        assert all(note in text for note in notes)
    assert {row["row"] for row in receipt.to_pylist()} == {0, 1, 2, 3}
    assert (new.is_new, standing.is_new, standing.queries) == (True, False, 1)
    rows.write_text("low,high\n" + "x,5\n" * 9)
    (none,) = say(run.desk, f"EXPLAIN {ranged} FOR EACH ROW OF '{rows}'")
    assert isinstance(none, Explanation)
    assert len(none.notes) == 6 and none.notes[-1] == "4 more rows would be refused."


def test_options_of_scripts_are_kept(run: DeskRun) -> None:
    script = f"SUBSCRIBE s TO {TEXT} OPTIONS (mode = 'identify', alpha = 0.5)"
    say(run.desk, script)
    record = run.desk.registry.subscriptions["s"]
    assert record.options == {"mode": "identify", "alpha": 0.5}
    say(run.desk, script)  # a script may run again
    with pytest.raises(PenstockError, match=r"\[REG-018\].*other options"):
        say(run.desk, f"SUBSCRIBE s TO {TEXT}")
    with pytest.raises(PenstockError, match=r"\[REG-018\].*another text"):
        say(run.desk, f"SUBSCRIBE s TO {TEXT} AND a.k > 1 OPTIONS (mode = 'identify')")
    (found,) = say(run.desk, f"EXPLAIN {TEXT} OPTIONS (mode = 'identify', alpha = 0.5)")
    assert found.group == record.group


def test_options_survive_a_restart(tmp_path: Path, run: DeskRun) -> None:
    sub = run.desk.subscribe(TEXT, name="s", options={"mode": "identify"})
    group = sub.group
    run.desk.close()
    again = Desk(tmp_path / "home")
    assert again.registry.subscriptions["s"].options == {"mode": "identify"}
    assert again.subscription("s").group == group
    altered = again.subscription("s")
    altered.alter(sql=TEXT.replace("5", "50"))
    assert altered.group == group, "a new text keeps the options"
    again.close()


def test_a_tuple_is_explained(run: DeskRun, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    def answer(_self: JoinOperator, relation: str, row: pa.Table) -> RouteCosts:
        asked.append((relation, row.to_pylist()[0]))
        costs = {"scan": 900.0, "hot": 12.5}
        return RouteCosts(choice="hot", costs=costs, estimates={"rows_joining": 3})

    monkeypatch.setattr(JoinOperator, "explain_tuple", answer, raising=False)
    run.desk.subscribe(TEXT, name="s")
    (found,) = say(run.desk, "EXPLAIN TUPLE OF B (k = 3, x = 2.5, day = '2026-01-02') FOR s")
    (relation, row), *_ = asked
    assert relation == "b"
    assert (row["k"], row["x"], str(row["day"]), row["op"]) == (3, 2.5, "2026-01-02", None)
    assert isinstance(found, TupleExplanation)
    assert found.to_json()["costs"] == {"scan": 900.0, "hot": 12.5}
    assert found.to_json()["row"]["day"] == "2026-01-02"
    strategies = [line.split() for line in found.text().splitlines() if "strategy" in line]
    assert strategies == [
        ["strategy", "hot", "12.5", "ns", "chosen"],
        ["strategy", "scan", "900", "ns"],
    ]


def test_a_tuple_finds_the_state_that_a_stopped_home_kept(run: DeskRun) -> None:
    run.desk.subscribe(TEXT, name="s", options={"strategy": "dynamic"})
    rows = [{"k": 1, "x": float(i), "op": "insert"} for i in range(7)]
    run.batch(b=rows)
    run.batch(b=[{"k": 1, "x": 3.0, "op": "delete"}])
    before = run.desk.explain_tuple("s", "a", {"k": 1, "x": 2})
    assert before.estimates["rows_joining"] == 6
    assert before.choice in before.costs
    assert min(before.costs.values()) > 0
    stranger = run.desk.explain_tuple("s", "a", {"k": 77, "x": 2})
    assert stranger.choice is None
    assert "joins with nothing" in stranger.text()
    run.batch(a=[{"k": 1, "x": 2.0, "op": "insert"}])
    assert run.desk.explain_tuple("s", "a", {"k": 1, "x": 2}).estimates == before.estimates


def test_bad_tuples_are_refused(run: DeskRun) -> None:
    run.desk.subscribe(TEXT, name="s")
    run.desk.subscribe("SELECT x FROM a WHERE x > 1", name="filter")
    for code, name, relation, values in (
        ("REG-001", "nobody", "a", {}),
        ("ENG-015", "filter", "a", {}),
        ("ENG-016", "filter", "b", {}),
        ("ENG-016", "s", "nothing", {}),
        ("ENG-017", "s", "a", {"z": 1}),
        ("ENG-017", "s", "a", {"k": "three"}),
        ("ENG-017", "s", "a", {"day": "yesterday"}),
    ):
        with pytest.raises(PenstockError, match=rf"\[{code}\]"):
            run.desk.explain_tuple(name, relation, values)


def test_clusters_explain_no_tuples(run: DeskRun) -> None:
    run.desk.subscribe(TEXT, name="s")
    run.desk.home.settle(host="cluster")
    with pytest.raises(PenstockError, match=r"\[ENG-019\]"):
        run.desk.explain_tuple("s", "a", {})


def test_manifests_of_older_homes_are_read() -> None:
    relation = Relation(
        name="t", kind="stream", schema=SIDE, event_time="day", lateness_us=microseconds("2 hours")
    )
    declared = Declaration(relation=relation, source=Source()).to_json()
    assert Declaration.from_json(declared).relation.lateness_us == 7_200_000_000
    del declared["lateness_us"]
    assert Declaration.from_json(declared).relation.lateness_us == LATENESS_US
    record = SubscriptionRecord(
        name="s", sql=TEXT, relations=("a", "b"), group="g", options={"mode": "full"}
    )
    described = record.to_json()
    assert SubscriptionRecord.from_json(described) == record
    del described["options"]
    assert SubscriptionRecord.from_json(described).options == {}


def test_durations_are_read_or_refused() -> None:
    assert microseconds(timedelta(milliseconds=5)) == 5_000
    assert microseconds(" 1 Minute ") == 60_000_000
    assert microseconds(3) == 3_000_000 and microseconds(0.5) == 500_000
    for bad in ("", "soon", "10", "-1 second", "5 parsecs", -1, True, "1e99 days", float("nan")):
        with pytest.raises(PenstockError, match=r"\[CAT-006\]"):
            microseconds(bad)
