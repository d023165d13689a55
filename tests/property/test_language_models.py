"""What a model query says over attributes, its plan says: DuckDB reads the same words."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.algebra.catalog import Relation
from penstock.algebra.models import (
    ModelComparison,
    ModelCondition,
    ModelConjunction,
    ModelDisjunction,
    ModelFilter,
    ModelMap,
    ModelQueryStep,
    ModelSource,
    Polynomial,
    StandingModelQuery,
)
from penstock.language.model_queries import bind_model_query, is_model_query
from penstock.language.queries import read_query
from penstock.vocabulary.errors import PenstockError

SCHEMA = pa.schema(
    [("k", pa.int64()), *((name, pa.float64()) for name in "xyuv"), ("ts", pa.timestamp("us"))]
)
CATALOG = {"s": Relation(name="s", kind="stream", schema=SCHEMA, event_time="ts")}
COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "<>": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}
NUMBERS = st.sampled_from(["0", "1", "2", "3", "-2", "0.5", "4", "(1 + 2)", "9"])
VALUES = (-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0)
GRID = [(x, y) for x in VALUES for y in VALUES]


def bound(sql: str) -> StandingModelQuery:
    query = read_query(sql, CATALOG)
    assert is_model_query(query)
    return bind_model_query(query)


def value(polynomial: Polynomial, at: tuple[float, ...]) -> float:
    return sum(
        term.factor * prod(x**power for x, power in zip(at, term.powers, strict=True))
        for term in polynomial.terms
    )


def holds(condition: ModelCondition, at: tuple[float, ...]) -> bool:
    if isinstance(condition, ModelConjunction):
        return all(holds(each, at) for each in condition.terms)
    if isinstance(condition, ModelDisjunction):
        return any(holds(each, at) for each in condition.terms)
    assert isinstance(condition, ModelComparison)
    return COMPARE[condition.comparator](value(condition.polynomial, at), 0)


def duck(sql: str, names: str, rows: Sequence[tuple[float, ...]]) -> list[Any]:
    """Let DuckDB compute an expression of named columns for every row."""
    columns = zip(*rows, strict=True)
    lists = ", ".join(
        f"unnest({list(values)}::DOUBLE[]) AS {name}"
        for name, values in zip(names.split(), columns, strict=True)
    )
    return [row[0] for row in duckdb.execute(f"SELECT {sql} FROM (SELECT {lists})").fetchall()]


def polynomials(leaves: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def larger(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.builds("{} {} {}".format, part, st.sampled_from("+-"), part).map("({})".format),
            st.builds("{} * {}".format, part, part),
            st.builds("(-({}))".format, part),
            st.builds("{} / 4".format, part),
            st.builds("pow({}, {})".format, part, st.integers(0, 3)),
            st.builds("{} ^ 2".format, leaves),
        )

    return st.recursive(leaves, larger, max_leaves=6)


ATTRIBUTES = st.sampled_from(["x", "y", "s.x", '"Y"'])
EXPRESSIONS = polynomials(st.one_of(ATTRIBUTES, NUMBERS))


@settings(deadline=None, max_examples=60)
@given(EXPRESSIONS)
def test_an_expression_is_its_polynomial(text: str) -> None:
    out = f"{text} + 2 * x"
    try:
        shape = bound(f"SELECT y, {out} AS out FROM s MODEL x = x, y = y KEY k").shape
    except PenstockError as refused:
        assert refused.code in {"MDL-006", "MDL-016"}
        return
    asked = duck(out.replace("s.", ""), "x y", GRID)
    place = shape.attributes.index("out")
    if isinstance(shape.plan, ModelSource):  # It is an attribute that the source has.
        assert [row[place] for row in GRID] == asked
        return
    assert isinstance(shape.plan, ModelMap)
    polynomial = shape.plan.attributes[place].polynomial
    for row, own in zip(GRID, asked, strict=True):
        assert abs(value(polynomial, row) - own) <= 1e-9 * max(1.0, abs(own))
    powers = [term.powers for term in polynomial.terms]
    assert powers == sorted(set(powers))
    assert all(term.factor for term in polynomial.terms)


@dataclass(frozen=True)
class Said:
    """A condition as a query says it, and as DuckDB says NULL where it is not defined."""

    ours: str
    theirs: str


SMALL = polynomials(st.one_of(ATTRIBUTES.filter(lambda each: "." not in each), NUMBERS))


def _plain(text: str) -> Said:
    return Said(text, text)


def _ratio(above: str, shift: str) -> Said:
    return Said(f"({above}) / (x + {shift})", f"({above}) / nullif(x + {shift}, 0)")


SIDES = st.one_of(
    SMALL.map(_plain),
    SMALL.map(lambda p: Said(f"sqrt({p})", f"CASE WHEN {p} >= 0 THEN sqrt({p}) END")),
    SMALL.map(lambda p: Said(f"abs({p})", f"abs({p})")),
    st.builds(_ratio, SMALL, NUMBERS),
    SMALL.map(lambda p: Said(f"1 - 2 * abs({p})", f"1 - 2 * abs({p})")),
)


def _compared(left: Said, sign: str, right: Said) -> Said:
    return Said(f"{left.ours} {sign} {right.ours}", f"{left.theirs} {sign} {right.theirs}")


def _within(this: Said, low: str, high: str) -> Said:
    words = f"BETWEEN {low} AND {high}"
    return Said(f"{this.ours} {words}", f"{this.theirs} {words}")


def _larger(part: st.SearchStrategy[Said]) -> st.SearchStrategy[Said]:
    def both(word: str) -> Callable[[Said, Said], Said]:
        return lambda a, b: Said(f"({a.ours} {word} {b.ours})", f"({a.theirs} {word} {b.theirs})")

    return st.one_of(
        st.builds(both("AND"), part, part),
        st.builds(both("OR"), part, part),
        part.map(lambda a: Said(f"NOT ({a.ours})", f"NOT ({a.theirs})")),
    )


SIGNS = st.sampled_from(list(COMPARE))
CONDITIONS = st.recursive(
    st.one_of(
        st.builds(_compared, SIDES, SIGNS, SMALL.map(_plain)),
        st.builds(_compared, NUMBERS.map(_plain), SIGNS, SIDES),
        st.builds(_within, SIDES, NUMBERS, NUMBERS),
    ),
    _larger,
    max_leaves=4,
)


def answered(query: StandingModelQuery, at: tuple[float, ...]) -> bool:
    """Say whether a query's plan, and what it asks by itself, holds at values of attributes."""
    plan = query.shape.plan
    kept = holds(plan.condition, at) if isinstance(plan, ModelFilter) else True
    for own, parameter in zip(query.shape.asked.comparisons, query.number_parameters, strict=True):
        number = query.constants[parameter]
        number = number * abs(number) if own.squared else number
        kept = kept and COMPARE[own.comparator](value(own.polynomial, at), number)
    return kept


