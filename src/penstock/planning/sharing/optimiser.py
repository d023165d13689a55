"""The optimiser of sharing: one period, from a plan and what is known to a plan that costs less.

Greedy local moves, as published (Ahmad 2009, chapter 4), over expressions in the order in which
segments pass them. For each the way in which queries have it and its place are looked at first,
then whether instances pay, then consumers in them, then switches between them, then whether it is
worth counting. What fires cancels what comes after it, for this expression and this period.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.algebra.sharing import Consumers, SharedExpression, SharingPlan, Way
from penstock.models.sharing.containment import fault
from penstock.models.sharing.workloads import SharedWorkload
from penstock.planning.sharing.feedback import measure
from penstock.planning.sharing.instances import dissolve, leave, switch
from penstock.planning.sharing.moves import Optimised
from penstock.planning.sharing.period import Period, named
from penstock.planning.sharing.reordering import reorder
from penstock.planning.sharing.sharing_types import retype
from penstock.planning.sharing.statistics import SharingSettings, SharingStatistics

CONDITIONS: tuple[Callable[[Period, int], bool], ...] = (
    retype,
    reorder,
    dissolve,
    leave,
    switch,
    measure,
)
"""In the order in which they are looked at; one that fires cancels the rest."""


def optimise(
    workload: SharedWorkload,
    plan: SharingPlan,
    statistics: SharingStatistics,
    settings: SharingSettings,
) -> Optimised:
    """Give the plan of the next period, the moves that lead to it with their reasons, and costs.

    Call it once per period with the plan that it gave before; begin with `workload.unshared()`, and
    with `adjusted` where queries have come or gone since. With the same statistics the objective
    never rises, and after some periods no move comes any more.
    """
    period = Period(workload, plan, statistics, settings)
    unshared = _given_up(period)
    for number in _passed_in_order(plan):
        for condition in CONDITIONS:
            if condition(period, number):
                break
    found = fault(workload, period.plan)
    assert found is None, found
    runner_up, cost = period.runner_up()
    return Optimised(
        plan=period.plan,
        moves=tuple(period.moves),
        cost=period.objective,
        runner_up=runner_up,
        runner_up_cost=cost,
        unshared_cost=unshared,
        tried=period.looked_at,
    )


def _given_up(period: Period) -> float:
    """Share nothing if that costs less than what stands; give what it costs.

    Local moves may lead a plan that has become dear astray for periods.
    """
    alone = replace(period.workload.unshared(), measured=period.plan.measured)
    cost = period.tried(alone)
    assert cost is not None
    if cost < period.objective * (1.0 - period.settings.hysteresis):
        queries = tuple(sorted(period.workload.queries))
        text = f"{named(queries)} share nothing: what they shared would cost more."
        period.fire("dissolve", period.plan.ways[0].expressions[0], queries, alone, text, "alone")
    return cost


def adjusted(workload: SharedWorkload, before: SharedWorkload, plan: SharingPlan) -> SharingPlan:
    """Give the plan for a workload to which queries have come, or from which some have gone.

    Who stays keeps its place, who comes has its expressions alone.
    """
    standing = {
        query for query in workload.queries if before.queries.get(query) == workload.queries[query]
    }
    numbers = {
        before.ways[query][place]: number
        for query in standing
        for place, number in enumerate(workload.ways[query])
    }
    expressions = [
        SharedExpression(alone=tuple(sorted(each.stages))) for each in workload.expressions
    ]
    for old, new in numbers.items():
        shared = plan.expressions[old]
        cover, union = _kept(shared.cover, standing), _kept(shared.union, standing)
        taken = {query for own in (*cover, *union) for query in own}
        alone = tuple(query for query in expressions[new].alone if query not in taken)
        expressions[new] = SharedExpression(cover=cover, union=union, alone=alone)
    ways = {way.query: tuple(numbers[e] for e in way.expressions) for way in plan.ways
            if way.query in standing}  # fmt: skip
    return SharingPlan(
        expressions=tuple(expressions),
        ways=tuple(
            Way(query=query, expressions=ways.get(query, way))
            for query, way in workload.ways.items()
        ),
        measured=tuple(sorted(numbers[each] for each in plan.measured if each in numbers)),
    )


def _kept(instances: tuple[Consumers, ...], standing: set[int]) -> tuple[Consumers, ...]:
    left = (tuple(query for query in own if query in standing) for own in instances)
    return tuple(own for own in left if own)


def _passed_in_order(plan: SharingPlan) -> list[int]:
    """Give the expressions in the order in which segments pass them first."""
    first: dict[int, int] = {}
    for way in plan.ways:
        for place, number in enumerate(way.expressions):
            first[number] = min(place, first.get(number, place))
    return sorted(first, key=lambda number: (first[number], number))
