"""Options of joins, and the statements that carry them."""

from __future__ import annotations

import json

import pytest

from penstock.algebra.catalog import LATENESS_US
from penstock.algebra.joins import JoinStep
from penstock.algebra.multi_joins import MultiJoin
from penstock.kinds.binder import bind
from penstock.language.assumptions import (
    assumptions_of,
    check_filter_assumptions,
    check_join_assumptions,
)
from penstock.language.join_options import BUCKETS_MAX, GROUPED, MAINTAINERS, STRATEGIES
from penstock.language.parser import parse
from penstock.language.relations import relation_of
from penstock.language.statements import CreateRelation, Explain, ExplainTuple, Select, Subscribe
from penstock.operators.join import band, window
from penstock.operators.join.partition import maintainer
from penstock.operators.join.select import core as select
from penstock.vocabulary.errors import PenstockError
from tests.support.joined import CATALOG, KEYED, WINDOW, join, refusal


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"modus": "full"}, "SQL-070"),
        ({"mode": "half"}, "SQL-071"),
        ({"mode": 1}, "SQL-071"),
        ({"strategy": "merge"}, "SQL-071"),
        ({"scattered": "hot"}, "SQL-071"),
        ({"maintainer": "eager"}, "SQL-071"),
        ({"alpha": 0}, "SQL-071"),
        ({"alpha": 1.1}, "SQL-071"),
        ({"alpha": True}, "SQL-071"),
        ({"epsilon": "1"}, "SQL-071"),
        ({"epsilon": float("nan")}, "SQL-071"),
        ({"buckets": 0}, "SQL-071"),
        ({"buckets": 1.5}, "SQL-071"),
        ({"buckets": BUCKETS_MAX + 1}, "SQL-071"),
        ({"inclusive": True}, "SQL-071"),
    ],
    ids=str,
)
def test_options_are_checked(options, code):
    assert refusal(f"SELECT x.id {KEYED}", **options).code == code


def test_inclusive_is_true_or_false():
    error = refusal(f"SELECT x.id FROM s x {WINDOW} WITHIN 1 DAY", inclusive=1)
    assert error.code == "SQL-071"


def test_scattered_is_not_for_window_joins():
    error = refusal(f"SELECT x.id FROM s x {WINDOW} WITHIN 1 DAY", scattered="join")
    assert error.code == "SQL-071"


def test_filters_have_few_options():
    assert refusal("SELECT id FROM a", mode="full").code == "SQL-070"
    # `a` is a table: it has no event time.
    assert refusal("SELECT id FROM a", shedding="subset").code == "SQL-072"


def test_options_are_kept():
    bound = join(
        f"SELECT x.id {KEYED}",
        mode="IDENTIFY",
        strategy="hot",
        alpha=1,
        epsilon=0.5,
        maintainer="refined",
        scattered="selection",
        buckets=10,
    )
    assert (bound.mode, bound.strategy) == ("identify", "hot")
    assert bound.tuning == {
        "alpha": 1.0,
        "epsilon": 0.5,
        "maintainer": "refined",
        "scattered": "selection",
        "buckets": 10,
    }


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        (f"SELECT x.id {KEYED}", "select_join"),
        ("SELECT x.id FROM a x JOIN b y ON x.id < y.id", "band_join"),
        (f"SELECT x.id FROM s x {WINDOW} WITHIN 1 DAY", "window_join"),
    ],
)
def test_every_kind_has_its_strategies(sql, kind):
    for strategy in STRATEGIES[kind]:
        step = join(sql, strategy=strategy).step()
        assert isinstance(step, JoinStep)
        assert (step.kind, step.strategy) == (kind, strategy)


def test_statements_carry_options():
    script = "SUBSCRIBE n TO SELECT * FROM a, b OPTIONS (Mode = 'identify', alpha = 0.5);"
    (subscribe,) = parse(script)
    assert isinstance(subscribe, Subscribe)
    assert subscribe.options == {"mode": "identify", "alpha": 0.5}
    assert subscribe.select.text == "SELECT * FROM a, b"
    (explain,) = parse("EXPLAIN TUPLE OF a (id = 1, word = 'x', flag = TRUE, day = NULL) FOR n")
    assert isinstance(explain, ExplainTuple)
    assert (explain.relation, explain.subscription) == ("a", "n")
    assert explain.values == {"id": 1, "word": "x", "flag": True, "day": None}


def test_clauses_are_no_aliases_and_words_are():
    bound = join("SELECT options.id FROM a within JOIN b options ON within.id = options.id")
    assert bound.keys == (("id", "id"),)
    (select,) = parse("SELECT * FROM s, t WITHIN 5 SECONDS WHERE s.id = t.id")
    assert isinstance(select, Select)
    assert join(select.text).window is not None


