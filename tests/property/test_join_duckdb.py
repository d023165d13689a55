"""Whole runs of joins equal DuckDB, which sees all changes and all queries at once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from penstock.operators.join import JoinOperator, register
from penstock.operators.protocol import Share
from penstock.vocabulary.batches import QueryChanges
from tests.oracle.joins import MINUS, found_by, is_null
from tests.support.joins import (
    BANDS,
    CHANGE,
    COLUMNS,
    KEYS,
    LOCALS,
    PARAMETERS,
    Row,
    changed_rows,
    data_table,
    forms,
    parameter_rows,
    parameter_table,
    standing_join,
    stream_rows,
)

X, Y = "{0}.x >= p.xl AND {0}.x < p.xh", "{0}.y BETWEEN p.yl AND p.yh"
ABOVE, S, N, UNLIKE = "{0}.y > p.yl", "{0}.s = p.s", "{0}.y = p.n", "{0}.s <> p.s"
LOCAL_SQL = {
    "ranges": ((X,), (Y,)),
    "plain": ((), ()),
    "further": ((X, Y), (X, ABOVE)),
    "points": ((N,), (N, X)),
    "texts": ((S,), (S, ABOVE)),
    "residual": ((X, UNLIKE), (UNLIKE,)),
    "across": ((X,), (Y, "i0.x + p.z > i1.x")),
}
BAND_SQL = {
    "whole": "i1.y - i0.y >= p.bl AND i1.y - i0.y < p.bh",
    "float": "i1.x - i0.x BETWEEN p.xl AND p.xh",
    "mixed": "i1.x - i0.y > p.bl",
}
WINDOW_SQL = "abs(i0.t - i1.t) < p.w * 1000000 AND least(i0.batch, i1.batch) >= p.first"
TURNS = 5
STRATEGY = {"select_join": "dynamic", "band_join": "dynamic", "window_join": "dynamic"}
CASES = [
    (kind, form, local)
    for kind in STRATEGY
    for number, local in enumerate(sorted(LOCALS))
    for form in (forms(kind)[number % 3],)
]


def predicate(kind: str, form: str, local: str) -> str:
    """Say in SQL what a join asks."""
    parts = ["greatest(i0.batch, i1.batch) >= p.first", "greatest(i0.batch, i1.batch) < p.last"]
    if kind == "band_join":
        parts.append(BAND_SQL[form])
    else:
        parts += [f"i0.{a} = i1.{b}" for a, b in KEYS[form]]
    if kind == "window_join":
        parts.append(WINDOW_SQL)
    for side, texts in zip(("i0", "i1"), LOCAL_SQL[local], strict=True):
        parts += [text.format(side) for text in texts]
    return " AND ".join(f"({part})" for part in parts)


def plain(rows: list[Row], types: dict[str, pa.DataType]) -> pa.Table:
    """Make a table in which NaN is NULL and times are whole numbers."""
    return pa.table(
        {
            name: pa.array(
                [None if is_null(row[name]) else row[name] for row in rows],
                pa.int64() if pa.types.is_timestamp(type_) else type_,
            )
            for name, type_ in types.items()
        }
    )


class Run:
    """A run with queries that come and go; it notes down everything for DuckDB."""

    def __init__(self, kind: str, form: str, local: str, chance: np.random.Generator) -> None:
        self.kind, self.chance = kind, chance
        self.logical = standing_join(kind, form, local, strategy=STRATEGY[kind], alpha=0.05)
        self.queries: list[Row] = []
        self.noted: dict[str, list[Row]] = {"left": [], "right": []}
        self.held: dict[str, list[Row]] = {"left": [], "right": []}
        self.clocks = {"left": 0, "right": 0}

    def change(self, turn: int) -> QueryChanges:
        rows = parameter_rows(self.chance, 15)
        first = len(self.queries)
        for row in self.queries:
            if row["last"] == TURNS and self.chance.random() < 0.2:
                row["last"] = turn
        drops = [number for number, row in enumerate(self.queries) if row["last"] == turn]
        self.queries += [
            {**row, "query": first + i, "first": turn, "last": TURNS} for i, row in enumerate(rows)
        ]
        step = self.logical.step()
        adds = register(self.logical, step, parameter_table(rows), first).adds
        return QueryChanges(adds=adds, drops=np.array(drops, dtype=np.int64))

    def batch(self, turn: int) -> dict[str, pa.Table]:
        tables = {}
        for name, held in self.held.items():
            if self.kind == "window_join":
                rows, self.clocks[name] = stream_rows(self.chance, self.clocks[name], 30, 0.0)
                signs = [1] * len(rows)
            else:
                rows = changed_rows(self.chance, held, 30, unknown=0.0)
                signs = [-1 if row[CHANGE] in MINUS else 1 for row in rows]
            tables[name] = data_table(name, rows)
            self.noted[name] += [
                {**row, "sign": sign, "batch": turn} for row, sign in zip(rows, signs, strict=True)
            ]
        return tables

    def expected(self, form: str, local: str) -> Counter[tuple[Any, ...]]:
        extra = {"sign": pa.int64(), "batch": pa.int64()}
        numbers = {"query": pa.int64(), "first": pa.int64(), "last": pa.int64()}
        with duckdb.connect(":memory:", config={"threads": 1}) as db:
            for name, rows in self.noted.items():
                db.register(f"{name}_changes", plain(rows, {**COLUMNS[name], **extra}))
            db.register("asked", plain(self.queries, {**PARAMETERS, **numbers}))
            names = [f"{side}.{name}" for side in ("i0", "i1") for name in COLUMNS["left"]]
            found = db.sql(
                f"SELECT p.query, {', '.join(names)}, sum(i0.sign * i1.sign)::BIGINT AS net "
                "FROM left_changes i0, right_changes i1, asked p "
                f"WHERE {predicate(self.kind, form, local)} GROUP BY ALL HAVING net <> 0"
            ).fetchall()
        size = len(COLUMNS["left"])
        return Counter({(row[0], row[1 : 1 + size], row[1 + size : -1]): row[-1] for row in found})


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize(("kind", "form", "local"), CASES)
def test_a_run_equals_duckdb(kind: str, form: str, local: str, shards: int, seed: int) -> None:
    run = Run(kind, form, local, np.random.default_rng(seed))
    step = run.logical.step()
    operators = [JoinOperator(step, None, Share(number, shards)) for number in range(shards)]
    net: Counter[tuple[Any, ...]] = Counter()
    for turn in range(TURNS):
        change, batch = run.change(turn), run.batch(turn)
        for operator in operators:
            operator.apply(change)
            net.update(found_by(operator.process(batch), run.logical)[0])
    net = Counter({key: count for key, count in net.items() if count})
    expected = run.expected(form, local)
    assert expected, "the case says nothing"
    assert net == expected


def test_every_band_has_its_text() -> None:
    assert BAND_SQL.keys() == BANDS.keys()
    assert LOCAL_SQL.keys() == LOCALS.keys()
