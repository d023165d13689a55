"""Views: drawn texts over drawn histories of two tables, fresh or lagging, against DuckDB.

Files come shuffled and shards restart between batches. A view that brings everything in at once
must be DuckDB's answer over what has come, after every batch. One that lags is judged after every
batch by `verify`, and must be DuckDB's answer over all that has come once it is refreshed. Over
half of the views stands another one, of which the same is asked.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from penstock.engine.verification import verify
from penstock.kinds.plan_cycle import PlanBook
from penstock.lab.correctness.runs import DeskRun, scratch
from penstock.lab.correctness.table_histories import COLUMNS, SCHEMA, TableHistory, history
from penstock.lab.correctness.tables import ORDERS, ordered
from penstock.lab.fuzzers import Fault, FuzzOutcome
from penstock.views.maintenance.curves import CostCurve
from penstock.views.maintenance.decisions import FlushPlan
from penstock.vocabulary.changes import meanings_of

NAME = "views"
VIEW, OVER = "v", "w"
"""A view, and one over it."""
FIGURES = 9
"""Digits to which floats agree: they are added up in another order."""
AGGREGATES = (
    "count(*)", "count({0}.x)", "count(DISTINCT {0}.note)", "sum({0}.id)", "min({0}.x)",
    "max({0}.x)", "min({0}.note)", "max({0}.id)", "avg({0}.id)",
    "count(*) FILTER (WHERE {0}.x > 1)", "sum({0}.id * 2) + count(*)",
)  # fmt: skip
CONDITIONS = (
    "{0}.x < 3", "{0}.note IS NOT NULL", "{0}.id BETWEEN 1 AND 20", "({0}.k = 1 OR {0}.x IS NULL)",
)  # fmt: skip
OVERS = (
    "SELECT {0} AS g, count(*) AS n, max({1}) AS m FROM v GROUP BY {0}",
    "SELECT count(DISTINCT {0}) AS n, min({1}) AS m FROM v",
    "SELECT x.{1} AS m, y.{1} AS n FROM v x JOIN v y ON x.{0} = y.{0}",
    "SELECT b.id, v.{1} AS m FROM b JOIN v ON b.note = CAST(v.{0} AS VARCHAR)",
    "SELECT {0} AS g, count(*) AS n FROM v JOIN b ON b.k > 1 WHERE v.{1} IS NOT NULL GROUP BY {0}",
)
"""Texts over a view, of which two columns are named."""
SOURCES = ("a", "a JOIN b ON a.k = b.k", "a JOIN b ON a.id = b.id", "a, a AS b")

Bag = Counter[tuple[Any, ...]]


def view_text(chance: np.random.Generator) -> str:
    """Draw the query of a view."""
    source = SOURCES[int(chance.integers(len(SOURCES)))]
    names = ["a"] if source == "a" else ["a", "b"]

    def said(texts: tuple[str, ...]) -> str:
        return texts[int(chance.integers(len(texts)))].format(
            names[int(chance.integers(len(names)))]
        )

    where = [said(CONDITIONS) for _ in range(int(chance.integers(0, 2)))]
    if "," in source:
        where.append("a.k = b.k AND a.id < b.id")
    tail = f" WHERE {' AND '.join(where)}" if where else ""
    if chance.random() < 0.25:
        distinct = "DISTINCT " if chance.random() < 0.4 else ""
        listed = ", ".join(
            f"{each}.{own} AS {each}_{own}" for each in names for own in ("k", "note")
        )
        return f"SELECT {distinct}{listed} FROM {source}{tail}"
    made = [f"{said(AGGREGATES)} AS v{n}" for n in range(int(chance.integers(1, 4)))]
    key = [f"{names[-1]}.k AS g", f"{names[0]}.note AS g"][int(chance.integers(2))]
    if chance.random() < 0.2:
        return f"SELECT {', '.join(made)} FROM {source}{tail}"
    having = " HAVING count(*) > 1" if chance.random() < 0.3 else ""
    return f"SELECT {', '.join([key, *made])} FROM {source}{tail} GROUP BY {key[:-5]}{having}"


@dataclass(frozen=True, slots=True)
class ViewCase:
    """A view and a history of two tables; a `lazy` view lags, a `late` one comes after a batch.

    `over` is the text of a view over it, for columns that are known once it is bound; or nothing.
    """

    sql: str
    over: str
    order: str
    seed: int
    size: int
    files: int
    batches: int
    restarts: bool
    lazy: bool
    late: bool


def drawn(seed: int, number: int) -> ViewCase:
    """Draw a case."""
    chance = np.random.default_rng((seed, number))
    return ViewCase(
        sql=view_text(chance),
        over=str(chance.choice(OVERS)) if chance.random() < 0.5 else "",
        order=sorted(ORDERS)[number % len(ORDERS)],
        seed=int(chance.integers(1 << 30)),
        size=int(chance.integers(20, 81)),
        files=int(chance.integers(3, 9)),
        batches=int(chance.integers(2, 7)),
        restarts=bool(chance.integers(2)),
        lazy=bool(chance.integers(2)),
        late=bool(chance.integers(4) == 0),
    )


def fuzz_views(seed: int, first: int, cases: int) -> FuzzOutcome:
    """Draw views and histories, and compare."""
    outcome = FuzzOutcome(NAME)
    for number in range(first, first + cases):
        case = drawn(seed, number)
        outcome.cases += 1
        outcome.answered += 1
        try:
            found, rows = differing(case)
        except Exception as error:  # noqa: BLE001 — whatever fails in a run is a difference
            found, rows = [f"{type(error).__name__}: {error}"], 0
        outcome.answers += rows
        outcome.faults += [Fault(seed, number, f"{case.sql} {case}", words) for words in found]
    return outcome


def differing(case: ViewCase) -> tuple[list[str], int]:
    """Run a case; tell how it differs, and how many rows the answers have."""
    table = ORDERS[case.order]
    tables = [history(case.seed + n, case.size, case.files, bool(table.key)) for n in (0, 1)]
    plain = case.order == "netted"
    # Rows that are told by words alone can go only after they came: files keep their order.
    order = "arrival" if plain else case.order
    reads = [ordered(order, case.seed + n, case.files, case.batches) for n in (0, 1)]
    found: list[str] = []
    rows = 0
    with scratch() as root, DeskRun(Path(root), table, replace(table, name="b")) as run:
        for turn, (a, b) in enumerate(zip(*reads, strict=True)):
            if turn == int(case.late):
                _create(run, case)
            given = [
                own.batch(files, table.positioned)
                for own, files in zip(tables, (a, b), strict=True)
            ]
            run.batch(a=given[0], b=given[1])
            if plain and not case.lazy and turn >= int(case.late):
                stands = [
                    _stands(own, each[: turn + 1]) for own, each in zip(tables, reads, strict=True)
                ]
                rows += _compare_all(run, f"batch {turn}", stands, found)
            if case.restarts:
                run.restart()
        for name in run.desk.registry.subscriptions:
            _refresh(run, name)
        rows += _compare_all(run, "the end", [own.net for own in tables], found)
        outcomes = verify(run.desk.registry, run.desk.log)
        found += [f"verify: {each}"[:400] for each in outcomes if not each.equal]
    return found, rows


def _create(run: DeskRun, case: ViewCase) -> None:
    """Create the view, and the one over it."""
    _subscribe(run, VIEW, case.sql, case.lazy)
    if case.over:
        columns = run.desk.registry.catalog[VIEW].schema.names[:-1]
        _subscribe(run, OVER, case.over.format(columns[0], columns[-1]), case.lazy)


def _subscribe(run: DeskRun, name: str, sql: str, lazy: bool) -> None:
    """Create a view; a lazy one is given curves by which its inputs wait for each other."""
    policy = "online" if lazy else "immediate"
    options = {"view": name, "refresh": "10 seconds", "policy": policy}
    run.desk.subscribe(sql, name=name, options=options)
    if not lazy:
        return
    record = run.desk.registry.subscriptions[name]
    inputs = len(run.desk.registry.steps[record.group]["definition"]["inputs"])
    dear = (CostCurve.linear(each=0.3, fixed=0.1), CostCurve.linear(each=0.01, fixed=4.0))
    plan = FlushPlan(number=0, curves=tuple(dear[each % 2] for each in range(inputs)))
    book = PlanBook(run.desk.registry, lambda number, data: FlushPlan.from_json(data, number))
    book.publish(record.group, plan.numbered)


def _refresh(run: DeskRun, name: str) -> None:
    """Refresh as a reader does, and let the next batch tell of it."""
    run.desk.kept.of(run.desk.registry.subscriptions[name]).refresh()
    run.restart()
    run.batch()


def _compare_all(run: DeskRun, when: str, tables: list[pa.Table], found: list[str]) -> int:
    """Compare every view with its query over tables; give how many rows the answers have."""
    rows, known = 0, ""
    for name, record in run.desk.registry.subscriptions.items():
        rows += _compare(run, name, when, asked(known + record.sql, tables), found)
        known = f"WITH {name} AS ({record.sql}) "
    return rows


def _compare(run: DeskRun, name: str, when: str, expected: Bag, found: list[str]) -> int:
    """Compare what was told so far, added up, with an answer; give how many rows that has."""
    held: Bag = Counter()
    for change in run.desk.subscription(name).changes(follow=False):
        held[plain_row(change.row.values())] += change.sign
    if min(held.values(), default=0) < 0:
        found.append(f"{name}, {when}: a row went that was never given")
    has = +held
    if has != expected:
        found.append(f"{name}, {when}: missing {expected - has}, surplus {has - expected}"[:400])
    return expected.total()


def _stands(own: TableHistory, batches: list[list[int]]) -> pa.Table:
    """Give the rows that stand after some batches, of a history that tells rows by words alone."""
    whole = own.batch([file for batch in batches for file in batch])
    standing: Bag = Counter()
    listed = zip(*(whole[name].to_pylist() for name in COLUMNS), strict=True)
    signs = np.where(meanings_of(whole["op"]) < 0, -1, 1).tolist()
    for row, sign in zip(listed, signs, strict=True):
        standing[tuple(None if isinstance(v, float) and isnan(v) else v for v in row)] += sign
    schema = pa.schema([SCHEMA.field(name) for name in COLUMNS])
    found = [dict(zip(COLUMNS, row, strict=True)) for row in standing.elements()]
    return pa.Table.from_pylist(found, schema=schema)


def asked(sql: str, tables: list[pa.Table]) -> Bag:
    """Ask DuckDB; in rows of tables NaN is NULL."""
    with duckdb.connect(":memory:", config={"threads": 1}) as db:
        for name, table in zip("ab", tables, strict=True):
            db.register(f"given_{name}", table)
            db.execute(
                f"CREATE TABLE {name} AS SELECT * REPLACE ("
                f"CASE WHEN isnan(x) THEN NULL ELSE x END AS x) FROM given_{name}"
            )
        columns = db.sql(sql).to_arrow_table().columns
        return Counter(map(plain_row, zip(*(each.to_pylist() for each in columns), strict=True)))


def plain_row(values: Any) -> tuple[Any, ...]:
    """Give values that compare: NaN is NaN, and floats agree to some digits.

    >>> plain_row([float("nan"), 0.1 + 0.2, -0.0, "a"])
    ('NaN', 0.3, 0.0, 'a')
    """
    return tuple(_plain(value) for value in values)


def _plain(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return "NaN" if isnan(value) else float(f"{value:.{FIGURES}g}") + 0.0
