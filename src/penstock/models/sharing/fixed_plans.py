"""Fixed plans: everything shared in one way, as far as that can be."""

from __future__ import annotations

from penstock.algebra.sharing import SharedExpression, SharingPlan, Way
from penstock.models.sharing.workloads import Expression, SharedWorkload


def covered(workload: SharedWorkload) -> SharingPlan:
    """Give the plan with one covering stage for all queries of an expression, from the source on.

    A query leaves where it has an expression that not all of the others have, and where something
    is still to be asked before an aggregate or a map.
    """
    riders = tuple(sorted(workload.queries))
    shared: dict[int, tuple[int, ...]] = {}
    agree = True
    for number in workload.ways[riders[0]] if riders else ():
        expression = workload.expressions[number]
        place = len(shared)
        same = all(workload.ways[q][place : place + 1] == (number,) for q in riders)
        if not same or not (expression.is_conditional or agree):
            break
        agree = agree and expression.agree(riders)
        shared[number] = riders
    return _plan(workload, {n: SharedExpression(cover=(own,)) for n, own in shared.items()})


def united(workload: SharedWorkload) -> SharingPlan:
    """Give the plan that unites what queries have before every filter and join but the first."""
    shared: dict[int, SharedExpression] = {}
    for expression in workload.expressions:
        queries = tuple(sorted(expression.stages))
        if len(queries) > 1 and all(_can_unite(workload, expression, query) for query in queries):
            shared[expression.number] = SharedExpression(union=(queries,))
    return _plan(workload, shared)


def _can_unite(workload: SharedWorkload, expression: Expression, query: int) -> bool:
    """Say whether a query has something before an expression, and only filters and joins."""
    way = workload.ways[query]
    before = way[: way.index(expression.number)]
    plain = all(workload.expressions[number].is_conditional for number in before)
    return bool(before) and expression.can_unite and (plain or expression.kind != "join")


def _plan(workload: SharedWorkload, shared: dict[int, SharedExpression]) -> SharingPlan:
    unshared = workload.unshared()
    return SharingPlan(
        expressions=tuple(
            shared.get(number, alone) for number, alone in enumerate(unshared.expressions)
        ),
        ways=tuple(Way(query=query, expressions=way) for query, way in workload.ways.items()),
    )
