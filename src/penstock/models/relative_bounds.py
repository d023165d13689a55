"""Relative bounds: shares of values, led back through a plan.

A share passes through what is proportional to its inputs: what is passed on, products, roots,
ratios, aggregates, sums of terms of one sign. It cannot pass through a difference, which may be
small while its parts are not.
"""

from __future__ import annotations

import math
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


def relative_shares(plan: ModelStage, place: int, output: str, share: float) -> RelativeShares:
    """Lead the relative bound of an output back to the leaves that it is made of."""
    found = _Descent(plan, output)
    found.descend(plan, place, share, 0)
    return RelativeShares(found.shares, tuple(dict.fromkeys(found.assumptions)))


class _Descent:
    """Goes from an output down to its leaves."""

    def __init__(self, plan: ModelStage, output: str) -> None:
        self._output = output
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
            share = share / (2.0 + share)
            self._polynomial(stage, divisor, share, first, below)
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
            powers = sum(term.powers)
            if powers:
                own = (1.0 + share) ** (1.0 / powers) - 1.0
                for place in used(Polynomial(terms=(term,))):
                    self.descend(stage.input, place, own, first)

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
