"""The parts of a multi-way join mean what DuckDB says of the user's own words.

The evaluator here is slow and shares no code with the language room: branches, equalities,
comparisons and differences in Python, row by row; residuals by asking DuckDB.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from itertools import product
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from penstock.algebra.catalog import Relation
from penstock.algebra.crossings import Crossing
from penstock.algebra.inputs import JoinInput, Place
from penstock.algebra.multi_joins import MultiJoin
from penstock.algebra.predicates import Bound, Residual
from penstock.kinds.binder import bind
from penstock.vocabulary.errors import PenstockError

SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("u", pa.uint8()),
        ("d", pa.float64()),
        ("f", pa.float32()),
        ("m", pa.decimal128(8, 2)),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("y", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("n", pa.timestamp("us")),
    ]
)
EACH = pa.schema([("pi", pa.int64()), ("pd", pa.float64()), ("ps", pa.string())])
CATALOG = {
    "q": Relation(name="q", kind="stream", schema=SCHEMA, event_time="t"),
    "k": Relation(
        name="k",
        kind="table",
        schema=SCHEMA.append(pa.field("op", pa.string())),
        change_column="op",
    ),
}
DAY = datetime.date(2024, 1, 1)
NOON = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
TIMES = [NOON + datetime.timedelta(milliseconds=n) for n in (0, 999, 1_000, 90_000_000)]
VALUES: dict[str, list[Any]] = {
    "i": [1, 0, None, 2, -2, 2**31 - 1, 3],
    "l": [0, 2**63 - 1, 1, -(2**63), None, 2, 3, 5],
    "u": [1, None, 0, 255, 3],
    "d": [0.0, 1.5, None, float("inf"), 1.0, 1.1, 2.0],
    "f": [1.0, 1.100000023841858, None, 2.0, -0.25],
    "m": [Decimal("1.10"), None, Decimal("2.00"), Decimal("-0.25")],
    "s": ["a", "ab", None, "b", "a"],
    "b": [True, None, False],
    "y": [DAY, DAY + datetime.timedelta(3), None, DAY + datetime.timedelta(1)],
    "t": [*TIMES, None],
    "n": [None, *(time.replace(tzinfo=None) for time in reversed(TIMES))],
}
LEAST, MOST = -(2**63), 2**63 - 1
"""Ends of a difference that is not bounded there."""
Row = dict[str, Any]
Triples = set[tuple[int, ...]]


def rows_of(count: int, start: int) -> list[Row]:
    # The lengths of the lists share few divisors, so that the rows meet most values with most.
    return [
        {name: values[(start + i) % len(values)] for name, values in VALUES.items()}
        for i in range(count)
    ]


ROWS = [rows_of(11, 0), rows_of(9, 4), rows_of(10, 13)]
CONNECTION = duckdb.connect(":memory:")
CONNECTION.execute("SET TimeZone = 'UTC'")
for number, given_rows in enumerate(ROWS):
    data = pa.Table.from_pylist(
        [{"row": i, **row} for i, row in enumerate(given_rows)],
        schema=pa.schema([("row", pa.int64()), *SCHEMA]),
    )
    CONNECTION.execute(f"CREATE TABLE rows{number} AS SELECT * FROM data")
PRODUCT = "rows0 i0, rows1 i1, rows2 i2"

OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
SIDES = st.permutations(["x", "y", "z"]).map(lambda names: names[:2])
NUMBERS = st.sampled_from(["0", "1", "-2", "3", "1.5", "2e0", "NULL", "9223372036854775807"])
INTERVALS = st.sampled_from(
    ["INTERVAL 1 SECOND", "INTERVAL '0.999 seconds'", "INTERVAL 1 DAY", "INTERVAL 1 MONTH"]
)


@st.composite
def compared(draw: st.DrawFn) -> str:
    """Draw a comparison of a column of one input with a column of another."""
    one, two = draw(SIDES)
    column = draw(st.sampled_from(sorted(VALUES)))
    likes = {"i": "ilud", "l": "ilu", "u": "ilu", "t": "tn", "n": "nt", "d": "dfm", "m": "md"}
    other = draw(st.sampled_from(likes.get(column, column)))
    return f"{one}.{column} {draw(OPERATORS)} {two}.{other}"


@st.composite
def differing(draw: st.DrawFn) -> str:
    """Draw a bound of a difference between two inputs, in one of its forms."""
    first, second = draw(SIDES)
    column = draw(st.sampled_from("iluytndm"))
    other = {"i": "u", "l": "i", "u": "l", "t": "n"}.get(column, column)
    one, two = f"{first}.{column}", f"{second}.{other}"
    timed = column in "tn"
    whole = st.sampled_from(["0", "2", "-1"]) if column == "y" else NUMBERS
    ends = [draw(INTERVALS if timed else st.one_of(whole, whole, st.just(":pi"))) for _ in "lh"]
    if column == "y":
        ends = [end if end != ":pi" else "1" for end in ends]
    operator = draw(st.sampled_from(["<", "<=", ">", ">=", "="]))
    forms = [
        f"{one} - {two} {operator} {ends[0]}",
        f"{ends[0]} {operator} {one} - {two}",
        f"{one} - {two} BETWEEN {ends[0]} AND {ends[1]}",
        f"({one} {operator} {two} + {ends[0]})",
        f"{two} - {ends[0]} {operator} {one}",
        f"{one} BETWEEN {two} - {ends[0]} AND {two} + {ends[1]}",
        f"NOT ({one} - {two} {operator} {ends[0]})",
    ]
    if timed:
        micros = f"epoch_us({one}) - epoch_us({two})"
        forms += [f"{micros} {operator} 999000", f"abs({micros}) <= 1000000"]
    else:
        forms += [f"abs({one} - {two}) {operator} {ends[0]}"]
    return draw(st.sampled_from(forms))


LOCAL = st.one_of(
    st.builds(
        "{}.{} {} {}".format,
        st.sampled_from("xyz"),
        st.sampled_from("idml"),
        OPERATORS,
        st.sampled_from(["0", "1", "-2", "3", "1.5", ":pi", ":pd"]),
    ),
    st.builds(
        "{}.s {}".format,
        st.sampled_from("xyz"),
        st.sampled_from(["= 'a'", "IN ('a', 'b')", "LIKE 'a%'", "= :ps", "<> 'b'", "IS NULL"]),
    ),
    st.sampled_from(["x.b", "NOT y.b", "z.i > z.d", "TRUE", ":pi > 0", "y.t < '2024-01-02'"]),
)
OTHER = st.sampled_from(
    [
        "x.s = 'a' OR y.s = 'b'",
        "x.s || y.s = z.s",
        "x.d + y.d > z.d",
        "x.d + y.i = z.i + :pi",
        "x.s IS NOT DISTINCT FROM z.s",
        "(x.b OR NOT z.b)",
        "z.i IN (y.i, 1)",
    ]
)
TERMS = st.recursive(
    st.one_of(compared(), compared(), differing(), differing(), differing(), LOCAL, OTHER),
    lambda inner: st.one_of(
        st.builds("({} OR {})".format, inner, inner), st.builds("NOT ({})".format, inner)
    ),
    max_leaves=2,
)
PARAMETERS = st.fixed_dictionaries(
    {
        "pi": st.one_of(st.none(), st.integers(-3, 3)),
        "pd": st.one_of(st.none(), st.sampled_from([0.0, 1.0, -2.0, 3.0])),
        "ps": st.one_of(st.none(), st.sampled_from(["a", "ab"])),
    }
)


def one_row(values: dict[str, tuple[Any, pa.DataType]]) -> pa.Table:
    arrays = {name: pa.array([value], type=type_) for name, (value, type_) in values.items()}
    return pa.table(arrays or {"nothing": pa.array([0])})


def triples_where(condition: str, parameters: pa.Table) -> Triples:
    """Ask DuckDB for the triples of rows for which a condition is true."""
    condition = condition.replace('.".', '."')  # no name of ours stands beside these
    CONNECTION.register("parameters", parameters)
    query = f"SELECT i0.row, i1.row, i2.row FROM {PRODUCT}, parameters p WHERE {condition}"
    return set(CONNECTION.execute(query).fetchall())


def residual_triples(
    rest: Residual, side: str, values: dict[str, tuple[Any, pa.DataType]]
) -> Triples:
    """Ask DuckDB for the triples for which a residual is true; `side` is before its columns."""
    names = [f"{side}{name}" for name in rest.columns]
    columns = [f'{name[:2]}."{name[3:]}" AS c{i}' for i, name in enumerate(names)]
    selected = ", ".join(["i0.row AS a", "i1.row AS b", "i2.row AS c", *columns])
    parameters = one_row({f"r{i}": values[name] for i, name in enumerate(rest.parameters)})
    CONNECTION.register("parameters", parameters)
    query = f"SELECT a, b, c FROM (SELECT {selected} FROM {PRODUCT}), parameters WHERE {rest.sql}"
    return set(CONNECTION.execute(query).fetchall())


def beyond(value: Any, end: Bound, bound: Row, sign: int) -> bool:
    """Say whether a value lies above (sign 1) or below (sign -1) an end."""
    limit = bound[end.parameter]
    if value is None or limit is None:
        return False
    return ((value > limit) - (value < limit)) * sign > 0 or (end.closed and bool(value == limit))


def passes(each: JoinInput, row: Row, bound: Row) -> bool:
    """Say whether a row satisfies its input's equalities and ranges."""
    equal = all(
        row[term.column] is not None and bound[term.parameters[0]] == row[term.column]
        for term in each.branch.equalities
    )
    return equal and all(
        beyond(row[term.column], end, bound, sign)
        for term in each.branch.ranges
        for sign, ends in ((1, term.lows), (-1, term.highs))
        for end in ends
    )


