"""Terms: what a condition says of each attribute by itself, and what it says of several.

A *band* is all that a conjunction says of one attribute with comparisons: `a < x AND x < b`, or
`x = a`, or `x <> a`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from penstock.algebra.models import (
    Comparator,
    ModelComparison,
    ModelCondition,
    ModelConjunction,
    ModelNegation,
    Monomial,
    Polynomial,
)

DENIED: dict[Comparator, Comparator] = {
    "<": ">=", "<=": ">", "=": "<>", "<>": "=", ">=": "<", ">": "<=",
}  # fmt: skip
SWAPPED: dict[Comparator, Comparator] = {
    "<": ">", "<=": ">=", "=": "=", "<>": "<>", ">=": "<=", ">": "<",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ValueBand:
    """The attribute lies between two numbers; with `outside`, it does not."""

    attribute: int
    low: float = -inf
    high: float = inf
    outside: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing lies in it."""
        return self.low > self.high

    @property
    def instant(self) -> bool:
        """Whether a moving attribute is in it for an instant only."""
        return self.low == self.high and not self.outside

    def condition(self, attributes: int = 1) -> ModelCondition:
        """Give it as a condition over so many attributes."""
        powers = tuple(int(k == self.attribute) for k in range(attributes))

        def compared(comparator: Comparator, number: float) -> ModelComparison:
            terms = (
                Monomial(factor=-number, powers=(0,) * attributes),
                Monomial(factor=1.0, powers=powers),
            )
            return ModelComparison(polynomial=Polynomial(terms=terms), comparator=comparator)

        if self.low == self.high:
            return compared("<>" if self.outside else "=", self.low)
        ends: list[ModelCondition] = []
        if self.low > -inf:
            ends.append(compared(">", self.low))
        if self.high < inf:
            ends.append(compared("<", self.high))
        return ModelConjunction(terms=tuple(ends))


def bound(condition: ModelCondition, numbers: Mapping[str, float]) -> ModelCondition:
    """Give a condition with the numbers of a query in the place of its parameters."""
    if isinstance(condition, ModelComparison):
        if condition.parameter is None:
            return condition
        number = numbers[condition.parameter]
        number = number * abs(number) if condition.squared else number
        terms = {each.powers: each.factor for each in condition.polynomial.terms}
        width = len(next(iter(terms), ()))
        none = (0,) * width
        terms[none] = terms.get(none, 0.0) - number
        kept = sorted(each for each in terms.items() if each[1] != 0.0)
        polynomial = Polynomial(terms=tuple(Monomial(factor=f, powers=p) for p, f in kept))
        return ModelComparison(polynomial=polynomial, comparator=condition.comparator)
    if isinstance(condition, ModelNegation):
        return ModelNegation(term=bound(condition.term, numbers))
    return type(condition)(terms=tuple(bound(each, numbers) for each in condition.terms))


def conjuncts(condition: ModelCondition) -> list[ModelCondition]:
    """Give the terms of a conjunction, comparisons without a NOT."""
    if isinstance(condition, ModelConjunction):
        return [each for term in condition.terms for each in conjuncts(term)]
    if isinstance(condition, ModelNegation):
        inner = condition.term
        if isinstance(inner, ModelNegation):
            return conjuncts(inner.term)
        if isinstance(inner, ModelComparison):
            return [
                ModelComparison(polynomial=inner.polynomial, comparator=DENIED[inner.comparator])
            ]
    return [condition]


def bands(condition: ModelCondition) -> tuple[ValueBand, ...] | None:
    """Give a condition without parameters as bands of different attributes; None if it is more.

    >>> from penstock.algebra.models import Monomial
    >>> price = Polynomial(terms=(Monomial(factor=-110.0, powers=(0,)),
    ...                           Monomial(factor=2.0, powers=(1,))))
    >>> bands(ModelComparison(polynomial=price, comparator="<"))
    (ValueBand(attribute=0, low=-inf, high=55.0, outside=False),)
    """
    found: dict[int, ValueBand] = {}
    for term in conjuncts(condition):
        band = _band(term) if isinstance(term, ModelComparison) else None
        if band is None:
            return None
        known = found.get(band.attribute)
        if known is not None:
            if known.outside or band.outside:
                return None
            band = ValueBand(band.attribute, max(known.low, band.low), min(known.high, band.high))
        found[band.attribute] = band
    return tuple(found[k] for k in sorted(found))


def _band(term: ModelComparison) -> ValueBand | None:
    constant, factor, attribute = 0.0, 0.0, -1
    for each in term.polynomial.terms:
        degree = sum(each.powers)
        if degree == 0:
            constant = each.factor
        elif degree == 1 and attribute < 0:
            attribute, factor = each.powers.index(1), each.factor
        else:
            return None
    if attribute < 0:
        return None
    number = -constant / factor
    comparator = term.comparator if factor > 0 else SWAPPED[term.comparator]
    if comparator in ("<", "<="):
        return ValueBand(attribute, high=number)
    if comparator in (">", ">="):
        return ValueBand(attribute, low=number)
    return ValueBand(attribute, number, number, outside=comparator == "<>")
