"""A text that takes too much, or that DuckDB cannot evaluate, is suspended; all others go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.algebra.logical import Output
from penstock.cli.homes import show_view, status_facts
from penstock.cli.screen import Screen
from penstock.delivery import sheets
from penstock.delivery.shares import Shares
from penstock.delivery.slots import SlotTable
from penstock.engine import Desk, suspended
from penstock.engine.verification import verify
from penstock.expressions.admission import AdmissionError
from penstock.expressions.allowances import BATCH_S_SETTING, EvaluationError, allowance, allowed
from penstock.expressions.conditions import Predicate
from penstock.expressions.evaluation import evaluate
from penstock.kinds.kept_views import notice_of
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.storage.files import read_json
from penstock.storage.suspensions import Suspension, Suspensions
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.losses import UNANSWERED_ROWS
from tests.support.desk_runs import DeskRun

EVENTS = pa.schema([("k", pa.int64()), ("x", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
CHANGES = pa.schema([("k", pa.int64()), ("x", pa.int64()), ("op", pa.string())])
DEAR = "list_sum(list_transform(range({}), lambda y: y % 7 + {})) > 0"
TESTED = DEAR.format(20, "{}")
PAIR = TESTED.format("a.x + b.x")
SETS = {
    "filter": f"SELECT x FROM s WHERE {TESTED.format('x')}",
    "select join": f"SELECT a.x FROM u a JOIN v b ON a.k = b.k WHERE {PAIR}",
    "window join": f"SELECT a.x FROM s a JOIN r b ON a.k = b.k WITHIN 5 SECONDS WHERE {PAIR}",
    "many": "SELECT a.x FROM s a [ROWS 10], r b [ROWS 10], s c [ROWS 10] "
    f"WHERE a.k = b.k AND b.k = c.k AND {PAIR}",
    "bounded": "SELECT a.x FROM s a JOIN r b ON a.k = b.k WITHIN 5 SECONDS "
    f"WHERE {PAIR} MEMORY 40 ROWS",
}
PLAIN = "SELECT x FROM s WHERE x % 2 = 0"


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Iterator[DeskRun]:
    streams = (
        Relation(name=n, kind="stream", schema=EVENTS, event_time="ts", lateness_us=0) for n in "sr"
    )
    tables = (Relation(name=n, kind="table", schema=CHANGES, change_column="op") for n in "uv")
    with DeskRun(tmp_path / "home", *streams, *tables) as made:
        yield made


def rows(number: int, count: int = 20) -> dict[str, list[dict[str, Any]]]:
    """Give rows of every relation, later than those of smaller numbers."""
    events = [{"k": n % 5, "x": n, "ts": number * 1_000_000 + n} for n in range(count)]
    changes = [{"k": n % 5, "x": 100 * number + n, "op": "insert"} for n in range(count)]
    return {"s": events, "r": events, "u": changes, "v": changes}


def outcomes(run: DeskRun) -> dict[str, SubscriptionOutcome]:
    found = {each.subscription: each for each in verify(run.desk.registry, run.desk.log)}
    for each in found.values():
        assert each.equal, each
    return found


@pytest.mark.parametrize("kind", SETS)
def test_a_text_that_takes_too_long_rests_until_it_is_resumed(
    run: DeskRun, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.desk.subscribe(SETS[kind], name="dear")
    run.desk.subscribe(PLAIN, name="plain")
    run.batch(**rows(0))
    assert not run.desk.suspended.subscriptions()
    monkeypatch.setenv(BATCH_S_SETTING, "0.000001")
    monkeypatch.setattr("penstock.expressions.allowances.CANDIDATE_S", 0.0)
    monkeypatch.setattr("penstock.expressions.allowances.BYTE_S", 0.0)
    monkeypatch.setattr("penstock.expressions.allowances.LOOK_S", 0.0)
    # The text that is quick has a handle of its own, and asks DuckDB nothing.
    run.desk.subscribe("SELECT x FROM s WHERE x = 2", name="indexed")
    run.desk.drop("plain")
    run.batch(**rows(1))
    monkeypatch.undo()
    (told,) = run.desk.suspended.subscriptions().items()
    assert told[0] == "dear" and told[1].batch == 1 and "RUN-013" in told[1].reason
    assert "suspended from batch 1 on" in run.desk.explain("dear").text()
    assert any("suspended from batch 1 on" in each.text for each in run.desk.notices)
    assert run.figures.total(UNANSWERED_ROWS) >= 20
    run.batch(**rows(2))
    run.restart()
    run.batch(**rows(3))
    found = outcomes(run)["dear"]
    assert found.suspended == [(1, 4)]
    with pytest.raises(PenstockError, match="REG-025"):
        run.desk.subscribe(SETS[kind], name="again")
    run.desk.resume("dear")
    run.batch(**rows(4))
    run.batch(**rows(5))
    run.restart()
    run.batch(**rows(6))
    found = outcomes(run)["dear"]
    assert found.suspended == [(1, 4)] and not run.desk.suspended.subscriptions()
    batches = set(run.desk.subscription("dear").read()["_batch"].to_pylist())
    assert batches & {0} and batches & {5, 6} and not batches & {1, 2, 3}
    assert run.desk.subscription("indexed").read().num_rows == 6
    with pytest.raises(PenstockError, match="REG-026"):
        run.desk.resume("dear")


BY_SIZE = "length(repeat('x', :n)) + {} >= 0"
OF_EACH = {
    "filter": f"SELECT x FROM s WHERE {BY_SIZE.format('x')}",
    "select join": f"SELECT a.x FROM u a JOIN v b ON a.k = b.k WHERE {BY_SIZE.format('a.x + b.x')}",
    "window join": "SELECT a.x FROM s a JOIN r b ON a.k = b.k WITHIN 5 SECONDS "
    f"WHERE {BY_SIZE.format('a.x + b.x')}",
}


LARGE = 99


@pytest.fixture(name="dear")
def _dear(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let every candidate of a query with a large parameter take all that a batch allows."""

    def measured(
        connection: duckdb.DuckDBPyConnection, rows: pa.Table, ask: Any, pace: Any
    ) -> object:
        if any(LARGE in rows[name].to_pylist() for name in rows.column_names if name[0] == "r"):
            raise EvaluationError("RUN-013", "It takes too long.", "Simplify it.")
        return allowed(connection, rows, ask, pace)

    monkeypatch.setattr("penstock.expressions.conditions.allowed", measured)
    return monkeypatch


