"""Selectivities: what is known of stages, and of what covers several of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from penstock.algebra.sharing import Consumers
from penstock.models.sharing.covering import covering
from penstock.models.sharing.workloads import SharedWorkload
from penstock.planning.selectivity.statistics import Selectivity
from penstock.planning.sharing.statistics import SharingStatistics

Reading = Literal["estimate", "low", "high"]
"""Which of the numbers of a selectivity costs are computed with."""
READINGS: tuple[Reading, ...] = ("estimate", "low", "high")
UNKNOWN = Selectivity(estimate=1.0, low=0.0, high=1.0)
PASSED = Selectivity.exactly(1.0)


@dataclass(slots=True)
class Selectivities:
    """The selectivities of one period, each worked out once."""

    workload: SharedWorkload
    statistics: SharingStatistics
    _covers: dict[tuple[int, Consumers], Selectivity] = field(default_factory=dict)

    def own(self, expression: int, query: int) -> Selectivity:
        """Give that of a query's own stage; of an aggregate or a map nobody spoke of, 1."""
        known = self.statistics.own.get((expression, query))
        if known is not None:
            return known
        return UNKNOWN if self.workload.expressions[expression].is_conditional else PASSED

    def cover(self, expression: int, consumers: Consumers) -> Selectivity:
        """Give that of a covering stage: what was counted, else what is estimated."""
        known = self._covers.get((expression, consumers))
        if known is None:
            known = self._covers[expression, consumers] = self._cover(expression, consumers)
        return known

    def _cover(self, expression: int, consumers: Consumers) -> Selectivity:
        measured = self.statistics.measured_covers.get((expression, consumers))
        if measured is not None:
            return Selectivity.exactly(measured)
        if self.workload.expressions[expression].agree(consumers):
            return self.own(expression, consumers[0])
        own = [self.own(expression, query) for query in consumers]
        # What covers stages lets through at least what each of them does.
        least = own[0]
        for each in own[1:]:
            least = _greater(least, each)
        if self.statistics.covers is not None:
            return _greater(self.statistics.covers(expression, consumers), least)
        return self._made_up(expression, consumers, least)

    def _made_up(self, expression: int, consumers: Consumers, least: Selectivity) -> Selectivity:
        """Make it up: of one consumer if it covers the others, else as if all were independent."""
        stage = self.workload.expressions[expression]
        conditions = {stage.condition(query): query for query in consumers}
        weakest = conditions.get(covering([*conditions]))
        if weakest is not None:
            return _greater(self.own(expression, weakest), least)
        none = 1.0
        for query in consumers:
            none *= 1.0 - min(self.own(expression, query).estimate, 1.0)
        return _greater(Selectivity(estimate=1.0 - none, low=0.0, high=1.0), least)


def _greater(one: Selectivity, other: Selectivity) -> Selectivity:
    """Give the greater of two, number by number."""
    return Selectivity(
        estimate=max(one.estimate, other.estimate),
        low=max(one.low, other.low),
        high=max(one.high, other.high),
    )
