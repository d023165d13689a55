"""Budgets in the engine, without Spark: refusals, figures, verification, the pulse."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from penstock.algebra.catalog import Relation
from penstock.cli.main import app
from penstock.cli.verification import part_words
from penstock.delivery.log import LoggedBatch, ResultLog
from penstock.engine import Desk, Engine
from penstock.engine.budgets import Budgets, no_facts, refuse_small_budgets
from penstock.engine.declarations import declare_relation
from penstock.engine.explanation import drawing_of
from penstock.engine.heartbeat import Heartbeat
from penstock.engine.silent_streams import Hurrying, Waiting, rows_waiting
from penstock.engine.verification import verify
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.kinds.table import kind_of
from penstock.language.lookup_clauses import lookup_of, lookup_relation
from penstock.operators.catalogue import cooldown_s
from penstock.operators.lookup import describe
from penstock.operators.protocol import NO_FACTS
from penstock.registry.records import Source
from penstock.registry.store import Registry
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import LATE_ROWS
from penstock.vocabulary.shared_figures import ARRIVED, HELD, HURRIED_ROWS, ROWS_WAITING
from tests.support.bounded_streams import STREAM, Asking, Moving
from tests.support.desk_runs import DeskRun
from tests.support.waiting import until

TIGHT = (
    "SELECT r.n AS r, s.n AS s FROM r JOIN s ON r.k = s.k WITHIN 3 SECONDS MEMORY 10 ROWS "
    "MODEL r AS LINEAR TREND, s AS AUTO"
)
AMPLE = "SELECT r.n AS r, s.n AS s FROM r [ROWS 9], s [ROWS 7] WHERE r.k = s.k MEMORY 16 ROWS"
TOLD = "LINEAR TREND (slope = 1, intercept = 0, noise = 'uniform', bound = 6)"
PRICED = "SELECT a.n, p.price FROM asks a JOIN prices p ON a.k = p.id WHERE a.v >= :least"


def stream(name: str, rate: float | None = None) -> Relation:
    return Relation(
        name=name, kind="stream", schema=STREAM, event_time="ts", lateness_us=0, rate=rate
    )


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    made = DeskRun(tmp_path / "home", stream("r", 10.0), stream("s", 10.0), stream("asks"))
    yield made
    made.desk.close()


def group_figures(run: DeskRun, figures: FigureTable, group: str) -> dict[str, Any]:
    found = kind_of(run.desk.registry.steps[group]).run_figures(figures[group])
    assert found is not None
    return found.to_json()


def feed(run: DeskRun, streams: Moving, files: int, restart: bool = False) -> FigureTable:
    """Run files one by one; give the figures of all."""
    figures = FigureTable()
    for number in range(files):
        if restart:
            run.restart()
        run.batch(**{name: each.tables[number] for name, each in streams.feeders.items()})
        figures = figures.then(run.figures)
    return figures


@pytest.mark.parametrize("restart", [False, True])
def test_bounded_joins_are_verified(run: DeskRun, tmp_path: Path, seed: int, restart: bool) -> None:
    streams = Moving(tmp_path / "in", seed, spread=5)
    streams.put(6)
    run.desk.subscribe(TIGHT, name="tight")
    run.desk.subscribe(AMPLE, name="ample")
    figures = feed(run, streams, 6, restart)
    tight, ample = verify(run.desk.registry, run.desk.log)
    assert tight.equal, tight
    assert ample.equal, ample
    assert tight.may_miss
    assert 0 < tight.missing < tight.expected
    assert not ample.may_miss
    assert not ample.missing
    assert min(tight.found, ample.found) > 20
    # All keys are counted, so the estimate is the truth.
    assert tight.estimate == pytest.approx(tight.recall)
    assert "estimated" in part_words(tight)

    told = Budgets(run.desk.registry).figures(figures, no_facts)
    assert told["tight"].recall == tight.estimate
    assert told["tight"].results_lost == tight.missing
    assert sum(told["tight"].held.values()) <= told["tight"].budget == 10
    assert told["ample"].recall == 1.0
    assert group_figures(run, figures, told["tight"].group)["recall"] == tight.estimate
    assert told["tight"].explained()["budget"] == 10
    assert "recall about" in told["tight"].words()


HASTY = "SELECT r.n AS r, s.n AS s FROM r [ROWS 9], s [RANGE 4 SECONDS] WHERE r.k = s.k"


@pytest.mark.parametrize("restart", [False, True])
def test_no_more_rows_wait_for_a_silent_stream_than_may(
    run: DeskRun, tmp_path: Path, seed: int, restart: bool
) -> None:
    """What goes ahead, what is late then and what is found is as verified, also after restarts."""
    streams = Moving(tmp_path / "in", seed, spread=5)
    streams.put(8)
    tables = {name: each.tables for name, each in streams.feeders.items()}
    budget = run.desk.subscribe(f"{HASTY} MEMORY 16 ROWS", name="b", options={"waiting": 25})
    joined = run.desk.subscribe(HASTY, name="m", options={"waiting": 25})
    news: list[tuple[str, int, str]] = []
    hurrying = Hurrying(run.desk.registry, lambda *told: news.append(told))
    figures = FigureTable()
    # s is silent for three batches, brings what it owes, all of it late, and then keeps up.
    for number, from_s in enumerate(([0], [], [], [], [1, 2, 3, 4], [5], [6], [7])):
        if restart:
            run.restart()
        late = [tables["s"][each] for each in from_s]
        run.batch(r=tables["r"][number], **({"s": pa.concat_tables(late)} if late else {}))
        figures = figures.then(run.figures)
        hurrying.take(report(0, figures=run.figures))
        for each in (budget, joined):
            assert run.figures[each.group][HELD] <= 25
    for verdict in verify(run.desk.registry, run.desk.log):
        assert verdict.equal, verdict
        assert verdict.found > 20
    for each in (budget, joined):
        assert figures[each.group][HURRIED_ROWS] >= 3 * 40 - 25
        assert figures[each.group][HURRIED_ROWS] == hurrying.rows[each.group]
        assert figures[each.group][LATE_ROWS] > 40
    assert figures.total(HURRIED_ROWS) == sum(hurrying.rows.values())
    assert [group for group, *_ in news] == sorted({budget.group, joined.group})
    assert all(text.startswith("[ENG-042] More than 25 rows wait") for *_, text in news)

    told = Budgets(run.desk.registry).figures(figures, no_facts)["b"]
    assert told.hurried_rows == hurrying.rows[budget.group]
    assert told.waiting == run.figures[budget.group][HELD]
    assert "rows hurried" in told.words()
    assert group_figures(run, figures, joined.group)["hurried_rows"] > 0


def test_that_rows_hurry_is_told_again_only_after_few_have_waited(run: DeskRun) -> None:
    group = run.desk.subscribe(HASTY, name="m", options={"waiting": 10}).group
    news: list[int] = []
    hurrying = Hurrying(run.desk.registry, lambda _group, batch, _text: news.append(batch))
    for hurried, held in ((3, 10), (0, 9), (2, 10), (0, 4), (1, 10)):
        before = len(news)
        told = FigureTable({group: Tally({HURRIED_ROWS: hurried, HELD: held})})
        hurrying.take(report(0, figures=told))
        assert len(news) - before == (hurried in (3, 1))
    assert hurrying.rows == {group: 6}


MODELLED = "SELECT k, starts, n FROM s MODEL n KEY k ERROR WITHIN 1"


@pytest.mark.parametrize("sql", [HASTY, f"{HASTY} MEMORY 16 ROWS", MODELLED])
def test_rows_that_wait_for_more_than_came_are_counted_and_told(
    tmp_path: Path, seed: int, sql: str
) -> None:
    """Streams that are late by a minute, and bring a few seconds."""
    streams = Moving(tmp_path / "in", seed, spread=5)
    streams.put(2)
    tables = {name: each.tables for name, each in streams.feeders.items()}
    late = [replace(stream(name), lateness_us=60_000_000) for name in "rs"]
    with DeskRun(tmp_path / "late", *late) as run:
        desk = run.desk
        group = desk.subscribe(sql, name="q").group
        for number in range(2):
            run.batch(**{name: own[number] for name, own in tables.items()})
            desk.watcher.take(replace(report(0, figures=run.figures), batch=number))
        assert not desk.subscription("q").read().num_rows
        waiting = rows_waiting(desk.registry, group, lambda: run.figures)
        words = f"{waiting:,} rows wait for their turn: a row goes on"
        assert waiting >= 2 * tables["s"][0].num_rows and words in str(desk.explain("q").notes)
        assert not desk.notices
        for _ in range(2):
            desk.watcher.finish()
        (notice,) = desk.notices
        assert notice.batch == 1 and f"[ENG-068] {words}" in notice.text
        assert "s 60 s" in notice.text


def test_that_rows_wait_is_told_once_and_only_of_groups_that_stand_still(run: DeskRun) -> None:
    group = run.desk.subscribe(HASTY, name="m").group
    for counts, told in (
        ([(5, 5)] + [(2, 5 + 2 * n) for n in range(1, 20)], [9]),
        ([(5, 5), (2, 6), *((1, 7 + n) for n in range(20))], []),
        ([(5, 5)] + [(0, 5)] * 20, [20]),
        ([(1, 1 + n) for n in range(10)] + [(0, 10)] * 5 + [(1, 11), (0, 11)], [9]),
    ):
        news: list[int] = []
        waiting = Waiting(run.desk.registry, lambda *told, own=news: own.append(told[1]))
        for batch, (come, held) in enumerate(counts):
            tally = Tally({(ARRIVED, 0): come, HELD: held})
            told_of = report(0, figures=FigureTable({group: tally}))
            waiting.take(replace(told_of, batch=batch))
        waiting.finish()
        assert news == told


class Doubled(ResultLog):
    """A log whose last batch has the made rows of one group twice."""

    def read(self, batch: int) -> LoggedBatch | None:
        """Give a batch; the last one with a section too many."""
        logged = super().read(batch)
        if logged is None or batch < self.newest():
            return logged
        again = next(each for each in logged.sections if "bounded_join" in each.relation)
        return replace(logged, sections=(*logged.sections, again))


def test_a_result_that_comes_twice_is_found(run: DeskRun, tmp_path: Path, seed: int) -> None:
    streams = Moving(tmp_path / "in", seed)
    streams.put(3)
    run.desk.subscribe(TIGHT, name="tight")
    feed(run, streams, 3)
    (verdict,) = verify(run.desk.registry, Doubled(run.desk.home.path / "results"))
    assert verdict.surplus > 0
    assert not verdict.equal


@pytest.mark.parametrize("host", ["embedded", "cluster"])
def test_a_reopened_home_tells_what_it_kept(
    run: DeskRun, tmp_path: Path, seed: int, host: str
) -> None:
    streams = Moving(tmp_path / "in", seed, spread=5)
    streams.put(6)
    run.desk.subscribe(TIGHT, name="tight")
    figures = feed(run, streams, 6)
    before = Budgets(run.desk.registry).figures(figures, no_facts)["tight"]
    run.desk.home.settle(host=host, shards=1)
    run.desk.close()
    with Engine(run.desk.home.path) as engine:
        told = engine.figures().memory["tight"]
        assert sum(told.held.values()) == 10
        live: dict[str, Any] = {"facts": NO_FACTS, "based_on": "", "fits": {}}
        assert replace(told, **live) == replace(before, **live)
        if host == "embedded":
            assert told.facts.to_json()["held"] == list(told.held.values())
            assert told.based_on == "a count of all results"
        assert engine.figures(live=False).memory["tight"].recall == before.recall != 0
        assert engine.explain("tight").run == {}  # which is of this run


def test_budgets_smaller_than_the_shards_are_refused(run: DeskRun) -> None:
    small = TIGHT.replace("MEMORY 10", "MEMORY 3")
    assert len(run.desk.subscribe(small, name="small")) == 1
    steps = run.desk.registry.steps.values()
    refuse_small_budgets(steps, 3)
    with pytest.raises(PenstockError, match="ENG-040"):
        refuse_small_budgets(steps, 4)
    run.desk.home.settle(host="cluster", shards=4, lanes=[[["r", []], ["s", []]]])
    with pytest.raises(PenstockError, match="ENG-040"):
        run.desk.subscribe(small, name="smaller", each=None)
    assert len(run.desk.subscribe(TIGHT, name="large")) == 1


def declare(desk: Desk, source: str, cache: int = 8, **options: Any) -> Relation:
    lookup = lookup_of("prices", source, "id", cache, options=options)
    relation = lookup_relation("prices", describe(lookup), lookup)
    declare_relation(desk.registry, desk.home, relation, Source())
    return relation


def test_lookups_are_known_again_and_verified(run: DeskRun, tmp_path: Path, seed: int) -> None:
    asking = Asking(tmp_path / "in", seed)
    asking.put(4)
    declare(run.desk, f"duckdb:{asking.file}", retries=0, cooldown="1 millisecond")
    known = Registry(run.desk.home.path / "registry").catalog["prices"]
    assert known == run.desk.registry.catalog["prices"]
    assert known.lookup is not None
    assert not any(map(cooldown_s, run.desk.registry.steps.values()))
    run.desk.subscribe(PRICED, name="priced", each=[{"id": i, "least": i} for i in range(3)])
    assert 0.001 in map(cooldown_s, run.desk.registry.steps.values())
    figures = FigureTable()
    for number, table in enumerate(asking.feeder.tables):
        if number == 2:
            asking.away()
        run.restart()
        run.batch(asks=table)
        figures = figures.then(run.figures)
    told = Budgets(run.desk.registry).figures(figures, no_facts)["priced"]
    assert told.waiting == run.figures.total(ROWS_WAITING) > 0
    assert told.breaker == "open"
    assert "wait for the database" in told.words()
    run.desk.drop("priced", [1])
    run.batch()
    asking.back()
    (waiting,) = verify(run.desk.registry, run.desk.log)
    assert waiting.equal, waiting
    assert (waiting.missing, waiting.waiting) == (0, told.waiting)
    run.batch()
    (verdict,) = verify(run.desk.registry, run.desk.log)
    assert verdict.equal, verdict
    assert (verdict.missing, verdict.waiting) == (0, 0)
    assert verdict.found > waiting.found
    with duckdb.connect(str(asking.file)) as db:
        db.execute("DELETE FROM prices WHERE id = 1")
    (gone,) = verify(run.desk.registry, run.desk.log)
    assert gone.surplus > 0
    with pytest.raises(PenstockError, match="ENG-041"):
        declare(run.desk, f"duckdb:{asking.file}", cache=9)


def test_the_command_draws_what_memory_brings(run: DeskRun, tmp_path: Path) -> None:
    text = TIGHT.replace("r AS LINEAR TREND", f"r AS {TOLD}").replace("s AS AUTO", f"s AS {TOLD}")
    explained = run.desk.explain(text)
    recalls = [point["recall"] for point in explained.facts["curve"]["points"]]
    assert recalls == sorted(recalls)
    drawn = drawing_of(explained)
    assert drawn is not None
    assert "<svg" in drawn
    assert drawing_of(run.desk.explain(TIGHT)) is None, "nothing is known of s yet"
    assert "recall" in explained.text()
    home, drawing = str(run.desk.home.path), tmp_path / "memory.svg"
    run.desk.close()
    result = CliRunner().invoke(app, ["explain", text, "--home", home, "--draw", str(drawing)])
    assert result.exit_code == 0, result.output
    assert "<svg" in drawing.read_text(encoding="utf-8")


def test_the_command_draws_by_what_a_run_has_kept(run: DeskRun, tmp_path: Path, seed: int) -> None:
    """Nothing is known of a stream before it came; after a run, its kept state knows."""
    streams = Moving(tmp_path / "in", seed)
    streams.put(20)
    text = TIGHT.replace("r AS LINEAR TREND", "r AS AUTO")
    run.desk.subscribe(text, name="tight")
    assert drawing_of(run.desk.explain("tight")) is None
    feed(run, streams, 20)
    run.desk.home.settle(host="embedded")
    explained = run.desk.explain("tight")
    recalls = [point["recall"] for point in explained.facts["curve"]["points"]]
    assert recalls == sorted(recalls)
    assert "asked" in explained.text()
    # The curve passes through what the run has measured at its own budget, and says so.
    figures = Budgets(run.desk.registry).kept(run.desk.log)
    measured = Budgets(run.desk.registry).figures(figures, no_facts)["tight"].recall
    assert measured is not None
    curve = explained.facts["curve"]
    assert curve["expected"] == pytest.approx(measured, abs=1e-3)
    assert curve["corrected"]["measured"] == pytest.approx(measured, abs=1e-4)
    asked = next(point for point in curve["points"] if point["rows"] == curve["asked_rows"])
    assert asked["recall"] == pytest.approx(measured, abs=1e-3)
    shown = f"{100 * curve['corrected']['forecast']:.1f} %, measured {100 * measured:.1f} %."
    assert f"Corrected by this run: forecast {shown}" in explained.text()
    home, drawing = str(run.desk.home.path), tmp_path / "memory.svg"
    run.desk.close()
    result = CliRunner().invoke(app, ["explain", "tight", "--home", home, "--draw", str(drawing)])
    assert result.exit_code == 0, result.output
    assert "<svg" in drawing.read_text(encoding="utf-8")


def test_late_rows_are_told_beside_the_recall(run: DeskRun, tmp_path: Path, seed: int) -> None:
    streams = Moving(tmp_path / "in", seed)
    streams.put(4)
    run.desk.subscribe(TIGHT, name="tight")
    feed(run, streams, 4)
    run.batch(**{name: each.tables[0] for name, each in streams.feeders.items()})
    told = Budgets(run.desk.registry).figures(run.figures, no_facts)["tight"]
    late = sum(each.tables[0].num_rows for each in streams.feeders.values())
    assert told.late_rows == late
    assert f"{late} rows came too late" in told.words()
    (verdict,) = verify(run.desk.registry, run.desk.log)
    assert verdict.equal
    assert verdict.late == late
    assert f"{late} rows that came too late" in part_words(verdict)


def test_the_command_tells_of_a_part(run: DeskRun, tmp_path: Path, seed: int) -> None:
    streams = Moving(tmp_path / "in", seed)
    streams.put(3)
    run.desk.subscribe(TIGHT, name="tight")
    feed(run, streams, 3)
    home = str(run.desk.home.path)
    run.desk.close()
    plain = CliRunner().invoke(app, ["verify", home])
    assert plain.exit_code == 0, plain.output
    assert "tight: within its memory it kept" in plain.output
    told = CliRunner().invoke(app, ["verify", home, "--json"])
    (facts,) = json.loads(told.stdout)["subscriptions"]
    assert facts["recall"] == pytest.approx(facts["recall_estimate"])


class Turn:
    """A Spark query as the pulse sees it."""

    def __init__(self, running: bool) -> None:
        self.running = running
        self.failed = False


def report(
    waiting: int, version: int = 1, figures: FigureTable | None = None
) -> BatchReport:  # fmt: skip
    logged = LoggedBatch(0, version, 0, 0, ())
    return BatchReport(
        batch=0, version=version, rows_in=0, matches=0, seconds=0.0,
        figures=figures or FigureTable({"g": Tally({ROWS_WAITING: waiting})}), logged=logged,
    )  # fmt: skip


def pulse(query: Turn, news: list[str], beat: Callable[[], int], **named: Any) -> Heartbeat:
    settings: dict[str, Any] = {"begin_again": None, "patience_s": 60.0, **named}
    return Heartbeat(
        query=lambda: query, every_s=lambda: 0.0, beat=beat, tell=news.append, **settings
    )


def test_the_pulse_beats_once_until_its_batch_has_come() -> None:
    beats: list[int] = []
    beaten = threading.Event()
    news: list[str] = []

    def beat() -> int:
        beats.append(len(beats) + 2)
        beaten.set()
        return beats[-1]

    made = pulse(Turn(running=True), news, beat)
    made.take(report(0))
    assert not made.pending
    made.take(report(5))
    assert beaten.wait(600)
    beaten.clear()
    assert not beaten.wait(0.3), "its batch has not come yet"
    made.take(report(3, version=2))
    assert beaten.wait(600)
    made.take(report(0, version=3))
    made.stop()
    assert beats == [2, 3]
    assert "5 rows wait" in news[0]
    assert "answers again" in news[1]


def test_the_pulse_goes_on_when_the_disk_has_room_again() -> None:
    news, beaten, tried = list[str](), threading.Event(), list[int]()

    def beat() -> int:
        tried.append(len(tried))
        if len(tried) < 3:
            raise PenstockError("RUN-015", "The disk is full.", "Make room.")
        beaten.set()
        return 2

    made = pulse(Turn(running=True), news, beat)
    made.take(report(5))
    assert beaten.wait(600)
    made.stop()
    assert len(tried) == 3 and "RUN-015" in news[1] and len(news) == 2, "it is told once"
    ending = pulse(Turn(running=False), news, beat, begin_again=lambda: None)
    tried.clear()
    ending.take(report(1))
    until(lambda: ending.error is not None)
    assert not ending.pending and "RUN-015" in str(ending.error)


def test_a_run_that_ends_goes_on_for_rows_that_wait() -> None:
    query, news = Turn(running=False), list[str]()
    again, over = threading.Event(), threading.Event()

    def tell(text: str) -> None:
        news.append(text)
        if "Nothing is lost" in text:
            over.set()

    made = Heartbeat(
        query=lambda: query, every_s=lambda: 0.0, beat=lambda: 2, tell=tell,
        begin_again=again.set, patience_s=600.0,
    )  # fmt: skip
    made.take(report(1))
    assert made.pending
    assert again.wait(600)
    made._patience_s = 0.0
    assert over.wait(600), "the database stays away"
    assert not made.pending
    assert "1 row waits" in news[-1]
    failed = pulse(query, news, lambda: 2, begin_again=again.set)
    query.failed = True
    failed.take(report(1))
    assert not failed.pending
    failed.stop()


def test_verdicts_say_what_may_be_missing() -> None:
    assert SubscriptionOutcome("q", expected=4, found=3, missing=1, may_miss=True).equal
    assert not SubscriptionOutcome("q", expected=4, found=3, missing=1).equal
    assert not SubscriptionOutcome("q", surplus=1, may_miss=True).equal
    assert SubscriptionOutcome("q").recall is None
    assert "1 row waits" in part_words(SubscriptionOutcome("q", waiting=1))
    assert "3 rows that came too late" in part_words(
        SubscriptionOutcome("q", expected=4, is_bounded=True, late=3)
    )
