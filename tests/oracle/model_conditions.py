"""The slow twin of conditions over models: exact arithmetic, certified roots, instant by instant.

A condition is a nested tuple: ("cmp", comparator, row) with a row of exact coefficients,
("not", term), ("and", terms) or ("or", terms).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import flint

Row = Sequence[Fraction]
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "<>": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


def value(row: Row, at: Fraction) -> Fraction:
    """Give the exact value of a polynomial."""
    found = Fraction(0)
    for coefficient in reversed(row):
        found = found * at + coefficient
    return found


def rows_of(condition: Any) -> Iterator[Row]:
    """Give all rows of a condition."""
    if condition[0] == "cmp":
        yield condition[2]
    elif condition[0] == "not":
        yield from rows_of(condition[1])
    else:
        for term in condition[1]:
            yield from rows_of(term)


def holds(condition: Any, at: Fraction, differs: bool | None = None) -> bool:
    """Say whether a condition holds at an instant; `differs` is what is said of every `<>`."""
    match condition:
        case ("cmp", "<>", _) if differs is not None:
            return differs
        case ("not", ("cmp", "=", _)) if differs is not None:
            return differs
        case ("not", ("cmp", "<>", row)):
            return value(row, at) == 0
        case ("cmp", comparator, row):
            return COMPARE[comparator](value(row, at), 0)
        case ("not", ("not", term)):
            return holds(term, at, differs)
        case ("not", ("and", terms)):
            return any(holds(("not", term), at, differs) for term in terms)
        case ("not", ("or", terms)):
            return all(holds(("not", term), at, differs) for term in terms)
        case ("not", term):
            return not holds(term, at)
        case ("and", terms):
            return all(holds(term, at, differs) for term in terms)
        case _:
            return any(holds(term, at, differs) for term in condition[1])


def certain_roots(row: Row) -> list[Fraction]:
    """Give the real roots of a polynomial, proven apart, to 300 bits; whole ones exactly."""
    common = 1
    for each in row:
        common *= each.denominator
    whole = flint.fmpz_poly([int(each * common) for each in row])
    if whole.degree() < 1:
        return []
    before, flint.ctx.prec = flint.ctx.prec, 300
    found = []
    for factor, _ in whole.factor()[1]:
        if factor.degree() == 1:
            found.append(Fraction(-int(factor[0]), int(factor[1])))
            continue
        proven: Any = factor.complex_roots()
        for root, _ in proven:
            if root.imag.is_zero():
                mantissa, exponent = root.real.mid().man_exp()
                found.append(Fraction(int(mantissa)) * Fraction(2) ** int(exponent))
    flint.ctx.prec = before
    return sorted(found)


def solutions(condition: Any, low: Fraction, high: Fraction) -> list[tuple[Fraction, Fraction]]:
    """Give the intervals and lone instants of [low, high) at which a condition holds.

    Rows must have roots that are fractions, or that no two rows share, for instants to be exact.
    An instant that `<>` takes out divides an interval; others that it lacks are not told.
    """
    cuts = {low, high}
    for row in rows_of(condition):
        cuts |= {root for root in certain_roots(row) if low < root < high}
    found: list[tuple[Fraction, Fraction]] = []
    for one, two in pairwise(sorted(cuts)):
        if holds(condition, (one + two) / 2):
            divided = not holds(condition, one) and holds(condition, one, differs=True)
            if found and found[-1][1] == one and not divided:
                found[-1] = (found[-1][0], two)
            else:
                found.append((one, two))
        elif (not found or found[-1][1] != one) and holds(condition, one):
            found.append((one, one))
    # An instant that an interval begins with is a part of it.
    return [
        part for k, part in enumerate(found)
        if part[0] < part[1] or k + 1 == len(found) or found[k + 1][0] != part[0]
    ]  # fmt: skip


def violation(condition: Any, at: Fraction) -> Fraction:
    """Give by how much the rows of a condition without NOT miss, at an instant."""
    match condition:
        case ("cmp", comparator, row):
            found = value(row, at)
            return Fraction(0) if COMPARE[comparator](found, 0) else abs(found)
        case ("and", terms):
            return max(violation(term, at) for term in terms)
        case _:
            return min(violation(term, at) for term in condition[1])