def crosses(crossing: Crossing, rows: tuple[Row, ...]) -> bool:
    """Say whether three rows satisfy equalities, comparisons and differences."""

    def at(place: Place) -> Any:
        value = rows[place[0]][place[1]]
        aware = isinstance(value, datetime.datetime) and value.tzinfo is not None
        return value.replace(tzinfo=None) if aware else value

    pairs: Iterable[tuple[Place, Place]] = [
        *crossing.equalities,
        *((each.left, each.right) for each in crossing.comparisons),
        *((each.left, each.right) for each in crossing.differences),
    ]
    if any(at(place) is None for pair in pairs for place in pair):
        return False
    if any(at(left) != at(right) for left, right in crossing.equalities):
        return False
    for each in crossing.comparisons:
        left, right = at(each.left), at(each.right)
        if not {"<": left < right, "<=": left <= right, "<>": left != right}[each.op]:
            return False
    return all(
        (each.low == LEAST or each.low <= apart) and (each.high == MOST or apart <= each.high)
        for each in crossing.differences
        for apart in (whole(at(each.left), at(each.right)),)
    )


def whole(left: Any, right: Any) -> int:
    """Measure right minus left: as it is, in days, or in microseconds."""
    if isinstance(left, datetime.datetime):
        return int((right - left) // MICROSECOND)
    return int((right - left).days if isinstance(left, datetime.date) else right - left)


def matches(plan: MultiJoin, bound: Row) -> Triples:
    """Find the triples that the parts of a plan match, slowly."""
    kept = [
        [i for i, row in enumerate(rows) if passes(each, row, bound)]
        for each, rows in zip(plan.inputs, ROWS, strict=True)
    ]
    found = {
        triple
        for triple in product(*kept)
        if crosses(plan.crossing, tuple(ROWS[k][i] for k, i in enumerate(triple)))
    }
    values = {name: (bound[name], type_) for name, type_ in plan.parameters.items()}
    residuals = [(each.branch.residual, f"i{k}.") for k, each in enumerate(plan.inputs)]
    for rest, side in (*residuals, (plan.residual, "")):
        if rest is not None:
            found &= residual_triples(rest, side, values)
    return found


def as_type(value: Any, type_: pa.DataType) -> Any:
    """Convert a parameter's value, as registration does."""
    if value is None:
        return None
    if pa.types.is_decimal(type_):
        return Decimal(value)
    return int(value) if pa.types.is_integer(type_) else value


def check(terms: list[str], parameters: Row) -> None:
    tables = "q x [ROWS 5], k y, q z [RANGE 5 SECONDS]"
    text = f"SELECT x.i FROM {tables} WHERE {' AND '.join(terms)}"
    try:
        plan = bind(text, CATALOG, EACH, {"products": True})
    except PenstockError as error:
        # Generated predicates are well typed: at most they are hopeless.
        assert error.code == "SQL-050", str(error)
        event(error.code)
        return
    assert isinstance(plan, MultiJoin)
    types = {name: plan.parameters.get(name, EACH.field(name).type) for name in parameters}
    each = {name: as_type(value, types[name]) for name, value in parameters.items()}
    truth = one_row({name: (parameters[name], EACH.field(name).type) for name in parameters})
    expected = triples_where(plan.where_sql, truth)
    assert matches(plan, {**each, **plan.constants}) == expected, plan
    parts = {
        "equality": plan.crossing.equalities,
        "comparison": plan.crossing.comparisons,
        "difference": plan.crossing.differences,
        "residual": plan.residual,
        "answers": expected,
    }
    for name, part in parts.items():
        if part:
            event(name)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(terms=st.lists(TERMS, min_size=1, max_size=4), parameters=PARAMETERS)
@example(terms=["x.i = y.u", "y.l - z.l > 0"], parameters={"pi": 1, "pd": None, "ps": "a"})
@example(terms=["y.y - x.y BETWEEN 0 AND 2"], parameters={"pi": 1, "pd": None, "ps": "a"})
@example(terms=["x.t - z.n > INTERVAL 1 DAY"], parameters={"pi": 1, "pd": None, "ps": "a"})
def test_parts_mean_what_the_words_say(terms: list[str], parameters: Row) -> None:
    check(terms, parameters)
