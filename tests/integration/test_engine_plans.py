"""Plans of multi-way joins: from figures to verdicts, into the registry, and after what is seen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.algebra.physical import PLAN_PORT
from penstock.algebra.trees import joins_of
from penstock.cli.main import app
from penstock.engine import Desk
from penstock.engine.declarations import Declared, declare_relation
from penstock.engine.verification import verify
from penstock.kinds.multi_join import cycle
from penstock.kinds.multi_join.plans import scaled
from penstock.kinds.statistics import Statistics
from penstock.planning.constants import BUILT_IN
from penstock.planning.costs import Measured
from penstock.registry.records import Declaration, Source
from penstock.registry.store import Registry
from penstock.vocabulary.errors import PenstockError
from tests.support.desk_runs import DeskRun
from tests.support.feeding import CHAIN, RATES, Feeding, relations, stream
from tests.support.planners import planner_of

PAPER: dict[str, str | float] = {"cost": "5 ms", "headroom": 0}
"""Example 1 of the paper, at five milliseconds per row and join."""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    made = DeskRun(tmp_path / "home", *relations())
    yield made
    made.desk.close()


def explained(desk: Desk, **named: Any) -> dict[str, Any]:
    explanation = desk.explain(CHAIN, **named)
    assert explanation.plan is not None
    facts: dict[str, Any] = explanation.plan.to_json()
    return facts


def test_the_example_of_the_paper_from_declared_figures(run: DeskRun) -> None:
    facts = explained(run.desk, what_if=PAPER)
    assert facts["verdict"] == "INSUFFICIENT"
    assert "emits 91.7 % as many rows; 52.2 % of the full answer is among" in facts["sentence"]
    assert facts["shedding"]["is_in_force"] is False
    assert explained(run.desk, what_if={**PAPER, "cost": "0.5 ms"})["verdict"] == "ABUNDANT"
    assert explained(run.desk, what_if={**PAPER, "cost": "2 ms"})["verdict"] == "TIGHT"
    text = run.desk.explain(CHAIN).text()
    assert "10/s [declared]" in text
    assert "50 % of pairs [declared]" in text


def test_nothing_declared_is_assumed(tmp_path: Path) -> None:
    run = DeskRun(tmp_path / "home", *relations(None, None, None))
    text = run.desk.explain(CHAIN.replace("a.x = b.x", "a.v < b.v AND c.v = 3")).text()
    assert "1,000/s [assumed]" in text
    run.desk.close()


def test_what_if_overrides_one_figure_each(run: DeskRun) -> None:
    desk = run.desk
    what_if = "rate(c) = 500/s, window(b) = 5 SECONDS, selectivity(a, b) = 0.25, cores = 4"
    text = desk.explain(CHAIN, what_if=what_if).text()
    assert "500/s [what if]" in text
    assert "RANGE 5 s" in text
    assert "25 % of pairs [what if]" in text
    assert "4 processors" in text
    selected = CHAIN + " AND c.v = 3"
    assert "[what if]" in desk.explain(selected, what_if="selectivity(c) = 0.4").text()


@pytest.mark.parametrize(
    ("what_if", "code"),
    [
        ("selectivity(a, c) = 0.5", "ENG-035"),
        ("selectivity(a) = 0.5", "ENG-035"),
        ("rate(a)", "ENG-034"),
        ("rate(zz) = 5", "SQL-091"),
        ("rate(a) = 0", "SQL-092"),
    ],
)
def test_what_cannot_be_assumed_is_refused(run: DeskRun, what_if: str, code: str) -> None:
    with pytest.raises(PenstockError, match=code):
        run.desk.explain(CHAIN, what_if=what_if)


def test_the_command_explains_assumes_and_draws(run: DeskRun, tmp_path: Path) -> None:
    home, drawing = str(run.desk.home.path), tmp_path / "plan.svg"
    run.desk.close()
    arguments = ["explain", CHAIN, "--home", home, "--what-if", "cost = 5 ms, headroom = 0"]
    result = CliRunner().invoke(app, [*arguments, "--draw", str(drawing), "--json"])
    assert result.exit_code == 0, result.output
    (told,) = json.loads(result.stdout)["explanations"]
    assert told["plan"]["verdict"] == "INSUFFICIENT"
    assert "<svg" in drawing.read_text(encoding="utf-8")
    plain = ["explain", "SELECT v FROM a WHERE v > 3", "--home", home, "--draw", str(drawing)]
    refused = CliRunner().invoke(app, plain)
    assert refused.exit_code == 2
    assert "ENG-037" in refused.output


def test_time_windows_shed_as_promised(tmp_path: Path) -> None:
    run = DeskRun(tmp_path / "home", *relations(200, 300, 500))
    text = """
        SELECT a.v AS a, b.v AS b, c.v AS c
        FROM a [RANGE 1 SECOND], b [RANGE 500 MILLISECONDS], c [RANGE 200 MILLISECONDS]
        WHERE a.x = b.x AND b.y = c.y AND c.v < 3
    """
    options = {"headroom": 0.98, "shed_at_once": True, "selectivity_c": 0.3}
    run.desk.subscribe(text, name="s", options=options)
    feeding = Feeding(run)
    feeding.watcher.begin(once=True, shards=1)
    for _ in range(15):
        feeding.batch(0.4, {name: 10 * rate for name, rate in RATES.items()})
    feeding.watcher.finish()
    kept = feeding.watcher.shedding()["s"]
    assert kept.verdict == "INSUFFICIENT"
    assert 0.0 < kept.expected_share < 0.9
    assert kept.expected_found == pytest.approx(kept.expected_share), "windows of time"
    assert kept.measured_share == pytest.approx(kept.expected_share, rel=0.2)
    (verdict,) = verify(run.desk.registry, run.desk.log)
    assert verdict.equal, verdict
    run.desk.close()


def test_a_plan_is_an_entry_with_a_number_of_its_own(run: DeskRun, tmp_path: Path) -> None:
    desk = run.desk
    first = desk.subscribe(CHAIN, name="first")
    assert first.verdict == "ABUNDANT"
    desk.subscribe("SELECT v FROM a WHERE v > 3", name="filter")
    options = {"order": "((a c) b)"}
    forced = desk.subscribe(CHAIN, name="forced", options=options)
    again = desk.subscribe(CHAIN, name="again")
    assert first.group == forced.group == again.group
    numbers = [
        int(n) for name in desk.registry.names() for n in desk.registry.blocks[name][0].query
    ]
    plans = desk.registry.entries(first.group)[PLAN_PORT]["query"].to_pylist()
    assert len(plans) == 1, "the plan before was dropped"
    assert not set(numbers) & set(plans)
    assert len(set(numbers)) == 4
    standing = planner_of(desk).book.standing(first.group)
    assert standing is not None
    assert {join.mask for join in joins_of(standing.plan.tree)} == {0b101, 0b111}
    assert first.verdict == again.verdict == standing.verdict
    desk.drop("filter")
    # What is read back is what was written.
    reread = Registry(desk.home.path / "registry", keep_history=True)
    assert reread.next_query == desk.registry.next_query
    assert reread.standing("forced") == 1


def test_bases_keep_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.registry.folds.VERSIONS_PER_BASE_MAX", 2)
    registry_of = tmp_path / "home"
    run = DeskRun(registry_of, *relations())
    run.desk.close()
    desk = Desk(tmp_path / "other", record=False)
    for relation in relations():
        declare_relation(desk.registry, desk.home, relation, Source())
    group = desk.subscribe(CHAIN, name="s").group
    for number in range(6):
        order = "((a b) c)" if number % 2 else "((a c) b)"
        desk.subscribe(CHAIN, name=f"s{number}", options={"order": order})
    plan = planner_of(desk).book.standing(group)
    desk.registry.tidy(settled=desk.registry.version)
    assert list((desk.home.path / "registry" / "bases").glob("[0-9]*"))
    assert plan is not None
    assert desk.registry.entries(group)[PLAN_PORT]["query"].to_pylist() == [plan.number]
    assert Registry(desk.home.path / "registry").next_query == desk.registry.next_query
    desk.close()


def test_minimums_that_do_not_fit_register_nothing(run: DeskRun) -> None:
    options = {f"minimum_{name}": 0.9 for name in "abc"} | {"headroom": 0.999999}
    version = run.desk.registry.version
    with pytest.raises(PenstockError, match=r"PLN-020"):
        run.desk.subscribe(CHAIN, name="s", options=options)
    assert run.desk.registry.version == version
    assert "s" not in run.desk.registry.subscriptions


def test_shedding_off_warns(run: DeskRun) -> None:
    options = {"headroom": 0.999999, "shedding": "off"}
    receipt = run.desk.subscribe(CHAIN, name="s", options=options).receipt
    assert receipt is not None
    assert receipt.verdict == "INSUFFICIENT"
    assert "ever later" in receipt.notes[-1]


def test_declarations_survive_and_are_checked(tmp_path: Path) -> None:
    declared = Declared(rate=70, distinct={"X": 5}).told(stream("a", None))
    assert (declared.rate, declared.distinct) == (70.0, {"x": 5})
    kept = Declaration.from_json(Declaration(relation=declared, source=Source()).to_json())
    assert kept.relation == declared
    old = Declaration(relation=stream("a", None), source=Source()).to_json()
    for name in ("rate", "distinct", "size"):
        del old[name]
    assert Declaration.from_json(old).relation == stream("a", None)
    for bad, code in (
        (Declared(rate=0), "ENG-031"),
        (Declared(rate=float("nan")), "ENG-031"),
        (Declared(rows=5), "ENG-032"),
        (Declared(distinct={"zz": 5}), "ENG-033"),
        (Declared(distinct={"x": -1}), "ENG-031"),
    ):
        with pytest.raises(PenstockError, match=code):
            bad.told(stream("a", None))


def test_statistics_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "statistics.json"
    path.write_text('{"rates": 3}')
    with pytest.raises(PenstockError, match="ENG-038"):
        Statistics(path)


def test_a_scaled_library_costs_so_many_times() -> None:
    library = Measured(BUILT_IN)
    twice = scaled(library, 2.0)
    for index in ("hash", "loop"):
        assert twice.probe(index, 100, 0.1) == pytest.approx(2 * library.probe(index, 100, 0.1))
        assert twice.insert(index, 100) == pytest.approx(2 * library.insert(index, 100))
    assert twice.arrive_s == 2 * library.arrive_s


SELECTED = CHAIN + " AND c.v < 3"


def test_a_run_measures_rates_and_selectivities(run: DeskRun) -> None:
    group = run.desk.subscribe(SELECTED, name="s").group
    feeding = Feeding(run)
    for _ in range(30):
        feeding.batch(2.0, RATES)
    feeding.watcher.finish()
    found = run.desk.statistics()
    for name, rate in RATES.items():
        assert found["rates"][name] == pytest.approx(rate, rel=0.1)
    assert found["groups"][group]["selections"]["2 terms"] == pytest.approx(0.3, rel=0.15)
    logical = feeding.watcher._logical(group)
    model = planner_of(run.desk).modelled(logical, group, 1).model  # type: ignore[arg-type]
    by_mask = {each.mask: each.selectivity for each in model.classes}
    assert by_mask[0b011] == pytest.approx(1 / 4, rel=0.15)
    assert by_mask[0b110] == pytest.approx(1 / 5, rel=0.15)
    text = run.desk.explain(SELECTED).text()
    assert "[measured]" in text
    assert "[declared]" not in text
    run.desk.close()
    kept = Desk(run.desk.home.path)
    assert kept.statistics() == found
    kept.close()


def test_a_verdict_that_changes_is_told_and_adapt_replans(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cycle, "LOOK_EVERY_BATCHES", 2)
    monkeypatch.setattr(cycle, "REPLAN_AFTER_BATCHES", 8)
    group = run.desk.subscribe(CHAIN, name="s", options={"headroom": 0.997, "adapt": True}).group
    assert run.desk.subscription("s").verdict == "ABUNDANT"
    feeding = Feeding(run)
    feeding.busy_s = 0.0  # the machine waits nearly all of the time
    busy = {name: 40 * rate for name, rate in RATES.items()}
    for _ in range(60):
        # So few rows that the time they take is not judged by: the built-in costs hold.
        feeding.batch(0.1, busy)
    told = [notice.text for notice in feeding.watcher.notices]
    assert told[0].startswith("Standing query s: the verdict was ABUNDANT and is now INSUFFICIENT")
    assert "Nothing is dropped unless the run itself is measured to be too slow" in told[0]
    plan = planner_of(run.desk).book.standing(group)
    assert plan is not None and not plan.sheds, "a verdict drops nothing"
    seen = feeding.watcher.plan_run(group)
    assert seen is not None and seen.made["a, b, c"].observed > 0
    assert len(told) <= 6, "not at every look"
    (verdict,) = verify(run.desk.registry, run.desk.log)
    assert verdict.equal and not verdict.is_shed, verdict
    assert verdict.found > 1_000


def test_least_shares_that_nobody_asked_for_give_way(run: DeskRun) -> None:
    def passes(cost: str) -> list[float]:
        text = json.dumps(explained(run.desk, what_if={**PAPER, "cost": cost}))
        return [float(share) for share in re.findall(r'"pass_fraction": ([0-9.e-]+)', text)]

    assert min(passes("30 ms")) == pytest.approx(0.02)
    assert min(passes("1000 ms")) == 0.0
    with pytest.raises(PenstockError) as refused:
        run.desk.explain(CHAIN, options={"minimum_a": 0.5}, what_if={**PAPER, "cost": "1000 ms"})
    assert refused.value.code == "PLN-020"
