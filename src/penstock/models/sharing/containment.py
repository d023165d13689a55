"""Containment: whether a plan of sharing can be run.

Every query that has an expression has it in one way. The consumers of a covering stage come in one
flow: whatever they pass before it is a covering stage of all of them, back to the source or to a
union of all of them. What is still to be asked passes filters and joins, but no aggregate and no
map; and what unions gave is asked again, so it must have come through filters and joins alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.algebra.sharing import Consumers, SharingPlan
from penstock.models.sharing.workloads import Expression, SharedWorkload


def fault(workload: SharedWorkload, plan: SharingPlan) -> str | None:
    """Say why a plan cannot be run; None: it can."""
    ways = {way.query: way.expressions for way in plan.ways}
    if ways.keys() != workload.queries.keys():
        return "its queries are not those of the workload"
    for expression, shared in zip(workload.expressions, plan.expressions, strict=True):
        placed = [q for own in (*shared.cover, *shared.union, shared.alone) for q in own]
        if sorted(placed) != sorted(expression.stages):
            return f"expression {expression.number} is not had once by each of its queries"
        if shared.union and not expression.can_unite:
            return f"expression {expression.number} is a window or a map, and united"
        for consumers in shared.cover:
            found = _cover_fault(workload, plan, ways, expression, consumers)
            if found is not None:
                return found
        if expression.kind == "join":
            for query in (q for own in shared.union for q in own):
                if not _is_plain(workload, ways[query], expression.number):
                    return f"query {query} has an aggregate or a map before a united join"
    return _progress_fault(plan, ways)


def _is_plain(workload: SharedWorkload, way: tuple[int, ...], number: int) -> bool:
    """Say whether there are only filters and joins before an expression."""
    before = way[: way.index(number)]
    return all(workload.expressions[each].is_conditional for each in before)


def _cover_fault(
    workload: SharedWorkload,
    plan: SharingPlan,
    ways: Mapping[int, tuple[int, ...]],
    expression: Expression,
    consumers: Consumers,
) -> str | None:
    number = expression.number
    first = ways[consumers[0]]
    place = first.index(number)
    if len(consumers) == 1:
        return None
    own = frozenset(consumers)
    while place > 0:
        place -= 1
        before = first[place]
        shared = plan.expressions[before]
        instance = next((c for c in shared.cover if own <= frozenset(c)), None)
        united = next((c for c in shared.union if own <= frozenset(c)), None)
        if instance is None and united is None:
            return f"expression {number} covers queries that expression {before} does not"
        if instance is None:
            if not expression.is_conditional:
                return f"expression {number} would be asked before what a union gave is"
            if not all(_is_plain(workload, ways[q], number) for q in consumers):
                return f"expression {number} is behind a union of aggregates or maps"
            break
        if not expression.is_conditional and not workload.expressions[before].agree(instance):
            return f"expression {number} cannot pass what expression {before} leaves to be asked"
    depth = first.index(number) - place
    stretch = first[place : place + depth]
    for query in consumers:
        end = ways[query].index(number)
        if ways[query][max(end - depth, 0) : end] != stretch or (place == 0 and end != depth):
            return f"expression {number} is reached in several ways"
    return None


def _progress_fault(plan: SharingPlan, ways: Mapping[int, tuple[int, ...]]) -> str | None:
    """Say who waits for ever: two unions may wait for each other."""
    at = dict.fromkeys(ways, 0)
    waits = [
        (number, own)
        for number, shared in enumerate(plan.expressions)
        for own in (*shared.cover, tuple(q for c in shared.union for q in c), *_each(shared.alone))
        if own
    ]
    while waits:
        left = []
        for number, own in waits:
            if all(at[q] < len(ways[q]) and ways[q][at[q]] == number for q in own):
                for query in own:
                    at[query] += 1
            else:
                left.append((number, own))
        if len(left) == len(waits):
            return f"expression {left[0][0]} waits for ever"
        waits = left
    return None


def _each(queries: Consumers) -> list[Consumers]:
    return [(query,) for query in queries]
