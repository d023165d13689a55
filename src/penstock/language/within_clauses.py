"""WITHIN: how far apart in event time the rows of a join may be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa
from sqlglot import exp

from penstock.algebra.joins import Window
from penstock.algebra.predicates import Bound
from penstock.expressions.quotation import theirs
from penstock.language.comparisons import Types
from penstock.language.name_resolution import Names, Scope
from penstock.language.parameters import QueryParameters
from penstock.language.places import ScriptSource, suggestion
from penstock.vocabulary.durations import UNITS_US
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import NUMBERS, ColumnKind, kind_of

LONGEST_US = 1 << 62
"""A window is shorter than so many microseconds."""


@dataclass(frozen=True, slots=True)
class Length:
    """The length of a window: its parameter, what 1 in it is worth, and itself as SQL."""

    parameter: str
    unit_us: int
    sql: str


def check_streams(names: Names, within: exp.Expr | None, join: exp.Expr) -> None:
    """Refuse streams without WITHIN, and WITHIN without two event times."""
    for scope in names.scopes:
        relation = scope.relation
        if within is None and relation.passes:
            raise names.source.error(
                "SQL-062",
                f"The query joins the stream {relation.name!r} without a bound: "
                "all its rows would have to be kept.",
                "Add WITHIN n SECONDS after ON, or a window, such as "
                f"{scope.qualifier} [ROWS 100], or a budget, MEMORY 10000 ROWS, at the end; "
                "or make it a table.",
                at=join.this,
            )
        if within is not None:
            _check_event_time(names, scope, within)


def _check_event_time(names: Names, scope: Scope, within: exp.Expr) -> None:
    relation = scope.relation
    column = relation.event_time
    if relation.keeps:
        fact = f"WITHIN compares event times, and {relation.name!r} is a table."
        remedy = "Join two streams; or join two tables, without WITHIN."
    elif column is None:
        fact = f"WITHIN compares event times, and the stream {relation.name!r} has none."
        remedy = "Declare it with OPTIONS (event_time = '<column>')."
    else:
        type_ = relation.schema.field(column).type
        if kind_of(type_) is ColumnKind.TIMESTAMP and type_.unit != "ns":
            return
        fact = f"The event time {column!r} of {relation.name!r} is {type_}."
        remedy = "Declare it as TIMESTAMP or TIMESTAMPTZ, in microseconds."
    raise names.source.error("SQL-063", fact, remedy, at=within)


def met_in(within: exp.Expr | None) -> list[tuple[str, pa.DataType]]:
    """Give the type of the parameter in WITHIN, if there is one."""
    length = within.this.unnest() if within is not None else None
    return [(length.name, pa.int64())] if isinstance(length, exp.Placeholder) else []


def length_of(within: exp.Expr, types: Types, parameters: QueryParameters) -> Length:
    """Read `n unit`, or refuse what is no length of time above zero."""
    unit_us = unit_of(within.args["unit"], types.names.source, "SQL-065")
    length = within.this.unnest()
    if isinstance(length, exp.Placeholder):
        type_ = types.names.own_type(length.name)
        if kind_of(type_) is not ColumnKind.INTEGER and not pa.types.is_null(type_):
            raise types.names.source.error(
                "SQL-042",
                f"Parameter :{length.name} is {type_}, and WITHIN takes whole numbers.",
                "Give whole numbers of a smaller unit, such as MILLISECONDS.",
                at=length,
            )
        return Length(length.name, unit_us, f"p.{theirs(length.name)}::HUGEINT * {unit_us}")
    constant = types.constant(length)
    if constant is None or constant.kind not in NUMBERS or not math.isfinite(constant.value):
        raise _refused("WITHIN takes a number or a parameter.", types.names, within)
    exact = Fraction(constant.value) * unit_us
    if not 0 < exact < LONGEST_US or exact.denominator != 1:
        unit = within.args["unit"].name
        raise _refused(f"No window is {constant.sql} {unit} long.", types.names, within)
    return Length(parameters.lift(int(exact), pa.int64()), 1, str(int(exact)))


def window_of(length: Length, names: Names, *, inclusive: bool) -> tuple[Window, str]:
    """Make the window, and say it to DuckDB."""
    columns = {scope.side: str(scope.relation.event_time) for scope in names.scopes}
    left, right = columns["i0"], columns["i1"]
    window = Window(
        left=left,
        right=right,
        within=Bound(parameter=length.parameter, closed=inclusive),
        unit_us=length.unit_us,
    )
    apart = f"abs(epoch_us(i0.{theirs(left)})::HUGEINT - epoch_us(i1.{theirs(right)}))"
    return window, f"{apart} {'<=' if inclusive else '<'} {length.sql}"


def unit_of(unit: exp.Expr, source: ScriptSource, code: str) -> int:
    """Give the microseconds of a unit of time, or refuse it with a code."""
    found = UNITS_US.get(unit.name.lower().removesuffix("s"))
    if found is None:
        known = [f"{name.upper()}S" for name in UNITS_US]
        remedy = suggestion(unit.name, known, f"Write one of: {', '.join(known)}.")
        raise source.error(code, f"{unit.name!r} is no unit of time.", remedy, at=unit)
    return found


def _refused(fact: str, names: Names, within: exp.Expr) -> PenstockError:
    remedy = "Write a number above zero, such as WITHIN 5 SECONDS, of whole microseconds."
    return names.source.error("SQL-065", fact, remedy, at=within.this)
