"""Distances: pairs of attributes whose squared differences a polynomial adds up."""

from __future__ import annotations

import math

import numpy as np

from penstock.algebra.models import (
    ModelComparison,
    ModelConjunction,
    ModelJoin,
    Monomial,
    Polynomial,
)
from penstock.kernels.near_pairs import Nearby
from penstock.models.shapes import SegmentShape


def axes_of(polynomial: Polynomial) -> tuple[tuple[int, int], ...]:
    """Give pairs of attributes, if a polynomial is the sum of their squared differences."""
    terms = {each.powers: each.factor for each in polynomial.terms}
    axes = []
    for powers, factor in terms.items():
        pair = [place for place, power in enumerate(powers) if power == 1]
        if len(pair) == 2 and sum(powers) == 2 and factor == -2.0:
            axes.append((pair[0], pair[1]))
    attributes = len(polynomial.terms[0].powers) if polynomial.terms else 0
    squares = [Monomial(factor=1.0, powers=_powers(attributes, own, own))
               for pair in axes for own in pair]  # fmt: skip
    mixed = [Monomial(factor=-2.0, powers=_powers(attributes, *pair)) for pair in axes]
    expected = {each.powers: each.factor for each in (*squares, *mixed)}
    return tuple(axes) if expected == terms and len(expected) == 3 * len(axes) else ()


def _powers(attributes: int, one: int, other: int) -> tuple[int, ...]:
    return tuple((place == one) + (place == other) for place in range(attributes))


def distance_asked(node: ModelJoin, left: SegmentShape, right: SegmentShape) -> Nearby | None:
    """Give the distance that a join's own condition wants to be small, of what moves on lines.

    A pair that is farther apart all the time is in no answer.
    """
    condition = node.condition
    terms = condition.terms if isinstance(condition, ModelConjunction) else (condition,)
    degrees, first = (*left.degrees, *right.degrees), len(left.degrees)
    for term in terms:
        if not isinstance(term, ModelComparison) or term.comparator not in ("<", "<="):
            continue
        constant = sum(each.factor for each in term.polynomial.terms if not any(each.powers))
        moving = tuple(each for each in term.polynomial.terms if any(each.powers))
        axes = axes_of(Polynomial(terms=moving))
        if (
            axes
            and term.parameter is None
            and all(one < first <= other for one, other in axes)
            and all(degrees[place] <= 1 for pair in axes for place in pair)
        ):
            return Nearby(
                np.array([one for one, _ in axes], np.int64),
                np.array([other - first for _, other in axes], np.int64),
                math.sqrt(max(-constant, 0.0)),
            )
    return None
