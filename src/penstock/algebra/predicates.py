"""Predicates of standing queries, in the form that groups and indexes understand.

A predicate is an OR of branches; a branch is an AND of equalities, ranges and one residual.
Constants never stand here: they are parameters, so that queries of one shape are rows of one
table.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One end of a range: the value of a parameter, included (closed) or not.

    A `negated` end stands at minus the value: one parameter gives both ends of `abs(x) < :w`.
    """

    parameter: str
    closed: bool
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """`column` lies above all `lows` and below all `highs`; at least one bound is there."""

    column: str
    lows: tuple[Bound, ...]
    highs: tuple[Bound, ...]

    def __post_init__(self) -> None:
        assert self.lows or self.highs


@dataclass(frozen=True, slots=True, kw_only=True)
class Equality:
    """`column` equals one of the parameters (several: an IN list)."""

    column: str
    parameters: tuple[str, ...]

    def __post_init__(self) -> None:
        assert self.parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """Any other boolean expression, as DuckDB SQL.

    Columns stand as `c0`, `c1`, … (in the order of `columns`), parameters as `r0`, `r1`, … (in the
    order of `parameters`), so that equal shapes have equal texts.
    """

    sql: str
    columns: tuple[str, ...]
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A conjunction. A column stands in at most one equality and at most one range."""

    equalities: tuple[Equality, ...] = ()
    ranges: tuple[Range, ...] = ()
    residual: Residual | None = None

    def __post_init__(self) -> None:
        for terms in (self.equalities, self.ranges):
            columns = [term.column for term in terms]
            assert columns == sorted(set(columns)), "terms are sorted by column, each column once"
