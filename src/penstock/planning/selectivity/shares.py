"""Shares: in how many of some drawn segments conditions hold, for who asks of very many."""

from __future__ import annotations

import numpy as np

from penstock.algebra.models import ModelCondition
from penstock.models.conditions import ConditionSolver
from penstock.models.gains import compared
from penstock.models.ranges import used
from penstock.planning.selectivity.draws import drawn
from penstock.planning.selectivity.statistics import SegmentStatistics

DRAWS = 512
"""Segments that are drawn once, for all conditions."""


def can_estimate(condition: ModelCondition, given: SegmentStatistics) -> bool:
    """Say whether bins tell something of a condition: all attributes that it speaks of have some.

    One that compares with the numbers of single queries cannot be estimated for all of them.
    """
    known = {place for place, bins in enumerate(given.attributes) if bins is not None and len(bins)}
    asked = list(compared(condition))
    return all(each.parameter is None and used(each.polynomial) <= known for each in asked)


class DrawnShares:
    """The same segments, drawn from bins, for every condition.

    A gate passes a segment whole if its condition holds for an instant, so no share exceeds 1.
    """

    def __init__(self, given: SegmentStatistics, draws: int = DRAWS) -> None:
        self._given = given
        self._drawn = drawn(given.attributes, draws)

    def share(self, condition: ModelCondition) -> float | None:
        """Give the share of segments in which a condition holds; None: nothing is known of it."""
        if not can_estimate(condition, self._given):
            return None
        own = self._drawn
        solver = ConditionSolver(condition, len(self._given.attributes))
        index, _, _ = solver.solve(own.models, own.begins, own.ends)
        return int(np.count_nonzero(np.bincount(index))) / len(own.begins)