@settings(deadline=None, max_examples=120)
@given(CONDITIONS)
@example(Said("sqrt(x) > y", "CASE WHEN x >= 0 THEN sqrt(x) END > y"))
@example(Said("abs(x) = y", "abs(x) = y"))
@example(Said("-x < 2", "-x < 2"))
@example(Said("sqrt(x) > -1", "CASE WHEN x >= 0 THEN sqrt(x) END > -1"))
def test_a_condition_is_what_is_left_of_it(said: Said) -> None:
    try:
        query = bound(f"SELECT x FROM s MODEL x = x, y = y KEY k WHERE {said.ours}")
    except PenstockError as refused:
        assert refused.code in {"MDL-006", "MDL-012", "MDL-016", "SQL-050", "SQL-053"}
        return
    asked = duck(f"coalesce({said.theirs}, FALSE)", "x y", GRID)
    assert [answered(query, row) for row in GRID] == asked, said.ours
    shape = query.shape
    assert ModelQueryStep.from_json(json.loads(json.dumps(shape.to_json()))) == shape


SIGNED = st.sampled_from("+-")
FREE = st.sampled_from(["x", "u", "v", "s.u", "2", "abs(u - 3)", "(u + v)", "(x - u) * v"])
PARTS = st.one_of(
    st.builds("{} * {} * t".format, FREE, FREE),
    st.builds("({} - t) * ({} - {} * t)".format, FREE, FREE, FREE),
    st.builds("({} + {} * t ^ 2) / {}".format, FREE, FREE, st.sampled_from(["2", "(1 + 3)"])),
    st.builds("-({} - t)".format, FREE),
    st.builds("pow({} - {} * t, {})".format, FREE, FREE, st.integers(0, 3)),
    FREE,
)
LAWS = st.one_of(
    st.builds("{} {} {} {} {}".format, PARTS, SIGNED, PARTS, SIGNED, PARTS),
    polynomials(st.one_of(FREE, st.just("t"))),
)


@settings(deadline=None, max_examples=60)
@given(LAWS)
@example("(x + u) * (v - 2 * t) - (x - t)")
def test_a_law_is_its_coefficients(law: str) -> None:
    try:
        (source,) = bound(f"SELECT x FROM s MODEL x = {law} KEY k").shape.sources
    except PenstockError as refused:
        assert refused.code in {"MDL-006", "MDL-016"}
        return
    (attribute,) = source.attributes
    rows = [(x, u, x - 1.5, abs(u)) for x, u in GRID]
    places = ["xuv".index(name) for name in source.columns]
    seen = [(0.0, *(row[place] for place in places)) for row in rows]
    names = " ".join(["nothing", *(f"c{number}" for number in range(len(places)))])
    found = [duck(text, names, seen) for text in attribute.coefficients]
    asked = duck(law.replace("s.", ""), "x u v t", rows)
    for (*_, t), own, coefficients in zip(rows, asked, zip(*found, strict=True), strict=True):
        parts = [float(each) * t**power for power, each in enumerate(coefficients)]
        assert abs(sum(parts) - own) <= 1e-9 * max(1.0, *map(abs, parts))


@settings(deadline=None, max_examples=30)
@given(st.lists(NUMBERS, min_size=2, max_size=2), st.permutations(["a", "b", "c"]))
def test_queries_of_other_numbers_and_orders_share_a_shape(
    numbers: list[str], order: list[str]
) -> None:
    def query(low: str, high: str, parts: list[str]) -> ModelQueryStep:
        said = {"a": f"x > {low}", "b": f"{high} >= sqrt(x * x + y * y)", "c": f"k = {len(low)}"}
        where = " AND ".join(said[part] for part in parts)
        return bound(f"SELECT k, x FROM s MODEL x = x, y = y KEY k WHERE {where}").shape

    assert query(numbers[0], numbers[1], order) == query("7", "8", ["a", "b", "c"])
