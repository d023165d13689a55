"""The branches of a predicate mean what DuckDB says of the user's own words.

The evaluator here is slow and shares no code with the language room: ranges and equalities in
Python, row by row; residuals by asking DuckDB with columns `c0` and parameters `r0`.
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from penstock.algebra.catalog import Relation
from penstock.algebra.logical import StandingFilter
from penstock.algebra.predicates import Branch
from penstock.kinds.binder import bind
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
EACH = pa.schema([("pi", pa.int64()), ("pd", pa.float64()), ("ps", pa.string())])
CATALOG = {"r": Relation(name="r", kind="stream", schema=SCHEMA)}
DAYS = ["2024-01-01", "2024-01-02", "2024-02-29"]
TIMES = [f"{day}{rest}" for day in DAYS for rest in ("", " 10:00", " 10:00:00.5")]

WHOLE = st.integers(-3, 3)
LONG_TIMES = [time if " " in time else f"{time} 00:00" for time in TIMES]
numbers = st.one_of(
    WHOLE.map(str),
    st.sampled_from(
        ["1.5", "-0.25", "1.1", "2.005", "1e0", "2.0", "1+1", "-(2)", "NULL", "16777217"]
    ),
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
            "CASE :pi WHEN 1 THEN b ELSE (:pd > d) END",
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

VALUES: dict[str, list[Any]] = {
    "i": [-2, -1, 0, 1, 2, None, 3],
    "d": [-0.25, 0.0, 1.0, None, 1.1, 1.5, 2.0, 2.005, -1.0, 3.0, -2.0],
    "f": [1.0, 1.100000023841858, 16777216.0, None, -0.25, 1.2999999523162842, 2.0, -1.0],
    "m": [None, Decimal("-0.25"), Decimal("1.10"), Decimal("2.00"), Decimal("1.00")],
    "s": ["a", "ab", "", "it's", None, "B", "A", "b", "abc"],
    "b": [True, None, False],
    "t": [datetime.datetime.fromisoformat(f"{time}+00:00") for time in LONG_TIMES] + [None],
    "n": [None] + [datetime.datetime.fromisoformat(time) for time in LONG_TIMES],
    "y": [datetime.date.fromisoformat(day) for day in DAYS] + [None],
}
# The lengths of the lists share few divisors, so that the rows pair most values with most.
ROWS = [{name: values[i % len(values)] for name, values in VALUES.items()} for i in range(120)]
EVENTS = pa.Table.from_pylist(
    [{"row": i, **row} for i, row in enumerate(ROWS)],
    schema=pa.schema([("row", pa.int64()), *SCHEMA]),
)

parameter_values = st.fixed_dictionaries(
    {
        "pi": st.one_of(st.none(), WHOLE),
        "pd": st.one_of(st.none(), WHOLE.map(float)),
        "ps": st.one_of(st.none(), st.sampled_from(["a", "ab"])),
    }
)

CONNECTION = duckdb.connect(":memory:")
CONNECTION.execute("SET TimeZone = 'UTC'")
CONNECTION.execute("CREATE TABLE events AS SELECT * FROM EVENTS")


def rows_where(condition: str, columns: str, parameters: pa.Table) -> set[int]:
    """Ask DuckDB for the rows for which a condition is true."""
    condition = condition.replace('.".', '."')  # no name of ours stands beside these
    CONNECTION.register("parameters", parameters)
    query = f"SELECT row FROM (SELECT {columns} FROM events) e, parameters p WHERE {condition}"
    return {row for (row,) in CONNECTION.execute(query).fetchall()}


def one_row(values: dict[str, tuple[Any, pa.DataType]]) -> pa.Table:
    arrays = {name: pa.array([value], type=type_) for name, (value, type_) in values.items()}
    return pa.table(arrays or {"nothing": pa.array([0])})


def within(value: Any, end: Any, closed: bool, side: int) -> bool:
    """Say whether a value lies above (side 1) or below (side -1) an end."""
    return ((value > end) - (value < end)) * side > 0 or (closed and value == end)


def branch_matches(branch: Branch, plan: StandingFilter, bound: dict[str, Any]) -> set[int]:
    """Find the rows that match a branch, slowly."""
    found = set()
    for i, row in enumerate(ROWS):
        equal = all(
            row[term.column] is not None
            and any(bound[name] == row[term.column] for name in term.parameters)
            for term in branch.equalities
        )
        ranged = all(
            row[term.column] is not None
            and bound[end.parameter] is not None
            and within(row[term.column], bound[end.parameter], end.closed, side)
            for term in branch.ranges
            for side, ends in ((1, term.lows), (-1, term.highs))
            for end in ends
        )
        if equal and ranged:
            found.add(i)
    rest = branch.residual
    if rest is None:
        return found
    columns = [f'"{column}" AS c{i}' for i, column in enumerate(rest.columns)]
    values = {f"r{i}": (bound[n], plan.parameters[n]) for i, n in enumerate(rest.parameters)}
    return found & rows_where(rest.sql, ", ".join(["row", *columns]), one_row(values))


def check(predicate: str, parameters: dict[str, Any]) -> None:
    try:
        plan = bind(f"SELECT * FROM r WHERE {predicate}", CATALOG, EACH)
    except PenstockError as error:
        # Generated predicates are well typed: all they can be is hopeless.
        assert error.code == "SQL-050", str(error)
        return
    assert isinstance(plan, StandingFilter)
    types = {name: plan.parameters.get(name, EACH.field(name).type) for name in parameters}
    each = {
        name: pa.scalar(value, EACH.field(name).type).cast(types[name]).as_py()
        for name, value in parameters.items()
    }
    bound = {**each, **plan.constants}
    found = set().union(*(branch_matches(branch, plan, bound) for branch in plan.branches))
    truth = rows_where(plan.where_sql, "*", one_row({n: (each[n], types[n]) for n in each}))
    assert found == truth, plan


FEW = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@FEW
@given(predicates, parameter_values)
@example("(i <> :pi AND ((:pi = i AND i = :pi) OR i = 0))", {"pi": None, "pd": None, "ps": None})
@example("i = 0 AND '2024-02-29 10:00' BETWEEN n AND y", {"pi": None, "pd": None, "ps": None})
@example(
    "y BETWEEN '2024-01-01 10:00' AND TIMESTAMP '2024-01-01'", {"pi": None, "pd": 0.0, "ps": ""}
)
def test_branches_match_the_rows_that_duckdb_says(predicate, parameters):
    check(predicate, parameters)


@FEW
@given(atoms, st.booleans(), parameter_values)
def test_single_comparisons_and_their_negations_match(atom, negated, parameters):
    check(f"NOT ({atom})" if negated else atom, parameters)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(predicates)
def test_terms_are_well_formed(predicate):
    try:
        plan = bind(f"SELECT * FROM r WHERE {predicate}", CATALOG, EACH)
    except PenstockError as error:
        assert error.code == "SQL-050", str(error)
        return
    assert isinstance(plan, StandingFilter)
    assert 1 <= len(plan.branches) <= 16
    for branch in plan.branches:
        for term in branch.equalities:
            types = {plan.parameters[name] for name in term.parameters}
            assert types == {SCHEMA.field(term.column).type}
        for range_ in branch.ranges:
            types = {plan.parameters[end.parameter] for end in range_.lows + range_.highs}
            assert types == {SCHEMA.field(range_.column).type}
        if branch.residual:
            used = set(re.findall(r"\b[cr]\d+\b", branch.residual.sql))
            columns = {f"c{i}" for i in range(len(branch.residual.columns))}
            assert used == columns | {f"r{i}" for i in range(len(branch.residual.parameters))}
    for name, value in plan.constants.items():
        assert pa.scalar(value, plan.parameters[name]).as_py() == value
