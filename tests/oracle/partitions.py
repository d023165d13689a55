"""Partitions the slow way: plain lists, exhaustive search, definitions taken literally."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

Range = tuple[int, int]


def fewest_points(ranges: Sequence[Range]) -> int:
    """The least number of points that hit every range, by trying all sets of right ends."""
    ends = sorted({high for _, high in ranges})
    for count in range(len(ends) + 1):
        for points in combinations(ends, count):
            if all(any(low <= point <= high for point in points) for low, high in ranges):
                return count
    raise AssertionError("all right ends together hit everything")


def most_disjoint(ranges: Sequence[Range]) -> int:
    """The greatest number of pairwise disjoint ranges, by earliest right end."""
    count = 0
    last: int | None = None
    for low, high in sorted(ranges, key=lambda r: r[1]):
        if last is None or low > last:
            count, last = count + 1, high
    return count


def canonical(ranges: dict[int, Range]) -> set[tuple[int, frozenset[int]]]:
    """The canonical partition by its property: each point is the least right end not yet hit.

    A range belongs to the first point, from the left, that it contains.
    """
    rest = dict(ranges)
    groups = set()
    while rest:
        point = min(high for _, high in rest.values())
        members = frozenset(slot for slot, (low, _) in rest.items() if low <= point)
        groups.add((point, members))
        rest = {slot: r for slot, r in rest.items() if slot not in members}
    return groups


def common(ranges: Sequence[Range]) -> Range | None:
    """The common intersection of ranges, if there is one."""
    low, high = max(r[0] for r in ranges), min(r[1] for r in ranges)
    return (low, high) if low <= high else None
