"""Histograms the slow way: every set of boundaries, every assignment, key by key."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise, product

Range = tuple[int, int]


def count(ranges: Sequence[Range], key: int) -> int:
    """How many ranges contain a key."""
    return sum(low <= key <= high for low, high in ranges)


def bucket_error(weights: Sequence[float], levels: Sequence[float]) -> float:
    """The least weighted square error of one value for all levels."""
    weight = sum(weights)
    if not weight:
        return 0.0
    mean = sum(w * y for w, y in zip(weights, levels, strict=True)) / weight
    return sum(w * (y - mean) ** 2 for w, y in zip(weights, levels, strict=True))


def best_split(weights: Sequence[float], levels: Sequence[float], buckets: int) -> float:
    """The least error of at most so many runs of consecutive levels, by trying all."""
    n = len(levels)
    best = float("inf")
    for used in range(1, min(buckets, n) + 1):
        for cuts in combinations(range(1, n), used - 1):
            ends = [0, *cuts, n]
            parts = [slice(a, b) for a, b in pairwise(ends)]
            best = min(best, sum(bucket_error(weights[p], levels[p]) for p in parts))
    return best


def best_clusters(weights: Sequence[float], levels: Sequence[float], clusters: int) -> float:
    """The least error of any assignment of levels to so many clusters, consecutive or not."""
    best = float("inf")
    for chosen in product(range(clusters), repeat=len(levels)):
        error = 0.0
        for cluster in range(clusters):
            members = [i for i, c in enumerate(chosen) if c == cluster]
            error += bucket_error([weights[i] for i in members], [levels[i] for i in members])
        best = min(best, error)
    return best


def best_step_function(levels_at: Sequence[float], buckets: int, grid: int) -> float:
    """The least relative square error of a step function whose boundaries lie on a finer grid.

    `levels_at` are the levels of cells of width 1; each is cut into `grid` cells.
    """
    fine = [y for y in levels_at for _ in range(grid)]
    return best_split([1 / grid / y**2 for y in fine], fine, buckets)
