"""Bands: the one difference between the sides that bounds a join without a key."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from penstock.algebra.joins import Band
from penstock.algebra.predicates import Bound
from penstock.expressions.quotation import theirs
from penstock.language.comparisons import Types
from penstock.language.differences import (
    DifferenceTerm,
    Typing,
    difference_type,
    is_exact,
    terms_of,
)
from penstock.language.name_resolution import Names
from penstock.language.parameters import QueryParameters
from penstock.language.terms import HIGHS, LOWS
from penstock.vocabulary.types import ColumnKind, kind_of

BAND_MAX = 2**63 - 3
"""Differences of whole numbers are told apart so far from zero."""


def band_of(
    atoms: Sequence[exp.Expr], types: Types, parameters: QueryParameters
) -> tuple[Band | None, list[exp.Expr], str | None]:
    """Make the band of a join: the band, the atoms that remain, and what DuckDB must know of it.

    Of several differences the one with both ends goes first, then the order of names decides.
    """
    by_pair: dict[tuple[str, str], list[exp.Expr]] = {}
    terms = {id(atom): bounding(atom, types) for atom in atoms}
    for atom in atoms:
        if terms[id(atom)]:
            by_pair.setdefault(terms[id(atom)][0].pair, []).append(atom)
    if not by_pair:
        return None, list(atoms), None

    def order(pair: tuple[str, str]) -> tuple[bool, tuple[str, str]]:
        signs = {term.operator for atom in by_pair[pair] for term in terms[id(atom)]}
        ends = exp.EQ in signs or (signs & LOWS.keys() and signs & HIGHS.keys())
        return not ends, pair

    chosen = by_pair[min(by_pair, key=order)]
    taken = {id(atom) for atom in chosen}
    bounds = [term for atom in chosen for term in terms[id(atom)]]
    band = _band(bounds, types, parameters)
    return band, [atom for atom in atoms if id(atom) not in taken], _guard(bounds[0], types.names)


def bounding(atom: exp.Expr, types: Types, typed: Typing = difference_type) -> list[DifferenceTerm]:
    """Give the terms of an atom if all their operands are of the difference's type."""
    terms = terms_of(atom, types.names, typed)
    operands = [term.operand for term in terms if term.operand is not None]
    if not terms or not types.agree(terms[0].type_, operands):
        return []
    return terms if all(_fits(term, types) for term in terms) else []


def _fits(term: DifferenceTerm, types: Types) -> bool:
    if term.operand is None or isinstance(term.operand, exp.Placeholder):
        return is_exact(term, types.names)
    constant = types.constant(term.operand)
    fitted = types.fit(term.operand, term.type_)
    if constant is None or fitted is None:
        return False
    whole = pa.types.is_integer(term.type_) and fitted.value is not None
    if whole and abs(fitted.value) > BAND_MAX:
        return False
    # `x + 2e0` is a DOUBLE, which rounds; so would be what it is compared with.
    exact = constant.kind in {None, ColumnKind.INTEGER, kind_of(term.type_)}
    return exact if term.shifted else True


def _band(terms: Sequence[DifferenceTerm], types: Types, parameters: QueryParameters) -> Band:
    lows: list[Bound] = []
    highs: list[Bound] = []
    for term in terms:
        parameter, negated = _operand(term, types, parameters)
        for ends, closed in ((lows, LOWS), (highs, HIGHS)):
            if term.operator in closed or term.operator is exp.EQ:
                shut = closed.get(term.operator, True)
                ends.append(Bound(parameter=parameter, closed=shut, negated=negated))
    left, right = terms[0].left, terms[0].right
    return Band(
        left=types.names.bare(left.name),
        right=types.names.bare(right.name),
        lows=tuple(lows),
        highs=tuple(highs),
    )


def _operand(term: DifferenceTerm, types: Types, parameters: QueryParameters) -> tuple[str, bool]:
    """Name the parameter of an end, and say whether it stands for minus its value."""
    if isinstance(term.operand, exp.Placeholder):
        return term.operand.name, term.negated
    fitted = types.fit(term.operand, term.type_) if term.operand is not None else None
    zero = Decimal(0) if pa.types.is_decimal(term.type_) else 0
    value = fitted.value if fitted is not None else zero
    negative = term.negated and value is not None
    return parameters.lift(-value if negative else value, term.type_), False


def _guard(term: DifferenceTerm, names: Names) -> str | None:
    """Make DuckDB agree that infinity minus infinity is NULL, not NaN above all numbers."""
    if not pa.types.is_floating(term.type_):
        return None
    left, right = (theirs(names.bare(column.name)) for column in (term.left, term.right))
    return f"NOT isnan(i1.{right} - i0.{left})"