@pytest.mark.parametrize("kind", OF_EACH)
def test_of_many_queries_of_one_shape_only_the_dear_one_rests(
    run: DeskRun, kind: str, dear: pytest.MonkeyPatch
) -> None:
    sizes = [{"id": f"q{n}", "n": LARGE if n == 5 else 2} for n in range(8)]
    run.desk.subscribe(OF_EACH[kind], name="each", each=sizes)
    run.desk.subscribe(OF_EACH[kind].replace(":n", "3"), name="other")
    run.batch(**rows(0))
    ((name, rest),) = run.desk.suspended.subscriptions().items()
    assert (name, run.desk.suspended.ids("each")) == ("each", ["q5"])
    assert rest.batch == 0 and "RUN-013" in rest.reason
    (notice,) = run.desk.notices
    assert notice.subscriptions == ("each",) and "id 'q5': suspended from batch 0" in notice.text
    assert "id 'q5' is suspended" in str(run.desk.explain("each").notes)
    assert "suspended" not in str(run.desk.explain("other").notes)
    assert status_facts(run.desk)["suspended"]["each"]["ids"] == ["q5"]
    run.batch(**rows(1))
    run.restart()
    run.batch(**rows(2))
    outcome = outcomes(run)["each"]
    assert outcome.suspended == [(0, 3)] and outcome.found
    told = run.desk.subscription("each").read()
    assert {*told["_id"].to_pylist()} == {f"q{n}" for n in range(8) if n != 5}
    # It runs again, under another number, as one that is registered now.
    dear.undo()
    run.desk.resume("each")
    assert not run.desk.suspended.subscriptions()
    run.batch(**rows(3, 5))
    run.restart()
    run.batch(**rows(4, 5))
    outcome = outcomes(run)["each"]
    assert outcome.suspended == [(0, 3)] and len(run.desk.subscription("each")) == 8
    told = run.desk.subscription("each").read()
    assert {
        batch
        for batch, each in zip(told["_batch"].to_pylist(), told["_id"].to_pylist(), strict=True)
        if each == "q5"
    } >= {4}
    with pytest.raises(PenstockError, match="REG-026"):
        run.desk.resume("each")


