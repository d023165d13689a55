"""Placements: in which way a query has an expression, and plans in which it has it otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from penstock.algebra.sharing import Consumers, SharedExpression, Sharing, SharingPlan, Way

Placement = tuple[Sharing, Consumers]
"""The way, and the consumers of the instance; alone, the query itself."""


def placement(plan: SharingPlan, number: int, query: int) -> Placement:
    """Say how a query has an expression."""
    shared = plan.expressions[number]
    for consumers in shared.cover:
        if query in consumers:
            return "cover", consumers
    for consumers in shared.union:
        if query in consumers:
            return "union", consumers
    return "alone", (query,)


def placed(
    plan: SharingPlan,
    number: int,
    queries: Collection[int],
    to: Sharing,
    into: Consumers | None = None,
) -> SharingPlan:
    """Give the plan in which queries have an expression in another way: in an instance, or anew."""
    gone = set(queries)
    shared = plan.expressions[number]
    kept: dict[Sharing, list[Consumers]] = {
        "cover": _without(shared.cover, gone),
        "union": _without(shared.union, gone),
    }
    alone = [query for query in shared.alone if query not in gone]
    if to == "alone":
        alone = sorted([*alone, *gone])
    else:
        base = tuple(query for query in into or () if query not in gone)
        if base:
            kept[to].remove(base)
        kept[to].append(tuple(sorted({*base, *gone})))
    changed = SharedExpression(
        cover=tuple(sorted(kept["cover"])), union=tuple(sorted(kept["union"])), alone=tuple(alone)
    )
    expressions = (*plan.expressions[:number], changed, *plan.expressions[number + 1 :])
    return replace(plan, expressions=expressions)


def divided(plan: SharingPlan, number: int, parts: Iterable[Consumers], to: Sharing) -> SharingPlan:
    """Give the plan in which the consumers of each part share an expression, part by part."""
    for part in parts:
        plan = placed(plan, number, part, to)
    return plan


def swapped(plan: SharingPlan, queries: Collection[int], one: int, other: int) -> SharingPlan:
    """Give the plan in which two neighbours change places on the ways of some queries."""
    exchanged = {one: other, other: one}
    ways = tuple(
        Way(query=way.query, expressions=tuple(exchanged.get(e, e) for e in way.expressions))
        if way.query in queries
        else way
        for way in plan.ways
    )
    return replace(plan, ways=ways)


def _without(instances: tuple[Consumers, ...], gone: set[int]) -> list[Consumers]:
    left = (tuple(query for query in own if query not in gone) for own in instances)
    return [own for own in left if own]
