"""Estimated statistics: what bins of coefficients say of stages, and of what would cover them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.models.sharing.covering import covering
from penstock.models.sharing.workloads import ExpressionKind, SharedWorkload
from penstock.planning.selectivity.conditions import selectivity_of
from penstock.planning.selectivity.statistics import Estimation, SegmentStatistics, Selectivity
from penstock.planning.sharing.statistics import SharingStatistics, UnitCosts
from penstock.planning.sharing.unit_costs import BUILT_IN

REPAIRED = Estimation()


@dataclass(slots=True)
class EstimatedCovers:
    """What covering filters of a workload would let through, by the bins of its source.

    The source's bins serve for all filters on its own attributes, wherever they stand: filters are
    taken to be independent of each other, as costs take them.
    """

    workload: SharedWorkload
    source: SegmentStatistics
    how: Estimation = REPAIRED
    _known: dict[tuple[int, tuple[int, ...]], Selectivity] = field(default_factory=dict)

    def __call__(self, expression: int, consumers: tuple[int, ...]) -> Selectivity:
        """Estimate the covering condition."""
        found = self._known.get((expression, consumers))
        if found is None:
            own = self.workload.expressions[expression]
            condition = covering([own.condition(query) for query in consumers])
            found = selectivity_of(condition, self.source, self.how)
            self._known[expression, consumers] = found
        return found


def estimated(
    workload: SharedWorkload,
    source: SegmentStatistics,
    costs: Mapping[ExpressionKind, UnitCosts] = BUILT_IN,
    how: Estimation = REPAIRED,
) -> SharingStatistics:
    """Estimate a workload whose queries are chains of filters on the attributes of the source."""
    covers = EstimatedCovers(workload, source, how)
    own = {
        (expression.number, query): covers(expression.number, (query,))
        for expression in workload.expressions
        if expression.is_filter
        for query in expression.stages
    }
    return SharingStatistics(own=own, covers=covers, costs=costs, rate=source.per_s)