@pytest.mark.usefixtures("dear")
def test_a_shape_that_costs_rests_as_a_whole_and_says_so(run: DeskRun) -> None:
    sizes = [{"id": n, "n": LARGE} for n in range(4)]
    run.desk.subscribe(OF_EACH["filter"], name="each", each=sizes)
    run.batch(**rows(0))
    (rest,) = run.desk.suspended.subscriptions().values()
    assert rest.query is None and "4 queries" in rest.reason and "shape that costs" in rest.reason
    assert not run.desk.suspended.ids("each")
    run.batch(**rows(1))
    assert outcomes(run)["each"].suspended == [(0, 2)]


@pytest.mark.usefixtures("dear")
def test_a_suspension_goes_with_its_query(run: DeskRun) -> None:
    sizes = [{"id": n, "n": LARGE if n == 2 else 1} for n in range(4)]
    run.desk.subscribe(OF_EACH["filter"], name="each", each=sizes)
    run.batch(**rows(0))
    (rest,) = run.desk.suspended.files.standing().values()
    assert rest.query is not None
    run.desk.drop("each", [2])
    assert not run.desk.suspended.subscriptions()
    run.desk.suspended.settle()
    assert not run.desk.suspended.files.standing()
    run.batch(**rows(1))
    assert outcomes(run)["each"].suspended == [(0, 1)]


