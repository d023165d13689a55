"""The slow twin of the filter operator: one row at a time, one comparison at a time.

It shares no code with the operator. Numbers are compared as fractions, so nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from penstock.algebra.logical import StandingFilter
from penstock.algebra.predicates import Branch

Row = Mapping[str, Any]
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


def branch_holds(
    branch: Branch, event: Row, parameters: Row, residual: ResidualTwin | None
) -> bool:
    """Whether every term of a branch is true (not false, not NULL)."""
    for equality in branch.equalities:
        value = event[equality.column]
        wanted = [parameters[name] for name in equality.parameters]
        if not known(value):
            return False
        if not any(known(one) and place(one) == place(value) for one in wanted):
            return False
    for term in branch.ranges:
        value = event[term.column]
        if not known(value):
            return False
        for bound in term.lows:
            low = parameters[bound.parameter]
            if not known(low) or place(value) < place(low):
                return False
            if not bound.closed and place(value) == place(low):
                return False
        for bound in term.highs:
            high = parameters[bound.parameter]
            if not known(high) or place(value) > place(high):
                return False
            if not bound.closed and place(value) == place(high):
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
            branch_holds(branch, event, {**parameters, **logical.constants}, residual)
            for branch in logical.branches
        )
    }
