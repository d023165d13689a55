"""Expressions that are drawn mean in PostgreSQL what they mean in DuckDB, or are refused."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from decimal import Decimal
from math import isnan
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.algebra.views import ViewColumn
from penstock.expressions.connections import connect
from penstock.expressions.quotation import quoted
from penstock.language.queries import read_query
from penstock.language.views import bind_view
from penstock.views import postgresql_copy as copy
from penstock.views.dialects import DIALECTS
from penstock.views.postgresql_store import SESSION, UNSAID
from penstock.vocabulary.errors import PenstockError
from tests.support import postgres

DRAWN, ROWS, EVERY = 80, 30, ">= 0"
DAYS = [dt.date(1969, 12, 31), dt.date(2024, 2, 29), dt.date(2000, 1, 1), None]
TIMES = [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(2026, 3, 29, 2, 30), None]  # noqa: DTZ001
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int64(), [0, 1, 2, -7, 2**53 + 1, None]),
    "j": (pa.int32(), [0, 1, 3, 2**31 - 1, None]),
    "x": (pa.float64(), [0.0, 1.5, 0.1, -2.675, 1e15, float("inf"), None]),
    "r": (pa.float32(), [0.0, 0.1, -1.5, 16777216.0, None]),
    "d": (pa.decimal128(12, 2), [Decimal(each) for each in ("1.50", "0.00", "-0.01")] + [None]),
    "e": (pa.decimal128(18, 6), [Decimal("1.500000"), Decimal("0.000001"), None]),
    "s": (pa.string(), ["a", "A", "", "ä", "ß", "it's \\ %_", "10", None]),
    "t": (pa.string(), ["a", "b,c", None]),
    "b": (pa.bool_(), [True, False, None]),
    "day": (pa.date32(), DAYS),
    "at": (pa.timestamp("us"), TIMES),
    "tz": (pa.timestamp("us", "UTC"), [each and each.replace(tzinfo=dt.UTC) for each in TIMES]),
}
NUMBERS = (
    "({n} + {n})", "({n} - {n})", "({n} * {n})", "({n} / {n})", "({n} // {n})", "({n} % {n})",
    "(-{n})", "abs({n})", "sign({n})", "floor({n})", "ceil({n})", "trunc({n})", "sqrt({n})",
    "ln({n})", "log10({n})", "power({n}, 2)", "greatest({n}, {n})", "least({n}, {n}, 1)",
    "coalesce({n}, {n})", "nullif({n}, {n})", "CASE WHEN {p} THEN {n} ELSE {n} END",
    "round({n}, 1)", "CAST({n} AS INTEGER)", "CAST({n} AS DOUBLE)", "CAST({n} AS FLOAT)",
    "CAST({n} AS DECIMAL(12, 2))", "length({c})", "strpos({c}, {c})", "year({m})",
    "date_part('second', {m})", "extract(dow FROM {m})", "extract(second FROM {m})",
    "extract(epoch FROM {m})", "date_diff('day', {m}, {m})",
)  # fmt: skip
TEXTS = (
    "upper({c})", "lower({c})", "({c} || {c})", "concat({c}, {c}, {w})", "substring({c}, 1, 2)",
    "left({c}, 1)", "right({c}, 2)", "trim({c})", "replace({c}, 'a', {c})", "reverse({c})",
    "split_part({c}, ',', 1)", "coalesce({c}, {c})", "CAST({w} AS VARCHAR)", "CAST({m} AS VARCHAR)",
    "CASE WHEN {p} THEN {c} END", "greatest({c}, {c})", "concat_ws('-', {c}, {w})",
)  # fmt: skip
MOMENTS = (
    "date_trunc('month', {m})", "({m} + INTERVAL 1 DAY)", "({m} - INTERVAL 2 HOURS)",
    "CAST({m} AS DATE)", "CAST({m} AS TIMESTAMP)", "last_day({m})", "coalesce({m}, {m})",
    "greatest({m}, {m})", "(day + j % 100)",
)  # fmt: skip
PREDICATES = (
    "{n} < {n}", "{n} = {n}", "{n} IS DISTINCT FROM {n}", "{n} IN (1, {n}, NULL)", "{c} LIKE 'a%'",
    "{c} < {c}", "{c} NOT LIKE '%\\%%'", "{c} ILIKE 'A%'", "{n} BETWEEN {n} AND 2", "{m} > {m}",
    "({p} AND {p})", "({p} OR {p})", "NOT ({p})", "{c} IS NULL", "{m} < TIMESTAMP '2000-01-01'",
    "b", "({p}) IS TRUE", "{n} NOT IN (1, 3)", "starts_with({c}, {c})",
)  # fmt: skip
PARTS = {
    "n": (NUMBERS, ("i", "j", "x", "r", "d", "e", "0", "2", "0.5")),
    "c": (TEXTS, ("s", "t", "'a'")),
    "m": (MOMENTS, ("day", "at", "tz")),
    "p": (PREDICATES, ("b", "i > 1", "x <= 0.1")),
    "w": (("{w}",), ("i", "j", "b", "d", "day")),
}
BEYOND = "out of range", "overflow", "overflows"
"""What PostgreSQL says of a number that has no room."""


def drawn(chance: random.Random, kind: str, deep: int) -> str:
    """Draw an expression of a kind."""
    forms, plain = PARTS[kind]
    if deep == 0 or kind == "w" or chance.random() < 0.2:
        return chance.choice(plain)
    pieces = chance.choice(forms).split("{")
    return pieces[0] + "".join(drawn(chance, each[0], deep - 1) + each[2:] for each in pieces[1:])


def rows(chance: random.Random) -> pa.Table:
    listed = [
        {name: chance.choice(values) for name, (_, values) in COLUMNS.items()} for _ in range(ROWS)
    ]
    schema = pa.schema([(name, type_) for name, (type_, _) in COLUMNS.items()])
    table = pa.Table.from_pylist(listed, schema=schema)
    return table.append_column("row", pa.array(range(ROWS), pa.int64()))


class Both:
    """The same rows in both databases."""

    def __init__(self, table: pa.Table, server: psycopg.Connection[Any]) -> None:
        self.schema, self.server, self.here = table.schema, server, connect(threads=1)
        self.here.register("given", table)
        self.here.execute("CREATE TABLE odd AS SELECT * FROM given")
        there = DIALECTS["postgresql"]
        listed = ", ".join(there.column(quoted(each.name), each.type) for each in table.schema)
        server.execute(SESSION.encode())
        server.execute(f"CREATE TEMP TABLE odd ({listed})".encode())
        with server.cursor().copy(b"COPY odd FROM STDIN (FORMAT csv)") as target:
            target.write(copy.written(table).to_pybytes())

    def column(self, text: str, store: str) -> ViewColumn | None:
        """Give an output of a view; None if it is refused."""
        catalog = {"odd": Relation(name="odd", kind="stream", schema=self.schema)}
        options = {"view": "v", "refresh": "1 second", **({"store": store} if store else {})}
        try:
            found = bind_view(read_query(f"SELECT {text} AS y FROM odd", catalog, None, options))
        except PenstockError as refusal:
            assert refusal.code in {"SQL-032", "SQL-023", "VIEW-055", "VIEW-056"}, text
            return None
        return found.definition.outputs[0]

    def from_here(self, asked: ViewColumn, row: str) -> list[Any]:
        said = DIALECTS["duckdb"].cast(asked.sql, asked.type)
        sql = f'SELECT {said} AS y FROM odd AS "i0" WHERE "row" {row} ORDER BY "row"'
        return [_plain(each) for each in self.here.sql(sql).to_arrow_table()[0].to_pylist()]

    def from_there(self, asked: ViewColumn, row: str) -> list[Any]:
        said = DIALECTS["postgresql"].cast(asked.sql, asked.type)
        made = f'SELECT {said}, "row" FROM odd AS "i0" WHERE "row" {row}'
        sql = (
            f"COPY (SELECT {copy.asked('y', asked.type)} FROM ({made}) AS f(y, n) ORDER BY n) "
            "TO STDOUT (FORMAT csv)"
        )
        with self.server.cursor().copy(sql.encode()) as blocks:
            found = copy.read(map(bytes, blocks), pa.schema([("y", asked.type)]))
        return [_plain(each) for each in found[0].to_pylist()]


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if isnan(value) else float(f"{value:.9g}") + 0.0
    return value


@pytest.fixture
def both(seed: int, postgresql: postgres.Server) -> Iterator[Both]:
    with psycopg.connect(postgresql.url(), autocommit=True) as server:
        yield Both(rows(random.Random(seed)), server)


def compared(both: Both, here: ViewColumn, there: ViewColumn, row: str) -> int | None:
    """Compare a column; give how many values agree. None if one of both says nothing of it."""
    try:
        expected = both.from_here(here, row)
        found = both.from_there(there, row)
    except duckdb.Error:
        return None
    except psycopg.Error as failure:
        is_beyond = any(each in str(failure) for each in BEYOND)
        assert is_beyond or row == EVERY, (there.sql, row, failure)
        return None
    assert found == expected, (here.sql, there.sql)
    return len(found)


def test_drawn_expressions(both: Both, seed: int) -> None:
    chance = random.Random(seed)
    agreed = 0
    for _ in range(DRAWN):
        text = drawn(chance, chance.choice("nnncmp"), 3)
        here, there = both.column(text, ""), both.column(text, "postgresql://h/d")
        if here is None or there is None:
            continue
        try:
            both.from_there(there, "< 0")
        except psycopg.Error as refusal:
            assert refusal.sqlstate in UNSAID or "zero" in str(refusal), (text, refusal)
            continue
        every = compared(both, here, there, EVERY)
        if every is None:
            singly = [compared(both, here, there, f"= {row}") for row in range(ROWS)]
            every = sum(each or 0 for each in singly)
        agreed += every
    assert agreed > DRAWN * ROWS / 10
