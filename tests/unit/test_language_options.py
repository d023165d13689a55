"""Options of joins, and the statements that carry them."""

from __future__ import annotations

import pytest

from penstock.algebra.catalog import LATENESS_US
from penstock.algebra.joins import JoinStep
from penstock.language.parsing import parse
from penstock.language.relations import relation_of
from penstock.language.statements import CreateRelation, ExplainTuple, Select, Subscribe
from penstock.language.tuning import BUCKETS_MAX, GROUPED, MAINTAINERS, STRATEGIES
from penstock.operators.join import band, window
from penstock.operators.join.partition import maintainer
from penstock.operators.join.select import core as select
from penstock.planning.steps import plan
from penstock.vocabulary.errors import PenstockError
from tests.support.joined import KEYED, WINDOW, join, refusal


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


def test_filters_have_no_options():
    assert refusal("SELECT id FROM a", mode="full").code == "SQL-072"


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
        step = plan(join(sql, strategy=strategy))
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