def test_memory_that_does_not_suffice_suspends_one_group(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.desk.subscribe("SELECT x FROM s WHERE length(repeat('x', x)) > 5", name="large")
    run.desk.subscribe(PLAIN, name="plain")
    ask = duckdb.DuckDBPyConnection.from_arrow
    table = pa.Table.from_pylist(rows(0)["s"], schema=EVENTS)

    class Asked:
        """A relation that has no memory for one text."""

        def __init__(self, own: duckdb.DuckDBPyRelation) -> None:
            self.own = own

        def project(self, text: str) -> duckdb.DuckDBPyRelation:
            if "repeat" in text:
                raise duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate")
            return self.own.project(text)

    monkeypatch.setattr(
        duckdb.DuckDBPyConnection, "from_arrow", lambda db, own: Asked(ask(db, own)), raising=False
    )
    run.batch(s=table)
    monkeypatch.undo()
    (told,) = run.desk.suspended.subscriptions().values()
    assert "RUN-005" in told.reason and told.batch == 0
    assert run.desk.subscription("plain").read().num_rows == 10
    # All queries of the shape are gone: another of the same begins anew.
    run.desk.drop("large")
    run.desk.subscribe("SELECT x FROM s WHERE length(repeat('x', x)) > 5", name="later")
    run.batch(s=table)
    assert run.desk.subscription("later").read().num_rows == 14
    assert outcomes(run)["large"].suspended == [(0, 1)]


def test_texts_of_before_are_admitted_anew(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A list of functions that has become shorter suspends; it refuses no home."""
    run.desk.subscribe("SELECT x FROM s WHERE x ^ 2 % 3 = 1", name="old")
    run.desk.subscribe(PLAIN, name="plain")
    run.desk.close()

    def refuse(text: str) -> None:
        if "^" in text or "**" in text or "pow" in text:
            raise AdmissionError("SQL-027", "pow() may not be called.", "Call another.")

    monkeypatch.setattr(suspended, "admit", refuse)
    monkeypatch.setattr(suspended, "admission_mark", lambda: "of another DuckDB")
    for opened in range(2):
        with closing(Desk(tmp_path / "home")) as desk:
            (told,) = desk.suspended.subscriptions().items()
            assert told[0] == "old" and "SQL-027" in told[1].reason
            assert len(desk.notices) == 1 - opened
            with pytest.raises(PenstockError, match="SQL-027"):
                desk.resume("old")
    monkeypatch.undo()
    with closing(Desk(tmp_path / "home")) as desk:
        desk.resume("old")
        assert not desk.suspended.subscriptions()


def test_outputs_that_take_too_long_hold_up_no_other_reader(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are of one shape: their rows are found together, their outputs computed apart."""
    run.desk.subscribe(f"SELECT {TESTED.format('x')} AS o FROM s WHERE k = 1", name="dear")
    run.desk.subscribe("SELECT x + 1 AS o FROM s WHERE k = 2", name="plain")
    run.batch(**rows(0))
    readers, logged = run.desk.readers, run.desk.log.read(0)
    assert logged is not None
    group = frozenset({run.desk.subscription("dear").group, run.desk.subscription("plain").group})
    assert len(group) == 1

    def read() -> Shares:
        return readers.reader.shares(logged, SlotTable(readers.claims, ("dear", "plain")))

    calls = []

    def outputs(events: pa.Table, listed: tuple[Output, ...]) -> Any:
        calls.append(listed)
        if "list_transform" in listed[0].sql:
            raise EvaluationError("RUN-013", "It takes too long.", "Simplify it.")
        return computed(events, listed)

    computed = sheets._outputs
    monkeypatch.setattr(sheets, "_outputs", outputs)
    for _ in range(2):
        shares = read()
        assert "RUN-013" in str(shares.unread["dear"])
        assert sum(map(len, shares.pieces("plain"))) == 4 and not shares.unread_groups
    assert len(calls) == 3, "what took too long is not tried again"
    assert sum("RESUME dear" in each.text for each in run.desk.notices) == 1
    monkeypatch.undo()
    run.desk.resume("dear")
    assert sum(map(len, read().pieces("dear"))) == 4


def test_a_text_is_interrupted_within_a_piece() -> None:
    """Thousands of rows take half a minute; a few pieces of them are enough to know."""
    table = pa.table({"x": pa.array(range(20_000))})
    with allowance(0.1), pytest.raises(EvaluationError, match="RUN-013"):
        Predicate(DEAR.format(5000, "x")).ask(table)
    with allowance(0.1), pytest.raises(EvaluationError, match="RUN-013"):
        evaluate([DEAR.format(5000, "x")], table)
    # Plain conditions over as many rows are far from it, however many times they are asked.
    with allowance(0.5):
        plain = Predicate("x % 3 = 1")
        for _ in range(20):
            assert plain.ask(table).holds.sum() == 6_667


def test_a_setting_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BATCH_S_SETTING, "many")
    with pytest.raises(PenstockError, match="ENG-059"), allowance():
        pass


def test_suspensions_that_are_over_are_forgotten_with_their_results(tmp_path: Path) -> None:
    files = Suspensions(tmp_path)
    for group, batch in (("stands", 1), ("resumed", 1), ("gone", 1), ("gone late", 9)):
        files.note(Suspension(group=group, reason="It was slow.", batch=batch))
    files.note(Suspension(group="gone too", reason="It is not admitted.", version=2))
    files.resume("resumed", 5)
    stands = {"stands", "resumed"}
    files.forget(0, 0, stands)
    assert len(files.all()) == 5, "all results are kept"
    files.forget(2, 4, stands)
    assert {own.group for own in files.all()} == {"stands", "resumed", "gone late"}
    files.forget(3, 5, stands)
    assert {own.group for own in files.all()} == {"stands", "gone late"}


def test_what_is_read_of_suspensions_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every batch asks for all of them, and those that are over stay as long as their results."""
    suspensions, read = Suspensions(tmp_path), list[str]()
    for number in range(3):
        suspensions.note(Suspension(group=f"g{number}", reason="It was slow.", batch=number))

    def noted(path: Path) -> dict[str, Any]:
        read.append(path.name)
        return read_json(path)

    monkeypatch.setattr("penstock.storage.suspensions.read_json", noted)
    for batch in (1, 2):
        assert len(suspensions.at(batch, 0)) == batch + 1
    assert len(read) == 3
    suspensions.resume("g1", 7)
    assert [own.resumed for own in suspensions.all()] == [None, 7, None]
    assert len(read) == 4


def test_who_reads_a_suspended_view_is_told(
    run: DeskRun, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sum that is too great suspends the view, and its store is emptied."""
    options = {"view": "total", "refresh": "1 minute", "policy": "immediate"}
    run.desk.subscribe("SELECT sum(x) AS all_x FROM u", name="total", options=options)
    run.batch(**rows(0))
    whole = run.desk.kept.read("SELECT * FROM total")
    assert whole.num_rows == 1 and notice_of(whole) is None
    assert run.desk.view("total").staleness().is_fresh
    run.batch(u=[{"k": 1, "x": 2**63 - 1, "op": "insert"}] * 3)
    assert run.desk.suspended.subscriptions().keys() == {"total"}
    stale = run.desk.view("total").staleness()
    assert "since batch 1: [VIEW-005]" in str(stale.suspended) and not stale.is_fresh
    run.desk.close()
    home, sql = run.desk.home.path, "SELECT * FROM total"
    for as_json in (False, True):
        show_view(home, sql, fresh=False, screen=Screen(as_json))
        told = capsys.readouterr()
        notice = json.loads(told.out)["notice"] if as_json else " ".join(told.err.split())
        assert notice.startswith("[VIEW-066] The view 'total' is suspended: what it shows may be")
        assert "[VIEW-005]" in notice and notice.endswith("RESUME total.")


def test_a_view_whose_changes_join_with_too_much_rests(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it would look through is allowed for, and not every pair of it."""
    monkeypatch.setenv(BATCH_S_SETTING, "0.3")
    options = {"view": "pairs", "refresh": "1 minute", "policy": "immediate"}
    pairs = "SELECT a.k, max(a.x - b.x) AS most FROM u a JOIN v b ON a.k = b.k GROUP BY a.k"
    run.desk.subscribe(pairs, name="pairs", options=options)
    plain = run.desk.subscribe("SELECT x FROM u WHERE x % 2 = 0", name="plain")
    run.batch(**rows(0))
    assert run.desk.suspended.subscriptions() == {}
    same = [{"k": 1, "x": number, "op": "insert"} for number in range(8_000)]
    run.batch(u=same, v=same)
    (rest,) = run.desk.suspended.subscriptions().values()
    assert rest.batch == 1 and "RUN-013" in rest.reason
    assert plain.read().num_rows == 10 + 4_000
    outcomes(run)


@pytest.mark.parametrize(("rests", "compared"), [((0, 4), 0), ((0, 2), 10), ((1, 2), 15)])
def test_a_view_is_verified_before_and_after_it_rests(
    run: DeskRun, rests: tuple[int, int], compared: int
) -> None:
    """Each time it begins anew, and of a view that never ran there is nothing to compare."""
    options = {"view": "most", "refresh": "1 minute", "policy": "immediate"}
    asked = "SELECT a.k, max(a.x - b.x) AS far FROM s a JOIN s b ON a.k = b.k GROUP BY a.k"
    run.desk.subscribe(asked, name="most", options=options)
    for number in range(4):
        if number == rests[0]:
            group = run.desk.registry.subscriptions["most"].group
            run.desk.suspended.suspend(group, "[LAB-000] It is suspended.")
        if number == rests[1]:
            run.desk.resume("most")
        run.batch(**rows(number))
    (outcome,) = outcomes(run).values()
    assert (outcome.failures, outcome.expected, outcome.found) == ([], compared, compared)
