"""Statements: what parse gives, and where it points."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.kinds.binder import bind
from penstock.language.parser import NESTING_DEPTH_MAX, TEXT_LENGTH_MAX, parse
from penstock.language.places import ScriptSource
from penstock.language.relations import relation_of
from penstock.language.statements import (
    CreateRelation,
    DropSubscription,
    Explain,
    ForEach,
    Select,
    SourceName,
    Subscribe,
)
from penstock.vocabulary.errors import PenstockError

DOCS = Path(__file__).parents[2] / "docs" / "reference"


def refusal(text: str) -> PenstockError:
    with pytest.raises(PenstockError) as caught:
        parse(text)
    return caught.value


def test_create_stream_keeps_columns_and_options():
    (statement,) = parse(
        "CREATE STREAM IF NOT EXISTS Trades (price DOUBLE, at TIMESTAMPTZ, d DECIMAL(10, 2)) "
        "FROM 'parquet:/data/x' OPTIONS (event_time = 'AT', rows = 1_000, "
        "speed = -1.5, loop = TRUE)"
    )
    assert isinstance(statement, CreateRelation)
    assert statement.name == "Trades"
    assert statement.if_not_exists
    assert statement.from_ == SourceName(kind="parquet", rest="/data/x")
    assert statement.columns == pa.schema(
        [("price", pa.float64()), ("at", pa.timestamp("us", "UTC")), ("d", pa.decimal128(10, 2))]
    )
    assert statement.options == {"event_time": "AT", "rows": 1000, "speed": -1.5, "loop": True}
    assert relation_of(statement).event_time == "at"


def test_frames_are_named_without_quotes():
    (statement,) = parse("CREATE STREAM trades FROM my_frame")
    assert isinstance(statement, CreateRelation)
    assert str(statement.from_) == "frame:my_frame"
    schema = pa.schema([("price", pa.float64())])
    assert relation_of(statement, schema).schema == schema


def test_subscribe_keeps_its_select_and_its_rows():
    script = (
        "SELECT 1 FROM a;\nSUBSCRIBE s TO SELECT * FROM t WHERE x > :lo\n"
        "FOR EACH ROW OF 'p.csv' KEY id;"
    )
    select, subscribe = parse(script)
    assert isinstance(select, Select)
    assert isinstance(subscribe, Subscribe)
    assert subscribe.select.text == "SELECT * FROM t WHERE x > :lo"
    assert subscribe.each == ForEach(path="p.csv", key="id")
    assert subscribe.text == script[17:-1]
    assert (subscribe.source.place.line, subscribe.source.place.column) == (2, 1)


def test_statements_compare_without_their_place():
    assert parse("DROP SUBSCRIPTION a") == parse("\n\n  drop  subscription a ;")


def test_drop_and_explain():
    drop, named, query = parse(
        "DROP SUBSCRIPTION IF EXISTS a WHERE ID IN ('x', 2); EXPLAIN SUBSCRIPTION a; "
        "EXPLAIN SELECT * FROM t FOR EACH ROW OF f"
    )
    assert isinstance(drop, DropSubscription)
    assert (drop.name, drop.ids, drop.if_exists) == ("a", ("x", 2), True)
    assert isinstance(named, Explain)
    assert named.of == "a"
    assert isinstance(query, Explain)
    assert isinstance(query.of, Select)
    assert query.each == ForEach(frame="f")


def test_empty_scripts_have_no_statements():
    assert parse("") == parse(" ;; -- nothing\n;") == []


def test_errors_of_a_bound_select_point_into_the_whole_script():
    script = "DROP SUBSCRIPTION a;\n  SUBSCRIBE s TO SELECT *\n    FROM trades WHERE prise > 5"
    subscribe = parse(script)[1]
    assert isinstance(subscribe, Subscribe)
    schema = pa.schema([("price", pa.float64())])
    catalog = {"trades": Relation(name="trades", kind="stream", schema=schema)}
    with pytest.raises(PenstockError) as caught:
        bind(subscribe.select, catalog)
    place = caught.value.place
    assert place is not None
    assert (place.line, place.column) == (3, 23)
    assert str(place).endswith("FROM trades WHERE prise > 5\n" + " " * 24 + "^")


@pytest.mark.parametrize("text", ["a\nbc\r\nd", "", "x\n", "a\x0cb"])
def test_places_agree_with_splitlines(text):
    source = ScriptSource.whole(text)
    at = 0
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        for column in range(1, len(line) + 1):
            place = source.place_at(at)
            assert (place.line, place.column) == (number, column)
            at += 1
    assert source.place_at(len(text)).line == max(1, len(text.splitlines()))


def test_limits_of_texts():
    assert refusal(" " * (TEXT_LENGTH_MAX + 1)).code == "SQL-003"
    depth = NESTING_DEPTH_MAX
    assert parse(f"SELECT * FROM t WHERE {'(' * depth}a{')' * depth}")
    assert (
        refusal(f"SELECT * FROM t WHERE {'(' * (depth + 1)}a{')' * (depth + 1)}").code == "SQL-004"
    )
    assert refusal("SELECT * FROM t WHERE " + "NOT " * 2_000 + "a").code == "SQL-004"


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("SELECT min(price FROM s", "SQL-001", 11),
        ("SELECT max(a AS b, count(*) AS n FROM s; EXPLAIN x", "SQL-001", 11),
        ("SELECT * FROM t WHERE x >", "SQL-001", 26),
        ("SELECT * FROM t WHERE x = 'a", "SQL-001", 27),
        ('SELECT * FROM t WHERE "x = 1', "SQL-001", 23),
        ("SUBSCRIBE x TO", "SQL-001", 15),
        ("SELECT * FROM", "SQL-001", 14),
        ("EXPLAIN", "SQL-001", 8),
        ("CREATE STREAM a FROM 'x' OPTIONS event = 1", "SQL-001", 34),
        ("DROP SUBSCRIPTION a WHERE x = 1", "SQL-001", 27),
        ("DELETE FROM t", "SQL-002", 1),
        ("CREATE STREAM a (x FOO) FROM 'x'", "SQL-005", 18),
        ("CREATE STREAM a (x INT, X INT) FROM 'x'", "SQL-006", 25),
        ("CREATE STREAM a FROM 'x' OPTIONS (a = 1, a = 2)", "SQL-006", 42),
        ("CREATE STREAM a FROM 'x' OPTIONS (a = b)", "SQL-007", 39),
        ("DROP SUBSCRIPTION a WHERE ID IN (TRUE)", "SQL-007", 1),
    ],
)
def test_refusals_point_at_their_place(text, code, column):
    error = refusal(text)
    assert error.place is not None
    assert (error.code, error.place.column) == (code, column)
    assert error.remedy.endswith((".", "?", ")"))
    assert "Token" not in str(error)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("CREATE STREAM a (x INT) FROM 'x' OPTIONS (event_time = 'y')", "CAT-002"),
        ("CREATE TABLE a (x INT) FROM 'x'", "CAT-003"),
        ("CREATE STREAM a FROM 'x'", "CAT-004"),
    ],
)
def test_relations_are_checked_at_birth(text, code):
    (statement,) = parse(text)
    assert isinstance(statement, CreateRelation)
    with pytest.raises(PenstockError) as caught:
        relation_of(statement)
    assert caught.value.code == code
    assert caught.value.place == statement.source.place


def test_examples_of_the_reference_parse():
    blocks = re.findall(r"```sql\n(.*?)```", (DOCS / "sql.md").read_text(), flags=re.DOTALL)
    assert len(blocks) >= 5
    assert all(parse(block) for block in blocks)


def test_every_code_is_documented_and_tested():
    root = Path(__file__).parents[2]
    sources = [
        *(root / "src/penstock/language").glob("*.py"),
        root / "src/penstock/algebra/catalog.py",
    ]
    raised = {c for path in sources for c in re.findall(r'"((?:SQL|CAT)-\d{3})"', path.read_text())}
    documented = set(re.findall(r"^\| ((?:SQL|CAT)-\d{3})", (DOCS / "errors.md").read_text(), re.M))
    assert raised <= documented
    tests = [*root.glob("tests/*/test_*.py"), *root.glob("tests/golden/language/*.sql")]
    seen = {c for path in tests for c in re.findall(r"(?:SQL|CAT)-\d{3}", path.read_text())}
    assert raised <= seen


@pytest.mark.parametrize(("text", "remedy"), [("0x10", "16"), ("0b11", "3"), ("1x", "blank")])
def test_numbers_that_run_into_a_name_are_refused(text: str, remedy: str) -> None:
    with pytest.raises(PenstockError, match=remedy) as caught:
        parse(f"SELECT * FROM t WHERE a <> {text}")
    assert caught.value.code == "SQL-001"


def test_a_name_is_a_word_and_no_parameter() -> None:
    with pytest.raises(PenstockError) as refused:
        parse("EXPLAIN SUBSCRIPTION @ chips")
    assert refused.value.code == "SQL-001"
