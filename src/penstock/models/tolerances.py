"""Tolerances: how far a source's rows may be from its models before these are made again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.algebra.models import BoundForm, Fidelity, ModelCondition, SplitMethod
from penstock.vocabulary.batches import Floats

FLOOR = 1e-9
"""What a relative bound allows at least, as an amount."""
MIN_SHARE = 0.1
"""The part of a bound that GRADIENT divides equally."""


@dataclass(frozen=True, slots=True)
class TolerancePool:
    """What one bound of a query allows the attributes of one source together.

    `amounts` has a number for every attribute of the source: what an equal split allows it, as an
    amount or as a share of its smallest absolute value; infinity where the bound does not ask for
    the attribute. A split by gradients moves the pool's whole from one attribute to the other.
    """

    form: BoundForm
    amounts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SourceTolerances:
    """How far rows of one source may be from a model, as a function of that model alone.

    An attribute is allowed the least that any pool allows it; without pools, anything. While
    `condition`, which speaks of the source's own attributes, has no solution in a segment, that
    segment gives no answer: then rows may be off by what it takes to give one (slack).
    """

    pools: tuple[TolerancePool, ...]
    split: SplitMethod = "equi"
    min_share: float = MIN_SHARE
    floor: float = FLOOR
    condition: ModelCondition | None = None
    fidelity: Fidelity = "repaired"

    @classmethod
    def absolute(cls, *amounts: float) -> SourceTolerances:
        """Allow every attribute an amount.

        >>> SourceTolerances.absolute(0.5, 1.0).equal
        (0.5, 1.0)
        """
        return cls((TolerancePool("absolute", amounts),))

    @classmethod
    def relative(cls, *shares: float, floor: float = FLOOR) -> SourceTolerances:
        """Allow every attribute a share of its smallest absolute value in a segment."""
        return cls((TolerancePool("relative", shares),), floor=floor)

    @property
    def equal(self) -> tuple[float, ...]:
        """The amounts that an equal split of the absolute pools allows."""
        amounts = [pool.amounts for pool in self.pools if pool.form == "absolute"]
        return tuple(min(each) for each in zip(*amounts, strict=True))

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares of values that an equal split of the relative pools allows."""
        amounts = [pool.amounts for pool in self.pools if pool.form == "relative"]
        return tuple(min(each) for each in zip(*amounts, strict=True))

    def allowed(self, attribute: int, values: Floats) -> Floats:
        """Give how far rows may be from values of an attribute, by an equal split, without slack.

        >>> SourceTolerances.relative(0.5).allowed(0, np.array([2.0, -4.0])).round(6).tolist()
        [1.0, 2.0]
        """
        found = np.full(len(values), math.inf)
        for pool in self.pools:
            amount = pool.amounts[attribute]
            own = amount if pool.form == "absolute" else amount * np.abs(values) + self.floor
            found = np.minimum(found, own)
        return found

    @property
    def allows_nothing(self) -> bool:
        """Whether some attribute may not be off at all."""
        return any(amount == 0.0 for pool in self.pools for amount in pool.amounts)

    def __post_init__(self) -> None:
        assert all(a >= 0.0 for pool in self.pools for a in pool.amounts)
        assert not any(math.isnan(a) for pool in self.pools for a in pool.amounts)
