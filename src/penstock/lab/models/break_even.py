"""Break-even: from how many rows per segment on a query is cheaper over models than over tuples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from time import thread_time

from penstock.lab.timing import alternate

ROUNDS = 3


def seconds_each(
    sides: Mapping[str, Callable[[], object]], rows: int, rounds: int = ROUNDS
) -> dict[str, float]:
    """Give each side's best processor time for a row, the sides taking turns."""
    best = alternate(sides, rounds, thread_time)
    return {name: seconds / rows for name, seconds in best.items()}


def crossover(
    per_segment: Sequence[int], models: Sequence[float], tuples: Sequence[float]
) -> float:
    """Give the rows per segment at which both sides cost the same; infinity if models never win.

    >>> crossover([1, 10, 100], [8.0, 2.0, 1.0], [4.0, 4.0, 4.0])
    3.1622776601683795
    >>> crossover([1, 10], [1.0, 1.0], [4.0, 4.0]), crossover([1, 10], [5.0, 5.0], [4.0, 4.0])
    (1.0, inf)
    """
    gains = [math.log(t / m) for m, t in zip(models, tuples, strict=True)]
    if gains[0] >= 0:
        return float(per_segment[0])
    for (left, low), (right, high) in pairwise(zip(per_segment, gains, strict=True)):
        if low < 0 <= high:
            share = -low / (high - low)
            return math.exp(math.log(left) + share * (math.log(right) - math.log(left)))
    return math.inf
