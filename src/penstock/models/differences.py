"""Differences: pairs of attributes of which a polynomial knows only how far apart they are.

`(a - b)²` is kept as `a² - 2ab + b²`. Where a and b are large and close to each other, as two
positions in metres from the equator are, the three terms cancel all digits that matter; of a - b
none is lost.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

from penstock.algebra.models import Polynomial

Pair = tuple[int, int]


def differences_of(polynomial: Polynomial) -> tuple[Pair, ...]:
    """Give pairs of attributes that may be moved by one amount, and the polynomial stays the same.

    Only pairs that stand together in a term are told: without such a term nothing cancels.

    >>> from penstock.algebra.models import Monomial
    >>> square = Polynomial(terms=tuple(Monomial(factor=f, powers=p) for f, p in
    ...     ((1.0, (0, 2)), (-2.0, (1, 1)), (1.0, (2, 0)))))
    >>> differences_of(square)
    ((0, 1),)
    """
    found: list[Pair] = []
    taken: set[int] = set()
    together = {
        pair
        for term in polynomial.terms
        for pair in combinations([n for n, power in enumerate(term.powers) if power], 2)
    }
    for pair in sorted(together):
        if not taken & set(pair) and _moves_freely(polynomial, pair):
            found.append(pair)
            taken |= set(pair)
    return tuple(found)


def _moves_freely(polynomial: Polynomial, pair: Pair) -> bool:
    """Say whether the derivatives by two attributes add up to nothing."""
    slope: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for term in polynomial.terms:
        for place in pair:
            power = term.powers[place]
            if power:
                left = (*term.powers[:place], power - 1, *term.powers[place + 1 :])
                slope[left] += term.factor * power
    return not any(slope.values())


def over_differences(polynomial: Polynomial, pairs: tuple[Pair, ...]) -> Polynomial:
    """Give the polynomial in which the first of each pair stands for the difference of both.

    >>> from penstock.algebra.models import Monomial
    >>> square = Polynomial(terms=tuple(Monomial(factor=f, powers=p) for f, p in
    ...     ((1.0, (0, 2)), (-2.0, (1, 1)), (1.0, (2, 0)))))
    >>> over_differences(square, ((0, 1),)).terms
    (Monomial(factor=1.0, powers=(2, 0)),)
    """
    terms = (term for term in polynomial.terms if not any(term.powers[other] for _, other in pairs))
    return Polynomial(terms=tuple(terms))
