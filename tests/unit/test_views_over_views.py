"""Views over views: who asks the upper one has what the lower ones have not told yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.kinds.kept_views import notice_of, staleness_of
from penstock.kinds.plan_cycle import PlanBook
from penstock.views import rehearsals
from penstock.views.maintenance.curves import CostCurve
from penstock.views.maintenance.decisions import FlushPlan
from penstock.vocabulary.errors import PenstockError
from tests.support import postgres
from tests.support.desk_runs import DeskRun

ROWS = pa.schema([("k", pa.int64()), ("x", pa.float64()), ("op", pa.string())])
VIEWS = {
    "low": "SELECT k, min(x) AS low, count(*) AS n FROM u GROUP BY k",
    "tops": "SELECT n, max(low) AS top, count(*) AS many FROM low GROUP BY n",
    "pairs": "SELECT count(*) AS pairs FROM low a JOIN low b ON a.n = b.n",
    "last": "SELECT sum(t.many) AS many, max(p.pairs) AS pairs FROM tops t, pairs p",
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DeskRun]:
    """A home in which flushes are hardly rehearsed."""
    monkeypatch.setattr(rehearsals, "SIZES", (1,))
    monkeypatch.setattr(rehearsals, "REPEATS", 1)
    table = Relation(name="u", kind="table", schema=ROWS, change_column="op")
    with DeskRun(tmp_path / "home", table) as made:
        yield made


def create(run: DeskRun) -> None:
    for name, sql in VIEWS.items():
        run.desk.subscribe(sql, name=name, options={"view": name, "refresh": "1 hour"})


def lazily(run: DeskRun, names: Iterable[str] = VIEWS) -> None:
    """Let changes wait for ever, until somebody asks."""
    registry = run.desk.registry
    book = PlanBook(registry, lambda number, data: FlushPlan.from_json(data, number))
    for name in names:
        curves = (CostCurve.linear(each=1e-9),) * (2 if name in {"pairs", "last"} else 1)
        plan = FlushPlan(number=0, curves=curves)
        book.publish(registry.subscriptions[name].group, plan.numbered)


def rows(*given: tuple[int, float | None, str]) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(("k", "x", "op"), row, strict=True)) for row in given], schema=ROWS
    )


def read(run: DeskRun, name: str, fresh: bool) -> list[dict[str, Any]]:
    return sorted(run.desk.view(name).read(fresh=fresh).to_pylist(), key=repr)


def standing(run: DeskRun, name: str) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row in run.desk.subscription(name).read().to_pylist():
        own = tuple(value for column, value in row.items() if not column.startswith("_"))
        found[own] += row["_sign"]
    return +found


def test_a_view_over_views_is_fresh_when_asked(run: DeskRun) -> None:
    create(run)
    run.batch(u=rows((1, 1.0, "insert"), (1, 2.0, "insert"), (2, 5.0, "insert")))
    lazily(run)
    run.batch(u=rows((2, 4.0, "insert"), (3, 9.0, "insert")))
    old = [{"n": 1, "top": 5.0, "many": 1}, {"n": 2, "top": 1.0, "many": 1}]
    new = [{"n": 1, "top": 9.0, "many": 1}, {"n": 2, "top": 4.0, "many": 2}]
    assert read(run, "tops", fresh=False) == old
    stale = run.desk.view("tops").staleness()
    assert stale.pending == {"low": 0, "u": 2} and not stale.is_fresh and stale.age_s > 0
    assert read(run, "tops", fresh=True) == new
    last = run.desk.view("last").read(fresh=True)
    assert last.to_pylist() == [{"many": 3.0, "pairs": 5}]
    known = staleness_of(last)
    assert known is not None and known.is_fresh and known.words() == ""
    stale = run.desk.view("tops").staleness()
    assert stale.pending == {"low": 3, "u": 0}, "it is told in the next batch"
    again = run.desk.view("tops").query("SELECT max(top) AS top FROM tops", fresh=True)
    assert again.to_pylist() == [{"top": 9.0}]
    run.batch(u=rows((3, 9.0, "delete")))
    assert read(run, "tops", fresh=True) == [{"n": 2, "top": 4.0, "many": 2}]
    for _ in range(len(VIEWS)):
        for name in VIEWS:
            run.desk.view(name).refresh()
        run.restart()  # nobody has told the live operators that their stores were asked
        run.batch()
    for name in VIEWS:
        told = {tuple(row.values()) for row in read(run, name, fresh=False)}
        assert set(standing(run, name).elements()) == told, "in the end, each change once"
    assert run.unverified() == []


@pytest.mark.parametrize("upper", [True, False])
def test_a_view_over_one_in_another_store_is_fresh(
    run: DeskRun, postgresql: postgres.Server, upper: bool
) -> None:
    for name, is_there in (("low", True), ("tops", upper)):
        options = {"view": name, "refresh": "1 hour"}
        if is_there:
            options["store"] = postgresql.url()
        run.desk.subscribe(VIEWS[name], name=name, options=options)
    run.batch(u=rows((1, 1.0, "insert"), (1, 2.0, "insert")))
    lazily(run, ("low", "tops"))
    run.batch(u=rows((2, 4.0, "insert")))
    new = [{"n": 1, "top": 4.0, "many": 1}, {"n": 2, "top": 1.0, "many": 1}]
    assert read(run, "tops", fresh=False) == new[1:]
    assert read(run, "tops", fresh=True) == new
    asked = run.desk.view("tops").query("SELECT sum(many) AS n FROM tops", fresh=True)
    assert [int(each["n"]) for each in asked.to_pylist()] == [2]
    assert read(run, "tops", fresh=False) == new[1:], "in its store it is as it was"
    for word in ("indexes", "CREATE"):
        assert word in run.desk.explain("low").text()
    for name in ("tops", "low"):
        run.desk.drop(name)


def test_who_reads_a_view_over_one_that_is_suspended_is_told(run: DeskRun) -> None:
    options = {"view": "total", "refresh": "1 hour", "policy": "immediate"}
    run.desk.subscribe("SELECT sum(k) AS all_k FROM u", name="total", options=options)
    over = {"view": "over", "refresh": "1 hour", "policy": "immediate"}
    run.desk.subscribe("SELECT max(all_k) AS most FROM total", name="over", options=over)
    run.batch(u=rows((1, 1.0, "insert")))
    fine = run.desk.view("over").read()
    assert notice_of(fine) is None and fine.to_pylist() == [{"most": 1}]
    known = staleness_of(fine)
    assert known is not None and known.is_fresh
    run.batch(u=rows(*[(2**63 - 1, 1.0, "insert")] * 3))
    assert "total" in run.desk.suspended.subscriptions()
    notice = notice_of(run.desk.view("over").read())
    assert notice is not None and "RESUME" in notice


@pytest.mark.parametrize("batches", [1, 3])
@pytest.mark.parametrize("why", ["by hand", "by a row"])
def test_readers_of_a_view_that_begins_anew_are_told_that_its_rows_went(
    run: DeskRun, batches: int, why: str
) -> None:
    options = {"view": "total", "refresh": "1 hour", "policy": "immediate"}
    run.desk.subscribe("SELECT k, sum(k) AS t FROM u GROUP BY k", name="total", options=options)
    over = {"view": "over", "refresh": "1 hour", "policy": "immediate"}
    run.desk.subscribe("SELECT count(*) AS n, sum(t) AS s FROM total", name="over", options=over)
    run.desk.subscribe("SELECT * FROM total WHERE t > 0", name="told")
    for number in range(batches):
        run.batch(u=rows((number + 1, 1.0, "insert")))
    if why == "by a row":
        run.batch(u=rows(*[(2**63 - 1, 1.0, "insert")] * 3))
        run.batch(u=rows(*[(2**63 - 1, 1.0, "delete")] * 3))
    else:
        run.desk.suspended.suspend(run.desk.registry.subscriptions["total"].group, "[LAB-000] So.")
        run.batch(u=rows((7, 1.0, "insert")))
    assert "total" in run.desk.suspended.subscriptions()
    run.desk.resume("total")
    run.batch(u=rows((1, 1.0, "delete"), (8, 1.0, "insert")))
    run.restart()
    run.batch(u=rows((9, 1.0, "insert")))
    expected = [*range(2, batches + 1), *([7] if why == "by hand" else []), 8, 9]
    whole = {(key, key) for key in expected}
    assert {tuple(row.values()) for row in read(run, "total", fresh=False)} == whole
    assert read(run, "over", fresh=False) == [{"n": len(expected), "s": sum(expected)}]
    assert set(standing(run, "total").elements()) == whole
    told: Counter[tuple[Any, ...]] = Counter()
    for row in run.desk.subscription("told").read().to_pylist():
        told[row["k"], row["t"]] += 1 if row["change"] == "insert" else -1
    assert set((+told).elements()) == whole
    assert run.unverified() == []


def test_a_cycle_of_views_cannot_be_written(run: DeskRun) -> None:
    create(run)
    for sql in ("SELECT many FROM tops", "SELECT k FROM low"):
        options = {"view": "low", "refresh": "1 hour"}
        with pytest.raises(PenstockError) as refused:
            run.desk.subscribe(sql, name="low", options=options)
        assert refused.value.code in {"REG-002", "CAT-016"}
    with pytest.raises(PenstockError, match="CAT-001"):
        options = {"view": "own", "refresh": "1 hour"}
        run.desk.subscribe("SELECT n FROM own", name="own", options=options)
    with pytest.raises(PenstockError, match="ENG-061"):
        run.desk.drop("low")
    for sql in (VIEWS["tops"].replace("low", "tops"), "SELECT k, max(x) AS low FROM u GROUP BY k"):
        with pytest.raises(PenstockError, match="VIEW-067"):
            run.desk.alter("low", sql, None)
