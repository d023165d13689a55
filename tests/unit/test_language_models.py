"""Model queries: words that open clauses, scripts around them, and what stays in bounds."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.bounded_joins import BoundedJoin
from penstock.algebra.catalog import Relation
from penstock.algebra.models import ModelQueryStep, StandingModelQuery
from penstock.algebra.physical import signature
from penstock.kinds.binder import bind
from penstock.language.model_queries import bind_model_query, is_model_query
from penstock.language.parser import parse
from penstock.language.queries import Query, read_query
from penstock.language.statements import Explain, Select, Subscribe
from penstock.models.plans import SegmentPlan
from penstock.vocabulary.errors import PenstockError

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        *((name, pa.float64()) for name in ("x", "y", "v", "model", "error")),
        ("tags", pa.list_(pa.string())),
        ("ts", pa.timestamp("us", "UTC")),
    ]
)
CATALOG = {
    name: Relation(name=name, kind="stream", schema=SCHEMA, event_time="ts") for name in ("s", "r")
}
EACH = pa.schema([("lo", pa.int64()), ("who", pa.string())])
MODEL = "MODEL x = x + v * t KEY id"


def query(select: Select | str, **options: Any) -> Query:
    return read_query(select, CATALOG, EACH, options)


def bound(select: Select | str, **options: Any) -> StandingModelQuery:
    found = query(select, **options)
    assert is_model_query(found)
    return bind_model_query(found)


def refused(text: str, **options: Any) -> PenstockError:
    with pytest.raises(PenstockError) as failed:
        bound(text, **options)
    return failed.value


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM s model WHERE model.x > 3",
        "SELECT model.id FROM s AS model",
        "SELECT error.id FROM s error",
        "SELECT s.id FROM s JOIN r model ON s.id = model.id WITHIN 5 SECONDS",
        "SELECT model.id FROM s model JOIN r horizon ON model.id = horizon.id MEMORY 5 ROWS",
        "SELECT sample.id FROM s AS sample JOIN r AS split USING (id) MEMORY 5 ROWS",
        "SELECT model, error FROM s WHERE model > error",
    ],
)
def test_words_of_model_queries_stay_names_elsewhere(text: str) -> None:
    assert not is_model_query(query(text))
    assert bind(text, CATALOG).relations


def test_the_laws_of_a_memory_stay_laws() -> None:
    text = (
        "SELECT s.id FROM s JOIN r AS model ON s.id = model.id MEMORY 100 ROWS "
        "USING HEEB MODEL s AS LINEAR TREND, model AS AUTO"
    )
    plan = bind(text, CATALOG)
    assert isinstance(plan, BoundedJoin)
    assert [law.family for law in plan.memory.laws] == ["linear trend", "auto"]


def test_columns_may_be_called_as_clauses_are() -> None:
    plan = bound("SELECT model, error FROM s MODEL model, error = error + 2 * t KEY id")
    assert plan.shape.attributes == ("model", "error")
    assert plan.shape.sources[0].attributes[1].coefficients == ("c0", "2")


def test_a_script_says_what_a_text_says() -> None:
    text = f"SELECT id, starts FROM s {MODEL} WHERE x > :lo ERROR WITHIN 2 HORIZON 5 SECONDS"
    script = (
        f"SUBSCRIBE a TO {text} FOR EACH ROW OF 'a.csv' KEY who OPTIONS (fidelity = 'literal');"
        f"EXPLAIN {text} OPTIONS (gap = 'fail')"
    )
    subscribe, explain = parse(script)
    assert isinstance(subscribe, Subscribe) and isinstance(explain, Explain)
    assert (subscribe.each is not None) and subscribe.options == {"fidelity": "literal"}
    assert bound(subscribe.select, **subscribe.options).shape.fidelity == "literal"
    assert isinstance(explain.of, Select)
    assert bound(explain.of).shape == bound(text).shape


def test_clauses_stand_in_any_order() -> None:
    clauses = ["ERROR WITHIN x 1", "SAMPLE EVERY 1 SECOND", "SPLIT GRADIENT", "HORIZON 5 SECONDS"]
    texts = [" ".join(order) for order in (clauses, clauses[::-1], [*clauses[2:], *clauses[:2]])]
    shapes = {signature(bound(f"SELECT x FROM s {MODEL} {text}").shape) for text in texts}
    assert len(shapes) == 1


def test_without_a_horizon_nothing_is_predicted() -> None:
    plain = bound(f"SELECT x FROM s {MODEL}").shape
    written = bound(f"SELECT x FROM s {MODEL} HORIZON 10 SECONDS").shape
    assert (plain.predicts, written.predicts) == (False, True)
    assert plain.sources[0].horizon_us == written.sources[0].horizon_us == 10_000_000
    assert [name for name, _ in written.made] == ["id", "starts", "ends", "x", "status"]


def test_constants_and_parameters_make_one_shape() -> None:
    texts = [
        f"SELECT id, x FROM s {MODEL} WHERE x > 5 AND id = 7",
        f"SELECT id, x FROM s {MODEL} WHERE id = :lo AND :lo < x",
        f"SELECT id, x FROM s {MODEL} WHERE (9.5 < x) AND (7 = id)",
    ]
    plans = [bound(text) for text in (texts[0], texts[2])]
    assert plans[0].shape == plans[1].shape
    assert (plans[0].constants, plans[1].constants) == (
        {"$0": 7, "$1": 5.0},
        {"$0": 7, "$1": 9.5},
    )
    both = refused(texts[1])
    assert both.code == "SQL-042"


def test_what_a_query_asks_survives_its_file() -> None:
    shape = bound(
        "SELECT a.id, sqrt(pow(a.x - b.x, 2)) AS far, a.x / b.x AS part "
        f"FROM s AS a {MODEL} JOIN r AS b {MODEL} "
        "ON a.id <> b.id AND a.x > 1 WHERE abs(a.x) > 3 ERROR WITHIN 0.5"
    ).shape
    assert ModelQueryStep.from_json(shape.to_json()) == shape


def test_an_aggregate_tells_by_its_advance_or_by_segments() -> None:
    source = f"FROM s [SIZE 10 SECONDS ADVANCE 2 SECONDS] {MODEL} GROUP BY id"
    told = bound(f"SELECT id, avg(x) {source}").shape
    segments = bound(f"SELECT id, avg(x), starts, ends {source}").shape
    assert (told.sample_us, segments.sample_us) == (2_000_000, None)
    assert refused(f"SELECT at, starts, avg(x) {source}").code == "MDL-010"
    hidden = f"SELECT id {source} HAVING avg(x) > 3"
    assert bound(hidden).shape.sample_us == 2_000_000
    assert refused(f"{hidden} SAMPLE EVERY 1 SECOND").code == "MDL-010"


MEETING = (
    "(SELECT a.id AS one, b.id AS other, sqrt(pow(a.x - b.x, 2) + pow(a.y - b.y, 2)) AS far "
    "FROM s a {0} JOIN s b {0} ON a.id <> b.id) [SIZE 10 SECONDS ADVANCE 1 SECOND] AS c "
)
LINES = "MODEL x = x + v * t, y = y - v * t KEY id"


@pytest.mark.parametrize(
    ("having", "model", "near", "asked"),
    [
        ("avg(far) < 1000", LINES, True, 0),
        ("1000 >= avg(far) AND avg(far) > 3", LINES, True, 1),
        ("avg(far) BETWEEN 3 AND 1000", LINES, True, 0),
        ("avg(far) < 1000 AND avg(far) > :lo", LINES, True, 1),
        ("avg(far) < :lo", LINES, False, 1),
        ("avg(far) > 1000", LINES, False, 1),
        ("avg(far) < 1000", "MODEL x = x + v * t ^ 2, y KEY id", False, 1),
    ],
)
def test_a_limit_on_average_distances_is_part_of_the_plan_where_it_spares_pairs(
    having: str, model: str, near: bool, asked: int
) -> None:
    text = f"avg(far) AS mean FROM {MEETING.format(model)} GROUP BY one, other HAVING {having}"
    shape = bound(f"SELECT one, other, {text} ERROR WITHIN 50").shape
    assert (SegmentPlan(shape.plan).meets_near, len(shape.asked.comparisons)) == (near, asked)
    if not asked:
        within = f"SELECT one, other, mean FROM (SELECT one, other, {text}) AS f ERROR WITHIN 50"
        assert bound(within).shape.plan == shape.plan


def test_a_query_reads_eight_relations_at_most() -> None:
    tables = [f"s AS a{n} MODEL x = x KEY id" for n in range(9)]
    assert len(bound(f"SELECT a0.x FROM {', '.join(tables[:8])}").shape.sources) == 8
    error = refused(f"SELECT a0.x FROM {', '.join(tables)}")
    assert error.code == "MDL-016" and "8 relations" in error.fact


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"SELECT {', '.join(f'x + {n} AS a{n}' for n in range(65))} FROM s {MODEL}", "MDL-016"),
        (f"SELECT {' + '.join(['x'] * 90)} AS y FROM s {MODEL}", None),
        (f"SELECT {' + '.join(['x'] * 900)} AS y FROM s {MODEL}", "SQL-004"),
        (
            "SELECT " + " + ".join("(" + " + ".join(["x"] * 30) + ")" for _ in range(30))
            + f" AS y FROM s {MODEL}",
            "MDL-016",
        ),
        ("SELECT (x + y + v) ^ 16 AS z FROM s MODEL x = x, y = y, v = v KEY id", None),
        ("SELECT (x + y + v + error) ^ 16 AS z FROM s MODEL x, y, v, error KEY id", "MDL-016"),
        (f"SELECT x FROM s {MODEL} WHERE " + " OR ".join(f"x > {n}" for n in range(65)), "MDL-016"),
        (f"SELECT x FROM s MODEL x = {'(' * 40}x{')' * 40} KEY id", "SQL-004"),
        (f"SELECT x FROM s MODEL x = (x + v * t + {'v + ' * 60}1) ^ 8 KEY id", "MDL-016"),
        (f"SELECT x FROM s {MODEL} WHERE x > 1e308 * 1e308", "MDL-012"),
        (f"SELECT x FROM s {MODEL} WHERE x > 1e309", "MDL-012"),
        (f"SELECT x FROM s {MODEL} WHERE x > random()", "SQL-023"),
        (f"SELECT x FROM s {MODEL} WHERE name = repeat('a', 1000000000)", "SQL-028"),
        (f"SELECT x FROM s {MODEL} WHERE len(list_filter(tags, c0 -> c0 > 'a')) > 0", "SQL-035"),
        ("SELECT x FROM s MODEL x = x + random() * t KEY id", "SQL-023"),
        (f"SELECT x FROM s {MODEL} WHERE EXISTS (SELECT 1)", "SQL-013"),
        (f"SELECT x FROM s {MODEL} LIMIT 5", "SQL-012"),
        (f"SELECT x FROM s {MODEL} LEFT JOIN r {MODEL} ON TRUE", "SQL-010"),
        (f"SELECT x FROM (SELECT x FROM s {MODEL} UNION SELECT x FROM s {MODEL}) AS q", "SQL-013"),
        (f"SELECT q.id FROM (SELECT x FROM s {MODEL}) AS q", "SQL-020"),
        (f"SELECT x FROM (SELECT id, x FROM s {MODEL} WHERE x > :lo) AS q", "MDL-014"),
        (f"SELECT x FROM (SELECT id, x FROM s {MODEL}) AS q WHERE id IN (1, 2)", "MDL-013"),
        (f"SELECT x FROM (SELECT id, starts FROM s {MODEL}) AS q", "MDL-010"),
        (f"SELECT x FROM s {MODEL} WHERE x > 3 AND NULL", "SQL-050"),
        (f"SELECT x FROM s {MODEL} WHERE s.x IS NULL", "MDL-012"),
        (f"SELECT x FROM s {MODEL} WHERE id = 5 AND id = 6 AND y > 2", None),
        (f"SELECT max() FROM s {MODEL}", "MDL-009"),
        (f"SELECT s.* named FROM s {MODEL}", "SQL-015"),
        ("SELECT x FROM s MODEL x = (x + 1 named) + v * t KEY id", "SQL-015"),
        (f"SELECT x FROM s {MODEL} WHERE sqrt(-1) < 5", "SQL-053"),
    ],
)  # fmt: skip
def test_hostile_and_odd_texts_are_answered(text: str, code: str | None) -> None:
    if code is None:
        assert bound(text).shape.sources
    else:
        assert refused(text).code == code


def test_options_are_checked() -> None:
    text = f"SELECT sqrt(x * x) AS r FROM s {MODEL}"
    assert bound(text, tolerance=0.5).shape.plan.to_json()["attributes"][0]["tolerance"] == 0.5
    assert refused(text, tolerance=0).code == "SQL-071"
    assert refused(text, tolerance="small").code == "SQL-071"
    assert refused(text, fidelty="literal").remedy == "Did you mean 'fidelity'?"
