"""Lookups: their declaration, in a text and from Python, and their joins."""

from __future__ import annotations

import json
from datetime import timedelta

import duckdb
import pyarrow as pa
import pytest

from penstock.algebra.lookups import LookupJoin, LookupJoinStep
from penstock.algebra.memories import AUTO, Lookup, Memory, StreamLaw
from penstock.engine.engine import Engine
from penstock.kinds.binder import bind
from penstock.language.lookup_clauses import lookup_of, lookup_relation
from penstock.language.parser import parse
from penstock.language.statements import CreateLookup
from penstock.registry.records import Declaration, Source
from penstock.vocabulary.errors import PenstockError
from tests.support.joined import CATALOG as RELATIONS
from tests.support.joined import EACH

SCHEMA = pa.schema([("Id", pa.int64()), ("word", pa.string()), ("tags", pa.list_(pa.string()))])
PRICES = pa.schema(
    [("Id", pa.int64()), ("word", pa.string()), ("price", pa.float64()), ("memory", pa.int32())]
)
CATALOG = {
    **RELATIONS,
    "prices": lookup_relation("prices", PRICES, lookup_of("prices", "duckdb:p.duckdb", "id", 50)),
    "words": lookup_relation("words", PRICES, lookup_of("words", "duckdb:p.duckdb", "word", 50)),
}
HEAD = "CREATE TABLE prices LOOKUP FROM 'duckdb:p.duckdb' KEY id CACHE 50 ROWS"


def declared(text: str) -> CreateLookup:
    (statement,) = parse(text)
    assert isinstance(statement, CreateLookup)
    return statement


def made(**options: object) -> Lookup:
    return lookup_of("prices", "duckdb:p.duckdb", "id", 50, options=options)


def looked_up(sql: str, each: pa.Schema | None = None) -> LookupJoin:
    bound = bind(sql, CATALOG, each)
    assert isinstance(bound, LookupJoin)
    return bound


def refusal(sql: str, **options: object) -> PenstockError:
    with pytest.raises(PenstockError) as caught:
        bind(sql, CATALOG, EACH, options)
    assert (caught.value.place is None) == (caught.value.option is not None)
    assert caught.value.remedy
    return caught.value


def test_a_statement_says_what_python_may_say():
    statement = declared(
        "CREATE TABLE IF NOT EXISTS prices (id BIGINT, price DOUBLE) "
        "LOOKUP FROM 'postgresql://me@127.0.0.1:5432/db' KEY ID CACHE 5_000 ROWS USING heeb "
        "MODEL LINEAR TREND (slope = 1) OPTIONS (table = 'public.p', retries = 3, seed = 1)"
    )
    assert (statement.name, statement.from_) == ("prices", "postgresql://me@127.0.0.1:5432/db")
    assert (statement.key, statement.cache, statement.using) == ("ID", 5_000, "HEEB")
    assert statement.law == StreamLaw(family="linear trend", parameters={"slope": 1.0})
    assert statement.columns == pa.schema([("id", pa.int64()), ("price", pa.float64())])
    assert statement.options == {"table": "public.p", "retries": 3, "seed": 1}
    assert statement.if_not_exists
    assert declared(HEAD).columns is declared(HEAD).law is None


def test_a_lookup_has_defaults():
    assert made() == Lookup(
        source="duckdb:p.duckdb",
        table="prices",
        key="id",
        memory=Memory(rows=50, policy="HEEB", laws=(AUTO,)),
    )


def test_lengths_of_time_become_seconds():
    chosen = made(
        timeout="1.5 seconds", Backoff="0 seconds", cooldown=timedelta(minutes=1), max_age="2 hours"
    )
    assert chosen.options == {"timeout": 1.5, "backoff": 0.0, "cooldown": 60.0, "max_age": 7200.0}


def test_options_go_where_they_belong():
    chosen = made(table="a.b", batch=10, waiting=20, retries=0, lifetime=5, refit_every=7, seed=1)
    assert chosen.table == "a.b"
    assert chosen.options == {"batch": 10, "waiting": 20, "retries": 0}
    assert chosen.memory.options == {"lifetime": 5.0, "refit_every": 7, "seed": 1}


