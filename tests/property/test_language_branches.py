"""The branches of a predicate mean what DuckDB says of the user's own words.

The evaluator here is slow and shares no code with the language room: ranges and equalities in
Python, residuals by putting literals in place of `c0` and `r0` and asking DuckDB.
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.algebra.catalog import Relation
from penstock.algebra.logical import StandingFilter
from penstock.algebra.predicates import Branch
from penstock.language.binding import bind
from penstock.vocabulary.errors import PenstockError

SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("d", pa.float64()),
        ("f", pa.float32()),
        ("m", pa.decimal128(8, 2)),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("t", pa.timestamp("us", "UTC")),
        ("n", pa.timestamp("us")),
        ("y", pa.date32()),
    ]
)
DUCK = dict(
    zip(
        SCHEMA.names,
        "INTEGER DOUBLE FLOAT DECIMAL(8,2) VARCHAR BOOLEAN TIMESTAMPTZ TIMESTAMP DATE".split(),
        strict=True,
    )
)
EACH = pa.schema([("pi", pa.int64()), ("pd", pa.float64()), ("ps", pa.string())])
CATALOG = {"r": Relation(name="r", kind="stream", schema=SCHEMA)}
DAYS = ["2024-01-01", "2024-01-02", "2024-02-29"]
TIMES = [f"{day}{rest}" for day in DAYS for rest in ("", " 10:00", " 10:00:00.5")]

WHOLE = st.integers(-3, 3)
numbers = st.one_of(
    WHOLE.map(str),
    st.sampled_from(["1.5", "-0.25", "1.1", "2.005", "1e0", "2.0", "1+1", "-(2)", "NULL", "16777217"]),
)
strings = st.sampled_from(["'a'", "'ab'", "''", "'it''s'", "'B'", "NULL"])
times = st.sampled_from(
    [f"'{t}'" for t in TIMES]
    + [f"TIMESTAMP '{t}'" for t in TIMES[:4]]
    + ["DATE '2024-01-02'", "DATE '2024-01-01' + INTERVAL 1 DAY"]
)
OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "!="])


def _compared(columns: list[str], constants: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    column = st.sampled_from(columns)
    return st.one_of(
        st.builds("{} {} {}".format, column, OPERATORS, constants),
        st.builds("{} {} {}".format, constants, OPERATORS, column),
        st.builds("{} BETWEEN {} AND {}".format, column, constants, constants),
        st.builds("{} NOT BETWEEN {} AND {}".format, column, constants, constants),
        st.builds("{} BETWEEN {} AND {}".format, constants, column, column),
        st.builds("{} IN ({}, {})".format, column, constants, constants),
        st.builds("{} NOT IN ({}, {})".format, column, constants, constants),
    )


atoms = st.one_of(
    _compared(["i", "d", "f", "m", "i + 1", "d * 2", "abs(i)", "r.i"], numbers),
    _compared(["i", "d"], st.sampled_from([":pi", ":pd", ":pi + 1"])),
    _compared(["s", "lower(s)"], st.one_of(strings, st.just(":ps"))),
    _compared(["t", "n", "y"], times),
    st.sampled_from(
        [
            "b",
            "b IS TRUE",
            "b = FALSE",
            "s LIKE 'a%'",
            "s NOT LIKE '%b'",
            "s ILIKE 'AB'",
            "i IS NULL",
            "d IS NOT NULL",
            "i > d",
            "i % 2 = 1",
            "s IS DISTINCT FROM 'a'",
            "TRUE",
            "FALSE",
            "1 = 1",
            "NULL",
            ":pi IS NULL",
            "CASE WHEN i > 1 THEN d > 0 ELSE s = 'a' END",
            "date_trunc('day', n) = '2024-01-01'",
            "length(s) > 1",
            "coalesce(i, 0) = 0",
        ]
    ),
)
predicates = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=7,
)

moments = st.sampled_from(
    [datetime.datetime.fromisoformat(time) for time in TIMES]
)
rows = st.fixed_dictionaries(
    {
        "i": st.one_of(st.none(), WHOLE),
        "d": st.one_of(st.none(), st.sampled_from([-0.25, 0.0, 1.0, 1.1, 1.5, 2.0, 2.005])),
        "f": st.one_of(st.none(), st.sampled_from([-0.25, 1.0, 1.100000023841858, 16777216.0])),
        "m": st.one_of(st.none(), st.sampled_from(["-0.25", "1.10", "2.00", "2.01"]).map(Decimal)),
        "s": st.one_of(st.none(), st.sampled_from(["a", "ab", "", "it's", "B", "A"])),
        "b": st.one_of(st.none(), st.booleans()),
        "t": st.one_of(st.none(), moments.map(lambda m: m.replace(tzinfo=datetime.UTC))),
        "n": st.one_of(st.none(), moments),
        "y": st.one_of(st.none(), moments.map(lambda m: m.date())),
    }
)
values = st.fixed_dictionaries(
    {
        "pi": st.one_of(st.none(), WHOLE),
        "pd": st.one_of(st.none(), WHOLE.map(float)),
        "ps": st.one_of(st.none(), st.sampled_from(["a", "ab"])),
    }
)

CONNECTION = duckdb.connect(":memory:")
CONNECTION.execute("SET TimeZone = 'UTC'")


def literal(value: Any, type_: str) -> str:
    """Write a value as a DuckDB literal of a type."""
    if value is None:
        return f"CAST(NULL AS {type_})"
    text = str(value).replace("'", "''")
    return f"CAST('{text}' AS {type_})"


DUCK_OF_ARROW = {
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.float32(): "FLOAT",
    pa.string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("us", "UTC"): "TIMESTAMPTZ",
    pa.decimal128(8, 2): "DECIMAL(8,2)",
}


def branch_matches(branch: Branch, plan: StandingFilter, row: dict, bound: dict) -> bool:
    for term in branch.equalities:
        value = row[term.column]
        wanted = [bound[name] for name in term.parameters if bound[name] is not None]
        if value is None or value not in wanted:
            return False
    for term in branch.ranges:
        value = row[term.column]
        ends = [bound[end.parameter] for end in term.lows + term.highs]
        if value is None or None in ends:
            return False
        if not all(
            value > bound[e.parameter] or (e.closed and value == bound[e.parameter])
            for e in term.lows
        ):
            return False
        if not all(
            value < bound[e.parameter] or (e.closed and value == bound[e.parameter])
            for e in term.highs
        ):
            return False
    if branch.residual is None:
        return True
    names = {f"c{i}": literal(row[c], DUCK[c]) for i, c in enumerate(branch.residual.columns)}
    for i, name in enumerate(branch.residual.parameters):
        names[f"r{i}"] = literal(bound[name], DUCK_OF_ARROW[plan.parameters[name]])
    columns = ", ".join(f"{sql} AS {name}" for name, sql in names.items()) or "0 AS nothing"
    query = f"SELECT {branch.residual.sql} FROM (SELECT {columns})"
    return CONNECTION.execute(query).fetchone()[0] is True


def truth(plan: StandingFilter, row: dict, parameters: dict) -> bool:
    event = ", ".join(f'{literal(v, DUCK[k])} AS "{k}"' for k, v in row.items())
    # Named parameters take the type that the plan gives them.
    each = ", ".join(
        f'{literal(v, DUCK_OF_ARROW[plan.parameters.get(k, EACH.field(k).type)])} AS "{k}"'
        for k, v in parameters.items()
    )
    query = f"SELECT ({plan.where_sql}) FROM (SELECT {event}) e, (SELECT {each}) p"
    return CONNECTION.execute(query).fetchone()[0] is True


@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(predicates, st.lists(rows, min_size=1, max_size=5), values)
def test_branches_match_the_rows_that_duckdb_says(predicate, events, parameters):
    try:
        plan = bind(f"SELECT * FROM r WHERE {predicate}", CATALOG, EACH)
    except PenstockError as error:
        # Generated predicates are well typed: all they can be is hopeless.
        assert error.code == "SQL-050", str(error)
        return
    bound = {**parameters, **plan.constants}
    for name, type_ in plan.parameters.items():
        if bound[name] is not None and pa.types.is_integer(type_):
            bound[name] = int(bound[name])
    for event in events:
        found = any(branch_matches(branch, plan, event, bound) for branch in plan.branches)
        assert found == truth(plan, event, parameters), (plan, event, bound)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(predicates)
def test_terms_are_well_formed(predicate):
    try:
        plan = bind(f"SELECT * FROM r WHERE {predicate}", CATALOG, EACH)
    except PenstockError as error:
        assert error.code == "SQL-050", str(error)
        return
    assert 1 <= len(plan.branches) <= 16
    for branch in plan.branches:
        for term in branch.equalities:
            types = {plan.parameters[name] for name in term.parameters}
            assert types == {SCHEMA.field(term.column).type}
        for term in branch.ranges:
            types = {plan.parameters[end.parameter] for end in term.lows + term.highs}
            assert types == {SCHEMA.field(term.column).type}
        if branch.residual:
            used = set(re.findall(r"\b[cr]\d+\b", branch.residual.sql))
            columns = {f"c{i}" for i in range(len(branch.residual.columns))}
            assert used == columns | {f"r{i}" for i in range(len(branch.residual.parameters))}
    for name, value in plan.constants.items():
        assert pa.scalar(value, plan.parameters[name]).as_py() == value
