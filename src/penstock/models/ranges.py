"""Ranges: what can be said beforehand of the values that attributes of a plan have.

A filter that holds an attribute between two numbers bounds it; polynomials of bounded attributes
are bounded. Ranges may be wider than they must be, never narrower.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from penstock.algebra.models import (
    ModelComparison,
    ModelCondition,
    ModelConjunction,
    Monomial,
    Polynomial,
)


class ValueRange(NamedTuple):
    """All numbers between two, either of which may be infinite."""

    low: float
    high: float

    @property
    def magnitude(self) -> float:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))

    @property
    def distance(self) -> float:
        """The smallest absolute value."""
        return 0.0 if self.low <= 0.0 <= self.high else min(abs(self.low), abs(self.high))

    def __add__(self, other: object) -> ValueRange:
        if not isinstance(other, ValueRange):
            return NotImplemented
        return ValueRange(self.low + other.low, self.high + other.high)

    def times(self, other: ValueRange) -> ValueRange:
        """Give the range of products.

        >>> ValueRange(-1.0, 2.0).times(ValueRange(0.0, math.inf))
        ValueRange(low=-inf, high=inf)
        """
        ends = [_product(a, b) for a in self for b in other]
        return ValueRange(min(ends), max(ends))

    def power(self, exponent: int) -> ValueRange:
        """Give the range of powers.

        >>> ValueRange(-3.0, 2.0).power(2), ValueRange(-3.0, 2.0).power(0)
        (ValueRange(low=0.0, high=9.0), ValueRange(low=1.0, high=1.0))
        >>> ValueRange(-1e200, 1e200).power(3)
        ValueRange(low=-inf, high=inf)
        """
        if exponent == 0:
            return ValueRange(1.0, 1.0)
        if exponent % 2 == 0:
            return ValueRange(_raised(self.distance, exponent), _raised(self.magnitude, exponent))
        return ValueRange(_raised(self.low, exponent), _raised(self.high, exponent))

    def wider(self, amount: float) -> ValueRange:
        """Give the range of numbers that are off by at most an amount."""
        return ValueRange(self.low - amount, self.high + amount)

    def within(self, other: ValueRange) -> ValueRange:
        """Give what two ranges have in common; the first one if that is nothing."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return ValueRange(low, high) if low <= high else self

    def around(self, value: float) -> ValueRange:
        """Give the range with one more value in it."""
        return ValueRange(min(self.low, value), max(self.high, value))


EVERYTHING = ValueRange(-math.inf, math.inf)


def _product(a: float, b: float) -> float:
    """Multiply; nothing times infinity is nothing."""
    return 0.0 if a == 0.0 or b == 0.0 else a * b


def _raised(value: float, exponent: int) -> float:
    """Raise to a power; what is too large for floats is infinite."""
    try:
        return float(value**exponent)
    except OverflowError:
        return math.copysign(math.inf, value if exponent % 2 else 1.0)


def term_range(term: Monomial, box: Sequence[ValueRange]) -> ValueRange:
    """Give the range of a monomial over ranges of its attributes."""
    found = ValueRange(term.factor, term.factor)
    for power, values in zip(term.powers, box, strict=False):
        if power:
            found = found.times(values.power(power))
    return found


def polynomial_range(polynomial: Polynomial, box: Sequence[ValueRange]) -> ValueRange:
    """Give a range that holds all values of a polynomial.

    >>> x_less_y = Polynomial(terms=(Monomial(factor=1.0, powers=(1, 0)),
    ...                              Monomial(factor=-1.0, powers=(0, 1))))
    >>> polynomial_range(x_less_y, [ValueRange(0.0, 1.0), ValueRange(5.0, 6.0)])
    ValueRange(low=-6.0, high=-4.0)
    """
    found = ValueRange(0.0, 0.0)
    for term in polynomial.terms:
        found += term_range(term, box)
    return found


def slope(polynomial: Polynomial, attribute: int) -> Polynomial:
    """Give the derivative by an attribute."""
    terms = []
    for term in polynomial.terms:
        power = term.powers[attribute] if attribute < len(term.powers) else 0
        if power:
            powers = (*term.powers[:attribute], power - 1, *term.powers[attribute + 1 :])
            terms.append(Monomial(factor=term.factor * power, powers=powers))
    return Polynomial(terms=tuple(terms))


def used(polynomial: Polynomial) -> frozenset[int]:
    """Give the attributes that a polynomial speaks of."""
    return frozenset(i for term in polynomial.terms for i, p in enumerate(term.powers) if p)


def restricted(box: Sequence[ValueRange], condition: ModelCondition) -> list[ValueRange]:
    """Give the ranges of attributes where a condition holds, as far as it bounds them one by one.

    >>> below = ModelComparison(comparator="<", polynomial=Polynomial(terms=(
    ...     Monomial(factor=-125.0, powers=(0,)), Monomial(factor=1.0, powers=(1,)))))
    >>> restricted([EVERYTHING], below)
    [ValueRange(low=-inf, high=125.0)]
    """
    found = list(box)
    terms = condition.terms if isinstance(condition, ModelConjunction) else (condition,)
    for term in terms:
        if isinstance(term, ModelConjunction):
            found = restricted(found, term)
        elif isinstance(term, ModelComparison) and term.parameter is None:
            _bound_one(found, term)
    return found


def _bound_one(box: list[ValueRange], comparison: ModelComparison) -> None:
    """Bound the attribute of `factor · a + constant comparator 0`, if that is its form."""
    names = used(comparison.polynomial)
    terms = comparison.polynomial.terms
    if len(names) != 1 or any(sum(term.powers) > 1 for term in terms):
        return
    (attribute,) = names
    constant = sum(term.factor for term in terms if sum(term.powers) == 0)
    factor = sum(term.factor for term in terms if sum(term.powers) == 1)
    if factor == 0.0:
        return
    edge, comparator = -constant / factor, comparison.comparator
    upwards = (comparator in (">", ">=")) == (factor > 0.0)
    if comparator == "=":
        box[attribute] = box[attribute].within(ValueRange(edge, edge))
    elif comparator != "<>":
        limits = ValueRange(edge, math.inf) if upwards else ValueRange(-math.inf, edge)
        box[attribute] = box[attribute].within(limits)
