"""Differences between a column of one side and a column of the other: what bands are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from penstock.language.comparisons import FLIPPED, is_operand
from penstock.language.name_resolution import Names
from penstock.vocabulary.types import DECIMAL_DIGITS_MAX, ColumnKind, kind_of

Typing = Callable[[pa.DataType, pa.DataType], pa.DataType | None]
"""Says of which type the difference of two columns is; None if it is none for the asker."""


@dataclass(frozen=True, slots=True)
class DifferenceTerm:
    """`r.right - l.left operator operand`, where both columns are full names.

    Without an `operand` it is zero; `negated`, it is minus the operand. A `shifted` term was
    written as `r.right operator l.left + operand`.
    """

    left: exp.Column
    right: exp.Column
    operator: type[exp.Expr]
    type_: pa.DataType
    operand: exp.Expr | None
    negated: bool = False
    shifted: bool = False

    @property
    def pair(self) -> tuple[str, str]:
        """The names of the two columns."""
        return self.left.name, self.right.name


def difference_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Give the type of the difference of two columns, if a band can be made of it.

    >>> difference_type(pa.int16(), pa.int32()), difference_type(pa.int16(), pa.float64())
    (DataType(int64), None)
    """
    kinds = {kind_of(left), kind_of(right)}
    if kinds == {ColumnKind.DATE}:
        return pa.int32()  # Days, as wide as DuckDB adds them to dates.
    if kinds == {ColumnKind.INTEGER} and pa.uint64() not in (left, right):
        return pa.int64()
    if kinds == {ColumnKind.DECIMAL} and left.scale == right.scale:
        fits = max(left.precision, right.precision) <= DECIMAL_DIGITS_MAX
        return pa.decimal128(DECIMAL_DIGITS_MAX, left.scale) if fits else None
    return left if left == right and left in (pa.float64(), pa.float32()) else None


def terms_of(node: exp.Expr, names: Names, typed: Typing = difference_type) -> list[DifferenceTerm]:
    """Read a comparison as bounds of a difference between the sides; empty if it is none."""
    if isinstance(node, exp.Between):
        ends = ((exp.GTE, node.args["low"]), (exp.LTE, node.args["high"]))
        found = [_compared(node.this, operator, end, names, typed) for operator, end in ends]
        terms = [term for end in found for term in end]
        return terms if all(found) and len({term.pair for term in terms}) == 1 else []
    if type(node) in FLIPPED and not isinstance(node, exp.NEQ):
        return _compared(node.this, type(node), node.expression, names, typed)
    return []


def parameters_met(predicate: exp.Expr, names: Names) -> Iterator[tuple[str, pa.DataType]]:
    """Give the parameters that bound differences in a predicate, with the differences' types."""
    for node in predicate.walk():
        for term in terms_of(node, names):
            if isinstance(term.operand, exp.Placeholder) and is_exact(term, names):
                yield term.operand.name, term.type_


def is_exact(term: DifferenceTerm, names: Names) -> bool:
    """Say whether a parameter, added to a column, gives no float: that would round."""
    if not (term.shifted and isinstance(term.operand, exp.Placeholder)):
        return True
    if names.is_written(term.operand.name):
        return True
    kind = kind_of(names.own_type(term.operand.name))
    return kind is ColumnKind.INTEGER or kind is kind_of(term.type_)


def crossing(predicate: exp.Expr, names: Names) -> Iterator[tuple[exp.Column, exp.Column]]:
    """Find all differences of a column of one side and a column of the other."""
    for node in predicate.find_all(exp.Sub):
        one, two = node.this.unnest(), node.expression.unnest()
        columns = isinstance(one, exp.Column) and isinstance(two, exp.Column)
        if columns and names.side(one.name) != names.side(two.name):
            yield one, two