@pytest.mark.parametrize(
    ("option", "lateness_us"), [("", LATENESS_US), (", lateness = '10 seconds'", 10_000_000)]
)
def test_streams_may_be_late(option, lateness_us):
    text = f"CREATE STREAM q (at TIMESTAMP) FROM 'x' OPTIONS (event_time = 'at'{option})"
    (statement,) = parse(text)
    assert isinstance(statement, CreateRelation)
    assert relation_of(statement).lateness_us == lateness_us


def test_lateness_is_a_duration():
    (statement,) = parse("CREATE STREAM q (at TIMESTAMP) FROM 'x' OPTIONS (lateness = 'soon')")
    assert isinstance(statement, CreateRelation)
    with pytest.raises(PenstockError) as caught:
        relation_of(statement)
    assert caught.value.code == "CAT-006"
    assert caught.value.place == statement.source.place


def test_the_operators_know_every_choice():
    assert {kind: set(names) for kind, names in STRATEGIES.items()} == {
        "select_join": {*select.STRATEGIES, "dynamic"},
        "band_join": set(band.STRATEGIES),
        "window_join": set(window.STRATEGIES),
    }
    for name in MAINTAINERS:
        assert len(maintainer(name, 1.0).live()) == 0
    for name in STRATEGIES["select_join"]:
        assert (name in select.TRADITIONAL) == (name not in GROUPED)


MULTI = "SELECT x.id FROM s x [ROWS 1], t y [ROWS 1], a WHERE x.id = y.id AND y.word = a.word"


def planned(**options: object) -> MultiJoin:
    bound = bind(MULTI, CATALOG, None, options)
    assert isinstance(bound, MultiJoin)
    return bound


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"objective": "MEMORY"}, {"objective": "memory"}),
        ({"shape": "left-deep", "products": False}, {"shape": "left-deep", "products": False}),
        ({"processors": 4.0}, {"processors": 4}),
        ({"headroom": 0}, {"headroom": 0.0}),
        ({"memory": "1 GB"}, {"memory_bytes": 10**9}),
        ({"memory": "1.5 KiB"}, {"memory_bytes": 1536}),
        ({"memory": 500}, {"memory_rows": 500}),
        ({"minimum_X": 1, "weight_a": 0.5}, {"minimum_x": 1.0, "weight_a": 0.5}),
        ({"shedding": "off", "strategy": "exact"}, {"shedding": "off", "strategy": "exact"}),
        ({"adapt": True, "strict": True}, {"adapt": True, "strict": True}),
    ],
    ids=str,
)
def test_planner_options_are_kept(options, kept):
    assert planned(**options).options == kept
    assert json.loads(json.dumps(kept)) == kept


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"objektive": "cpu"}, "SQL-070"),
        ({"mode": "full"}, "SQL-070"),
        ({"minimum_z": 0.5}, "SQL-070"),
        ({"weight_": 0.5}, "SQL-070"),
        ({"objective": "rows"}, "SQL-071"),
        ({"objective": 1}, "SQL-071"),
        ({"products": 1}, "SQL-071"),
        ({"adapt": "yes"}, "SQL-071"),
        ({"processors": 0}, "SQL-071"),
        ({"processors": 1.5}, "SQL-071"),
        ({"processors": "4"}, "SQL-071"),
        ({"headroom": 1}, "SQL-071"),
        ({"headroom": -0.1}, "SQL-071"),
        ({"headroom": float("nan")}, "SQL-071"),
        ({"memory": "much"}, "SQL-071"),
        ({"memory": 0}, "SQL-071"),
        ({"memory": "0 GB"}, "SQL-071"),
        ({"memory": "-1 GB"}, "SQL-071"),
        ({"memory": True}, "SQL-071"),
        ({"minimum_x": 1.5}, "SQL-071"),
        ({"weight_x": 0}, "SQL-071"),
        ({"order": 5}, "SQL-071"),
        ({"order": ""}, "SQL-071"),
        ({"order": "(x y"}, "SQL-071"),
        ({"order": "x y) a"}, "SQL-071"),
        ({"order": "x y a"}, "SQL-071"),
        ({"order": "(x y)"}, "SQL-071"),
        ({"order": "(x y) x"}, "SQL-071"),
        ({"order": "(x y) z"}, "SQL-071"),
        ({"order": "((x ()) y) a"}, "SQL-071"),
    ],
    ids=str,
)
def test_planner_options_are_checked(options, code):
    assert refusal(MULTI, **options).code == code