@pytest.mark.parametrize("law", ["ar(1) (phi1 = 0.5)", "AR1 (phi1 = 0.5)"])
def test_python_names_laws_in_texts(law):
    chosen = lookup_of("prices", "duckdb:p", "id", 5, law=law)
    assert chosen.memory.laws == (StreamLaw(family="ar1", parameters={"phi1": 0.5}),)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"source": "mysql://here"}, "SQL-130"),
        ({"source": "duckdb: "}, "SQL-130"),
        ({"source": "postgresql://"}, "SQL-130"),
        ({"cache": 0}, "SQL-110"),
        ({"cache": 2.5}, "SQL-110"),
        ({"cache": "5"}, "SQL-110"),
        ({"cache": True}, "SQL-110"),
        ({"cache": 10_000_001}, "SQL-110"),
        ({"using": "PROB"}, "SQL-120"),
        ({"using": "LRU", "law": AUTO}, "SQL-121"),
        ({"law": StreamLaw(family="ar1", parameters={"phi1": 7})}, "SQL-118"),
        ({"law": "linear"}, "SQL-116"),
        ({"law": "AUTO OPTIONS (seed = 1)"}, "SQL-116"),
        ({"law": ""}, "SQL-116"),
        ({"law": "'"}, "SQL-116"),
        ({"law": "AR1 (phi1 = 7)"}, "SQL-118"),
        ({"options": {"timeout": 2}}, "SQL-071"),
        ({"options": {"timeout": "0 seconds"}}, "SQL-071"),
        ({"options": {"timeout": "2 parsecs"}}, "SQL-071"),
        ({"options": {"retries": -1}}, "SQL-071"),
        ({"options": {"batch": 0}}, "SQL-071"),
        ({"options": {"table": " "}}, "SQL-071"),
        ({"options": {"alpha": 0}}, "SQL-071"),
        ({"options": {"slice": 5}}, "SQL-070"),
        ({"options": {"tabel": "p"}}, "SQL-070"),
    ],
)
def test_python_is_refused_what_texts_are(changed, code):
    given = {"name": "prices", "source": "duckdb:p", "key": "id", "cache": 5, **changed}
    with pytest.raises(PenstockError) as caught:
        lookup_of(**given)
    assert caught.value.code == code
    assert caught.value.place is None
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        (HEAD.replace("'duckdb:p.duckdb'", "p"), "SQL-001", 33),
        (HEAD.replace("duckdb:", "sqlite:"), "SQL-130", 33),
        (HEAD.replace("KEY id ", ""), "SQL-001", 51),
        (HEAD.replace("CACHE 50 ROWS", ""), "SQL-001", 57),
        (HEAD.replace("50", "0"), "SQL-110", 64),
        (HEAD.replace("50", ":n"), "SQL-110", 64),
        (f"{HEAD} USING LIFE", "SQL-120", 78),
        (f"{HEAD} USING LFU MODEL AUTO", "SQL-121", 88),
        (f"{HEAD} MODEL AR(3)", "SQL-116", 78),
        (f"{HEAD} OPTIONS (batch = 5, timeout = 5)", "SQL-071", 92),
        (f"{HEAD} OPTIONS (tables = 'a')", "SQL-070", 81),
        (f"{HEAD} OPTIONS (table = 'a', table = 'b')", "SQL-006", 94),
        (HEAD.replace("prices", "prices (word VARCHAR)"), "CAT-010", 70),
        (HEAD.replace("prices", "prices (id BIGINT[])"), "CAT-011", 69),
        (HEAD.replace("prices", "prices (id VARCHAR)") + " MODEL AR(1)", "SQL-119", 91),
        (HEAD.replace("TABLE", "STREAM"), "SQL-001", 22),
    ],
)
def test_refused_texts(text, code, column):
    with pytest.raises(PenstockError) as caught:
        parse(text)
    assert caught.value.place is not None
    assert (caught.value.code, caught.value.place.column) == (code, column)
    assert caught.value.remedy


def test_the_relation_spells_its_key_as_its_columns_do():
    relation = lookup_relation("prices", SCHEMA, made())
    assert relation.kind == "lookup"
    assert relation.lookup is not None
    assert relation.lookup.key == "Id"


def test_keys_known_beforehand_are_in_the_keys_column():
    told = lookup_of("p", "duckdb:p", "id", 5, law="OFFLINE (file = 'k.parquet')")
    relation = lookup_relation("p", SCHEMA, told)
    assert relation.lookup is not None
    (law,) = relation.lookup.memory.laws
    assert law.parameters == {"file": "k.parquet", "column": "Id"}


