"""Sharing types: in which way queries have an expression, and how those that share none begin."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from penstock.algebra.sharing import Consumers, Sharing, SharingPlan
from penstock.planning.sharing.period import Period, named
from penstock.planning.sharing.placements import divided, placed
from penstock.planning.sharing.state_machine import allowed, state

SINGLY_MAX = 24
"""Up to so many queries of an expression, each is looked at by itself; of more, only those at the
edges of their instances: what they ask decides what the instance covers."""
EDGES_MAX = 8
NEAREST = 2
"""In how many other instances a query is tried."""
WORDS: dict[Sharing, str] = {
    "cover": "a covering stage",
    "union": "a union",
    "alone": "stages of their own",
}


def retype(period: Period, number: int) -> bool:
    """Make the best change of the way in which queries have an expression; say if there was one."""
    best: tuple[float, SharingPlan, Consumers, Sharing] | None = None
    for plan, consumers, to in (*_begun(period, number), *_changed(period, number)):
        found = period.tried(plan)
        if found is not None and (best is None or found < best[0]):
            best = found, plan, consumers, to
    if best is None or not period.lowers(best[1]):
        return False
    cost, plan, consumers, to = best
    alone = {*consumers} <= {*period.plan.expressions[number].alone}
    saved = 1.0 - cost / period.objective
    text = f"{named(consumers)} go on by {WORDS[to]}: {saved:.0%} of the cost is saved."
    period.fire(
        "share" if alone and len(consumers) > 1 else "retype", number, consumers, plan, text, to
    )
    return True


def _begun(period: Period, number: int) -> Iterator[tuple[SharingPlan, Consumers, Sharing]]:
    """Give plans in which those that have an expression alone share it, in 1, 2, 4, … parts.

    What stands before it may have to be covered with it; so those that unite begin again, too.
    """
    shared = period.plan.expressions[number]
    united = tuple(sorted(query for consumers in shared.union for query in consumers))
    for queries in (shared.alone, united):
        if len(queries) < 2:
            continue
        ordered = period.neighbours(number, queries)
        prefix = _common_way(period, queries, number)
        parts_max = min(period.settings.instances_max, max(len(queries) // 2, 1))
        for parts in _divisions(ordered, parts_max):
            if period.workload.expressions[number].can_unite and prefix != ():
                yield divided(period.plan, number, parts, "union"), queries, "union"
            together = divided(period.plan, number, parts, "cover")
            yield together, queries, "cover"
            for before in reversed(prefix or ()):
                together = divided(together, before, parts, "cover")
            if prefix:
                yield together, queries, "cover"


def _divisions(ordered: list[int], parts_max: int) -> Iterator[list[Consumers]]:
    """Divide queries, as they are ordered, into 1, 2, 4, … parts of about one size."""
    parts = 1
    while True:
        parts = min(parts, parts_max)
        ends = [len(ordered) * place // parts for place in range(parts + 1)]
        yield [tuple(sorted(ordered[begin:end])) for begin, end in pairwise(ends)]
        if parts == parts_max:
            return
        parts *= 2


def _common_way(period: Period, queries: Consumers, number: int) -> tuple[int, ...] | None:
    """Give what all queries pass before an expression; None: they differ in it."""
    ways = (period.ways[query] for query in queries)
    found = {way[: way.index(number)] for way in ways}
    return next(iter(found)) if len(found) == 1 else None


def _changed(period: Period, number: int) -> Iterator[tuple[SharingPlan, Consumers, Sharing]]:
    """Give plans in which an instance, or one query, has the expression in another way."""
    plan = period.plan
    shared = plan.expressions[number]
    for own, to in ((shared.cover, "union"), (shared.union, "cover")):
        for consumers in own:
            if to == "union" and any(period.ways[query][0] == number for query in consumers):
                continue
            if all(to in allowed(state(plan, period.ways[q], number, q)) for q in consumers):
                yield _to(plan, number, consumers, to)
    for query in candidates(period, number):
        first = period.ways[query][0] == number
        for to in allowed(state(plan, period.ways[query], number, query)):
            if to == "union" and first:
                continue  # What all take from the source need not be united.
            if to == "alone":
                yield placed(plan, number, (query,), to), (query,), to
                continue
            for into in (*_nearest(period, number, query, to), None):
                yield placed(plan, number, (query,), to, into), (query,), to


def _nearest(period: Period, number: int, query: int, to: Sharing) -> list[Consumers]:
    """Give the instances in which a query would add least."""
    shared = period.plan.expressions[number]
    union = to == "union"
    added = []
    for own in shared.union if union else shared.cover:
        joined = tuple(sorted({*own, query}))
        before = period.instance_cost(number, own, union=union)
        added.append((period.instance_cost(number, joined, union=union) - before, own))
    return [own for _, own in sorted(added)[:NEAREST]]


def _to(
    plan: SharingPlan, number: int, consumers: Consumers, to: str
) -> tuple[SharingPlan, Consumers, Sharing]:
    way: Sharing = "cover" if to == "cover" else "union"
    return placed(plan, number, consumers, way), consumers, way


def candidates(period: Period, number: int) -> list[int]:
    """Give the queries of an expression that are looked at singly."""
    expression = period.workload.expressions[number]
    queries = tuple(sorted(expression.stages))
    if len(queries) <= SINGLY_MAX:
        return list(queries)
    shared = period.plan.expressions[number]
    found: dict[int, None] = {}
    for consumers in (*shared.cover, *shared.union):
        if len(consumers) > 1:
            ordered = period.neighbours(number, consumers)
            found |= dict.fromkeys((ordered[0], ordered[-1]))
    return list(found)[:EDGES_MAX]
