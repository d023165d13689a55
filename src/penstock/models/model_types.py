"""Types of models: what a function of time must know so that comparisons of it can be solved.

Polynomials are the type that queries run on, compiled and many at a time. This is the seam for
others: a type says where it may change sides, and two loops solve comparisons of any types, of one
model with 0 and of two with each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol, Self

import numpy as np

from penstock.algebra.models import Comparator
from penstock.kernels.comparisons import sign_allowed
from penstock.kernels.polynomial_roots import roots_list
from penstock.kernels.polynomials import polynomial_evaluate, polynomial_sign, polynomial_strip
from penstock.models.conditions import ALLOWS
from penstock.vocabulary.batches import Floats


@dataclass(frozen=True, slots=True)
class TimePart:
    """A part of time: (low, high), or, where both are equal, an instant."""

    low: float
    high: float

    @property
    def is_instant(self) -> bool:
        """Whether it is an instant."""
        return self.low == self.high


class Model(Protocol):
    """A function of time in a range [low, high), of any type."""

    @property
    def low(self) -> float:
        """Where it begins."""

    @property
    def high(self) -> float:
        """Where it ends; at a point, where it begins."""

    def pieces(self) -> Iterator[TimePart]:
        """Give, in order, parts of its range in each of which it is on one side of 0, or is 0."""

    def value(self, at: float) -> float:
        """Give its value at an instant."""

    def holds(self, piece: TimePart, comparator: Comparator) -> bool:
        """Say whether `model comparator 0` in all of a piece that it gave."""

    def restricted(self, low: float, high: float) -> Self:
        """Give the same function in a part of its range."""

    def minus(self, other: Model) -> Model | None:
        """Give the difference where both hold, or None: of such a type there is none."""


def solve_one(model: Model, comparator: Comparator) -> list[TimePart]:
    """Give when `model comparator 0`; but for `<>`, without regard to instants that are lacking.

    >>> [*solve_one(PolynomialModel((-5.0, 1.0), 0.0, 10.0), ">")]
    [TimePart(low=5.0, high=10.0)]
    >>> [*solve_one(PolynomialModel((-5.0, 1.0), 0.0, 10.0), "<>")]
    [TimePart(low=0.0, high=5.0), TimePart(low=5.0, high=10.0)]
    """
    held = (piece for piece in model.pieces() if model.holds(piece, comparator))
    return joined(held, divided=comparator == "<>")


def solve_two(left: Model, right: Model, comparator: Comparator) -> list[TimePart]:
    """Give when `left comparator right`, in the range of both.

    Where the types have a difference, that is solved. Else the right one is asked at the instants
    that the left one's pieces begin with, and what is found there holds for the piece: the left
    type gives pieces as fine as it needs.
    """
    difference = left.minus(right)
    if difference is not None:
        return solve_one(difference, comparator)
    low, high = max(left.low, right.low), min(left.high, right.high)
    found = []
    for piece in left.restricted(low, high).pieces():
        apart = left.value(piece.low) - right.value(piece.low)
        if sign_allowed(ALLOWS[comparator], int(np.sign(apart))):
            found.append(piece)
    return joined(iter(found))


def joined(pieces: Iterator[TimePart], *, divided: bool = False) -> list[TimePart]:
    """Join pieces that touch; an instant beside an interval goes into it.

    Where they are `divided`, two intervals without the instant between them stay two.
    """
    found: list[TimePart] = []
    before = None
    for piece in pieces:
        apart = divided and before is not None and not (before.is_instant or piece.is_instant)
        if found and found[-1].high == piece.low and not apart:
            found[-1] = TimePart(found[-1].low, piece.high)
        else:
            found.append(piece)
        before = piece
    return found


@dataclass(frozen=True, slots=True)
class PolynomialModel:
    """A polynomial of time: ascending coefficients and a range.

    >>> line = PolynomialModel((1.0, 2.0), 0.0, 4.0)
    >>> line.value(3.0), line.minus(PolynomialModel((0.0, 2.0), 1.0, 9.0))
    (7.0, PolynomialModel(coefficients=(1.0, 0.0), low=1.0, high=4.0))
    """

    coefficients: tuple[float, ...]
    low: float
    high: float

    def pieces(self) -> Iterator[TimePart]:
        """Give its roots, and what lies between them."""
        if self.low == self.high:
            yield TimePart(self.low, self.low)
            return
        array, degree = self._stripped()
        roots = roots_list(array, degree, self.low, self.high)[0].tolist() if degree > 0 else []
        cuts = [self.low, *(root for root in roots if root > self.low), self.high]
        for low, high in pairwise(cuts):
            yield TimePart(low, low)
            yield TimePart(low, high)

    def value(self, at: float) -> float:
        """Give its value at an instant."""
        array = np.array(self.coefficients)
        return polynomial_evaluate(array, len(array) - 1, at)

    def holds(self, piece: TimePart, comparator: Comparator) -> bool:
        """Say whether `model comparator 0`, by the sign in the middle of a piece."""
        array, degree = self._stripped()
        middle = 0.5 * (piece.low + piece.high)
        sign = int(np.sign(array[0])) if degree == 0 else polynomial_sign(array, degree, middle)
        return sign_allowed(ALLOWS[comparator], sign)

    def restricted(self, low: float, high: float) -> Self:
        """Give the same polynomial in a part of its range."""
        return replace(self, low=low, high=high)

    def minus(self, other: Model) -> Model | None:
        """Give the difference of two polynomials; of another type there is none."""
        if not isinstance(other, PolynomialModel):
            return None
        width = max(len(self.coefficients), len(other.coefficients))
        one, two = (_padded(each.coefficients, width) for each in (self, other))
        low, high = max(self.low, other.low), min(self.high, other.high)
        return PolynomialModel(tuple((one - two).tolist()), low, high)

    def _stripped(self) -> tuple[Floats, int]:
        array = np.array(self.coefficients)
        return array, polynomial_strip(array, len(array) - 1, self.low, self.high)


def _padded(coefficients: tuple[float, ...], width: int) -> Floats:
    return np.pad(np.array(coefficients), (0, width - len(coefficients)))
