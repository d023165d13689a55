"""Whole runs of bounded joins beside DuckDB, which sees all rows: a part of its answer, or all."""

from __future__ import annotations

from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.bounded_joins import BoundedJoin
from penstock.operators.bounded_join import BoundedJoinOperator
from penstock.operators.protocol import Share
from penstock.vocabulary.shared_figures import ROWS, ROWS_BUDGET
from tests.oracle.joins import is_null
from tests.support.bounded_joins import (
    BUDGETS,
    FORMS,
    WINDOWS,
    TrendingSource,
    bounded_join,
    is_declarable,
    queries_of,
)
from tests.support.joins import PARAMETERS, Row, parameter_rows
from tests.support.multi_joins import COLUMNS, LOCALS, Found, Source, found_by, tables_of

LOCAL_SQL = {
    "plain": "TRUE",
    "ranges": "i0.x >= p.xl AND i0.x < p.xh AND i1.y BETWEEN p.yl AND p.yh",
    "points": "i0.y = p.n",
    "texts": "i0.x >= p.xl AND i0.x < p.xh AND i1.s = p.s AND i1.y > p.yl",
    "residual": "i0.x >= p.xl AND i0.x < p.xh AND i0.s <> p.s AND i1.n % 3 <> 0",
    "across": "i1.y BETWEEN p.yl AND p.yh AND i0.x + p.z > i1.x",
}
TURNS, LAST = 5, 10**6


def plain(rows: list[Row], types: dict[str, pa.DataType]) -> pa.Table:
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
    return pa.table({**columns, "nth": np.arange(len(rows)), "turn": turns})


def everything(
    logical: BoundedJoin, local: str, logs: dict[str, list[Row]], queries: list[Row]
) -> Found:
    """Ask DuckDB for every pair, as if there were no budget."""
    crossing, inputs = logical.crossing, logical.inputs
    parts = [f"i{i}.{a} = i{j}.{b}" for (i, a), (j, b) in crossing.equalities]
    parts += [
        f"i{c.left[0]}.{c.left[1]} {c.op} i{c.right[0]}.{c.right[1]}" for c in crossing.comparisons
    ]
    parts += [
        f"i{d.right[0]}.{d.right[1]} - i{d.left[0]}.{d.left[1]} BETWEEN {d.low} AND {d.high}"
        for d in crossing.differences
    ]
    for k, each in enumerate(inputs):
        young = f"o{1 - k}"
        apart = f"{young}.t - o{k}.t" if each.window and each.window.kind == "range" else (
            f"{young}.count_{k} - o{k}.count_{k}"
        )  # fmt: skip
        if each.window:
            parts.append(f"(o{k}.place > {young}.place OR {apart} < {each.window.size})")
    placed = " UNION ALL ".join(
        f"""SELECT {k} AS k, nth, t FROM (
            SELECT *, max(t) OVER (
                ORDER BY turn RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS newest FROM log_{each.relation}
        ) WHERE t IS NOT NULL AND (newest IS NULL OR t >= newest - {each.lateness_us})"""
        for k, each in enumerate(inputs)
    )
    with duckdb.connect(":memory:", config={"threads": 1}) as db:
        for name, rows in logs.items():
            db.register(f"log_{name}", plain(rows, COLUMNS[name]))
        db.register("asked", plain(queries, PARAMETERS))
        db.execute(
            "CREATE TABLE placed AS SELECT *, row_number() OVER o AS place, "
            "count(*) FILTER (k = 0) OVER o AS count_0, count(*) FILTER (k = 1) OVER o AS count_1 "
            f"FROM ({placed}) WINDOW o AS (ORDER BY t, k, nth ROWS UNBOUNDED PRECEDING)"
        )
        found = db.sql(
            f"""SELECT p.nth, i0.n, i1.n, count(*)
            FROM asked p, log_a i0, log_b i1, placed o0, placed o1
            WHERE o0.k = 0 AND o1.k = 1 AND i0.nth = o0.nth AND i1.nth = o1.nth
            AND i0.n < {LAST} AND i1.n < {LAST} AND {LOCAL_SQL[local]} AND {" AND ".join(parts)}
            GROUP BY ALL"""
        ).fetchall()
    return Counter({tuple(row[:-1]): row[-1] for row in found})


def run(
    logical: BoundedJoin, operators: list[BoundedJoinOperator], source: Source, queries: list[Row]
) -> tuple[list[Found], dict[str, list[Row]]]:
    """Run drawn rows through shards; give what each found, and the rows."""
    logs: dict[str, list[Row]] = {name: [] for name in logical.relations}
    found: list[Found] = [Counter() for _ in operators]
    for operator in operators:
        operator.apply(queries_of(logical, queries, 0))
    for turn in range(TURNS):
        batch = {name: source.stream(name, 25) for name in logical.relations}
        if turn == TURNS - 1:
            # Rows that are far ahead and join nothing: all rows before them can go on, in twos.
            for rows in batch.values():
                ahead = {**source.row(), "n": LAST, "k": None, "s": None, "x": None, "y": None}
                rows += [{**ahead, "t": 10**5}, {**ahead, "t": 2 * 10**5}]
        for operator, own in zip(operators, found, strict=True):
            made = found_by(operator.process(tables_of(batch)), logical)
            own.update({key: count for key, count in made.items() if LAST not in key})
            sizes = operator.sizes()
            assert sizes[ROWS, 0] + sizes[ROWS, 1] <= sizes[ROWS_BUDGET]
        for name, rows in batch.items():
            logs[name] += [{**row, "turn": turn} for row in rows]
    return found, logs


CASES = [
    (form, local, windows)
    for f, form in enumerate(sorted(FORMS))
    for w, windows in enumerate(sorted(WINDOWS))
    for local in (sorted(LOCALS)[(f + w) % len(LOCALS)],)
]


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize(("form", "local", "windows"), CASES)
def test_a_large_budget_gives_the_whole_answer(form, local, windows, shards, seed) -> None:
    chance = np.random.default_rng(seed)
    logical = bounded_join(form, local, windows, BUDGETS["HEEB auto"](1000))
    step = logical.step()
    operators = [BoundedJoinOperator(step, None, Share(n, shards)) for n in range(shards)]
    queries = parameter_rows(chance, 3)
    found, logs = run(logical, operators, Source(chance), queries)
    expected = everything(logical, local, logs, queries)
    assert sum(found, Counter()) == expected
    for operator, own in zip(operators, found, strict=True):
        assert bool(operator.facts()) and (shards > 1 or own == expected)


@pytest.mark.parametrize("name", sorted(BUDGETS))
@pytest.mark.parametrize("windows", sorted(WINDOWS))
def test_every_budget_gives_a_part_of_the_answer(name, windows, seed) -> None:
    chance = np.random.default_rng(seed)
    forms = [form for form in sorted(FORMS) if is_declarable(form, name)]
    form, shards = forms[chance.integers(len(forms))], int(chance.integers(1, 4))
    logical = bounded_join(form, "plain", windows, BUDGETS[name](7))
    step = logical.step()
    operators = [BoundedJoinOperator(step, None, Share(n, shards)) for n in range(shards)]
    assert sum(each.sizes()[ROWS_BUDGET] for each in operators) == 7
    queries = parameter_rows(chance, 1)
    found, logs = run(logical, operators, TrendingSource(chance), queries)
    expected = everything(logical, "plain", logs, queries)
    assert not sum(found, Counter()) - expected, "nothing that is not of the whole answer"


def test_every_local_has_its_text() -> None:
    assert LOCAL_SQL.keys() == LOCALS.keys()
