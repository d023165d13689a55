"""Rows on which a condition or an output fails: no match or NULL, counted, told; the rest goes on.

`verify` follows the same law, and one subscription that cannot be verified ends no other's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine.verification import verify
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.language.lookup_clauses import lookup_of, lookup_relation
from penstock.operators.lookup import describe
from penstock.vocabulary.losses import FAILED_CONDITIONS
from tests.support.desk_runs import DeskRun

Open = Callable[..., DeskRun]

EVENTS = pa.schema(
    [("k", pa.int64()), ("s", pa.string()), ("x", pa.int64()), ("ts", pa.timestamp("us", "UTC"))]
)
CHANGES = pa.schema([("k", pa.int64()), ("s", pa.string()), ("x", pa.int64()), ("op", pa.string())])


def stream(name: str) -> Relation:
    return Relation(name=name, kind="stream", schema=EVENTS, event_time="ts", lateness_us=0)


def table(name: str) -> Relation:
    return Relation(name=name, kind="table", schema=CHANGES, change_column="op")


def event(number: int, s: str | None, x: int | None, k: int = 1) -> dict[str, Any]:
    return {"k": k, "s": s, "x": x, "ts": number * 1_000_000}


def row(s: str | None, x: int | None, k: int = 1, op: str = "insert") -> dict[str, Any]:
    return {"k": k, "s": s, "x": x, "op": op}


@pytest.fixture(name="open_run")
def _open_run(tmp_path: Path) -> Iterator[Open]:
    runs: list[DeskRun] = []

    def open_run(*relations: Relation) -> DeskRun:
        runs.append(DeskRun(tmp_path / "home", *relations))
        return runs[-1]

    yield open_run
    for run in runs:
        run.desk.close()


def verified(run: DeskRun) -> dict[str, SubscriptionOutcome]:
    verdicts = {each.subscription: each for each in verify(run.desk.registry, run.desk.log)}
    assert all(each.equal for each in verdicts.values()), verdicts
    return verdicts


def failed(run: DeskRun) -> int:
    return run.figures.total(FAILED_CONDITIONS)


SEVEN = [
    event(0, "7", 0),
    event(1, "x", 0),
    event(2, "x", 3),
    event(3, "7", 3),
    event(4, None, 3),
    event(5, "7", 20),
]


@pytest.mark.parametrize(
    ("where", "matches", "fails"),
    [
        ("CAST(s AS INTEGER) = 7", [0, 3, 5], 2),
        ("NOT CAST(s AS INTEGER) = 8", [0, 3, 5], 2),
        ("10 // x > 1", [2, 3, 4], 2),
        ("x <> 0 AND 10 // x > 1", [2, 3, 4], 0),
        ("x = 0 OR 10 // x > 1", [0, 1, 2, 3, 4], 0),
        ("(x = 0 OR x > 2) AND CAST(s AS INTEGER) = 7", [0, 3, 5], 2),
        # Both branches ask the same row: it counts once.
        ("(x >= 0 OR x < 100) AND CAST(s AS INTEGER) = 7", [0, 3, 5], 2),
        # The index says no before anything is asked.
        ("x = 3 AND CAST(s AS INTEGER) = 7", [3], 1),
        ("NOT (x = 0 AND CAST(s AS INTEGER) = 8)", [0, 2, 3, 4, 5], 1),
        ("s LIKE '7%' AND CAST(s AS INTEGER) + CAST(s AS INTEGER) = 14", [0, 3, 5], 0),
        ("CAST(s AS INTEGER) IN (7, 8, 9)", [0, 3, 5], 2),
    ],
)
def test_filters(open_run: Open, where: str, matches: list[int], fails: int) -> None:
    run = open_run(stream("t"))
    run.desk.subscribe(f"SELECT ts FROM t WHERE {where}", name="q")
    run.batch(t=SEVEN)
    found = run.desk.subscription("q").read()["ts"].to_pylist()
    assert sorted(each.second for each in found) == matches
    assert failed(run) == fails
    assert verified(run)["q"].found == len(matches)
    assert bool(fails) == any(row.figure == FAILED_CONDITIONS for row in run.figures)


def test_an_output_that_fails_is_null_in_its_row(open_run: Open) -> None:
    run = open_run(stream("t"))
    sub = run.desk.subscribe(
        "SELECT x, CAST(s AS INTEGER) AS n, 10 // x AS d, upper(s) FROM t WHERE k = :k",
        each=[{"id": "a", "k": 1}, {"id": "b", "k": 2}],
        name="q",
    )
    run.batch(t=[event(0, "7", 0), event(1, "x", 5), event(2, "x", 0), event(3, "8", 5, k=2)])
    read = sub.read()
    assert read["n"].to_pylist() == [7, None, None, 8]
    assert read["d"].to_pylist() == [None, 2, None, 2]
    assert read["x"].to_pylist() == [0, 5, 0, 5]
    assert read["n"].type == pa.int32()
    assert run.desk.losses() == {"q": {"failed_outputs": 4}}
    assert "q: 4 outputs are NULL" in run.desk.notices[0].text
    assert [change.row["d"] for change in sub.changes(follow=False)] == [None, 2, None, 2]
    assert run.desk.losses() == {"q": {"failed_outputs": 8}}
    verified(run)


def test_joins_of_tables(open_run: Open) -> None:
    run = open_run(table("a"), table("b"))
    for name, where in (
        ("near", "CAST(a.s AS INTEGER) = 7"),
        ("both", "CAST(a.s AS INTEGER) < b.x"),
        ("either", "a.x = 0 OR CAST(b.s AS INTEGER) = 7"),
    ):
        run.desk.subscribe(f"SELECT a.s, b.x FROM a JOIN b ON a.k = b.k WHERE {where}", name=name)
    run.desk.subscribe(
        "SELECT a.s FROM a, b WHERE abs(a.x - b.x) <= 3 AND CAST(b.s AS INTEGER) = 7", name="band"
    )
    run.batch(a=[row("7", 0), row("x", 0), row("x", 1)])
    run.batch(b=[row("7", 8), row("y", 3)])
    run.restart()
    run.batch(a=[row("7", 0, op="delete"), row("y", 5)])
    groups = {
        name: run.desk.registry.subscriptions[name].group for name in ("near", "both", "either")
    }
    told = {name: run.figures[group][FAILED_CONDITIONS] for name, group in groups.items()}
    # The row that goes meets y; the one that comes is y itself and meets both, or is asked alone.
    assert told == {"near": 1, "both": 2, "either": 1}
    assert verified(run)["either"].found > 0


def test_joins_of_streams(open_run: Open) -> None:
    run = open_run(stream("a"), stream("b"), stream("c"))
    join = "FROM a JOIN b ON a.k = b.k"
    where = "CAST(a.s AS INTEGER) = 7 AND (b.x = 0 OR 10 // b.x > 1)"
    run.desk.subscribe(f"SELECT a.s, b.x {join} WITHIN 50 SECONDS WHERE {where}", name="window")
    run.desk.subscribe(f"SELECT a.s, b.x {join} WITHIN 50 SECONDS WHERE {where} MEMORY 100 ROWS",
                       name="bounded")  # fmt: skip
    run.desk.subscribe(
        "SELECT a.s, c.x FROM a [ROWS 10], b [ROWS 10], c [ROWS 10] "
        "WHERE a.k = b.k AND b.k = c.k AND CAST(a.s AS INTEGER) = 7 AND 10 // (b.x - c.x) > 1",
        name="multi",
    )
    for step in range(0, 12, 3):
        run.batch(
            a=[event(step, "7" if step % 2 else "x", 0)],
            b=[event(step + 1, "y", step % 4)],
            c=[event(step + 2, "z", 1)],
        )
        if step == 6:
            run.restart()
    verdicts = verified(run)
    assert all(verdicts[name].found for name in ("window", "bounded", "multi"))


def test_lookups_count_every_row_of_the_stream(open_run: Open, tmp_path: Path) -> None:
    source = tmp_path / "prices.duckdb"
    with duckdb.connect(str(source)) as db:
        rows = "(VALUES (1::BIGINT, '7'), (2::BIGINT, 'x'))"
        db.execute(f"CREATE TABLE prices AS SELECT * FROM {rows} v(k, price)")
    lookup = lookup_of("prices", f"duckdb:{source}", "k", 6, options={"retries": 0})
    run = open_run(stream("t"), lookup_relation("prices", describe(lookup), lookup))
    run.desk.subscribe(
        "SELECT t.s, p.price FROM t JOIN prices p ON t.k = p.k "
        "WHERE CAST(p.price AS INTEGER) = 7 AND 10 // t.x > 1",
        name="priced",
    )
    run.batch(t=[event(0, "a", 1), event(1, "b", 0), *(event(n, "c", 1, k=2) for n in (2, 3, 4))])
    # One row of the stream, and three that met the second price.
    assert failed(run) == 4
    assert verified(run)["priced"].found == 1


def test_one_that_cannot_be_verified_ends_no_other(
    open_run: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = open_run(stream("t"))
    run.desk.subscribe("SELECT x FROM t WHERE timezone(s, ts) IS NOT NULL", name="bad")
    run.desk.subscribe("SELECT x FROM t WHERE x > 1", name="good")
    run.batch(t=[event(0, "UTC", 5), event(1, "Mars", 5)])
    assert failed(run) == 1
    verdicts = {each.subscription: each for each in verify(run.desk.registry, run.desk.log)}
    assert verdicts["good"].equal and verdicts["good"].found == 2
    assert not verdicts["bad"].equal and "Mars" in str(verdicts["bad"].failures)
