"""The parts of a join mean what DuckDB says of the user's own words.

The evaluator here is slow and shares no code with the language room: keys, ranges, bands and
windows in Python, pair by pair; residuals by asking DuckDB.
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from penstock.algebra.catalog import Relation
from penstock.algebra.inputs import JoinInput
from penstock.algebra.joins import StandingJoin
from penstock.algebra.predicates import Bound, Residual
from penstock.kinds.binder import bind
from penstock.vocabulary.errors import PenstockError

SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("u", pa.uint8()),
        ("d", pa.float64()),
        ("f", pa.float32()),
        ("m", pa.decimal128(8, 2)),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("y", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
    ]
)
EACH = pa.schema(
    [
        ("pi", pa.int64()),
        ("pd", pa.float64()),
        ("ps", pa.string()),
        ("days", pa.int64()),
        ("w", pa.int64()),
    ]
)
CATALOG = {
    name: Relation(
        name=name,
        kind="table" if table else "stream",
        schema=SCHEMA.append(pa.field("op", pa.string())) if table else SCHEMA,
        event_time=None if table else "t",
        change_column="op" if table else None,
    )
    for name, table in (("a", True), ("b", True), ("q", False), ("z", False))
}
INFINITY = float("inf")
DAY = datetime.date(2024, 1, 1)
NOON = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
VALUES: dict[str, list[Any]] = {
    "i": [-2, 0, 1, None, 3, 2**31 - 1, -(2**31), 2],
    "u": [0, 255, None, 3, 1],
    "d": [0.0, 1.5, None, INFINITY, -1.0, 1.1, -INFINITY, 2.0, 0.1, 0.30000000000000004],
    "f": [1.0, 1.100000023841858, None, 16777216.0, -0.25, INFINITY, 2.0],
    "m": [None, Decimal("-0.25"), Decimal("1.10"), Decimal("2.00")],
    "s": ["a", "ab", "", None, "B", "b", "a"],
    "b": [True, None, False],
    "y": [DAY, DAY + datetime.timedelta(3), None, DAY + datetime.timedelta(1)],
    "t": [NOON + datetime.timedelta(milliseconds=n) for n in (0, 999, 1000, 1001, 5000)] + [None],
}


def rows_of(count: int, start: int) -> list[dict[str, Any]]:
    # The lengths of the lists share few divisors, so that the rows pair most values with most.
    return [
        {name: values[(start + i) % len(values)] for name, values in VALUES.items()}
        for i in range(count)
    ]


LEFT, RIGHT = rows_of(29, 0), rows_of(31, 11)
CONNECTION = duckdb.connect(":memory:")
CONNECTION.execute("SET TimeZone = 'UTC'")
for table, given_rows in (("left_rows", LEFT), ("right_rows", RIGHT)):
    data = pa.Table.from_pylist(
        [{"row": i, **row} for i, row in enumerate(given_rows)],
        schema=pa.schema([("row", pa.int64()), *SCHEMA]),
    )
    CONNECTION.execute(f"CREATE TABLE {table} AS SELECT * FROM data")

OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
BOUNDS = st.sampled_from(["<", "<=", ">", ">=", "="])
numbers = st.sampled_from(["0", "1", "-2", "3", "1.5", "0.2", "1.1", "2e0", "255", "NULL"])


@st.composite
def differences(draw: st.DrawFn) -> str:
    """Draw a bound of a difference between the sides, in one of its forms."""
    column = draw(st.sampled_from(["i", "u", "d", "f", "m", "y"]))
    other = draw(st.sampled_from(["u", "i"])) if column in "iu" else column
    one, two = draw(st.permutations([f"x.{column}", f"y.{other}"]))
    parameter = ":days" if column == "y" else ":pd" if column in "df" else ":pi"
    constants = st.sampled_from(["0", "2", "-1", "NULL"]) if column == "y" else numbers
    ends = [draw(st.one_of(constants, st.just(parameter))) for _ in range(2)]
    operator = draw(BOUNDS)
    forms = [
        f"{one} - {two} {operator} {ends[0]}",
        f"{ends[0]} {operator} {one} - {two}",
        f"{one} - {two} BETWEEN {ends[0]} AND {ends[1]}",
        f"abs({one} - {two}) {operator} {ends[0]}",
        f"({one} {operator} {two} + {ends[0]})",
        f"{two} - {ends[0]} {operator} {one}",
        f"{one} {operator} {two}",
        f"{one} BETWEEN {two} - {ends[0]} AND {two} + {ends[1]}",
        f"NOT ({one} - {two} {operator} {ends[0]})",
    ]
    return draw(st.sampled_from(forms))


keys = st.sampled_from(
    [
        "x.s = y.s",
        "y.i = x.i",
        "x.i = y.u",
        "NOT x.d <> y.d",
        "x.f = y.f",
        "x.m = y.m",
        "x.y = y.y",
        "x.b = y.b",
        "x.t = y.t",
        "(x.s = y.s AND x.i = y.i)",
        "x.s = y.s AND y.s = x.s",
    ]
)
local = st.one_of(
    st.builds(
        "{}.{} {} {}".format,
        st.sampled_from("xy"),
        st.sampled_from(["i", "d", "f", "m", "u"]),
        OPERATORS,
        numbers,
    ),
    st.builds(
        "{}.{} {} {}".format,
        st.sampled_from("xy"),
        st.sampled_from(["i", "d"]),
        OPERATORS,
        st.sampled_from([":pi", ":pd"]),
    ),
    st.builds(
        "{}.s {}".format,
        st.sampled_from("xy"),
        st.sampled_from(["= 'a'", "IN ('a', 'b')", "LIKE 'a%'", "= :ps", "<> 'b'", "IS NULL"]),
    ),
    st.sampled_from(
        [
            "x.b",
            "NOT y.b",
            "x.i > x.d",
            "x.i = 1 OR x.i = 2",
            "y.s = 'a' OR y.b",
            "TRUE",
            ":pi > 0",
            "x.y >= '2024-01-02'",
            "y.t < '2024-01-01 12:00:01'",
            "x.i = 1 AND x.i = 2",
        ]
    ),
)
cross = st.one_of(
    differences(),
    st.sampled_from(
        [
            "x.i < y.i",
            "x.s = 'a' OR y.s = 'b'",
            "x.s || y.s = 'aa'",
            "x.b <> y.b",
            "x.d + y.d > 1",
            "x.i - y.u <> 3",
            "x.s IS NOT DISTINCT FROM y.s",
            "(x.b OR NOT y.b)",
            "x.i IN (y.i, 1)",
        ]
    ),
)
further = st.recursive(
    st.one_of(local, local, cross),
    lambda inner: st.one_of(
        st.builds("({} OR {})".format, inner, inner), st.builds("NOT ({})".format, inner)
    ),
    max_leaves=3,
)
parameter_values = st.fixed_dictionaries(
    {
        "pi": st.one_of(st.none(), st.integers(-3, 3)),
        "pd": st.one_of(st.none(), st.sampled_from([0.0, 1.0, -2.0, 3.0])),
        "ps": st.one_of(st.none(), st.sampled_from(["a", "ab"])),
        "days": st.one_of(st.none(), st.integers(-3, 3)),
        "w": st.one_of(st.none(), st.integers(1, 5)),
    }
)

Pairs = set[tuple[int, int]]


def one_row(values: dict[str, tuple[Any, pa.DataType]]) -> pa.Table:
    arrays = {name: pa.array([value], type=type_) for name, (value, type_) in values.items()}
    return pa.table(arrays or {"nothing": pa.array([0])})


def pairs_where(condition: str, parameters: pa.Table) -> Pairs:
    """Ask DuckDB for the pairs of rows for which a condition is true."""
    condition = condition.replace('.".', '."')  # no name of ours stands beside these
    CONNECTION.register("parameters", parameters)
    rows = "left_rows i0, right_rows i1, parameters p"
    query = f"SELECT i0.row, i1.row FROM {rows} WHERE {condition}"
    return set(CONNECTION.execute(query).fetchall())


def residual_pairs(rest: Residual, side: str, values: dict[str, tuple[Any, pa.DataType]]) -> Pairs:
    """Ask DuckDB for the pairs for which a residual is true; `side` is before its columns."""
    names = [side + name for name in rest.columns]
    columns = [f'{name[:2]}."{name[3:]}" AS c{i}' for i, name in enumerate(names)]
    selected = ", ".join(["i0.row AS lrow", "i1.row AS rrow", *columns])
    parameters = one_row({f"r{i}": values[name] for i, name in enumerate(rest.parameters)})
    CONNECTION.register("parameters", parameters)
    rows = f"(SELECT {selected} FROM left_rows i0, right_rows i1)"
    query = f"SELECT lrow, rrow FROM {rows}, parameters"
    return set(CONNECTION.execute(f"{query} WHERE {rest.sql}").fetchall())


def beyond(value: Any, end: Bound, bound: dict[str, Any], sign: int) -> bool:
    """Say whether a value lies above (sign 1) or below (sign -1) an end."""
    limit = bound[end.parameter]
    if value is None or limit is None:
        return False
    limit = -limit if end.negated else limit
    return ((value > limit) - (value < limit)) * sign > 0 or (end.closed and bool(value == limit))


def side_matches(side: JoinInput, row: dict[str, Any], bound: dict[str, Any]) -> bool:
    """Say whether a row satisfies its side's equalities and ranges."""
    equal = all(
        row[term.column] is not None and bound[term.parameters[0]] == row[term.column]
        for term in side.branch.equalities
    )
    return equal and all(
        beyond(row[term.column], end, bound, sign)
        for term in side.branch.ranges
        for sign, ends in ((1, term.lows), (-1, term.highs))
        for end in ends
    )


