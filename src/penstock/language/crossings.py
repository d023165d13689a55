"""Predicates between the inputs of a multi-way join: those that kernels understand, and others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from penstock.algebra.crossings import Comparing, Comparison, Crossing, Difference
from penstock.algebra.inputs import Place, place_of
from penstock.language.bands import bounding
from penstock.language.comparisons import FLIPPED, Types
from penstock.language.differences import DifferenceTerm, Typing, difference_type, terms_of
from penstock.language.duckdb_checks import DuckError, evaluate
from penstock.language.join_keys import have_like_keys, key_kind
from penstock.language.name_resolution import Names
from penstock.language.own_words import plain_wording
from penstock.language.terms import HIGHS, LOWS
from penstock.vocabulary.types import ColumnKind, is_ordered, kind_of

LEAST, MOST = -(2**63), 2**63 - 1
"""The ends of a difference that is not bounded there."""
COMPARING: dict[type[exp.Expr], Comparing] = {exp.LT: "<", exp.LTE: "<=", exp.NEQ: "<>"}
DURATION = pa.duration("us")


@dataclass(slots=True)
class Sorted:
    """The crossing predicates in the making, each once."""

    equalities: set[tuple[Place, Place]] = field(default_factory=set)
    comparisons: set[Comparison] = field(default_factory=set)
    bounds: dict[tuple[Place, Place], tuple[int, int]] = field(default_factory=dict)

    def crossing(self) -> Crossing:
        """Give the predicates in an order that the text does not move."""
        return Crossing(
            equalities=tuple(sorted(self.equalities)),
            comparisons=tuple(
                sorted(self.comparisons, key=lambda each: (each.left, each.op, each.right))
            ),
            differences=tuple(
                Difference(left, right, low, high)
                for (left, right), (low, high) in sorted(self.bounds.items())
            ),
        )


def crossing_of(atoms: Sequence[exp.Expr], types: Types) -> tuple[Crossing, list[exp.Expr]]:
    """Sort terms that speak of several inputs; those that no kernel understands remain."""
    found = Sorted()
    rest = [
        atom
        for atom in atoms
        if not (
            _add_columns(found, atom, types.names)
            or _add_difference(found, atom, types, whole_difference)
            or _add_epochs(found, atom, types)
        )
    ]
    return found.crossing(), rest


def _add_columns(found: Sorted, atom: exp.Expr, names: Names) -> bool:
    """Take a comparison of two columns whose values have like keys."""
    if type(atom) not in FLIPPED:
        return False
    left, right = atom.this.unnest(), atom.expression.unnest()
    if not (isinstance(left, exp.Column) and isinstance(right, exp.Column)):
        return False
    types = names.column_type(left.name), names.column_type(right.name)
    if not have_like_keys(*types):
        return False
    places = place_of(left.name), place_of(right.name)
    least, most = min(places), max(places)
    if isinstance(atom, exp.EQ):
        found.equalities.add((least, most))
        return True
    # A value that is too large for the other's unit equals nothing there, and yet has an order.
    if key_kind(types[0]) != key_kind(types[1]) or not is_ordered(types[0]):
        return False
    operator = type(atom)
    if isinstance(atom, exp.NEQ):
        places = least, most
    elif operator not in COMPARING:
        operator, places = FLIPPED[operator], (places[1], places[0])
    found.comparisons.add(Comparison(places[0], COMPARING[operator], places[1]))
    return True


def whole_difference(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Give the type of a difference that whole numbers of one unit measure.

    >>> whole_difference(pa.int16(), pa.int32()), whole_difference(pa.float64(), pa.float64())
    (DataType(int64), None)
    """
    if kind_of(left) is kind_of(right) is ColumnKind.TIMESTAMP:
        return DURATION if left.unit == right.unit == "us" else None
    type_ = difference_type(left, right)
    return type_ if type_ is not None and kind_of(type_) is ColumnKind.INTEGER else None


def _add_epochs(found: Sorted, atom: exp.Expr, types: Types) -> bool:
    """Take bounds of `epoch_us(x.t) - epoch_us(y.t)`: as whole numbers, and of the times."""
    whole = exp.Paren(this=atom.copy())
    for call in list(whole.find_all(exp.Anonymous)):
        column = call.expressions[0] if len(call.expressions) == 1 else None
        if call.name.lower() != "epoch_us" or not isinstance(column, exp.Column):
            return False
        column.meta["epoch"] = True
        call.replace(column)
    if not all(column.meta.get("epoch") for column in whole.find_all(exp.Column)):
        return False

    def typed(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
        return pa.int64() if whole_difference(left, right) == DURATION else None

    return _add_difference(found, whole.this, types, typed)


def _add_difference(found: Sorted, atom: exp.Expr, types: Types, typed: Typing) -> bool:
    """Take bounds of the difference of two columns, if all are constants."""
    terms = terms_of(atom, types.names, typed)
    if not terms or any(isinstance(term.operand, exp.Placeholder) for term in terms):
        return False
    if terms[0].type_ != DURATION:
        terms = bounding(atom, types, typed)
    values = [_value(term, types) for term in terms]
    if not terms or None in values:
        return False
    places = [place_of(column.name) for column in (terms[0].left, terms[0].right)]
    low, high = LEAST, MOST
    for term, value in zip(terms, values, strict=True):
        assert value is not None
        if term.operator in LOWS or term.operator is exp.EQ:
            low = max(low, value + (not LOWS.get(term.operator, True)))
        if term.operator in HIGHS or term.operator is exp.EQ:
            high = min(high, value - (not HIGHS.get(term.operator, True)))
    if places[0] > places[1]:
        places.reverse()
        low, high = (LEAST if high == MOST else -high), (MOST if low == LEAST else -low)
    pair = places[0], places[1]
    known = found.bounds.get(pair, (LEAST, MOST))
    found.bounds[pair] = max(low, known[0]), min(high, known[1])
    return True


def _value(term: DifferenceTerm, types: Types) -> int | None:
    """Give an operand in whole units; None if it is none, or too large to be negated."""
    if term.operand is None:
        return 0
    if term.type_ == DURATION:
        value = _microseconds(plain_wording(types.names).say(term.operand))
    else:
        fitted = types.fit(term.operand, term.type_)
        value = fitted.value if fitted is not None else None
    if value is None or not LEAST + 1 < value < MOST:
        return None
    return -value if term.negated else value


def _microseconds(sql: str) -> int | None:
    """Give the length of a constant interval without months, whose length is none."""
    try:
        (value, years, months), _ = evaluate(
            f"epoch_us({sql}), datepart('year', {sql}), datepart('month', {sql})"
        )
        (kind,) = evaluate(f"typeof({sql})")[0]
    except DuckError:
        return None
    exact = kind == "INTERVAL" and value is not None and not years and not months
    return int(value) if exact else None
