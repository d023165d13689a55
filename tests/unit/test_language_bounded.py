"""MEMORY: what it binds to, and what is refused; golden files show more."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from penstock.algebra.bounded_joins import BoundedJoin, BoundedJoinStep
from penstock.algebra.catalog import Relation
from penstock.algebra.inputs import WindowLength
from penstock.algebra.joins import StandingJoin
from penstock.algebra.lookups import LookupJoinStep
from penstock.algebra.memories import AUTO, Memory, StreamLaw
from penstock.algebra.multi_joins import MultiJoin
from penstock.algebra.physical import signature
from penstock.kinds.binder import bind
from penstock.language.lookup_clauses import lookup_of, lookup_relation
from penstock.language.parser import parse
from penstock.language.statements import CreateLookup, CreateRelation, Explain, Subscribe
from penstock.vocabulary.errors import PenstockError
from tests.support.joined import CATALOG as RELATIONS
from tests.support.joined import EACH

PRICES = pa.schema([("id", pa.int64()), ("word", pa.string()), ("price", pa.float64())])
WORDS = ("memory", "law", "lookup", "cache", "key", "rows", "auto", "heeb", "stationary")
ODD = Relation(
    name="memory",
    kind="stream",
    schema=pa.schema([*((word, pa.int64()) for word in WORDS), ("ts", pa.timestamp("us"))]),
    event_time="ts",
)
CATALOG = {
    **RELATIONS,
    "odd": Relation(
        name="odd",
        kind="stream",
        schema=pa.schema([("small", pa.float64()), ("ts", pa.timestamp("us"))]),
        event_time="ts",
    ),
    "memory": ODD,
    "prices": lookup_relation("prices", PRICES, lookup_of("prices", "duckdb:p.duckdb", "id", 50)),
}
JOINED = "SELECT x.id FROM s x JOIN t y ON x.id = y.id"


def bounded(sql: str, each: pa.Schema | None = None, **options: object) -> BoundedJoin:
    bound = bind(sql, CATALOG, each, options)
    assert isinstance(bound, BoundedJoin)
    return bound


def memory(clauses: str, **options: object) -> Memory:
    return bounded(f"{JOINED} MEMORY {clauses}", **options).memory


def refusal(sql: str, **options: object) -> PenstockError:
    with pytest.raises(PenstockError) as caught:
        bind(sql, CATALOG, EACH, options)
    assert (caught.value.place is None) == (caught.value.option is not None)
    assert caught.value.fact.endswith(".")
    assert caught.value.remedy
    return caught.value


def declared(text: str) -> CreateLookup:
    (statement,) = parse(text)
    assert isinstance(statement, CreateLookup)
    return statement


def test_both_inputs_stand_in_order_with_their_event_times():
    bound = bounded("SELECT y.id FROM t y, s x [ROWS 9] WHERE x.id = y.id MEMORY 10 ROWS")
    assert [each.name for each in bound.inputs] == ["y", "x"]
    assert [each.window for each in bound.inputs] == [None, WindowLength("rows", 9)]
    assert [each.event_time for each in bound.inputs] == ["naive", "ts"]
    assert [each.lateness_us for each in bound.inputs] == [7_000_000, 7_000_000]
    assert bound.memory == Memory(rows=10, policy="HEEB", laws=(AUTO, AUTO))


@pytest.mark.parametrize(
    "tables",
    ["s x JOIN t y ON x.id = y.id", "s x INNER JOIN t y USING (id)", "s x, t y WHERE x.id = y.id"],
)
def test_all_ways_to_join_give_one_group(tables):
    steps = {signature(bounded(f"SELECT x.id FROM {tables} MEMORY 10 ROWS").step())}
    assert steps == {signature(bounded(f"{JOINED} MEMORY 10 ROWS").step())}


def test_within_is_a_range_window_for_both():
    within = bounded(f"{JOINED} WITHIN 1.5 MINUTES WHERE y.price > 2 MEMORY 10 ROWS")
    brackets = bounded(
        "SELECT x.id FROM s x [RANGE 90 SECONDS] JOIN t y [RANGE 1.5 MINUTES] ON x.id = y.id "
        "WHERE y.price > 2 MEMORY 10 ROWS"
    )
    assert within.inputs[0].window == WindowLength("range", 90_000_000)
    assert within == brackets


def test_a_relation_may_be_joined_with_itself():
    bound = bounded("SELECT x.id FROM s x, s y WHERE x.id = y.small MEMORY 10 ROWS")
    assert bound.relations == ("s",)
    assert bound.crossing.equalities == (((0, "id"), (1, "small")),)


def test_parameters_and_constants_do_not_tell_groups_apart():
    one = bounded(f"{JOINED} WHERE x.price > 5 MEMORY 10 ROWS")
    other = bounded(f"{JOINED} WHERE x.price > :p MEMORY 10 ROWS", EACH)
    assert other.named_parameters == ("p",)
    assert signature(one.step()) == signature(other.step())


@pytest.mark.parametrize(
    ("clauses", "options"),
    [
        ("11 ROWS", {}),
        ("10 ROWS USING PROB", {}),
        ("10 ROWS MODEL x AS STATIONARY", {}),
        ("10 ROWS", {"seed": 3}),
    ],
)
def test_another_budget_is_another_group(clauses, options):
    other = bounded(f"{JOINED} MEMORY {clauses}", **options)
    assert signature(other.step()) != signature(bounded(f"{JOINED} MEMORY 10 ROWS").step())


def test_without_memory_nothing_is_bounded():
    assert isinstance(bind(f"{JOINED} WITHIN 5 SECONDS", CATALOG), StandingJoin)
    windows = "SELECT x.id FROM s x [ROWS 3], t y [ROWS 3] WHERE x.id = y.id"
    assert isinstance(bind(windows, CATALOG), MultiJoin)


@pytest.mark.parametrize(
    "condition",
    [
        "x.flag",
        "NOT y.flag",
        "x.price > 5::DOUBLE",
        "x.price > CAST(y.id AS DOUBLE)",
        "x.cost = 3::DECIMAL(8, 2)",
        "x.naive > TIMESTAMP '2024-01-01'",
        "x.naive::DATE = DATE '2024-01-01'",
        "x.ts > y.ts - INTERVAL 5 SECONDS",
        "x.ts > y.ts - INTERVAL '5' DAY",
        "x.ts AT TIME ZONE 'UTC' > y.naive",
        "x.word LIKE 'a%'",
        "x.word IS NOT NULL",
        "x.word COLLATE nocase = 'a'",
        "x.word[1] = 'memory'",
        "x.info.a = 1",
        "x.id IN (1, 2)",
        "x.id BETWEEN 1 AND 2",
        "x.id = 5",
        "x.id = :n",
        "CASE WHEN x.id > 1 THEN y.flag ELSE x.flag END",
        "x.id IS DISTINCT FROM y.small",
    ],
)
def test_the_clause_begins_where_the_condition_ends(condition):
    tables = "SELECT x.id FROM s x [ROWS 3], t [ROWS 3] y"
    query = f"{tables} WHERE x.id = y.id AND {condition}"
    assert MultiJoin.of(bounded(f"{query} MEMORY 5 ROWS", EACH)) == bind(query, CATALOG, EACH)
    on = f"SELECT x.id FROM s x [ROWS 3] JOIN t [ROWS 3] y ON x.id = y.id AND {condition}"
    assert MultiJoin.of(bounded(f"{on} MEMORY 5 ROWS", EACH)) == bind(on, CATALOG, EACH)


@pytest.mark.parametrize("rows", ["10", "1_0", "10.0", "1e1", "(5 + 5)", "+10"])
def test_budgets_are_constants(rows):
    assert memory(f"{rows} ROWS").rows == 10


@pytest.mark.parametrize(
    ("written", "family", "parameters"),
    [
        ("auto", "auto", {}),
        ("STATIONARY", "stationary", {}),
        ("Linear Trend", "linear trend", {}),
        (
            "LINEAR TREND (slope = -2, intercept = 1.5, noise = 'Uniform', bound = 3)",
            "linear trend",
            {"slope": -2.0, "intercept": 1.5, "noise": "uniform", "bound": 3},
        ),
        ("RANDOM WALK (drift = 0, sigma = 2)", "random walk", {"drift": 0.0, "sigma": 2.0}),
        ("AR(1)", "ar1", {}),
        ("ar1 (PHI1 = -0.5)", "ar1", {"phi1": -0.5}),
        ("AR (1) (phi0 = 1, phi1 = 0.5, sigma = 1)", "ar1", {"phi0": 1, "phi1": 0.5, "sigma": 1}),
        ("HISTOGRAM (buckets = 20)", "histogram", {"buckets": 20}),
        ("OFFLINE (file = 'k.parquet')", "offline", {"file": "k.parquet", "column": "id"}),
        ("OFFLINE (file = 'k', column = 'c')", "offline", {"file": "k", "column": "c"}),
    ],
)
def test_laws(written, family, parameters):
    law = StreamLaw(family=family, parameters=parameters)
    assert memory(f"5 ROWS MODEL Y AS {written}").laws == (AUTO, law)
    assert memory(f"5 ROWS MODEL y AS AUTO, x AS {written}").laws == (law, AUTO)


def test_options():
    chosen = memory("5 ROWS", alpha=3, Refit_Every=100, seed=0, slice=10)
    assert chosen.options == {"alpha": 3.0, "refit_every": 100, "seed": 0, "slice": 10}
    assert memory("5 ROWS", lifetime=7.5).options == {"lifetime": 7.5}


def test_how_many_rows_may_wait_makes_groups():
    text = f"{JOINED} MEMORY 5 ROWS"
    plain, patient = bounded(text), bounded(text, waiting=7)
    assert (plain.waiting, patient.waiting) == (1_000_000, 7)
    assert plain.memory == patient.memory
    assert signature(plain.step()) != signature(patient.step())
    assert signature(plain.step()) == signature(bounded(text, waiting=1_000_000).step())


def test_a_subscription_keeps_the_clause_in_its_text():
    select = f"{JOINED} MEMORY 10 ROWS USING HEEB MODEL x AS AR(1) (phi1 = 0.5), y AS AUTO"
    for rest in (
        "",
        " FOR EACH ROW OF p",
        " ADAPT",
        " OPTIONS (alpha = 1)",
        " WHAT IF (cores = 1)",
    ):
        statement = parse(f"EXPLAIN {select}{rest}; DROP SUBSCRIPTION x")[0]
        assert isinstance(statement, Explain)
        assert not isinstance(statement.of, str)
        assert statement.of.text == select
    subscribed = parse(f"SUBSCRIBE a TO {select} OPTIONS (alpha = 1)")[0]
    assert isinstance(subscribed, Subscribe)
    assert subscribed.select.text == select
    assert subscribed.options == {"alpha": 1}
    bounded(subscribed.select.text)


@pytest.mark.parametrize("word", WORDS)
def test_our_words_are_names_where_nothing_else_is_meant(word):
    other = "other"
    simple = bind(f"SELECT {word} AS {word} FROM memory {word} WHERE {word}.{word} > 5", CATALOG)
    assert simple.outputs[0].name == word
    bound = bounded(
        f"SELECT {word}.{word} {word} FROM memory {word} [ROWS 3], memory {other} "
        f"WHERE {word}.{word} = {other}.{word} MEMORY 10 ROWS MODEL {word} AS STATIONARY"
    )
    assert bound.inputs[0].name == bound.outputs[0].name == word
    assert bound.memory.laws[0].family == "stationary"
    text = f"CREATE TABLE {word} ({word} BIGINT) LOOKUP FROM 'duckdb:x' KEY {word} CACHE 3 ROWS"
    assert (declared(text).name, declared(text).key) == (word, word)
    (plain,) = parse(f"CREATE TABLE {word} FROM {word} OPTIONS ({word} = 1)")
    assert isinstance(plain, CreateRelation)
    assert (plain.name, plain.from_.rest, plain.options) == (word, word, {word: 1})


@pytest.mark.parametrize(
    ("rest", "code", "column"),
    [
        ("MEMORY 0 ROWS", "SQL-110", 53),
        ("MEMORY -5 ROWS", "SQL-110", 54),
        ("MEMORY 0.5 ROWS", "SQL-110", 53),
        ("MEMORY 10000001 ROWS", "SQL-110", 53),
        ("MEMORY 1e400 ROWS", "SQL-110", 53),
        ("MEMORY '5' ROWS", "SQL-110", 53),
        ("MEMORY x.id ROWS", "SQL-110", 53),
        ("MEMORY :n ROWS", "SQL-110", 53),
        ("MEMORY ROWS", "SQL-001", 53),
        ("MEMORY 5", "SQL-001", 54),
        ("MEMORY 5 ROWS USING", "SQL-001", 65),
        ("MEMORY 5 ROWS MODEL x", "SQL-001", 67),
        ("MEMORY 5 ROWS MODEL x AS", "SQL-001", 70),
        ("MEMORY 5 ROWS WHERE x.id = 1", "SQL-001", 46),
        ("MEMORY 5 ROWS WITHIN 5 SECONDS", "SQL-001", 46),
        ("MEMORY 5 ROWS MODEL z AS AUTO", "SQL-115", 66),
        ("MEMORY 5 ROWS MODEL s AS AUTO", "SQL-115", 66),
        ("MEMORY 5 ROWS MODEL x AS AUTO, X AS AUTO", "SQL-006", 77),
        ("MEMORY 5 ROWS MODEL x AS LINEAR", "SQL-116", 66),
        ("MEMORY 5 ROWS MODEL x AS AR(2)", "SQL-116", 66),
        ("MEMORY 5 ROWS MODEL x AS AUTO (slope = 1)", "SQL-117", 77),
        ("MEMORY 5 ROWS MODEL x AS AR1 (phi = 1)", "SQL-117", 76),
        ("MEMORY 5 ROWS MODEL x AS OFFLINE", "SQL-117", 66),
        ("MEMORY 5 ROWS MODEL x AS LINEAR TREND (bound = 1, noise = 'normal')", "SQL-117", 85),
        ("MEMORY 5 ROWS MODEL x AS LINEAR TREND (noise = 'uniform', sigma = 1)", "SQL-117", 104),
        ("MEMORY 5 ROWS MODEL x AS LINEAR TREND (slope = '1')", "SQL-118", 85),
        ("MEMORY 5 ROWS MODEL x AS LINEAR TREND (slope = TRUE)", "SQL-118", 85),
        ("MEMORY 5 ROWS MODEL x AS LINEAR TREND (noise = 'none')", "SQL-118", 85),
        ("MEMORY 5 ROWS MODEL x AS LINEAR TREND (bound = 1.5)", "SQL-118", 85),
        ("MEMORY 5 ROWS MODEL x AS RANDOM WALK (sigma = 0)", "SQL-118", 84),
        ("MEMORY 5 ROWS MODEL x AS AR1 (phi1 = 0)", "SQL-118", 76),
        ("MEMORY 5 ROWS MODEL x AS AR1 (phi1 = -1)", "SQL-118", 76),
        ("MEMORY 5 ROWS MODEL x AS HISTOGRAM (buckets = 0)", "SQL-118", 82),
        ("MEMORY 5 ROWS MODEL x AS OFFLINE (file = '')", "SQL-118", 80),
        ("MEMORY 5 ROWS MODEL x AS LINEAR TREND (slope = y.id)", "SQL-007", 93),
        ("MEMORY 5 ROWS MODEL x AS AR1 (sigma = 1, Sigma = 1)", "SQL-006", 87),
        ("MEMORY 5 ROWS USING BEST", "SQL-120", 66),
        ("MEMORY 5 ROWS USING LIFE", "SQL-120", 66),
        ("MEMORY 5 ROWS USING RAND MODEL x AS AUTO", "SQL-121", 77),
        ("MEMORY 5 ROWS USING HIST MODEL x AS RANDOM WALK (drift = 1)", "SQL-121", 77),
        ("WITHIN :n SECONDS MEMORY 5 ROWS", "SQL-084", 53),
        ("WITHIN 5 PARSECS MEMORY 5 ROWS", "SQL-084", 55),
        ("JOIN s z ON z.id = x.id MEMORY 5 ROWS", "SQL-111", 70),
    ],
)
def test_refused_clauses(rest, code, column):
    error = refusal(f"{JOINED} {rest}")
    assert error.place is not None
    assert (error.code, error.place.column) == (code, column)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT * FROM s", "SQL-111"),
        ("SELECT x.id FROM s x, t y", "SQL-114"),
        ("SELECT x.id FROM s x, t y WHERE x.id <= y.id OR x.id = y.id", "SQL-114"),
        ("SELECT x.id FROM s x, t y WHERE x.id = y.price", "SQL-061"),
        ("SELECT x.id FROM s x, t y WHERE x.info = y.info", "SQL-061"),
        ("SELECT x.id FROM s x JOIN memory y ON x.day = y.ts", "SQL-061"),
        ("SELECT x.id FROM s x JOIN odd y USING (small)", "SQL-061"),
        ("SELECT x.id FROM s x JOIN a y ON x.id = y.id", "SQL-112"),
        ("SELECT x.id FROM a x JOIN b y ON x.id = y.id", "SQL-112"),
        ("SELECT x.id FROM s x JOIN prices y ON x.id = y.id", "SQL-112"),
        ("SELECT x.id FROM timeless x JOIN t y ON x.id = y.id", "SQL-113"),
        ("SELECT x.id FROM t x JOIN whole y ON x.id = y.id", "SQL-113"),
        ("SELECT x.id FROM fine x JOIN t y ON x.id = y.id", "SQL-113"),
        ("SELECT x.id FROM s x [ROWS 3] JOIN t y ON x.id = y.id WITHIN 5 SECONDS", "SQL-081"),
        ("SELECT x.id FROM s x [ROWS 3] [ROWS 4] JOIN t y ON x.id = y.id", "SQL-084"),
        ("SELECT x.id FROM s x LEFT JOIN t y ON x.id = y.id", "SQL-010"),
        ("SELECT x.id FROM s x JOIN t y ON x.id = y.id AND FALSE", "SQL-050"),
    ],
)
def test_refused_queries(query, code):
    assert refusal(f"{query} MEMORY 5 ROWS").code == code


@pytest.mark.parametrize("column", ["id", "small", "cost", "day", "naive", "ts"])
def test_keys_that_laws_count_with(column):
    laws = "MODEL x AS LINEAR TREND, y AS HISTOGRAM"
    bounded(f"SELECT x.id FROM s x JOIN t y USING ({column}) MEMORY 5 ROWS {laws}")
    bounded(f"SELECT x.id FROM s x JOIN t y USING ({column}) MEMORY 5 ROWS USING HIST")


@pytest.mark.parametrize("columns", ["word", "price", "ratio", "flag", "big", "id, small"])
def test_keys_that_no_law_counts_with(columns):
    query = f"SELECT x.id FROM s x JOIN t y USING ({columns}) MEMORY 5 ROWS"
    for laws in ("", "USING PROB", "MODEL x AS STATIONARY, y AS AUTO"):
        bounded(f"{query} {laws}")
    for laws in ("MODEL y AS LINEAR TREND", "MODEL x AS OFFLINE (file = 'f')", "USING HIST"):
        assert refusal(f"{query} {laws}").code == "SQL-119"


def test_keys_of_unlike_scales():
    query = "SELECT x.id FROM s x JOIN t y ON x.cost = y.rate MEMORY 5 ROWS"
    bound = bounded(f"{query} MODEL x AS LINEAR TREND, y AS AUTO")
    assert bound.crossing.equalities == (((0, "cost"), (1, "rate")),)
    assert refusal(f"{query} MODEL x AS LINEAR TREND (slope = 1)").code == "SQL-119"
    alike = query.replace("y.rate", "y.cost")
    assert bounded(f"{alike} MODEL x AS LINEAR TREND (slope = 1)").memory.laws[0].parameters


@pytest.mark.parametrize(
    ("policy", "options", "code"),
    [
        ("HEEB", {"alpa": 1}, "SQL-070"),
        ("HEEB", {"adapt": True}, "SQL-070"),
        ("HEEB", {"timeout": "1 second"}, "SQL-070"),
        ("HEEB", {"alpha": 0}, "SQL-071"),
        ("HEEB", {"alpha": True}, "SQL-071"),
        ("HEEB", {"alpha": "5"}, "SQL-071"),
        ("HEEB", {"lifetime": 1}, "SQL-071"),
        ("HEEB", {"alpha": 2, "lifetime": 3}, "SQL-071"),
        ("HEEB", {"refit_every": 0}, "SQL-071"),
        ("HEEB", {"seed": -1}, "SQL-071"),
        ("HEEB", {"slice": 0.5}, "SQL-071"),
        ("HEEB", {"waiting": 0}, "SQL-071"),
        ("RAND", {"waiting": -5}, "SQL-071"),
        ("HEEB", {"waiting": 1.5}, "SQL-071"),
        ("HEEB", {"waiting": "1000"}, "SQL-071"),
        ("HEEB", {"waiting": 10_000_001}, "SQL-071"),
        ("RAND", {"alpha": 2}, "SQL-071"),
        ("LRU", {"refit_every": 2}, "SQL-071"),
    ],
)
def test_refused_options(policy, options, code):
    assert refusal(f"{JOINED} MEMORY 5 ROWS USING {policy}", **options).code == code


def test_steps_survive_the_registry():
    for sql in (
        f"{JOINED} WITHIN 5 SECONDS MEMORY 10 ROWS MODEL x AS AR(1) (phi1 = 0.5)",
        "SELECT s.id FROM s JOIN prices p ON s.id = p.id AND s.word = p.word WHERE p.price > 5",
    ):
        step = bind(sql, CATALOG).step()
        assert isinstance(step, BoundedJoinStep | LookupJoinStep)
        assert type(step).from_json(json.loads(json.dumps(step.to_json()))) == step