@pytest.mark.parametrize(
    ("order", "tree"),
    [
        ("((x y) a)", [[0, 1, "hash", "hash"], 2, "hash", "hash"]),
        ("(x ⋈ y) ⋈ a", [[0, 1, "hash", "hash"], 2, "hash", "hash"]),
        ("a (X, y)", [2, [0, 1, "hash", "hash"], "hash", "hash"]),
        ('(("x" a)) "y"', [[0, 2, "loop", "loop"], 1, "hash", "hash"]),
    ],
)
def test_orders_are_trees(order, tree):
    assert planned(order=order).options == {"order": tree}


def test_adapt_and_what_if_are_clauses_and_words():
    (subscribe,) = parse("SUBSCRIBE n TO SELECT * FROM s [ROWS 1], a ADAPT")
    assert isinstance(subscribe, Subscribe)
    assert subscribe.options == {"adapt": True}
    assert subscribe.select.text == "SELECT * FROM s [ROWS 1], a"
    text = "SELECT adapt.id FROM s adapt [ROWS 1], a what WHERE adapt.id = what.id"
    (explain,) = parse(f"EXPLAIN {text} WHAT IF (cores = 2)")
    assert isinstance(explain, Explain)
    assert isinstance(explain.of, Select) and explain.of.text == text
    bound = bind(explain.of, CATALOG)
    assert isinstance(bound, MultiJoin)
    assert [each.name for each in bound.inputs] == ["adapt", "what"]


def test_python_states_what_scripts_state():
    (explain,) = parse(
        "EXPLAIN SUBSCRIPTION n WHAT IF (rate(c) = 500/s, window(b) = 5 SECONDS, window(a) = 100, "
        "cores = 4, memory = '1 GB', selectivity(a, b) = 0.5, cost = 0.5 MILLISECONDS, rows(t) = 9)"
    )
    assert isinstance(explain, Explain)
    assert explain.what_if == assumptions_of(
        {
            "rate(c)": "500/s",
            "window(b)": "5 s",
            "Window( a )": 100,
            "cores": 4,
            "memory": "1 GB",
            'selectivity("a", b)': 0.5,
            "cost": "500 us",
            "rows(t)": 9,
        }
    )
    assert explain.what_if[0].place is not None


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"speed": 5}, "SQL-090"),
        ({"": 5}, "SQL-090"),
        ({"rate()": 5}, "SQL-090"),
        ({"rate(a, b)": 5}, "SQL-090"),
        ({"cores(a)": 5}, "SQL-090"),
        ({"selectivity(a, a)": 0.5}, "SQL-090"),
        ({"rate(a)": 0}, "SQL-092"),
        ({"rate(a)": "1__0/s"}, "SQL-092"),
        ({"rate(a)": float("inf")}, "SQL-092"),
        ({"rate(a)": True}, "SQL-092"),
        ({"window(a)": 1.5}, "SQL-092"),
        ({"window(a)": "-1 s"}, "SQL-092"),
        ({"selectivity(a)": -0.1}, "SQL-092"),
        ({"selectivity(a)": 1.1}, "SQL-092"),
        ({"rows(a)": -1}, "SQL-092"),
        ({"cores": 0}, "SQL-092"),
        ({"headroom": 1}, "SQL-092"),
        ({"memory": "1 parsec"}, "SQL-092"),
        ({"cost": 5}, "SQL-092"),
        ({"cost": "0 ms"}, "SQL-092"),
        ({"rate(a)": 5, "RATE(A)": 6}, "SQL-006"),
    ],
    ids=str,
)
def test_assumptions_are_checked(values, code):
    with pytest.raises(PenstockError) as caught:
        assumptions_of(values)
    assert caught.value.code == code
    assert caught.value.remedy


@pytest.mark.parametrize(
    "values", [{"rate(z)": 5}, {"rate(a)": 5}, {"window(a)": 5}, {"rows(x)": 5}], ids=str
)
def test_assumptions_are_about_inputs(values):
    check_join_assumptions(
        assumptions_of({"rate(X)": 5, "rows(a)": 5, "selectivity(x, a)": 0, "window(y)": 1}),
        planned(),
    )
    with pytest.raises(PenstockError) as caught:
        check_join_assumptions(assumptions_of(values), planned())
    assert caught.value.code == "SQL-091"


def test_assumptions_are_for_filters_too():
    check_filter_assumptions((), bind("SELECT id FROM a", CATALOG))
    check_filter_assumptions(assumptions_of({"cores": 1}), bind("SELECT id FROM a", CATALOG))


def test_a_snapshot_is_of_tables_alone():
    error = refusal(f"SELECT x.id FROM s x {WINDOW} WITHIN 1 DAY", snapshot=True)
    assert error.code == "SQL-073"
    assert error.option == "snapshot"
