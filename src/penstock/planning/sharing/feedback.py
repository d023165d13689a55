"""Feedback: which expressions are worth counting, because their selectivities are unsure.

Counting turns an estimate with bounds into a number. What it saves is risk: the spread of the cost
with the bounds, less that without.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.planning.selectivity.statistics import Selectivity
from penstock.planning.sharing.conditions import pays_to_measure
from penstock.planning.sharing.costs import CostModel
from penstock.planning.sharing.period import Period


def measure(period: Period, number: int) -> bool:
    """Begin to count the segments of an expression, or cease; say if that changed."""
    counted = number in period.plan.measured
    spread = period.model.cost(period.plan).spread
    if not _is_unsure(period, number):
        return False  # It is known, and if by counting, then counting goes on.
    left = _spread_if_known(period, number)
    pays = pays_to_measure(
        period.objective, spread, left, period.settings.collecting, period.settings.risk
    )
    if pays == counted:
        return False
    kept = {*period.plan.measured, number} if pays else {*period.plan.measured} - {number}
    plan = replace(period.plan, measured=tuple(sorted(kept)))
    share = (spread - left) / spread if spread else 0.0
    text = f"Segments of expression {number} are counted: {share:.0%} of the risk is its doing."
    if not pays:
        text = f"Segments of expression {number} are no longer counted: it saves too little risk."
    consumers = tuple(sorted(period.workload.expressions[number].stages))
    period.fire("measure", number, consumers, plan, text)
    return True


def _is_unsure(period: Period, number: int) -> bool:
    own = (
        period.model.selectivities.own(number, query)
        for query in period.workload.expressions[number].stages
    )
    return any(each.low < each.high for each in own)


def _spread_if_known(period: Period, number: int) -> float:
    """Give the spread of the plan's cost if the selectivities of an expression were counted."""
    statistics = period.model.statistics
    selectivities = period.model.selectivities
    stages = period.workload.expressions[number].stages
    own = {
        **statistics.own,
        **{
            (number, query): Selectivity.exactly(selectivities.own(number, query).estimate)
            for query in stages
        },
    }
    shared = period.plan.expressions[number]
    covers = {
        (number, consumers): selectivities.cover(number, consumers).estimate
        for consumers in (*shared.cover, *shared.union)
    }
    known = replace(statistics, own=own, measured_covers={**statistics.measured_covers, **covers})
    model = CostModel(period.workload, known, period.settings)
    return model.cost(period.plan).spread