def cast_for_duckdb(predicate: exp.Expr, names: Names) -> None:
    """Let DuckDB compute differences as we do.

    Those of whole numbers do not overflow, whatever their width; and days that are added to dates
    are of the one type that it adds.
    """
    pairs = list(crossing(predicate, names))
    terms = [term for node in predicate.walk() for term in terms_of(node, names)]
    pairs += [(term.left, term.right) for term in terms if term.operand is not None]
    for pair in pairs:
        if all(kind_of(names.column_type(column.name)) is ColumnKind.INTEGER for column in pair):
            names.casts.update((column.meta["span"], "HUGEINT") for column in pair)
    for term in terms:
        dates = term.shifted and kind_of(names.column_type(term.left.name)) is ColumnKind.DATE
        if dates and isinstance(term.operand, exp.Placeholder) and is_exact(term, names):
            names.casts[term.operand.meta["span"]] = "INTEGER"


def _compared(
    this: exp.Expr, operator: type[exp.Expr], other: exp.Expr, names: Names, typed: Typing
) -> list[DifferenceTerm]:
    left, right = this.unnest(), other.unnest()
    for one, sign, two in ((left, operator, right), (right, FLIPPED[operator], left)):
        if is_operand(two):
            if isinstance(one, exp.Sub):
                return _difference((one.this, one.expression), sign, two, names, typed)
            if isinstance(one, exp.Abs) and sign in (exp.LT, exp.LTE):
                return _absolute(one, sign, two, names, typed)
            return []
        if isinstance(one, exp.Column):
            found = _shifted(one, sign, two, names, typed)
            if found:
                return found
    return []


def _difference(
    of: tuple[exp.Expr, exp.Expr],
    operator: type[exp.Expr],
    operand: exp.Expr,
    names: Names,
    typed: Typing,
) -> list[DifferenceTerm]:
    """Read `this - other operator operand`, turned into right minus left."""
    one, two = of[0].unnest(), of[1].unnest()
    if not (isinstance(one, exp.Column) and isinstance(two, exp.Column)):
        return []
    if isinstance(one.this, exp.Star) or isinstance(two.this, exp.Star):
        return []  # refused where DuckDB's own reading is looked at
    sides = names.side(one.name), names.side(two.name)
    type_ = typed(names.column_type(one.name), names.column_type(two.name))
    if type_ is None or sides[0] == sides[1]:
        return []
    if sides[0] > sides[1]:
        return [DifferenceTerm(two, one, operator, type_, operand)]
    return [DifferenceTerm(one, two, FLIPPED[operator], type_, operand, negated=True)]


def _absolute(
    node: exp.Abs, operator: type[exp.Expr], operand: exp.Expr, names: Names, typed: Typing
) -> list[DifferenceTerm]:
    """Read `abs(x - y) < w` as `-w < x - y` and `x - y < w`."""
    inner = node.this.unnest()
    if not isinstance(inner, exp.Sub):
        return []
    of = (inner.this, inner.expression)
    (high,) = _difference(of, operator, operand, names, typed) or (None,)
    if high is None:
        return []
    low = replace(high, operator=FLIPPED[high.operator], negated=not high.negated)
    return [high, low]


def _shifted(
    column: exp.Column, operator: type[exp.Expr], other: exp.Expr, names: Names, typed: Typing
) -> list[DifferenceTerm]:
    """Read `y.c operator x.c + operand`: exact for whole numbers, decimals and dates."""
    base, operand, minus = other, None, False
    if isinstance(other, exp.Add | exp.Sub):
        base, operand = other.this.unnest(), other.expression.unnest()
        minus = isinstance(other, exp.Sub)
        if isinstance(other, exp.Add) and is_operand(base):
            base, operand = operand, base
        if not is_operand(operand):
            return []
    if not isinstance(base, exp.Column):
        return []
    zero = exp.Literal.number(0)
    found = _difference((column, base), operator, zero, names, typed)
    return [
        replace(term, operand=operand, negated=term.negated != minus, shifted=True)
        for term in found
        if kind_of(term.type_) is not ColumnKind.FLOAT
    ]
