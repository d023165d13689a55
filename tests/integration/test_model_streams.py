"""Streams that model queries share: registered, explained, suspended, let go and verified."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.algebra.catalog import Relation
from penstock.algebra.model_streams import StreamPlan
from penstock.engine.verification import verify
from penstock.expressions.allowances import EvaluationError
from penstock.kinds.model_query import KIND, gate_cycle
from penstock.kinds.model_query.gate_plans import GatePlan
from penstock.kinds.model_query.streams import ModelWatch
from penstock.kinds.plan_cycle import PlanBook
from penstock.language.model_queries import bind_model_query
from penstock.operators.model_query.figures import (
    GATE_EXPECTED,
    GATE_PASSED,
    GATE_TAKEN,
    MODEL_ROWS,
    PLANNED,
    PLANS_TRIED,
    SPARED,
    STREAM_BOXES,
    STREAM_CHANGES,
    STREAM_GATES,
    STREAM_ROWS,
    TAKEN,
)
from penstock.operators.model_query.row_inflow import RowInflow
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figure_tables import together
from tests.support.desk_runs import DeskRun
from tests.support.model_queries import SECOND

POSITIONS = Relation(
    name="positions",
    kind="stream",
    schema=pa.schema(
        [("vessel", pa.string()), ("x", pa.float64()), ("v", pa.float64()),
         ("ts", pa.timestamp("us"))]
    ),
    event_time="ts",
    lateness_us=SECOND,
)  # fmt: skip
MOVING = "FROM positions MODEL x = x + v * t KEY vessel"
TEXTS = {
    "beyond": f"SELECT vessel, x {MOVING} WHERE x > 3 ERROR WITHIN 0.5 HORIZON 20 SECONDS",
    "outside": f"SELECT vessel, x {MOVING} WHERE x > 4 OR x < 1 ERROR WITHIN 0.5 "
    "HORIZON 20 SECONDS",
    "doubled": f"SELECT vessel, 2 * x AS y {MOVING} ERROR WITHIN x 0.5 HORIZON 20 SECONDS",
    "mean": "SELECT vessel, avg(x) AS mean FROM positions [SIZE 4 SECONDS ADVANCE 1 SECONDS] "
    "MODEL x = x + v * t KEY vessel GROUP BY vessel ERROR WITHIN 0.5 HORIZON 20 SECONDS",
}


def rows(first: int, count: int = 40) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {
            "vessel": [("a", "b", "c")[n % 3] for n in numbers],
            "x": [(n * 7 % 23) / 4 if n % 4 == 0 else 2.0 + n % 3 for n in numbers],
            "v": [(n % 5 - 2) / 8 for n in numbers],
            "ts": pa.array([n * 300_000 for n in numbers]).cast(pa.timestamp("us")),
        },
        schema=POSITIONS.schema,
    )


@pytest.fixture(params=[True, False], ids=["recorded", "not_recorded"])
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[DeskRun]:
    with DeskRun(tmp_path / "home", POSITIONS, record=request.param) as own:
        yield own


def streams(run: DeskRun) -> list[str]:
    return [group for group in run.desk.registry.steps if group.startswith("model_stream")]


def test_shapes_with_equal_sources_share_one_stream(run: DeskRun) -> None:
    """It comes with the first, others join it later, and all answers are as DuckDB has them."""
    names = list(TEXTS)
    nobody = run.desk.explain(TEXTS["beyond"], what_if="selectivity(positions) = 0.1").facts
    assert nobody["gate"].startswith("none: it would not pay"), nobody
    for number, name in enumerate(names):
        run.desk.subscribe(TEXTS[name], name=name)
        run.batch(positions=rows(40 * number))
        if number == 1:
            run.restart()
        assert len(streams(run)) == 1
    run.batch(positions=rows(40 * len(names)))
    (stream,) = streams(run)
    assert run.figures[stream][STREAM_ROWS] > 20
    for name in names:
        own = run.figures[run.desk.subscription(name).group]
        assert own[MODEL_ROWS, 0] == run.figures[stream][STREAM_ROWS]
    text = run.desk.explain("mean").text()
    assert f"{stream}, with 3 other shapes: beyond, outside, doubled" in text, text
    if run.desk.home.facts["record"]:
        for answer in verify(run.desk.registry, run.desk.log):
            assert answer.equal and answer.found > 5, (answer, answer.examples)


def test_a_stream_goes_with_the_last_that_reads_it(run: DeskRun) -> None:
    """A recorded home lets none go, as it does of every group."""
    for name in ("beyond", "doubled"):
        run.desk.subscribe(TEXTS[name], name=name)
    run.batch(positions=rows(0))
    run.desk.drop("beyond")
    run.batch(positions=rows(40))
    assert len(streams(run)) == 1
    run.desk.drop("doubled")
    run.batch(positions=rows(80))
    assert len(streams(run)) == bool(run.desk.home.facts["record"])
    run.desk.subscribe(TEXTS["doubled"], name="again")
    run.batch(positions=rows(120))
    assert len(streams(run)) == 1
    assert run.desk.subscription("again").read().num_rows


@pytest.mark.parametrize("options", [{}, {"fidelity": "literal"}], ids=["shared", "alone"])
def test_who_comes_while_no_rows_do_is_told_what_stands(
    run: DeskRun, options: dict[str, Any]
) -> None:
    """At once, and once: by a group that is new, by one that is there, and by restored ones."""
    run.desk.subscribe(TEXTS["doubled"], name="first", options=options)
    run.batch(positions=rows(0))
    for name in ("outside", "doubled"):
        run.desk.subscribe(TEXTS[name], name=name, options=options)
    run.batch()
    said = run.desk.subscription("doubled").read().num_rows
    assert said > 0
    run.restart()
    run.batch()
    assert run.desk.subscription("doubled").read().num_rows == said
    run.batch(positions=rows(40))
    if run.desk.home.facts["record"]:
        for answer in verify(run.desk.registry, run.desk.log):
            assert answer.equal and answer.found > 5, (answer, answer.examples)


@pytest.mark.parametrize(
    ("sql", "options", "why"),
    [
        (TEXTS["outside"], {"fidelity": "literal"}, "slack is taken as it was published"),
        (
            "SELECT a.vessel, a.x - 2 * b.x AS gap FROM positions a MODEL x = x + v * t "
            "KEY vessel JOIN positions b MODEL x = x + v * t KEY vessel "
            "ON a.vessel = b.vessel AND a.x < b.x ERROR WITHIN 1",
            {},
            "its sources are not alike",
        ),
    ],
)
def test_what_does_not_share_says_why(
    run: DeskRun, sql: str, options: dict[str, Any], why: str
) -> None:
    run.desk.subscribe(sql, name="alone", options=options)
    run.batch(positions=rows(0))
    assert not streams(run)
    assert why in run.desk.explain("alone").text()
    assert why in run.desk.explain(sql, options=options).text()


def test_a_home_of_before_goes_on_reading_rows(run: DeskRun) -> None:
    """Its groups share nothing, and say so; what is added to them shares."""
    with pytest.MonkeyPatch.context() as before:
        before.setattr(type(KIND), "bind", lambda _kind, query: bind_model_query(query))
        for name in ("outside", "mean"):
            run.desk.subscribe(TEXTS[name], name=name)
        run.batch(positions=rows(0))
    run.restart()
    run.batch(positions=rows(40))
    assert not streams(run)
    assert "registered before sources were shared" in run.desk.explain("mean").text()
    run.desk.subscribe(TEXTS["outside"], name="anew")
    run.batch(positions=rows(80))
    run.batch(positions=rows(120))
    assert len(streams(run)) == 1
    assert run.desk.subscription("anew").group != run.desk.subscription("outside").group
    if run.desk.home.facts["record"]:
        for answer in verify(run.desk.registry, run.desk.log):
            assert answer.equal and answer.found > 5, (answer, answer.examples)


def test_what_a_stream_fails_with_suspends_those_that_read_it(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are told, run again together, and begin anew; another shape wakes the stream alone."""
    for name in ("beyond", "mean"):
        run.desk.subscribe(TEXTS[name], name=name)
    run.batch(positions=rows(0))
    process = RowInflow.process

    def fail(self: RowInflow, batch: Any, counts: Any) -> Any:
        del self, batch, counts
        raise EvaluationError("RUN-013", "It takes too long.", "Make it shorter.")

    monkeypatch.setattr(RowInflow, "process", fail)
    run.batch(positions=rows(40))
    assert set(run.desk.suspended.subscriptions()) == {"beyond", "mean"}
    monkeypatch.setattr(RowInflow, "process", process)
    run.desk.subscribe(TEXTS["doubled"], name="doubled")
    run.batch(positions=rows(80))
    run.restart()
    run.batch(positions=rows(120))
    assert run.desk.subscription("doubled").read().num_rows
    for name in ("beyond", "mean"):
        run.desk.resume(name)
    run.batch(positions=rows(160))
    run.batch(positions=rows(200))
    assert not run.desk.suspended.subscriptions()
    if run.desk.home.facts["record"]:
        for answer in verify(run.desk.registry, run.desk.log):
            assert answer.equal and answer.found > 5, (answer, answer.examples)


