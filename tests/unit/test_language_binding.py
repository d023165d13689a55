"""Binding: group equality, types of constants, limits; the golden files show the rest."""

from __future__ import annotations

import datetime
import re
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.algebra.logical import StandingFilter, filter_step
from penstock.algebra.physical import signature
from penstock.algebra.predicates import Branch
from penstock.expressions.catalogue import functions
from penstock.kinds.binder import bind
from penstock.language.comparisons import IN_LIST_MAX, TERMS_MAX
from penstock.language.constants import ConstantFit, LiftedConstant, fit
from penstock.language.duckdb_checks import arrow_type, duck_type
from penstock.language.parser import parse
from penstock.language.refusals import OPERATOR_DEPTH_MAX
from penstock.language.statements import Select
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import ColumnKind

SCHEMA = pa.schema(
    [
        ("symbol", pa.large_string()),
        ("price", pa.float64()),
        ("size", pa.int32()),
        ("wide", pa.decimal128(30, 2)),
        ("ts", pa.timestamp("us", "UTC")),
        ("nano", pa.timestamp("ns")),
    ]
)
CATALOG = {"trades": Relation(name="Trades", kind="stream", schema=SCHEMA)}


def bound_filter(sql: str, each: pa.Schema | None = None) -> StandingFilter:
    bound = bind(sql, CATALOG, each)
    assert isinstance(bound, StandingFilter)
    return bound


def plan(predicate: str, each: pa.Schema | None = None):
    return bound_filter(f"SELECT * FROM trades WHERE {predicate}", each)


def code_of(predicate: str, each: pa.Schema | None = None) -> str:
    with pytest.raises(PenstockError) as caught:
        plan(predicate, each)
    return caught.value.code


@pytest.mark.parametrize(
    "same",
    [
        [
            "price > 5",
            "10 >= price",
            "price BETWEEN 1 AND 2",
            "price > 1 AND price < 2",
            "price>1e3",
        ],
        ["symbol = 'a'", "symbol IN ('a', 'b')", "symbol = 'x' OR 'y' = symbol"],
        ["size = 1 OR price > 2", "price <= 3 OR size IN (7, 8)"],
        ["size <> 1", "NOT (size = 2)", "size < 4 OR size > 5", "NOT size BETWEEN 1 AND 2"],
        [
            "lower(symbol) LIKE 'a%' AND size % 2 = 1",
            "5000000000 = size % 2 AND lower(symbol) LIKE 'b'",
        ],
        ["symbol > 'a' AND price > 1", "price < 3 AND 'b' < symbol"],
        ["ts > '2024-01-01'", "ts <= TIMESTAMP '2024-01-01' + INTERVAL 1 HOUR"],
    ],
    ids=lambda same: same[0],
)
def test_equal_shapes_make_one_group(same):
    assert len({signature(filter_step(plan(predicate))) for predicate in same}) == 1


def test_names_of_the_catalogue_are_kept():
    bound = bound_filter('SELECT T.PRICE FROM TRADES AS t WHERE t."Price" > 1')
    assert bound.relation == "Trades"
    assert bound.outputs[0].name == "price"
    assert bound.column_types == {"price": pa.float64()}


def test_no_predicate_matches_every_row():
    bound = bound_filter("SELECT * FROM trades", pa.schema([("lo", pa.float64())]))
    assert bound.branches == (Branch(),)
    assert bound.where_sql == "TRUE"
    assert bound.parameters == {}


def test_parameters_take_their_columns_type():
    each = pa.schema([("n", pa.int64()), ("u", pa.dictionary(pa.int8(), pa.string()))])
    bound = plan("size > :N AND symbol = :u", each)
    assert bound.parameters == {"n": pa.int32(), "u": pa.large_string()}
    assert bound.named_parameters == ("n", "u")


def test_parameters_of_two_columns_keep_their_own_type():
    bound = plan("size > :n AND price > :n", pa.schema([("n", pa.float64())]))
    assert bound.parameters == {"n": pa.float64()}
    (branch,) = bound.branches
    assert [term.column for term in branch.ranges] == ["price"]
    assert branch.residual.columns == ("size",)


def test_an_at_is_no_parameter_and_is_not_taken_for_an_absolute_value_unseen() -> None:
    """`price > @price`, as SQL Server has it, matched nothing, whatever rows were given."""
    each = pa.schema([("id", pa.string()), ("price", pa.float64())])
    for text in ("price > @price", "price > @ PRICE OR size > 2"):
        assert code_of(text, each) == "SQL-044"
    for text, given in (
        ("price > @price", None), ("price > abs(price)", each), ("@price < :price", each),
    ):  # fmt: skip
        plan(text, given)


def test_parameters_without_a_value_are_of_any_type():
    assert plan("price > :n", pa.schema([("n", pa.null())])).parameters == {"n": pa.float64()}


def test_decimals_beyond_the_index_are_residual():
    (branch,) = plan("wide > 5").branches
    assert branch.residual.sql == "c0 > r0"
    assert not branch.ranges


def test_nanoseconds_that_python_cannot_hold_are_residual():
    (branch,) = plan("nano > '2024-01-01 00:00:00.123456789'").branches
    assert branch.residual is not None
    (branch,) = plan("nano > '2024-01-01 00:00:00.123456'").branches
    assert branch.residual is None


def test_alternatives_beyond_sixteen_are_one_residual():
    many = " OR ".join(f"(price > {i} AND size < {i})" for i in range(17))
    (branch,) = plan(many).branches
    assert branch.residual is not None
    assert not branch.ranges
    assert len(plan(many.rsplit(" OR ", 1)[0]).branches) == 16
    (branch,) = plan(f"({many}) AND symbol = 'a'").branches
    assert [term.column for term in branch.equalities] == ["symbol"]


