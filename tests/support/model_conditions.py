"""Conditions over models, drawn and built; rows are attributes, so that twins see the same."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.algebra.models import (
    ModelComparison,
    ModelCondition,
    ModelConjunction,
    ModelDisjunction,
    ModelNegation,
    Monomial,
    Polynomial,
)
from penstock.models.segments import WIDTH

Floats = npt.NDArray[np.float64]
COMPARATORS = ("<", "<=", "=", "<>", ">=", ">")


def polynomial(*terms: tuple[float, tuple[int, ...]]) -> Polynomial:
    """Make a polynomial of (factor, powers)."""
    return Polynomial(terms=tuple(Monomial(factor=f, powers=p) for f, p in terms))


def attribute(place: int, count: int) -> Polynomial:
    """Make the polynomial that is an attribute itself."""
    return polynomial((1.0, tuple(int(k == place) for k in range(count))))


def compared(row: Polynomial, comparator: Any, parameter: str | None = None) -> ModelComparison:
    """Make a comparison."""
    return ModelComparison(polynomial=row, comparator=comparator, parameter=parameter)


def models(rows: Sequence[Sequence[float]]) -> Floats:
    """Give the models (attributes, WIDTH) of some rows of coefficients."""
    made = np.zeros((len(rows), WIDTH))
    for place, row in enumerate(rows):
        made[place, : len(row)] = row
    return made


def built(tree: Any, rows: list[tuple[Fraction, ...]]) -> ModelCondition:
    """Make a condition of a twin's tree; its rows are attributes at their places in `rows`."""
    match tree:
        case ("cmp", comparator, row):
            return compared(attribute(rows.index(row), len(rows)), comparator)
        case ("not", term):
            return ModelNegation(term=built(term, rows))
        case ("and", terms):
            return ModelConjunction(terms=tuple(built(term, rows) for term in terms))
        case _:
            return ModelDisjunction(terms=tuple(built(term, rows) for term in tree[1]))


def drawn_row(rng: np.random.Generator) -> tuple[Fraction, ...]:
    """Draw a product of lines with roots at halves, some of them often: touching is common."""
    row = [Fraction(int(rng.choice([-2, -1, 1, 2])))]
    for _ in range(int(rng.integers(0, 5))):
        root = Fraction(int(rng.integers(-1, 9)), 2)
        row = [a - root * b for a, b in zip([Fraction(0), *row], [*row, Fraction(0)], strict=True)]
    return tuple(row)


def drawn_tree(rng: np.random.Generator, rows: Sequence[Any], depth: int) -> Any:
    """Draw a tree over rows."""
    if depth == 0 or rng.random() < 0.2:
        return ("cmp", str(rng.choice(COMPARATORS)), rows[int(rng.integers(len(rows)))])
    word = str(rng.choice(["not", "and", "or"]))
    if word == "not":
        return (word, drawn_tree(rng, rows, depth - 1))
    count = int(rng.integers(1, 4))
    return (word, tuple(drawn_tree(rng, rows, depth - 1) for _ in range(count)))
