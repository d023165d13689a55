"""Statistics: what the optimiser is told of selectivities, rates and unit costs.

Values alone. Whoever measures and whoever estimates puts them together before every period.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from penstock.models.sharing.workloads import ExpressionKind
from penstock.planning.selectivity.statistics import Selectivity


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitCosts:
    """What one segment costs, in seconds of processor time, or in any unit."""

    cover: float
    """In a covering stage."""
    compensation: float
    """In the compensation of one consumer."""
    union: float
    """In being united with what others have."""
    duplicates: float
    """In being compared with what is the same, or covers it."""
    alone: float
    """In the stage of one query."""


class CoverEstimate(Protocol):
    """Says what share of segments a covering stage of some consumers lets through."""

    def __call__(self, expression: int, consumers: tuple[int, ...]) -> Selectivity:
        """Give the selectivity; as certain as it can be said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingStatistics:
    """All that a period of the optimiser goes by."""

    own: Mapping[tuple[int, int], Selectivity]
    """By expression and query: of the query's own stage."""
    covers: CoverEstimate | None = None
    """Of covering stages; without it, it is made up from what is known of the consumers."""
    measured_covers: Mapping[tuple[int, tuple[int, ...]], float] = field(default_factory=dict)
    """By expression and consumers: what was counted of an instance; it is taken before `covers`."""
    costs: Mapping[ExpressionKind, UnitCosts]
    rate: float = 1.0
    """Segments of the source per second: costs are seconds per second then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingSettings:
    """What the optimiser is to weigh."""

    risk: float = 0.3
    """How much the spread between best and worst case weighs, from 0 to 1."""
    hysteresis: float = 0.02
    """The share of the cost of both instances that a consumer's switch must save."""
    collecting: float = 0.0
    """What counting the segments of one expression costs, in the unit of cost per second."""
    instances_max: int = 64
    """How many instances an expression has at most."""
