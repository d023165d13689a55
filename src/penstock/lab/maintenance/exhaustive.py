"""Exhaustive schedules: every flush tried, on problems that are small enough.

The slow twin of the search. Nothing here is shared with it: costs come from tables of numbers, sets
from combinations, and what waits is a tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import combinations, product

import numpy as np

from penstock.views.maintenance.problems import Problem
from penstock.views.maintenance.schedules import Schedule

Waiting = tuple[int, ...]
Answer = tuple[float, tuple[Waiting, ...]]
"""A cost, and what is flushed at each moment from here."""


class Exhaustive:
    """A problem that is solved by trying everything."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._costs = [
            curve.over(np.arange(total + 1)).tolist()
            for curve, total in zip(
                problem.freshness.curves.each, problem.arrivals.sum(axis=0), strict=True
            )
        ]
        self._arrivals = [tuple(map(int, row)) for row in problem.arrivals]

    def cheapest(self) -> Schedule:
        """Give the cheapest valid schedule of all: any change may be flushed at any moment."""
        return self._solved(self._any)

    def cheapest_lazy(self) -> Schedule:
        """Give the cheapest valid schedule that flushes only when it must."""
        return self._solved(
            lambda state: self._any(state) if self._is_full(state) else [_none(state)]
        )

    def cheapest_minimal(self) -> Schedule:
        """Give the cheapest lazy, greedy, minimal schedule."""
        return self._solved(
            lambda state: self._minimal(state) if self._is_full(state) else [_none(state)]
        )

    def _cost(self, state: Waiting) -> float:
        return float(sum(costs[size] for costs, size in zip(self._costs, state, strict=True)))

    def _is_full(self, state: Waiting) -> bool:
        return self._cost(state) > self.problem.freshness.limit

    def _any(self, state: Waiting) -> Iterator[Waiting]:
        """Give every valid flush."""
        for flush in product(*(range(size + 1) for size in state)):
            if not self._is_full(_less(state, flush)):
                yield flush

    def _minimal(self, state: Waiting) -> Iterator[Waiting]:
        """Give every valid flush of whole tables of which no part is valid, by its definition."""
        tables = [table for table, size in enumerate(state) if size]
        found: list[frozenset[int]] = []
        for size in range(1, len(tables) + 1):
            for members in map(frozenset, combinations(tables, size)):
                flush = tuple(size if table in members else 0 for table, size in enumerate(state))
                if any(other <= members for other in found) or self._is_full(_less(state, flush)):
                    continue
                found.append(members)
                yield flush

    def _solved(self, flushes: Callable[[Waiting], Iterable[Waiting]]) -> Schedule:
        last = self.problem.last

        @cache
        def solved(moment: int, before: Waiting) -> Answer:
            state = tuple(map(sum, zip(before, self._arrivals[moment], strict=True)))
            if moment == last:
                return self._cost(state), (state,)
            best: Answer | None = None
            for flush in flushes(state):
                rest, plan = solved(moment + 1, _less(state, flush))
                cost = self._cost(flush) + rest
                if best is None or cost < best[0] - 1e-12:
                    best = cost, (flush, *plan)
            assert best is not None, "flushing everything is always valid"
            return best

        _, plan = solved(0, (0,) * len(self._costs))
        return Schedule(problem=self.problem, flushed=np.array(plan, np.int64))


def _less(state: Waiting, flush: Waiting) -> Waiting:
    return tuple(a - b for a, b in zip(state, flush, strict=True))


def _none(state: Waiting) -> Waiting:
    return (0,) * len(state)
