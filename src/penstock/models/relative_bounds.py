"""Relative bounds: shares of values, led back through a plan.

A share passes through what is proportional to its inputs: what is passed on, products, roots,
ratios, aggregates, sums of terms of one sign. It cannot pass through a difference, which may be
small while its parts are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from penstock.algebra.models import (
    MappedAttribute,
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelMap,
    ModelSource,
    ModelStage,
    ModelWindow,
    Monomial,
    Polynomial,
)
from penstock.models.gains import StageReach, leaves_of, reach, width_of
from penstock.models.ranges import ValueRange, term_range, used
from penstock.vocabulary.errors import PenstockError


@dataclass(frozen=True, slots=True)
class RelativeShares:
    """What a relative bound allows: a share for every leaf, by number."""

    shares: dict[int, float]
    assumptions: tuple[str, ...] = ()


def relative_shares(
    plan: ModelStage,
    place: int,
    output: str,
    share: float,
    weights: Mapping[int, float] | None = None,
) -> RelativeShares:
    """Lead the relative bound of an output back to the leaves that it is made of.

    Of a sum each leaf may have the whole share, whatever the others have. Factors divide it: by
    the `weights` of the leaves that they are made of, where there are any, else equally.
    """
    found = _Descent(plan, output, weights)
    found.descend(plan, place, share, 0)
    return RelativeShares(found.shares, tuple(dict.fromkeys(found.assumptions)))


class _Descent:
    """Goes from an output down to its leaves."""

    def __init__(self, plan: ModelStage, output: str, weights: Mapping[int, float] | None) -> None:
        self._output = output
        self._weights = weights
        self._leaves = len(leaves_of(plan))
        self.shares: dict[int, float] = {}
        self.assumptions: list[str] = []

    def descend(self, stage: ModelStage, place: int, share: float, first: int) -> None:
        """Lead a share of an attribute of a stage whose leaves begin with the number `first`."""
        if isinstance(stage, ModelSource):
            leaf = first + place
            self.shares[leaf] = min(self.shares.get(leaf, math.inf), share)
        elif isinstance(stage, ModelFilter):
            self.descend(stage.input, place, share, first)
        elif isinstance(stage, ModelJoin):
            width = width_of(stage.left)
            if place < width:
                self.descend(stage.left, place, share, first)
            else:
                behind = first + len(leaves_of(stage.left))
                self.descend(stage.right, place - width, share, behind)
        elif isinstance(stage, ModelMap):
            self._map(stage, stage.attributes[place], share, first)
        else:
            self.assumptions.append(_assumption(stage, self._output))
            self.descend(stage.input, stage.attribute, share, first)

    def _map(self, stage: ModelMap, attribute: MappedAttribute, share: float, first: int) -> None:
        """Lead a share through a function."""
        if attribute.tolerance > 0.0:
            raise self._refusal(f"{attribute.name} is itself approximated by an amount")
        below = self._below(stage.input, first)
        divisor = attribute.divisor
        if attribute.function == "sqrt":
            share = 1.0 - (1.0 - min(share, 1.0)) ** 2
        elif attribute.function == "ratio" and divisor is not None and used(divisor):
            above = self._part(attribute.polynomial, divisor, first, below)
            if above is None:
                share = share / (2.0 + share)
                self._polynomial(stage, divisor, share, first, below)
            else:
                self._polynomial(stage, divisor, 1.0 - (1.0 + share) ** (above - 1.0), first, below)
                share = (1.0 + share) ** above - 1.0
        self._polynomial(stage, attribute.polynomial, share, first, below)

    def _polynomial(
        self, stage: ModelMap, inner: Polynomial, share: float, first: int, below: StageReach
    ) -> None:
        """Lead a share through a sum of terms that have one sign, each a product."""
        box = [each.values for each in below.attributes]
        if len(inner.terms) > 1:
            ranges: list[ValueRange] = [term_range(term, box) for term in inner.terms]
            if not (all(r.low >= 0.0 for r in ranges) or all(r.high <= 0.0 for r in ranges)):
                raise self._refusal("it adds terms that may have different signs")
        for term in inner.terms:
            weights = self._factors(term, first, below)
            total = sum(power * weight for power, weight in weights.values())
            for place, (_, weight) in weights.items():
                own = (1.0 + share) ** (weight / total) - 1.0 if weight else 0.0
                self.descend(stage.input, place, own, first)

    def _factors(
        self, term: Monomial, first: int, below: StageReach
    ) -> dict[int, tuple[int, float]]:
        """Give the power of every factor of a term, and the weight of its leaves."""
        return {
            place: (term.powers[place], self._weight(below.attributes[place].leaves, first))
            for place in used(Polynomial(terms=(term,)))
        }

    def _weight(self, leaves: Iterable[int], first: int) -> float:
        """Give the weight of the leaves of a stage that has `first` leaves before it."""
        if self._weights is None:
            return 1.0
        return math.fsum(self._weights[first + leaf] for leaf in leaves)

    def _part(
        self, above: Polynomial, divisor: Polynomial, first: int, below: StageReach
    ) -> float | None:
        """Give the part of its share that what is divided has; None: nothing weighs it."""
        if self._weights is None:
            return None
        one, other = (
            self._weight(
                frozenset().union(*(below.attributes[p].leaves for p in used(each))), first
            )
            for each in (above, divisor)
        )
        return one / (one + other) if one + other > 0.0 else 0.5

    def _below(self, stage: ModelStage, first: int) -> StageReach:
        """Give the ranges of a stage's attributes."""
        own = len(leaves_of(stage))
        assert first + own <= self._leaves
        return reach(stage, np.zeros(own))

    def _refusal(self, why: str) -> PenstockError:
        return PenstockError(
            "MDL-045",
            f"The relative bound of {self._output} cannot be led back to its sources: {why}.",
            "Give it as an amount, or bound the attribute of the source itself: ERROR WITHIN name "
            "1 %.",
        )


def _assumption(stage: ModelEnvelope | ModelWindow, output: str) -> str:
    return f"The relative bound of {output} holds where {stage.name} is of values of one sign."
