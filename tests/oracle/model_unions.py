"""Unions of segments, one by one: which are parts of one, and who has which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Part = tuple[Any, float, float]
"""What must be equal, low and high."""


def hulls(parts: Sequence[Sequence[Part]]) -> set[tuple[Any, float, float, frozenset[int]]]:
    """Give the ranges that overlapping parts of one origin cover together, and whose they are."""
    left = [(origin, low, high, {n}) for n, own in enumerate(parts) for origin, low, high in own]
    merged = True
    while merged:
        merged = False
        for i, (origin, low, high, consumers) in enumerate(left):
            for j in range(i + 1, len(left)):
                other, begin, end, others = left[j]
                if origin == other and _overlap(low, high, begin, end):
                    del left[j]
                    left[i] = origin, min(low, begin), max(high, end), consumers | others
                    merged = True
                    break
            if merged:
                break
    return {(origin, low, high, frozenset(own)) for origin, low, high, own in left}


def _overlap(low: float, high: float, begin: float, end: float) -> bool:
    if low == high and begin == end:
        return low == begin
    if low == high:
        return begin <= low < end
    if begin == end:
        return low <= begin < high
    return max(low, begin) < min(high, end)
