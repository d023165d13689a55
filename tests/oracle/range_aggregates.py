"""Range aggregates the slow way: definitions taken literally, over lists of tuples.

A table is a list of (partition, x, y), a subscription (partition, x1, x2). None stands for no
value, and for no end of a range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product

Tuple = tuple[int, int, int]
Subscription = tuple[int, int, int]
Point = tuple[int, int]
Open = tuple[int | None, int | None]
"""An open range: None is no end."""


def inside(table: Iterable[Tuple], subscription: Subscription) -> list[int]:
    """The values of the tuples in a subscription's range."""
    partition, low, high = subscription
    return [y for p, x, y in table if p == partition and low <= x <= high]


def least(table: Iterable[Tuple], subscription: Subscription) -> int | None:
    return min(inside(table, subscription), default=None)


def greatest(table: Iterable[Tuple], subscription: Subscription) -> int | None:
    return max(inside(table, subscription), default=None)


def distinct(table: Iterable[Tuple], subscription: Subscription) -> frozenset[int]:
    return frozenset(inside(table, subscription))


def lowest(
    k: int, largest: bool = False
) -> Callable[[Iterable[Tuple], Subscription], tuple[int, ...]]:
    """The k least values, or the greatest."""
    return lambda table, subscription: tuple(
        sorted(inside(table, subscription), reverse=largest)[:k]
    )


def after(table: Sequence[Tuple], goes: Iterable[Tuple], comes: Iterable[Tuple]) -> list[Tuple]:
    """The table after a batch."""
    rest = list(table)
    for each in goes:
        rest.remove(each)
    return [*rest, *comes]


def subscriptions(partitions: Iterable[int], xs: Sequence[int]) -> list[Subscription]:
    """All subscriptions whose ends are of these."""
    return [(p, a, b) for p, a, b in product(partitions, xs, xs) if a <= b]


def mar(points: Iterable[Point], x: int, y: int) -> Open | None:
    """The maximum affected range by its definition, or None if it is empty."""
    blockers = [at for at, value in points if value <= y]
    if x in blockers:
        return None
    return (
        max((at for at in blockers if at < x), default=None),
        min((at for at in blockers if at > x), default=None),
    )


def holds(outer: Open, low: int, high: int) -> bool:
    """Whether a closed range lies in an open one."""
    left, right = outer
    return (left is None or left < low) and (right is None or high < right)


def contains(outer: Open | None, inner: Open | None) -> bool:
    """Whether an open range lies in another one; None is the empty range."""
    if inner is None or outer is None:
        return inner is None
    left = outer[0] is None or (inner[0] is not None and outer[0] <= inner[0])
    return left and (outer[1] is None or (inner[1] is not None and inner[1] <= outer[1]))


def classify(others: Sequence[Point], x: int, old: int | None, new: int | None) -> str:
    """The class of an update at x, by the other tuples; None is no tuple."""
    values = [value for value in (old, new) if value is not None]
    if old == new or mar(others, x, min(values)) is None:
        return "ignorable"
    if new is None:
        # A deletion hides nothing: only what it uncovers is new.
        return "difficult"
    if old is None or contains(mar(others, x, new), mar(others, x, old)):
        return "easy"
    return "difficult"


def hull(points: Sequence[Point], x: int, y: int) -> list[tuple[int, int | None]]:
    """The upper hull of (x, y) by its definition: the peak, then left, then right."""
    outer = mar(points, x, y)
    assert outer is not None
    points = sorted(set(points))
    peak = min((value for at, value in points if at == x), default=None)
    sides = []
    for at, value in points:
        if at == x or not holds(outer, min(at, x), max(at, x)):
            continue
        between = [
            (a, b) for a, b in points if min(at, x) <= a <= max(at, x) and (a, b) != (at, value)
        ]
        if all(b > value for _, b in between):
            sides.append((at, value))
    return [(x, peak), *sides]


def exposed(points: Sequence[Point], x: int, at: int, value: int | None) -> Open:
    """The exposed maximum affected range of a point of the hull around x."""

    def first_left(start: int, equal: bool) -> int | None:
        found = [a for a, b in points if a < start and below(b, equal)]
        return max(found, default=None)

    def first_right(start: int) -> int | None:
        found = [a for a, b in points if a > start and below(b, False)]
        return min(found, default=None)

    def below(b: int, equal: bool) -> bool:
        return value is None or b < value or (equal and b == value)

    if at == x:
        return first_left(x, False), first_right(x)
    if at < x:
        return first_left(at, False), first_right(x)
    return first_left(x, True), first_right(at)


def nearest(
    points: Sequence[Point], x: int, bound: int, right: bool
) -> Point | None:  # fmt: skip
    """FINDR or FINDL by a scan: the nearest x from here on with a value at most `bound`."""
    mins: dict[int, int] = {}
    for at, value in points:
        mins[at] = min(value, mins.get(at, value))
    if right:
        found = [at for at in mins if at >= x and mins[at] <= bound]
        return (min(found), mins[min(found)]) if found else None
    found = [at for at in mins if at <= x and mins[at] <= bound]
    return (max(found), mins[max(found)]) if found else None


def least_in_plane(
    table: Iterable[tuple[int, int, int]], rectangle: tuple[int, int, int, int]
) -> int | None:
    """The minimum of a rectangle (x1, x2, z1, z2) over tuples (x, z, y)."""
    x1, x2, z1, z2 = rectangle
    return min((y for x, z, y in table if x1 <= x <= x2 and z1 <= z <= z2), default=None)
