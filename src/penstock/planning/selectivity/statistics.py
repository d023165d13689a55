"""What is known of segments at some place of a plan, and what is estimated of a stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from penstock.algebra.models import Fidelity, ModelStage
from penstock.models.coefficient_bins import CoefficientBins

BoundsMethod = Literal["greedy", "frechet"]
"""How the bounds of a conjunction are found: `frechet` bounds hold for certain."""
DRAWS = 4096
"""How many segments are drawn for a condition that no closed form answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimation:
    """How selectivities are estimated."""

    fidelity: Fidelity = "repaired"
    """`literal` follows the published formulae where the repaired ones differ."""
    bounds: BoundsMethod = "greedy"
    draws: int = DRAWS
    aligned: bool = False
    """Whether segments of different streams begin and end at the same times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selectivity:
    """Output segments per input segment of a stage, as expected, and at the least and the most.

    It may exceed 1: a condition may cut a segment into several.

    >>> both = Selectivity.exactly(0.5).then(Selectivity(estimate=0.4, low=0.2, high=0.5))
    >>> both.estimate, both.low, both.high
    (0.2, 0.1, 0.25)
    """

    estimate: float
    low: float
    high: float
    known: bool = True
    """Whether bins told it; otherwise it is a guess for want of them."""

    def __post_init__(self) -> None:
        assert 0.0 <= self.low <= self.estimate <= self.high, "bounds in order"

    @classmethod
    def exactly(cls, estimate: float) -> Self:
        """Give a selectivity whose bounds are its estimate: no terms meet whose bins could."""
        return cls(estimate=estimate, low=estimate, high=estimate)

    @classmethod
    def within(cls, estimate: float, low: float, high: float) -> Self:
        """Give one whose bounds are widened to its estimate where they miss it."""
        return cls(estimate=estimate, low=min(low, estimate), high=max(high, estimate))

    def then(self, other: Self) -> Self:
        """Give that of two stages, one behind the other."""
        return replace(
            self, estimate=self.estimate * other.estimate, low=self.low * other.low,
            high=self.high * other.high, known=self.known and other.known,
        )  # fmt: skip


GUESS = Selectivity(estimate=1 / 3, low=0.0, high=1.0, known=False)
"""What is said of a condition on attributes of which nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentStatistics:
    """Segments at some place of a plan: how many came in how long, and the bins of their models.

    Attributes are taken to be independent of each other.
    """

    attributes: tuple[CoefficientBins | None, ...]
    """By position; None: nothing is known of it."""
    count: float
    """How many segments came."""
    seconds: float
    """In how long they came."""
    keys: int = 1
    """How many keys they are of."""

    @classmethod
    def of(cls, *attributes: CoefficientBins | None, seconds: float = 60.0, keys: int = 1) -> Self:
        """Give statistics of attributes whose bins hold the same segments."""
        count = max((each.total for each in attributes if each is not None), default=0.0)
        return cls(attributes=attributes, count=count, seconds=seconds, keys=keys)

    @property
    def per_s(self) -> float:
        """How many segments come per second."""
        return self.count / self.seconds

    @property
    def length_s(self) -> float:
        """How long a segment holds on the mean; of a key, no longer than until the next one."""
        known = [each for each in self.attributes if each is not None and each.total > 0]
        if not known:
            return 0.0
        mean = float(((known[0].ends - known[0].begins) * known[0].frequency).sum())
        return min(mean / known[0].total, self.seconds * self.keys / max(self.count, 1e-9))

    def passed(
        self, selectivity: Selectivity, attributes: Mapping[int, CoefficientBins]
    ) -> SegmentStatistics:
        """Give what is known of those that pass; `attributes` are the bins that changed."""
        count = self.count * selectivity.estimate
        made = tuple(
            None if each is None else scaled(attributes.get(place, each), count)
            for place, each in enumerate(self.attributes)
        )
        return replace(self, attributes=made, count=count)


def scaled(bins: CoefficientBins, total: float) -> CoefficientBins:
    """Give bins that hold so many segments in all; none if they held none."""
    if bins.total <= 0.0 or total <= 0.0:
        return bins.take(np.zeros(len(bins), np.bool_))
    return replace(bins, frequency=bins.frequency * (total / bins.total))


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEstimate:
    """What is expected of one stage of a plan."""

    stage: ModelStage
    selectivity: Selectivity
    """Of a join: pairs per segment of either side."""
    given: float
    """How many segments it is given in the time of its sources' statistics."""
    made: SegmentStatistics
    """What it makes."""
