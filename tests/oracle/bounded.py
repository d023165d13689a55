"""Bounded joins by brute force: sums as they stand in the definitions, all futures one by one.

Laws are plain dictionaries from keys to probabilities; keys that are missing to 1 join nothing.
Rows are (side, key) with side "R" or "S"; None is a key that joins nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

Law = Mapping[int, Any]


def bounded_normal(sigma: float, half_width: int) -> dict[int, float]:
    """Give the discretised normal law on -half_width to half_width."""
    phi = lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0))  # noqa: E731
    ends = range(-half_width, half_width + 1)
    raw = {i: phi((i + 0.5) / sigma) - phi((i - 0.5) / sigma) for i in ends}
    total = sum(raw.values())
    return {i: mass / total for i, mass in raw.items()}


def uniform(half_width: int) -> dict[int, float]:
    """Give equal masses."""
    return {i: 1.0 / (2 * half_width + 1) for i in range(-half_width, half_width + 1)}


def trend_score(noise: Law, slope: int, offset: int, alpha: float, caching: bool) -> float:
    """Sum e^(-n / alpha) p(offset - slope n), for the first reference only when caching."""
    score, survival = 0.0, 1.0
    for n in range(1, 4000):
        mass = noise.get(offset - slope * n, 0.0)
        score += math.exp(-n / alpha) * mass * survival
        if caching:
            survival *= 1.0 - mass
    return score


def curve(laws: Sequence[Law], key: int, caching: bool) -> list[Any]:
    """Give the expected results of a key with independent partners' keys, tick by tick."""
    found: list[Any] = []
    total, survival = 0, 1
    for law in laws:
        mass = law.get(key, 0)
        total = total + mass
        survival = survival * (1 - mass)
        found.append(1 - survival if caching else total)
    return found


def first_passages(matrix: Any, state: int, key: int, count: int) -> list[float]:
    """Give the chance that a chain is at a key for the first time after 1, 2... ticks."""
    size = len(matrix)
    weights = [0.0] * size
    weights[state] = 1.0
    found = []
    for _ in range(count):
        moved = [0.0] * size
        for i, weight in enumerate(weights):
            if weight:
                for j in range(size):
                    moved[j] += weight * matrix[i][j]
        found.append(moved[key])
        moved[key] = 0.0
        weights = moved
    return found


def is_dominated(curves: Sequence[Sequence[float]], chosen: set[int]) -> bool:
    """Say whether every row outside dominates every row inside; equals favour the earlier row."""
    for u, v in itertools.product(range(len(curves)), chosen):
        if u in chosen:
            continue
        over = all(a >= b for a, b in zip(curves[u], curves[v], strict=True))
        equal = list(curves[u]) == list(curves[v])
        if not over or (equal and u > v):
            return False
    return True


def joining_values(
    candidates: Sequence[tuple[str, int | None]],
    budget: int,
    r_laws: Sequence[Law],
    s_laws: Sequence[Law],
) -> dict[tuple[int, ...], Any]:
    """Give, for each choice of candidates to keep, the best expected results from then on.

    Laws are those of the ticks to come. Decisions may depend on all that is seen before them.
    """

    def outcomes(law: Law) -> list[tuple[int | None, Any]]:
        rest = 1 - sum(law.values())
        known: list[tuple[int | None, Any]] = [(key, mass) for key, mass in law.items() if mass]
        return [*known, (None, rest)] if rest > 1e-12 else known

    @cache
    def ahead(kept: tuple[tuple[str, int | None], ...], tick: int) -> Any:
        if tick == len(r_laws):
            return 0
        value: Any = 0
        for r, r_mass in outcomes(r_laws[tick]):
            for s, s_mass in outcomes(s_laws[tick]):
                hits = sum(
                    key is not None and key == (s if side == "R" else r) for side, key in kept
                )
                pool = (*kept, ("R", r), ("S", s))
                best = max(ahead(each, tick + 1) for each in choices(pool, budget))
                value += r_mass * s_mass * (hits + best)
        return value

    def choices(pool: Sequence[Any], count: int) -> set[tuple[Any, ...]]:
        size = min(count, len(pool))
        order = lambda row: (row[0], row[1] is None, row[1] or 0)  # noqa: E731
        return {tuple(sorted(each, key=order)) for each in itertools.combinations(pool, size)}

    numbers = itertools.combinations(range(len(candidates)), min(budget, len(candidates)))
    return {kept: ahead(tuple(candidates[i] for i in kept), 0) for kept in numbers}


def caching_values(
    candidates: Sequence[int],
    budget: int,
    ticks: int,
    law_of: Callable[[int, int | None], Law],
    last: int | None = None,
) -> dict[tuple[int, ...], Any]:
    """Give, for each choice of keys to keep, the best expected hits over the ticks to come.

    `law_of(tick, last)` is the law of the next reference; a fetched row may be turned away.
    """

    @cache
    def ahead(kept: frozenset[int], tick: int, last: int | None) -> Any:
        if tick == ticks:
            return 0
        value: Any = 0
        for key, mass in law_of(tick, last).items():
            if key in kept:
                value += mass * (1 + ahead(kept, tick + 1, key))
            else:
                pool = (*kept, key)
                size = min(budget, len(pool))
                sets = itertools.combinations(pool, size)
                value += mass * max(ahead(frozenset(each), tick + 1, key) for each in sets)
        return value

    sets = itertools.combinations(sorted(candidates), min(budget, len(candidates)))
    return {kept: ahead(frozenset(kept), 0, last) for kept in sets}


def walk_law(step: Mapping[int, Fraction]) -> Callable[[int, int | None], Law]:
    """Give the law of a walk's next key."""
    return lambda _tick, last: {(last or 0) + move: mass for move, mass in step.items()}


Choose = Callable[[list[int], int, int], int]
"""From the cached keys, the fetched key and the tick: the key that goes."""


def cache_hits(initial: Sequence[int], references: Sequence[int], choose: Choose) -> int:
    """Count the hits of a cache that is full at the start."""
    cached, hits = list(initial), 0
    for tick, key in enumerate(references):
        if key in cached:
            hits += 1
            continue
        goes = choose(list(cached), key, tick)
        if goes != key:
            cached[cached.index(goes)] = key
    return hits


def reduced_results(
    initial: Sequence[int],
    demand: Sequence[tuple[int, int]],
    supply: Sequence[tuple[int, int]],
    choose: Choose,
) -> int:
    """Count the results of the join that caching becomes, under the same policy.

    Rows that can join no more go first; what the policy sees are the keys of the others.
    """
    cached, results = [(key, 0) for key in initial], 0
    for tick, (asked, offered) in enumerate(zip(demand, supply, strict=True)):
        results += cached.count(asked)
        dead = [row for row in cached if row == asked]
        if dead:
            cached[cached.index(dead[0])] = offered
            continue
        keys = [row[0] for row in cached]
        goes = choose(keys, offered[0], tick)
        if goes != offered[0]:
            cached[keys.index(goes)] = offered
    return results
