"""Arithmetic of polynomials, exact, while a query is read.

Variables are numbers: attributes of a stage's input stand by their position; what else an
expression names (a root, a parameter) has a number below zero until it is rewritten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from penstock.algebra.models import Monomial, Polynomial

TERMS_MAX = 256
"""Monomials of one polynomial."""
PRODUCTS_MAX = 64 * TERMS_MAX
"""Pairs of monomials that one multiplication may multiply."""
POWER_MAX = 64
"""The highest power of a variable that is computed at all; fewer may be answered."""

Powers = tuple[tuple[int, int], ...]
"""Pairs of a variable and its power, by variable; no power is zero."""


class PolynomialSizeError(ValueError):
    """A polynomial has more monomials, or higher powers, than may be."""


@dataclass(frozen=True, slots=True)
class SymbolicPolynomial:
    """A sum of monomials; no factor is zero.

    >>> x, y = SymbolicPolynomial.variable(0), SymbolicPolynomial.variable(1)
    >>> ((x + y) * (x - y)).node(2).terms
    (Monomial(factor=-1.0, powers=(0, 2)), Monomial(factor=1.0, powers=(2, 0)))
    """

    terms: Mapping[Powers, Fraction]

    @classmethod
    def constant(cls, value: Fraction | int) -> SymbolicPolynomial:
        """Give a number."""
        return cls({(): Fraction(value)} if value else {})

    @classmethod
    def variable(cls, number: int) -> SymbolicPolynomial:
        """Give a variable."""
        return cls({((number, 1),): Fraction(1)})

    def __add__(self, other: SymbolicPolynomial) -> SymbolicPolynomial:
        return _collected([*self.terms.items(), *other.terms.items()])

    def __neg__(self) -> SymbolicPolynomial:
        return self.scaled(Fraction(-1))

    def __sub__(self, other: SymbolicPolynomial) -> SymbolicPolynomial:
        return self + -other

    def __mul__(self, other: SymbolicPolynomial) -> SymbolicPolynomial:
        if len(self.terms) * len(other.terms) > PRODUCTS_MAX:
            raise PolynomialSizeError
        return _collected(
            [
                (_multiplied(left, right), a * b)
                for left, a in self.terms.items()
                for right, b in other.terms.items()
            ]
        )

    def scaled(self, factor: Fraction) -> SymbolicPolynomial:
        """Multiply by a number."""
        return _collected([(powers, own * factor) for powers, own in self.terms.items()])

    def power(self, exponent: int) -> SymbolicPolynomial:
        """Raise to a whole power that is not below zero."""
        if exponent > POWER_MAX and not self.is_constant:
            raise PolynomialSizeError
        found = SymbolicPolynomial.constant(1)
        for _ in range(exponent):
            found = found * self
        return found

    @property
    def variables(self) -> tuple[int, ...]:
        """Its variables, each once."""
        return tuple(sorted({variable for powers in self.terms for variable, _ in powers}))

    @property
    def is_constant(self) -> bool:
        """Whether it is a number."""
        return all(not powers for powers in self.terms)

    @property
    def rest(self) -> Fraction:
        """The number in it."""
        return self.terms.get((), Fraction(0))

    @property
    def bare(self) -> int | None:
        """The variable that it is, if it is one and nothing else."""
        if len(self.terms) != 1:
            return None
        ((powers, factor),) = self.terms.items()
        return powers[0][0] if factor == 1 and len(powers) == 1 and powers[0][1] == 1 else None

    def without_rest(self) -> SymbolicPolynomial:
        """Leave the number in it out."""
        return SymbolicPolynomial({powers: own for powers, own in self.terms.items() if powers})

    def factor_of(self, variable: int) -> Fraction | None:
        """Give the number that a variable is multiplied with; None if it stands in no such way."""
        met = [powers for powers in self.terms if any(own == variable for own, _ in powers)]
        alone = ((variable, 1),)
        return self.terms[alone] if met == [alone] else None

    def without(self, variable: int) -> SymbolicPolynomial:
        """Leave out all monomials of a variable."""
        kept = {
            powers: own
            for powers, own in self.terms.items()
            if all(each != variable for each, _ in powers)
        }
        return SymbolicPolynomial(kept)

    def substituted(self, by: Mapping[int, SymbolicPolynomial]) -> SymbolicPolynomial:
        """Put polynomials in the places of variables; the others stay."""
        found = SymbolicPolynomial({})
        for powers, factor in self.terms.items():
            product = SymbolicPolynomial.constant(factor)
            for variable, power in powers:
                own = by.get(variable, SymbolicPolynomial.variable(variable))
                product = product * own.power(power)
            found = found + product
        return found

    def renumbered(self, by: Mapping[int, int]) -> SymbolicPolynomial:
        """Give variables other numbers."""
        return self.substituted({old: SymbolicPolynomial.variable(by[old]) for old in by})

    def degree(self, degrees: Sequence[int]) -> int:
        """Give the highest power of time, from those of the attributes."""
        return max(
            (sum(degrees[variable] * power for variable, power in powers) for powers in self.terms),
            default=0,
        )

    def node(self, attributes: int) -> Polynomial:
        """Give it as a plan has it; raises OverflowError where a factor is no float."""
        terms = []
        for powers, factor in self.terms.items():
            own = dict(powers)
            full = tuple(own.get(each, 0) for each in range(attributes))
            terms.append(Monomial(factor=float(factor), powers=full))
        kept = [each for each in terms if each.factor]
        return Polynomial(terms=tuple(sorted(kept, key=lambda each: each.powers)))


def _collected(terms: Sequence[tuple[Powers, Fraction]]) -> SymbolicPolynomial:
    found: dict[Powers, Fraction] = {}
    for powers, factor in terms:
        found[powers] = found.get(powers, Fraction(0)) + factor
    kept = {powers: factor for powers, factor in found.items() if factor}
    if len(kept) > TERMS_MAX:
        raise PolynomialSizeError
    return SymbolicPolynomial(kept)


def _multiplied(left: Powers, right: Powers) -> Powers:
    found = dict(left)
    for variable, power in right:
        found[variable] = found.get(variable, 0) + power
        if found[variable] > POWER_MAX:
            raise PolynomialSizeError
    return tuple(sorted(found.items()))
