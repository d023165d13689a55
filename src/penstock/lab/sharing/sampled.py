"""Statistics from a sample: what stages, and what covers them, let through.

What each query was told says how selective it is. What would cover some of them is asked of a
sample; how far off a sample may be is known, and gives the bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from penstock.models.conditions import ConditionSolver
from penstock.models.segments import Segments
from penstock.models.sharing.covering import covering
from penstock.models.sharing.workloads import SharedWorkload
from penstock.planning.selectivity.statistics import Selectivity
from penstock.planning.sharing.statistics import SharingStatistics, UnitCosts


@dataclass(slots=True)
class SampledCovers:
    """What covering stages of a workload would let through of a sample of the source."""

    workload: SharedWorkload
    sample: Segments
    _known: dict[tuple[int, tuple[int, ...]], Selectivity] = field(default_factory=dict)

    def __call__(self, expression: int, consumers: tuple[int, ...]) -> Selectivity:
        """Ask the sample."""
        found = self._known.get((expression, consumers))
        if found is None:
            own = self.workload.expressions[expression]
            condition = covering([own.condition(query) for query in consumers])
            solver = ConditionSolver(condition, self.sample.coefficients.shape[1])
            passed = len(solver.gate(self.sample))
            found = self._known[expression, consumers] = sampled(passed, len(self.sample))
        return found


def sampled(passed: int, total: int) -> Selectivity:
    """Give a share of a sample, and the bounds that hold in nineteen cases of twenty.

    >>> found = sampled(50, 100)
    >>> found.low, found.estimate, found.high
    (0.4, 0.5, 0.6)
    """
    share = passed / total
    off = 2.0 * float(np.sqrt(share * (1.0 - share) / total))
    return Selectivity(estimate=share, low=max(share - off, 0.0), high=min(share + off, 1.0))


def statistics(
    workload: SharedWorkload,
    sample: Segments,
    told: Mapping[int, int],
    taken: int,
    units: UnitCosts,
) -> SharingStatistics:
    """Put together what a period of queries with one filter each has shown."""
    own = {
        (0, query): Selectivity.exactly(min(told.get(query, 0) / taken, 1.0))
        for query in workload.queries
    }
    return SharingStatistics(
        own=own, covers=SampledCovers(workload, sample), costs={"filter": units}
    )
