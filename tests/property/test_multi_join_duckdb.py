"""Whole runs of multi-way joins equal DuckDB, which sees all rows and all queries at once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.crossings import CrossedQuery
from penstock.algebra.multi_joins import MultiJoin
from penstock.operators.multi_join import MultiJoinOperator, register
from penstock.operators.protocol import Share
from tests.oracle.joins import is_null
from tests.support.joins import PARAMETERS, Row, parameter_rows
from tests.support.multi_joins import (
    COLUMNS,
    FORMS,
    LOCALS,
    TABLES,
    Found,
    Source,
    data_table,
    drawn_plan,
    found_by,
    multi_join,
    queries_of,
    replan,
    tables_of,
)

X, Y = "{0}.x >= p.xl AND {0}.x < p.xh", "{0}.y BETWEEN p.yl AND p.yh"
S, N, ABOVE, UNLIKE = "{0}.s = p.s", "{0}.y = p.n", "{0}.y > p.yl", "{0}.s <> p.s"
LOCAL_SQL = {
    "plain": ((), ()),
    "ranges": ((X,), (Y,)),
    "points": ((N,), ()),
    "texts": ((X,), (S, ABOVE)),
    "residual": ((X, UNLIKE), ("{0}.n % 3 <> 0",)),
    "across": ((), (Y, "i0.x + p.z > i1.x")),
}
TURNS, LAST = 6, 10**6
CASES = [
    (form, sorted(LOCALS)[(number + shift) % len(LOCALS)])
    for number, form in enumerate(sorted(FORMS))
    for shift in (0, 3)
]


def plain(rows: list[Row], types: dict[str, pa.DataType], start: int = 0) -> pa.Table:
    """Make a table in which NaN is NULL and times are whole numbers.

    `nth` is a row's place, `turn` its batch.
    """
    columns = {
        name: pa.array(
            [None if is_null(row[name]) else row[name] for row in rows],
            pa.int64() if pa.types.is_timestamp(type_) else type_,
        )
        for name, type_ in types.items()
    }
    turns = pa.array([row.get("turn", 0) for row in rows], pa.int64())
    return pa.table({**columns, "nth": np.arange(start, start + len(rows)), "turn": turns})


def numbered(logical: CrossedQuery) -> str:
    """Say in SQL which rows of streams stand where in the one order, and in their own."""
    streams = [(k, each) for k, each in enumerate(logical.inputs) if each.window]
    parts = [
        f"""SELECT * EXCLUDE newest FROM (
            SELECT {k} AS k, nth, t, max(t) OVER (
                ORDER BY turn RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS newest FROM log_{each.relation}
        ) WHERE t IS NOT NULL AND (newest IS NULL OR t >= newest - {each.lateness_us})"""
        for k, each in streams
    ]
    counts = ", ".join(f"count(*) FILTER (k = {k}) OVER o AS count_{k}" for k, _ in streams)
    return (
        f"SELECT *, row_number() OVER o AS place, {counts} FROM ({' UNION ALL '.join(parts)}) "
        "WINDOW o AS (ORDER BY t, k, nth ROWS UNBOUNDED PRECEDING)"
    )


def predicate(logical: CrossedQuery, local: str) -> str:
    """Say in SQL what a join asks of rows i0, i1, … that stand at o0, o1, …."""
    crossing = logical.crossing
    parts = [f"i{i}.{a} = i{j}.{b}" for (i, a), (j, b) in crossing.equalities]
    parts += [
        f"i{c.left[0]}.{c.left[1]} {c.op} i{c.right[0]}.{c.right[1]}" for c in crossing.comparisons
    ]
    parts += [
        f"i{d.right[0]}.{d.right[1]} - i{d.left[0]}.{d.left[1]} BETWEEN {d.low} AND {d.high}"
        for d in crossing.differences
    ]
    last = len(logical.inputs) - 1
    for number, texts in zip((0, last), LOCAL_SQL[local], strict=True):
        parts += [text.format(f"i{number}") for text in texts]
    for k, each in enumerate(logical.inputs):
        if each.window is None:
            continue
        if each.window.kind == "rows":
            parts.append(f"young.count_{k} - o{k}.count_{k} < {each.window.size}")
        else:
            parts.append(f"young.t - o{k}.t < {each.window.size}")
    return " AND ".join(f"({part})" for part in parts)


def expected(
    logical: MultiJoin, local: str, logs: dict[str, list[Row]], queries: list[Row]
) -> Found:
    """Ask DuckDB for every combination, through its youngest row."""
    streams = [k for k, each in enumerate(logical.inputs) if each.window]
    with duckdb.connect(":memory:", config={"threads": 1}) as db:
        for name, rows in logs.items():
            db.register(f"log_{name}", plain(rows, COLUMNS[name]))
        db.register("asked", plain(queries, PARAMETERS))
        db.execute(f"CREATE TABLE placed AS {numbered(logical)}")
        joined = "asked p"
        for k, each in enumerate(logical.inputs):
            joined += f", log_{each.relation} i{k}"
            if k in streams:
                joined += f", (SELECT * FROM placed WHERE k = {k}) o{k}"
        same = " AND ".join(f"i{k}.nth = o{k}.nth AND i{k}.n < {LAST}" for k in streams)
        youngest = f"greatest({', '.join(f'o{k}.place' for k in streams)}, 0)"
        names = ", ".join(f"i{k}.n" for k in range(len(logical.inputs)))
        found = db.sql(
            f"SELECT p.nth, {names}, count(*) FROM {joined}, placed young "
            f"WHERE {same} AND young.place = {youngest} AND {predicate(logical, local)} "
            "GROUP BY ALL"
        ).fetchall()
    return Counter({tuple(row[:-1]): row[-1] for row in found})


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize(("form", "local"), CASES)
def test_a_run_equals_duckdb(form: str, local: str, shards: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    logical = multi_join(form, local)
    step = logical.step()
    source = Source(chance)
    logs: dict[str, list[Row]] = {
        name: [source.row() for _ in range(12)] if name in TABLES else []
        for name in logical.relations
    }
    tables = {name: data_table(name, logs[name]) for name in logical.relations if name in TABLES}
    queries = parameter_rows(chance, 4)
    operators = [MultiJoinOperator(step, None, Share(number, shards)) for number in range(shards)]
    for operator in operators:
        operator.begin(tables)
        operator.apply(queries_of(logical, register, queries, 0))
    net: Counter[tuple[Any, ...]] = Counter()
    for turn in range(TURNS):
        batch = {n: source.stream(n, 30) for n in logical.relations if n not in TABLES}
        if turn == TURNS - 1:
            # Rows that are far ahead: all rows before them can go on, and they cannot.
            for rows in batch.values():
                rows.append({**source.row(10**5), "n": LAST})
        change = replan(LAST + turn, drawn_plan(chance, logical), LAST + turn - 1)
        for operator in operators:
            operator.apply(change)
            net.update(found_by(operator.process(tables_of(batch)), logical))
        for name, rows in batch.items():
            logs[name] += [{**row, "turn": turn} for row in rows]
    wanted = expected(logical, local, logs, queries)
    assert wanted, "the case says nothing"
    assert net == wanted


def test_every_local_has_its_text() -> None:
    assert LOCAL_SQL.keys() == LOCALS.keys()
