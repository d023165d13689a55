"""Band joins as anybody would write them: every tuple, every query, every stored value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan

Number = int | float
HIGHEST = 2**63 - 1


def affected(
    ranges: Mapping[int, tuple[Number, Number]],
    given: Sequence[Number],
    stored: Sequence[Number],
    mirrored: bool = False,
) -> set[tuple[int, int]]:
    """Give (place, slot) where right value minus left value lies in the slot's range."""
    found = set()
    for place, b in enumerate(given):
        for slot, (low, high) in ranges.items():
            for value in stored:
                d = b - value if mirrored else value - b
                if isinstance(d, float):
                    holds = not isnan(d) and low <= d <= high
                else:
                    # Whole numbers stop at the open ends.
                    holds = _end(low) <= _end(d) <= _end(high)
                if holds:
                    found.add((place, slot))
                    break
    return found


def _end(number: Number) -> Number:
    return max(min(number, HIGHEST), -HIGHEST)