def difference(left: Any, right: Any, type_: pa.DataType) -> Any:
    """Compute right minus left as the band does."""
    if left is None or right is None:
        return None
    if isinstance(left, datetime.date):
        return (right - left).days
    if type_ == pa.float32():
        with np.errstate(all="ignore"):
            apart = float(np.float32(right) - np.float32(left))
    else:
        apart = right - left
    return None if math.isnan(apart) else apart


def pair_matches(
    plan: StandingJoin, left: dict[str, Any], right: dict[str, Any], bound: dict[str, Any]
) -> bool:
    """Say whether a pair satisfies keys, band and window."""
    if any(left[one] is None or left[one] != right[two] for one, two in plan.keys):
        return False
    if plan.band is not None:
        band = plan.band
        apart = difference(
            left[band.left], right[band.right], dict(plan.inputs[0].columns)[band.left]
        )
        ends = [(1, end) for end in band.lows] + [(-1, end) for end in band.highs]
        if not all(beyond(apart, end, bound, sign) for sign, end in ends):
            return False
    if plan.window is None:
        return True
    times = left[plan.window.left], right[plan.window.right]
    length = bound[plan.window.within.parameter]
    if None in times or length is None:
        return False
    apart_us = abs(times[0] - times[1]) // datetime.timedelta(microseconds=1)
    limit = length * plan.window.unit_us
    return apart_us < limit or (plan.window.within.closed and apart_us == limit)