def test_limits_of_predicates():
    items = ", ".join(map(str, range(IN_LIST_MAX + 1)))
    assert code_of(f"size IN ({items})") == "SQL-051"
    assert code_of(" AND ".join(["price * 2 > 1"] * (TERMS_MAX + 1))) == "SQL-052"
    assert code_of(" + ".join(["size"] * (OPERATOR_DEPTH_MAX + 1)) + " > 1") == "SQL-004"
    assert plan(" + ".join(["size"] * (OPERATOR_DEPTH_MAX - 4)) + " > 1")


@pytest.mark.parametrize("function", ["uuid()", "ago(INTERVAL 1 DAY)", "nextval('x')", "LOCALTIME"])
def test_volatile_functions_are_refused(function):
    assert code_of(f"{function} IS NOT NULL") == "SQL-023"


@pytest.mark.parametrize(
    ("function", "code"),
    [
        ("sum(price)", "SQL-011"),
        ("geomean(price)", "SQL-011"),
        ("unnest([1])", "SQL-015"),
        ("f(1)", "SQL-022"),
    ],
)
def test_functions_that_are_not_scalar_are_refused(function, code):
    assert code_of(f"{function} > 1") == code


def test_macros_are_scalar_if_what_they_call_is():
    known = functions()
    assert [known[name] for name in ("split_part", "wavg", "ago")] == [
        "scalar",
        "aggregate",
        "volatile",
    ]


NUMBERS = [
    (5, pa.int8(), ConstantFit(5)),
    (300, pa.int8(), None),
    (-1, pa.uint8(), None),
    (255, pa.uint8(), ConstantFit(255)),
    (Decimal("5.0"), pa.int8(), ConstantFit(5)),
    (2.0, pa.int64(), ConstantFit(2)),
    (2.0**53, pa.int64(), None),
    (float("inf"), pa.int64(), None),
    (5, pa.float64(), ConstantFit(5.0)),
    (Decimal("1.5"), pa.decimal128(4, 2), ConstantFit(Decimal("1.50"))),
    (Decimal("1.505"), pa.decimal128(4, 2), None),
    (100, pa.decimal128(4, 2), None),
    (1.1, pa.decimal128(4, 2), None),
    (1.5, pa.decimal128(4, 2), ConstantFit(Decimal("1.5"))),
    (float("inf"), pa.decimal128(4, 2), None),
    (0.5, pa.float32(), ConstantFit(0.5)),
    (0.1, pa.float32(), None),
    (1, pa.float16(), None),
]


@pytest.mark.parametrize(("value", "type_", "fitted"), NUMBERS, ids=str)
def test_numbers_fit_only_without_a_loss(value, type_, fitted):
    kind = {int: ColumnKind.INTEGER, float: ColumnKind.FLOAT, Decimal: ColumnKind.DECIMAL}[
        type(value)
    ]
    sql = f"CAST({value!r} AS DOUBLE)" if kind is ColumnKind.FLOAT else str(value)
    assert fit(LiftedConstant(sql=sql, value=value, kind=kind), type_) == fitted


def test_times_fit_their_column():
    text = LiftedConstant(
        sql="'2024-01-01 10:00:00.5'", value="", kind=ColumnKind.STRING, bare=True
    )
    moment = datetime.datetime.fromisoformat("2024-01-01 10:00:00.5")
    assert fit(text, pa.timestamp("us")) == ConstantFit(moment)
    assert fit(text, pa.timestamp("us", "Asia/Tokyo")) == ConstantFit(
        moment.replace(tzinfo=datetime.UTC)
    )
    assert fit(text, pa.date32()) == ConstantFit(datetime.date(2024, 1, 1))
    time = LiftedConstant(sql=f"TIMESTAMP {text.sql}", value=moment, kind=ColumnKind.TIMESTAMP)
    assert fit(time, pa.timestamp("s")) is None
    forever = LiftedConstant(sql="'infinity'", value="", kind=ColumnKind.STRING, bare=True)
    assert fit(forever, pa.timestamp("us")) is None


def test_types_travel_between_arrow_and_duckdb():
    for type_ in (pa.int8(), pa.uint64(), pa.string(), pa.date32(), pa.list_(pa.int32())):
        assert arrow_type(duck_type(type_)) == type_ or pa.types.is_list(type_)
    assert duck_type(pa.float16()) == "FLOAT"
    assert arrow_type("NOT A TYPE") is None


def test_constants_are_values_of_their_type():
    bound = plan("price > 1 AND size IN (1, 2) AND symbol = 'a' AND ts > '2024-01-01' AND wide < 3")
    for name, value in bound.constants.items():
        assert pa.scalar(value, bound.parameters[name]).is_valid


def test_threads_bind_side_by_side():
    with ThreadPoolExecutor(4) as pool:
        plans = list(pool.map(plan, [f"lower(symbol) = 'x' AND price > {i}" for i in range(20)]))
    assert len({signature(filter_step(bound)) for bound in plans}) == 1


def test_binding_needs_one_select():
    for text in ("", "SELECT * FROM trades; SELECT * FROM trades", "DROP SUBSCRIPTION a"):
        with pytest.raises(PenstockError, match="SQL-002"):
            bind(text, CATALOG)


def test_a_parsed_select_binds_as_its_text_does():
    (statement,) = parse("SELECT price FROM trades WHERE price > 5")
    assert isinstance(statement, Select)
    assert bind(statement, CATALOG) == bind(statement.text, CATALOG)


def test_places_skip_comments_and_lines():
    with pytest.raises(PenstockError) as caught:
        plan("/* a\n b */ price > 1 -- c\n AND size > 'x'")
    assert re.search(r"line 3, column 6\b", str(caught.value))
