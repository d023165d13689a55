"""The state machine of sharing: from which way to which other a query may go at an expression.

The state is how the query has the expression before, this one and the next. While what is before is
shared, or there is nothing before, all three ways are open, but nobody leaves an expression alone
behind which it reads a covering stage. Behind an expression that the query has alone, only unions
share.
"""

from __future__ import annotations

from penstock.algebra.sharing import Sharing, SharingPlan
from penstock.planning.sharing.placements import placement

State = tuple[Sharing | None, Sharing, Sharing | None]


def state(plan: SharingPlan, way: tuple[int, ...], number: int, query: int) -> State:
    """Give the ways of the expression before, of this one and of the next; None: there is none."""
    place = way.index(number)
    before = placement(plan, way[place - 1], query)[0] if place else None
    after = placement(plan, way[place + 1], query)[0] if place + 1 < len(way) else None
    return before, placement(plan, number, query)[0], after


def allowed(found: State) -> tuple[Sharing, ...]:
    """Give the ways to which a query may go.

    >>> allowed(("cover", "cover", "alone")), allowed(("cover", "cover", "cover"))
    (('union', 'alone'), ('union',))
    >>> allowed((None, "alone", None)), allowed(("alone", "alone", "cover"))
    (('cover', 'union'), ('union',))
    """
    before, own, after = found
    if before == "alone":
        return ("union",) if own == "alone" else ("alone",)
    others: dict[Sharing, tuple[Sharing, ...]] = {
        "cover": ("union", "alone"),
        "union": ("cover", "alone"),
        "alone": ("cover", "union"),
    }
    return tuple(to for to in others[own] if to != "alone" or after != "cover")
