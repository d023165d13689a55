"""The table of kinds: complete, in order, and nobody is taken for somebody else."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.algebra.catalog import ATTENDANTS, RELATION_KINDS, Relation
from penstock.kinds.binder import bind
from penstock.kinds.table import KINDS, kind_of
from penstock.operators.catalogue import OPERATORS
from penstock.vocabulary.errors import PenstockError

SCHEMA = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
CATALOG = {
    name: Relation(name=name, kind="stream", schema=SCHEMA, event_time="ts") for name in "ab"
}


def attendants() -> set[str]:
    """Name the operators that serve relations, not queries."""
    schema = SCHEMA.append(pa.field("op", pa.string()))
    relations = [
        Relation(name="t", kind=word, schema=schema, event_time="ts", change_column="op")
        for word in RELATION_KINDS
    ]
    return {step.kind for each in relations if (step := each.attendant()) is not None}


def test_every_operator_is_of_one_kind_or_attends_to_relations():
    every = [(own, kind) for kind in KINDS.values() for own in (*kind.operators, *kind.feeders)]
    named = [operator for operator, _ in every]
    assert attendants() == ATTENDANTS.keys()
    assert sorted(named) == sorted(OPERATORS.keys() - ATTENDANTS.keys())
    assert len(set(named)) == len(named)
    for operator, kind in every:
        assert kind_of({"kind": operator}) is kind


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT * FROM a WHERE k > 1", "filter"),
        ("SELECT a.k FROM a JOIN b ON a.k = b.k WITHIN 5 SECONDS", "join"),
        ("SELECT a.k FROM a [ROWS 3], b [ROWS 3] WHERE a.k = b.k", "multi_join"),
        ("SELECT a.k FROM a JOIN b ON a.k = b.k MEMORY 10 ROWS", "bounded_join"),
    ],
)
def test_a_query_is_bound_by_the_first_that_claims_it(sql: str, kind: str):
    step = bind(sql, CATALOG).step()
    assert kind_of(step) is KINDS[kind]
    assert kind_of(step.to_json()) is KINDS[kind]


def test_what_nobody_claims_is_refused():
    with pytest.raises(PenstockError, match="SQL-016"):
        bind("SELECT a.k FROM a JOIN b ON a.k = b.k", CATALOG, kinds=[KINDS["filter"]])


def test_what_nobody_runs_is_refused():
    with pytest.raises(PenstockError, match="ENG-050"):
        kind_of({"kind": "seance"})


def test_a_relation_of_no_kind_is_refused():
    with pytest.raises(PenstockError, match="CAT-015"):
        Relation(name="v", kind="séance", schema=SCHEMA)
