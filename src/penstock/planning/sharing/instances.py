"""Instances: whether each pays, whether its consumers do, and who is better off in another."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.algebra.sharing import Consumers, Sharing
from penstock.planning.sharing.conditions import consumer_limit, instance_limit
from penstock.planning.sharing.period import Period, named
from penstock.planning.sharing.placements import placed
from penstock.planning.sharing.sharing_types import SINGLY_MAX

SHARED: tuple[Sharing, ...] = ("cover", "union")
NEAR = 2
"""Among many instances, so many on either side are looked at."""
SWITCHES_MAX = 8
"""How many consumers switch between instances of an expression in one period."""


def _instances(period: Period, number: int) -> Iterator[tuple[Sharing, Consumers]]:
    shared = period.plan.expressions[number]
    for sharing, instances in (("cover", shared.cover), ("union", shared.union)):
        for consumers in instances:
            agree = period.workload.expressions[number].agree(consumers)
            if len(consumers) > 1 and not agree:
                yield ("cover" if sharing == "cover" else "union"), consumers


def dissolve(period: Period, number: int) -> bool:
    """Dissolve an instance that does not pay (lazy-instance); say if there was one."""
    for sharing, consumers in _instances(period, number):
        limit = instance_limit(period.units(number), len(consumers), union=sharing == "union")
        covers = period.model.selectivities.cover(number, consumers).estimate
        if covers < limit:
            continue
        plan = placed(period.plan, number, consumers, "alone")
        if period.lowers(plan):
            text = (
                f"{named(consumers)} no longer share: what covers them lets {covers:.0%} through, "
                f"and that pays below {limit:.0%}."
            )
            period.fire("dissolve", number, consumers, plan, text, "alone")
            return True
    return False


def leave(period: Period, number: int) -> bool:
    """Let a consumer go that does not pay in its instance (lazy-consumer); say if there was one.

    It goes to the instance where it costs least, or into one of its own.
    """
    for sharing, consumers in _instances(period, number):
        limit = consumer_limit(period.units(number), len(consumers), union=sharing == "union")
        if period.model.selectivities.cover(number, consumers).estimate < limit:
            continue
        for query in _edges(period, number, consumers):
            shared = period.plan.expressions[number]
            others = shared.cover if sharing == "cover" else shared.union
            plans = [
                placed(period.plan, number, (query,), sharing, into)
                for into in (*(own for own in others if own != consumers), None)
            ]
            plan = min(plans, key=lambda each: period.tried(each) or float("inf"))
            if period.lowers(plan):
                text = f"{named((query,))} leaves those with whom it shared: it did not pay."
                period.fire("leave", number, (query,), plan, text, sharing)
                return True
    return False


def switch(period: Period, number: int) -> bool:
    """Let consumers go to instances where they cost less (eager-switch); say if one did.

    Both instances together must cost less by more than a share, the hysteresis.
    """
    fired = 0
    for sharing in SHARED:
        touched: set[Consumers] = set()
        for _, query, source, target in _switches(period, number, sharing):
            if fired == SWITCHES_MAX:
                break
            if source in touched or target in touched:
                continue
            plan = placed(period.plan, number, (query,), sharing, target)
            if period.lowers(plan):
                touched |= {source, target}
                text = f"{named((query,))} is better off with {named(target)}."
                period.fire("switch", number, (query,), plan, text, sharing)
                fired += 1
    return fired > 0


def _switches(
    period: Period, number: int, sharing: Sharing
) -> list[tuple[float, int, Consumers, Consumers]]:
    """Give who might go where, by what is saved, the most first."""
    shared = period.plan.expressions[number]
    instances = shared.cover if sharing == "cover" else shared.union
    union = sharing == "union"
    cost = {own: period.instance_cost(number, own, union=union) for own in instances}
    ordered = period.by_position(number, instances)
    found = []
    for source in instances:
        for query in _edges(period, number, source):
            rest = tuple(each for each in source if each != query)
            saved = cost[source] - period.instance_cost(number, rest, union=union)
            for target in _near(ordered, source) if saved > 0.0 else ():
                joined = tuple(sorted((*target, query)))
                added = period.instance_cost(number, joined, union=union) - cost[target]
                least = period.settings.hysteresis * (cost[source] + cost[target])
                if added - saved < -least:
                    found.append((added - saved, query, source, target))
    return sorted(found)


def _near(ordered: list[Consumers], source: Consumers) -> list[Consumers]:
    """Give the instances that lie beside one: few are all near."""
    if len(ordered) <= 2 * NEAR + 2:
        return [own for own in ordered if own != source]
    place = ordered.index(source)
    return [*ordered[max(place - NEAR, 0) : place], *ordered[place + 1 : place + 1 + NEAR]]


def _edges(period: Period, number: int, consumers: Consumers) -> list[int]:
    """Give the consumers that are looked at: all of few, of many those at the edges."""
    if len(consumers) <= SINGLY_MAX:
        return list(consumers)
    ordered = period.neighbours(number, consumers)
    return [*ordered[:2], *ordered[-2:]]
