"""CREATE VIEW: what a text becomes in the words of its store, and what is refused, and why."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.algebra.views import ViewStep
from penstock.language.lookup_clauses import lookup_of, lookup_relation
from penstock.language.parser import parse
from penstock.language.queries import read_query
from penstock.language.statements import CreateView, DropRelation, Explain
from penstock.language.views import bind_view
from penstock.vocabulary.errors import PenstockError
from tests.support.view_lives import CATALOG, view


def test_create_view_is_read() -> None:
    text = (
        "CREATE VIEW v REFRESH WITHIN 500 MILLISECONDS STORE 'postgresql://h/d' AS "
        "SELECT count(*) AS n FROM trades OPTIONS (policy = 'naive'); DROP VIEW IF EXISTS v; "
        "EXPLAIN VIEW v WHAT IF (bound = '1 second', rate(orders) = 10/s)"
    )
    created, dropped, explained = parse(text)
    assert isinstance(created, CreateView) and created.name == "v"
    assert created.options == {
        "policy": "naive", "view": "v", "refresh": "500 MILLISECONDS", "store": "postgresql://h/d",
    }  # fmt: skip
    assert isinstance(dropped, DropRelation) and dropped.is_kept and dropped.if_exists
    assert isinstance(explained, Explain) and explained.of == "v"
    assert [each.what for each in explained.what_if] == ["bound", "rate"]


def test_a_grouped_view_speaks_of_keys_and_aggregates_by_name() -> None:
    made = view(
        "SELECT upper(region) AS r, sum(price * 2) / count(*) AS mean, count(DISTINCT price) "
        "FROM orders o JOIN items ON o.id = order_id WHERE price > 1 AND region LIKE 'a%' "
        "GROUP BY 1 HAVING mean > 3 AND count(*) FILTER (WHERE price > 2) > 1"
    ).definition
    assert [each.sql for each in made.keys] == ['upper("i0"."region")']
    assert made.conditions == (
        '"i0"."id" = "i1"."order_id"', '"i1"."price" > 1', '"i0"."region" LIKE \'a%\'',
    )  # fmt: skip
    assert [(each.name, each.function, each.argument) for each in made.aggregates] == [
        ("a0", "count", None),
        ("a1", "sum", '"i1"."price" * 2'),
        ("a2", "count_distinct", '"i1"."price"'),
        ("a3", "count", 'CASE WHEN "i1"."price" > 2 THEN 1 END'),
    ]
    assert made.having == '("a1" / "a0") > 3 AND "a3" > 1'
    assert [(each.name, each.sql, str(each.type)) for each in made.outputs] == [
        ("r", '"g0"', "string"),
        ("mean", '"a1" / "a0"', "double"),
        ("count(DISTINCT price)", '"a2"', "int64"),
    ]
    assert [[name for name, _ in each.columns] for each in made.inputs] == [
        ["id", "region"], ["order_id", "price"],
    ]  # fmt: skip


def test_postgresql_is_given_words_of_its_own() -> None:
    sql = "SELECT order_id, sum(price) / count(*) AS mean FROM items GROUP BY order_id"
    made = view(sql, store="postgresql://h/d").definition
    assert made.dialect == "postgresql"
    given = '(VALUES (CAST("a1" AS DOUBLE PRECISION), CAST("a0" AS DOUBLE PRECISION)))'
    assert given in made.outputs[1].sql, "what may be zero is looked at"
    sql = "SELECT sum(price) / 2 AS half FROM items"
    made = view(sql, store="postgresql://h/d").definition
    assert made.outputs[0].sql == 'CAST("a0" AS DOUBLE PRECISION) / 2'


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT * FROM orders", ["id", "region"]),
        ("SELECT DISTINCT region FROM orders", ["region"]),
        ("SELECT a.symbol, b.size FROM trades a JOIN trades b USING (symbol)", ["symbol", "size"]),
        ("SELECT count(*) FROM orders", ["count(*)"]),
        ("SELECT region, count(*) AS n FROM orders GROUP BY ALL", ["region", "n"]),
    ],
)
def test_columns_of_a_view(sql: str, columns: list[str]) -> None:
    made = view(sql)
    assert [each.name for each in made.outputs] == columns
    step = made.step()
    assert ViewStep.from_json(step.to_json()) == step


@pytest.mark.parametrize(
    ("sql", "code", "word"),
    [
        ("SELECT region FROM orders ORDER BY id", "VIEW-050", "ORDER BY"),
        ("SELECT region FROM orders LIMIT 3", "VIEW-050", "LIMIT"),
        ("SELECT region, rank() OVER () FROM orders", "VIEW-050", "window"),
        (
            "SELECT a.size FROM trades a [ROWS 5] JOIN trades b ON a.size = b.size",
            "VIEW-050",
            "time",
        ),
        ("SELECT DISTINCT region, count(*) FROM orders GROUP BY region", "VIEW-050", "DISTINCT"),
        ("SELECT region FROM orders GROUP BY ROLLUP (region)", "VIEW-050", "ROLLUP"),
        ("SELECT o.id FROM " + ", ".join(f"orders o{n}" for n in range(9)), "VIEW-051", "9"),
        ("SELECT id FROM orders WHERE id > :lo", "VIEW-052", ":lo"),
        ("SELECT sum(DISTINCT price) FROM items", "VIEW-053", "DISTINCT"),
        ("SELECT sum(region) FROM orders", "VIEW-053", "string"),
        ("SELECT id FROM orders WHERE count(*) > 1", "VIEW-053", "condition"),
        ("SELECT region, id FROM orders GROUP BY region", "VIEW-059", "orders.id"),
        ("SELECT region FROM orders GROUP BY 5", "VIEW-059", "5"),
        ("SELECT *, count(*) FROM orders", "VIEW-059", "star"),
        ("SELECT median(price) FROM items", "VIEW-053", "median"),
        ("SELECT bool_and(price > 1) FROM items", "VIEW-053", "a view has COUNT(*), COUNT(x)"),
        ("SELECT o.id FROM orders o LEFT JOIN items ON id = order_id", "SQL-010", "LEFT"),
        ("SELECT id, id FROM orders", "SQL-024", "id"),
        ("SELECT id FROM orders WHERE region", "SQL-034", "BOOLEAN"),
        ("SELECT soup FROM orders", "SQL-020", "soup"),
    ],
)
def test_what_is_not_maintained_is_refused(sql: str, code: str, word: str) -> None:
    with pytest.raises(PenstockError) as refused:
        view(sql)
    assert refused.value.code == code and word in str(refused.value)


def test_options_are_few() -> None:
    for options in ({"soup": 1}, {"policy": "hasty"}):
        with pytest.raises(PenstockError, match="VIEW-057"):
            view(**options)
    with pytest.raises(PenstockError, match="VIEW-058"):
        view(bound="0 seconds")
    with pytest.raises(PenstockError, match="VIEW-057"):
        parse("CREATE VIEW v REFRESH WITHIN 1 SECOND AS SELECT 1 FROM t OPTIONS (store = 'x')")


def test_what_a_store_cannot_hold_is_refused() -> None:
    schema = pa.schema([("l", pa.list_(pa.int64())), ("at", pa.timestamp("us"))])
    nested = Relation(name="nested", kind="stream", schema=schema)
    own = pa.schema([("k", pa.int64())])
    asked = lookup_relation("asked", own, lookup_of("asked", "duckdb:x.duckdb", "k", 5, "LRU"))
    catalog = {**CATALOG, "nested": nested, "asked": asked}
    given = {"view": "v", "refresh": "1 second"}
    for text, said in (
        ("SELECT l FROM nested", r"BIGINT\[\]"),
        ("SELECT l[1] AS a FROM nested", "'l'.*list<item: int64>"),
        ("SELECT max(at - at) AS a FROM nested", "INTERVAL"),
        ("SELECT count(*) AS n FROM nested GROUP BY [1, 2]", r"INTEGER\[\]"),
    ):
        with pytest.raises(PenstockError, match=f"VIEW-056.*{said}"):
            bind_view(read_query(text, catalog, None, given))
    with pytest.raises(PenstockError, match="VIEW-056"):
        bind_view(
            read_query("SELECT l FROM nested", catalog, None, {**given, "store": "postgresql://h"})
        )
    with pytest.raises(PenstockError, match="VIEW-054"):
        bind_view(read_query("SELECT k FROM asked", catalog, None, given))


@pytest.mark.parametrize(
    "asked",
    [
        "TRY_CAST(symbol AS INTEGER)", "symbol SIMILAR TO 'a.*'", "regexp_matches(symbol, 'a.')",
        "regexp_replace(symbol, '\\d', 'x')", "substr(symbol, -1)", "unicode(symbol)",
        "format('{}', symbol)", "(symbol, price) = ('a', 1)", "round(price)",
        "CAST(price AS VARCHAR)", "concat(symbol, price)",
        "symbol || price", "concat(symbol, price > 1)",
        "date_part(symbol, TIMESTAMP '2026-01-01')",
    ],
)  # fmt: skip
def test_what_postgresql_cannot_say_or_means_otherwise_is_refused(asked: str) -> None:
    view(f"SELECT {asked} AS y FROM ticks")
    for text in (f"SELECT {asked} AS y FROM ticks", f"SELECT count({asked}) AS n FROM ticks"):
        with pytest.raises(PenstockError, match="VIEW-055"):
            view(text, store="postgresql://h/d")
