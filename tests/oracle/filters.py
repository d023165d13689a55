"""The slow twin of the filter operator: one row at a time, one comparison at a time.

It shares no code with the operator. Numbers are compared as fractions: nothing is rounded but what
is compared with floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.logical import StandingFilter
from penstock.algebra.predicates import Branch

Row = Mapping[str, Any]
Types = Mapping[str, pa.DataType]
ResidualTwin = Callable[[list[Any], list[Any]], bool | None]

INFINITY = {float("inf"): 1, float("-inf"): -1}


def known(value: Any) -> bool:
    """Whether a value takes part in comparisons: neither NULL nor NaN."""
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def place(value: Any) -> Any:
    """Give something that compares exactly with the place of any value of a like type."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value in INFINITY:
        return (INFINITY[value], Fraction(0))
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        gap = moment - datetime(1970, 1, 1, tzinfo=UTC)
        return (0, Fraction((gap.days * 86_400 + gap.seconds) * 10**6 + gap.microseconds, 10**6))
    if isinstance(value, date):
        return (0, Fraction((value - date(1970, 1, 1)).days * 86_400))
    assert isinstance(value, bool | int | float | Decimal)
    return (0, Fraction(value))


def meant(value: Any, type_: pa.DataType | None) -> Any:
    """Give the place that a parameter has among the values of a column.

    Beside floats it is the nearest of them, else what its text says.
    """
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if type_ is None or not number or value in INFINITY:
        return place(value)
    if pa.types.is_floating(type_):
        with np.errstate(over="ignore"):
            near = np.dtype(f"f{type_.bit_width // 8}").type(value)
        return place(value if np.isinf(near) else float(near))
    if isinstance(value, float) and not value.is_integer():
        return (0, Fraction(repr(value)))
    return place(value)


def branch_holds(
    branch: Branch, event: Row, parameters: Row, residual: ResidualTwin | None, types: Types
) -> bool:
    """Whether every term of a branch is true (not false, not NULL)."""
    for equality in branch.equalities:
        value = event[equality.column]
        wanted = [parameters[name] for name in equality.parameters]
        if not known(value):
            return False
        type_ = types.get(equality.column)
        if not any(known(one) and meant(one, type_) == place(value) for one in wanted):
            return False
    for term in branch.ranges:
        value = event[term.column]
        if not known(value):
            return False
        type_ = types.get(term.column)
        for bound in term.lows:
            low = parameters[bound.parameter]
            if not known(low) or place(value) < meant(low, type_):
                return False
            if not bound.closed and place(value) == meant(low, type_):
                return False
        for bound in term.highs:
            high = parameters[bound.parameter]
            if not known(high) or place(value) > meant(high, type_):
                return False
            if not bound.closed and place(value) == meant(high, type_):
                return False
    if branch.residual is not None:
        assert residual is not None
        columns = [event[name] if known(event[name]) else None for name in branch.residual.columns]
        own = [parameters[name] for name in branch.residual.parameters]
        return residual(columns, [one if known(one) else None for one in own]) is True
    return True


def is_reversed(logical: StandingFilter, parameters: Row) -> bool:
    """Whether some range of the query surely has a low bound above a high bound.

    Surely: all bounds of the range are known, and of the column's own type.
    """
    row = {**parameters, **logical.constants}
    for branch in logical.branches:
        for term in branch.ranges:
            bounds = [bound.parameter for bound in (*term.lows, *term.highs)]
            own = logical.column_types[term.column]
            if not all(known(row[n]) and logical.parameters[n] == own for n in bounds):
                continue
            lows = [place(row[bound.parameter]) for bound in term.lows]
            highs = [place(row[bound.parameter]) for bound in term.highs]
            if lows and highs and max(lows) > min(highs):
                return True
    return False


def is_foreign(logical: StandingFilter, parameters: Row) -> bool:
    """Whether some value that is equated with a column is none of the column's type."""
    for branch in logical.branches:
        for term in branch.equalities:
            type_ = logical.column_types[term.column]
            for name in term.parameters:
                value = parameters.get(name)
                if known(value) and not _holds(type_, value):
                    return True
    return False


def _holds(type_: pa.DataType, value: Any) -> bool:
    if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
        return True
    if pa.types.is_floating(type_):
        return value in INFINITY or meant(value, type_)[1] == Fraction(
            float(meant(value, type_)[1])
        )
    if value in INFINITY:
        return False
    number = meant(value, type_)[1]
    scale = type_.scale if pa.types.is_decimal(type_) else 0
    steps = number * 10**scale
    try:
        pa.scalar(Decimal(int(steps)).scaleb(-scale) if scale else int(steps), type_)
    except (pa.ArrowException, OverflowError, ValueError):
        return False
    return bool(steps.denominator == 1)


def matches(
    logical: StandingFilter,
    queries: Mapping[int, Row],
    events: Sequence[Row],
    residual: ResidualTwin | None = None,
) -> set[tuple[int, int]]:
    """Give all (event, query number) pairs that hold."""
    return {
        (i, number)
        for number, parameters in queries.items()
        for i, event in enumerate(events)
        if any(
            branch_holds(
                branch, event, {**parameters, **logical.constants}, residual, logical.column_types
            )
            for branch in logical.branches
        )
    }