@pytest.mark.parametrize(
    ("key", "law", "code"),
    [
        ("ident", None, "CAT-010"),
        ("tags", None, "CAT-011"),
        ("word", "RANDOM WALK", "SQL-119"),
        ("word", "STATIONARY", None),
        ("id", "RANDOM WALK", None),
    ],
)
def test_keys_that_a_lookup_may_have(key, law, code):
    lookup = lookup_of("p", "duckdb:p", key, 5, law=law)
    if code is None:
        assert lookup_relation("p", SCHEMA, lookup).schema == SCHEMA
        return
    with pytest.raises(PenstockError) as caught:
        lookup_relation("p", SCHEMA, lookup)
    assert caught.value.code == code


def test_the_registry_keeps_lookups():
    told = lookup_of("p", "duckdb:p", "word", 5, options={"timeout": "2 seconds", "seed": 4})
    relation = lookup_relation("p", SCHEMA, told)
    kept = json.loads(json.dumps(Declaration(relation=relation, source=Source()).to_json()))
    again = Declaration.from_json(kept).relation
    assert again == relation
    assert again.lookup == relation.lookup
    del kept["lookup"]
    assert Declaration.from_json({**kept, "kind": "stream"}).relation.lookup is None


def test_a_lookup_join_has_a_stream_and_a_key():
    bound = looked_up("SELECT * FROM prices p JOIN s ON s.small = p.id AND p.word = s.word")
    assert bound.looked_up == 0
    assert bound.lookup.key == "Id"
    assert [each.window for each in bound.inputs] == [None, None]
    assert [each.event_time for each in bound.inputs] == [None, "ts"]
    step = bound.step()
    assert isinstance(step, LookupJoinStep)
    assert (step.relations, step.stream_key) == (("s",), "small")
    assert looked_up("SELECT s.id FROM timeless s JOIN prices USING (id)").looked_up == 1


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT * FROM prices", "SQL-131"),
        ("SELECT * FROM prices p JOIN words w ON p.id = w.id", "SQL-131"),
        ("SELECT * FROM prices p JOIN prices q ON p.id = q.id", "SQL-131"),
        ("SELECT * FROM prices p JOIN a ON p.id = a.id", "SQL-131"),
        ("SELECT * FROM s JOIN prices p ON p.id = s.id JOIN t ON t.id = s.id", "SQL-131"),
        ("SELECT * FROM s [ROWS 3], prices p, t [ROWS 3]", "SQL-131"),
        ("SELECT * FROM s, prices p", "SQL-132"),
        ("SELECT * FROM s, prices p WHERE s.id < p.id", "SQL-132"),
        ("SELECT * FROM s, prices p WHERE s.word = p.word AND s.small = p.memory", "SQL-132"),
        ("SELECT * FROM s, prices p WHERE s.word = p.word AND s.price = p.id", "SQL-061"),
        ("SELECT * FROM s [ROWS 3] JOIN prices p ON s.id = p.id", "SQL-133"),
        ("SELECT * FROM s JOIN prices p [ROWS 3] ON s.id = p.id", "SQL-133"),
        ("SELECT * FROM s JOIN prices p ON s.id = p.id WITHIN 5 SECONDS", "SQL-133"),
        ("SELECT * FROM s JOIN prices p ON s.id = p.nothing", "SQL-020"),
    ],
)
def test_refused_lookup_joins(query, code):
    assert refusal(query).code == code


def test_lookup_joins_have_no_options():
    assert refusal("SELECT s.id FROM s JOIN prices p ON s.id = p.id", alpha=1).code == "SQL-070"


def test_a_script_declares_a_lookup_and_may_run_again(tmp_path):
    with duckdb.connect(str(tmp_path / "p.duckdb")) as there:
        there.execute("CREATE TABLE kept (id BIGINT, price DOUBLE)")
    text = (
        f"CREATE TABLE prices LOOKUP FROM 'duckdb:{tmp_path}/p.duckdb' KEY ID CACHE 9 ROWS "
        "USING LRU OPTIONS (table = 'kept', timeout = '2 seconds')"
    )
    with Engine(tmp_path / "home") as engine:
        for _ in range(2):
            engine.sql(text)
        relation = engine.desk.registry.catalog["prices"]
    assert relation.schema == pa.schema([("id", pa.int64()), ("price", pa.float64())])
    assert relation.lookup == Lookup(
        source=f"duckdb:{tmp_path}/p.duckdb",
        table="kept",
        key="id",
        memory=Memory(rows=9, policy="LRU", laws=(AUTO,)),
        options={"timeout": 2.0},
    )
