"""Reordering: filters that let little through, and cost little, come first.

Only neighbours change places that are filters had in one way by the same queries: two covering
stages of the same consumers, or two of one query alone. Unions stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.algebra.sharing import Consumers
from penstock.planning.sharing.conditions import rank
from penstock.planning.sharing.period import Period, named
from penstock.planning.sharing.placements import swapped


def reorder(period: Period, number: int) -> bool:
    """Let an expression change places with the next one if its rank is greater; say if it did.

    Queries that have both alone change them together: each has a chain of its own.
    """
    chains: dict[int, list[Consumers]] = {}
    for consumers, following in _chains(period, number):
        if _rank(period, number, consumers) > _rank(period, following, consumers):
            chains.setdefault(following, []).append(consumers)
    fired = False
    for following, own in chains.items():
        queries = tuple(sorted(query for consumers in own for query in consumers))
        plan = swapped(period.plan, frozenset(queries), number, following)
        if period.lowers(plan):
            text = f"{named(queries)}: expression {following} comes before {number}, as it drops "
            text += "more for what it costs."
            period.fire("reorder", number, queries, plan, text)
            fired = True
    return fired


def _chains(period: Period, number: int) -> Iterator[tuple[Consumers, int]]:
    """Give who has an expression and the next one in the same way, and the next one."""
    expressions = period.workload.expressions
    if not expressions[number].is_filter:
        return
    shared = period.plan.expressions[number]
    for own in shared.cover:
        following = {_next(period, query, number) for query in own}
        after = following.pop()
        if following or after is None or not expressions[after].is_filter:
            continue
        if own in period.plan.expressions[after].cover:
            yield own, after
    alone = [frozenset(each.alone) for each in period.plan.expressions]
    for query in shared.alone:
        after = _next(period, query, number)
        if after is not None and expressions[after].is_filter and query in alone[after]:
            yield (query,), after


def _next(period: Period, query: int, number: int) -> int | None:
    way = period.ways[query]
    place = way.index(number) + 1
    return way[place] if place < len(way) else None


def _rank(period: Period, number: int, consumers: Consumers) -> float:
    units = period.units(number)
    selectivities = period.model.selectivities
    if len(consumers) == 1:
        return rank(units.alone, selectivities.own(number, consumers[0]).estimate)
    return rank(units.cover, selectivities.cover(number, consumers).estimate)