def matches(plan: StandingJoin, bound: dict[str, Any]) -> Pairs:
    """Find the pairs that the parts of a plan match, slowly."""
    lefts = [i for i, row in enumerate(LEFT) if side_matches(plan.inputs[0], row, bound)]
    rights = [i for i, row in enumerate(RIGHT) if side_matches(plan.inputs[1], row, bound)]
    found = {(i, j) for i in lefts for j in rights if pair_matches(plan, LEFT[i], RIGHT[j], bound)}
    values = {name: (bound[name], type_) for name, type_ in plan.parameters.items()}
    for rest, side in (
        (plan.inputs[0].branch.residual, "i0."),
        (plan.inputs[1].branch.residual, "i1."),
        (plan.residual, ""),
    ):
        if rest is not None:
            found &= residual_pairs(rest, side, values)
    return found


def as_type(value: Any, type_: pa.DataType) -> Any:
    """Convert a parameter's value, as registration does."""
    if value is None:
        return None
    if pa.types.is_decimal(type_):
        return Decimal(value)
    return int(value) if pa.types.is_integer(type_) else value


def check(text: str, parameters: dict[str, Any], options: dict[str, Any] | None = None) -> str:
    """Compare the two answers; give what kind of join it was, or why it is none."""
    try:
        plan = bind(text, CATALOG, EACH, options)
    except PenstockError as error:
        # Generated predicates are well typed: they are hopeless, or nothing bounds the join.
        assert error.code in {"SQL-050", "SQL-060"}, str(error)
        return error.code
    assert isinstance(plan, StandingJoin)
    types = {name: plan.parameters.get(name, EACH.field(name).type) for name in parameters}
    each = {name: as_type(value, types[name]) for name, value in parameters.items()}
    truth = one_row({name: (parameters[name], EACH.field(name).type) for name in parameters})
    assert matches(plan, {**each, **plan.constants}) == pairs_where(plan.where_sql, truth), plan
    for name, value in plan.constants.items():
        assert pa.scalar(value, plan.parameters[name]).as_py() == value
    return plan.step().kind


FEW = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NONE = dict.fromkeys(EACH.names)


@FEW
@given(st.one_of(keys, differences()), st.lists(further, max_size=3), parameter_values)
@example("abs(x.d - y.d) <= :pd", [], {**NONE, "pd": 1.0})
@example("y.d - x.d > 0", [], NONE)
@example("x.i - y.i BETWEEN -2 AND 3", [], NONE)
@example("x.f - y.f BETWEEN 0.9 AND 2e0", [], NONE)
@example("y.d <= x.d + :pd", [], {**NONE, "pd": 0.2})
@example("x.s = y.s AND x.y < y.y + :days", ["x.i > :days"], {**NONE, "days": 2})
@example("x.u - y.u < 3", ["x.s = 'a' OR y.s = 'b'"], NONE)
@example("x.s = y.s", ["x.i - y.i < 3 OR x.i - y.i > 2"], NONE)
def test_parts_of_a_join_match_the_pairs_that_duckdb_says(first, rest, parameters):
    predicate = " AND ".join([first, *(f"({term})" for term in rest)])
    event(check(f"SELECT * FROM a x JOIN b y ON {predicate}", parameters))


@FEW
@given(keys, st.lists(further, max_size=2), st.booleans(), parameter_values, st.data())
def test_windows_match_the_pairs_that_duckdb_says(key, rest, inclusive, parameters, data):
    length = data.draw(st.sampled_from(["1", "5", "0.999", ":w", "1000"]))
    unit = data.draw(st.sampled_from(["SECONDS", "second", "MILLISECONDS", "day"]))
    where = f" WHERE {' AND '.join(f'({term})' for term in rest)}" if rest else ""
    text = f"SELECT * FROM q x JOIN z y ON {key} WITHIN {length} {unit}{where}"
    event(check(text, parameters, {"inclusive": inclusive}))