def watched(run: DeskRun, first: int, raised: float = 0.0) -> None:
    """Run a batch, and let the engine's watch see what it told."""
    came = rows(first)
    run.batch(positions=came.set_column(1, "x", pc.add(came["x"], raised)))
    logged = run.desk.log.read(run.batches - 1)
    assert logged is not None
    run.desk.watcher.take(
        BatchReport(
            batch=run.batches - 1, version=logged.version, rows_in=40, matches=0, seconds=0.1,
            figures=run.figures, logged=logged,
        )
    )  # fmt: skip


def planned(run: DeskRun, stream: str) -> StreamPlan:
    """Give the plan that a stream was given last."""
    watch = run.desk.watcher.over_group(stream)
    assert isinstance(watch, ModelWatch)
    standing = watch.book.standing(stream)
    assert standing is not None
    return standing.plan


def test_gates_are_planned_by_what_is_measured(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shapes that seldom find anything share a gate; who finds much, or asks nothing, does not."""
    monkeypatch.setattr(gate_cycle, "SEGMENTS_MIN", 40)
    monkeypatch.setattr(gate_cycle, "FIRST_PERIOD", 4)
    for number in range(6):
        low, high = -3.0 - number / 10, 8.0 + number / 10
        sql = TEXTS["outside"].replace("x > 4 OR x < 1", f"x > {high} OR x < {low}")
        run.desk.subscribe(sql, name=f"seldom{number}")
    run.desk.subscribe(TEXTS["outside"].replace("x > 4", "x > 2"), name="often")
    run.desk.subscribe(TEXTS["beyond"], name="beyond")
    for number in range(26):
        watched(run, 40 * number)
        if number == 10:
            run.restart()
    (stream,) = streams(run)
    told, plan = run.figures[stream], planned(run, stream)
    groups = {record.group: name for name, record in run.desk.registry.subscriptions.items()}
    behind = {groups[own] for gate in plan.gates for own in gate.readers}
    assert behind == {f"seldom{number}" for number in range(6)}
    assert told[STREAM_GATES] == len(plan.gates)
    assert sum(told.by(GATE_PASSED).values()) < sum(told.by(GATE_TAKEN).values())
    spared = run.figures[run.desk.subscription("seldom3").group]
    assert spared[TAKEN] in told.by(GATE_PASSED).values()
    assert spared[SPARED] == told[STREAM_CHANGES] - spared[TAKEN] > 0
    text = run.desk.explain("seldom3").text()
    assert "asked once with" in text, text
    for word in ("expected to pass", "measured", "next best plan", "pass its own condition"):
        assert word in text, text
    often = run.desk.explain("often").facts
    assert "it would not pay" in often["gate"] and "the next best plan" in often["cost"], often
    assert "gate" not in run.desk.explain("beyond").facts
    assert told.total(STREAM_BOXES) > 100
    assert told[GATE_EXPECTED, 0] == round(1e6 * (plan.gates[0].expected or 0.0))
    said = run.desk.explain("often").facts["selectivity"]
    estimated, measured = (float(own) for own in re.findall(r"([\d.e+-]+) %", said))
    assert estimated == pytest.approx(measured, abs=12), said
    new = TEXTS["outside"].replace("x > 4 OR x < 1", "x > 9 OR x < -9")
    arriving = run.desk.explain(new).facts
    assert arriving["selectivity"].endswith("by histograms, not measured yet")
    assert "asked once with" in arriving["gate"] and "seldom" in arriving["gate"], arriving
    frequent = run.desk.explain(new, what_if="selectivity(positions) = 1").facts
    assert frequent["gate"].startswith("none: it would not pay"), frequent
    by_planner = run.desk.watcher.figures()
    assert by_planner[stream][PLANS_TRIED] > by_planner[stream][PLANNED] > 1
    every = together([run.figures, by_planner])
    often_, seldom = (
        KIND.run_figures(every[run.desk.subscription(name).group]) for name in ("often", "seldom3")
    )
    assert often_ is not None and often_.passed_share is not None
    assert often_.expected_share == pytest.approx(often_.passed_share, abs=0.25)
    assert seldom is not None and seldom.spared == spared[SPARED]
    wide = run.desk.explain("seldom3", what_if="selectivity(positions) = 1").text()
    assert "none: it would not pay" in wide, wide
    rate = run.desk.explain("often", what_if="rate(positions) = 50/s").text()
    assert "rate(positions) = 50/s" in rate and "µs a second; the next best plan" in rate, rate
    with pytest.raises(PenstockError, match="ENG-036"):
        run.desk.explain("often", what_if="cores = 4")
    if run.desk.home.facts["record"]:
        for answer in verify(run.desk.registry, run.desk.log):
            assert answer.equal, (answer, answer.examples)


def test_shapes_that_come_late_share_a_gate_by_what_histograms_say(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a long period, before anything was counted of them."""
    monkeypatch.setattr(gate_cycle, "SEGMENTS_MIN", 40)
    monkeypatch.setattr(gate_cycle, "FIRST_PERIOD", 4)

    def seldom(number: int) -> str:
        return TEXTS["outside"].replace("x > 4 OR x < 1", f"x > {8 + number} OR x < {-3 - number}")

    run.desk.subscribe(TEXTS["outside"].replace("x > 4", "x > 2"), name="often")
    for number in range(14):
        watched(run, 40 * number)
    (stream,) = streams(run)
    watch = run.desk.watcher.over_group(stream)
    assert isinstance(watch, ModelWatch)
    seen = watch.cycle.seen(stream)
    assert seen.known is not None and seen.period == 16 and not watch.book.standing(stream)
    for number in range(6):
        run.desk.subscribe(seldom(number), name=f"seldom{number}")
    looks = seen.looks
    for number in range(14, 19):
        watched(run, 40 * number)
        if seen.looks > looks:
            break
    counts = seen.counts
    assert counts is not None and set(counts.passed) == {run.desk.subscription("often").group}
    plan = planned(run, stream)
    assert sum(len(gate.readers) for gate in plan.gates) == 6
    assert all(gate.expected is not None and gate.expected < 0.2 for gate in plan.gates)


def test_a_gate_that_pays_no_more_is_not_kept_for_a_long_period(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What seldom came comes all the time, all at once: who waited for it is asked alone again."""
    monkeypatch.setattr(gate_cycle, "SEGMENTS_MIN", 40)
    monkeypatch.setattr(gate_cycle, "FIRST_PERIOD", 4)
    for number in range(4):
        sql = TEXTS["outside"].replace("> 4 OR x < 1", f"> 8.{number} OR x < -3")
        run.desk.subscribe(sql, name=f"seldom{number}")
    (stream,) = streams(run)
    watch = run.desk.watcher.over_group(stream)
    assert isinstance(watch, ModelWatch)
    for number in range(36):
        watched(run, 40 * number)
    assert planned(run, stream).gates and watch.cycle.seen(stream).period == 32
    for number in range(36, 44):
        watched(run, 40 * number, raised=20.0)
    assert not planned(run, stream).gates


def test_a_stream_that_comes_again_has_no_plan_of_its_life_before(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its operator has none either: gates are planned anew, also by who opens the home anew."""
    monkeypatch.setattr(gate_cycle, "SEGMENTS_MIN", 40)
    monkeypatch.setattr(gate_cycle, "FIRST_PERIOD", 4)
    sought = [TEXTS["outside"].replace("> 4 OR x < 1", f"> 8.{own} OR x < -3") for own in range(4)]
    for life in range(3):
        for number, sql in enumerate(sought):
            run.desk.subscribe(sql, name=f"seldom{number}")
        (stream,) = streams(run)
        watch = run.desk.watcher.over_group(stream)
        assert isinstance(watch, ModelWatch)
        if not run.desk.home.facts["record"]:
            assert watch.book.standing(stream) is None and not watch.cycle.seen(stream).looks
            assert PlanBook(run.desk.registry, GatePlan.from_json).standing(stream) is None
        for number in range(12):
            watched(run, 480 * life + 40 * number)
        assert planned(run, stream).gates and run.figures[stream][STREAM_GATES]
        for number in range(len(sought)):
            run.desk.drop(f"seldom{number}")
        if life == 1:
            run.restart()
