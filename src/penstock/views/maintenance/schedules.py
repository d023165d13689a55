"""Schedules: which changes are flushed when, what it costs, and which rules a schedule keeps.

*Lazy*: nothing is flushed before it must. *Greedy*: a table that is flushed is flushed wholly.
*Minimal*: no table is flushed that could have waited. The cheapest schedule that is all three costs
at most twice as much as the cheapest of all, and no more if costs are fixed plus linear.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from penstock.views.maintenance.problems import Problem
from penstock.vocabulary.batches import Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Schedule:
    """How many changes of each table are flushed at each moment, the oldest first."""

    problem: Problem
    flushed: Ints
    """By moment and table."""

    @classmethod
    def of_sets(cls, problem: Problem, sets: dict[int, tuple[int, ...]]) -> Schedule:
        """Give the greedy schedule that flushes sets of tables, and everything at the end."""
        flushed = np.zeros_like(problem.arrivals)
        pending = np.zeros(problem.arrivals.shape[1], np.int64)
        for moment, come in enumerate(problem.arrivals):
            pending += come
            members = list(sets.get(moment, ()))
            if moment == problem.last:
                members = list(range(len(pending)))
            flushed[moment, members] = pending[members]
            pending[members] = 0
        return cls(problem=problem, flushed=flushed)

    @cached_property
    def before(self) -> Ints:
        """What waits at each moment before anything is flushed."""
        return self.problem.come - np.cumsum(self.flushed, axis=0) + self.flushed

    @cached_property
    def after(self) -> Ints:
        """What waits at each moment after the flush."""
        return self.before - self.flushed

    @cached_property
    def sets(self) -> dict[int, tuple[int, ...]]:
        """The tables that are flushed, by moment."""
        moments = np.flatnonzero(self.flushed.any(axis=1))
        return {
            int(moment): tuple(map(int, np.flatnonzero(self.flushed[moment]))) for moment in moments
        }

    @property
    def table_costs(self) -> tuple[float, ...]:
        """What flushes of each table cost together."""
        return tuple(
            float(curve.over(np.ascontiguousarray(column)).sum())
            for curve, column in zip(
                self.problem.freshness.curves.each, self.flushed.T, strict=True
            )
        )

    @property
    def cost(self) -> float:
        """What all flushes cost."""
        return sum(self.table_costs)

    @property
    def is_valid(self) -> bool:
        """Whether a refresh after any moment keeps the bound, and nothing is left at the end."""
        fresh = self.problem.freshness
        within = all(not fresh.is_full(state) for state in self.after)
        return within and not self.after[-1].any() and bool((self.after >= 0).all())

    @property
    def is_lazy(self) -> bool:
        """Whether nothing is flushed before the end unless a refresh would break the bound."""
        fresh = self.problem.freshness
        return all(fresh.is_full(self.before[moment]) for moment in self._early)

    @property
    def is_greedy(self) -> bool:
        """Whether a table that is flushed is flushed wholly."""
        touched = self.flushed > 0
        return bool((self.after[touched] == 0).all())

    @property
    def is_minimal(self) -> bool:
        """Whether before the end no table is flushed that could have waited."""
        fresh = self.problem.freshness
        return all(
            self.sets[moment] in fresh.minimal_sets(self.before[moment]) for moment in self._early
        )

    @property
    def _early(self) -> Iterable[int]:
        return (moment for moment in self.sets if moment < self.problem.last)


def lazy_schedule(schedule: Schedule) -> Schedule:
    """Hold every flush of a valid schedule until it must be: valid, lazy and never dearer."""
    problem = schedule.problem
    held = np.zeros(problem.arrivals.shape[1], np.int64)
    pending = np.zeros_like(held)
    flushed = np.zeros_like(schedule.flushed)
    for moment, come in enumerate(problem.arrivals):
        pending += come
        held += schedule.flushed[moment]
        if moment == problem.last or problem.freshness.is_full(pending):
            flushed[moment] = held
            pending -= held
            held[:] = 0
    return Schedule(problem=problem, flushed=flushed)


def minimal_schedule(schedule: Schedule) -> Schedule:
    """Make a lazy, greedy, minimal schedule of a valid one: at most twice as dear, per table.

    Where it must flush, it may take the tables of which it has more waiting than the other after
    its flush; of these as few as will do.
    """
    problem = schedule.problem
    sets: dict[int, tuple[int, ...]] = {}
    pending = np.zeros(problem.arrivals.shape[1], np.int64)
    for moment in range(problem.last):
        pending += problem.arrivals[moment]
        if problem.freshness.is_full(pending):
            ahead = np.flatnonzero(pending > schedule.after[moment])
            sets[moment] = _thinned(problem, pending, ahead)
            pending[list(sets[moment])] = 0
    return Schedule.of_sets(problem, sets)


def linear_schedule(schedule: Schedule) -> Schedule:
    """Make a lazy, greedy, minimal schedule that costs no more, if costs are fixed plus linear.

    Where it must flush, it may take the tables that the other has flushed since it did.
    """
    problem = schedule.problem
    sets: dict[int, tuple[int, ...]] = {}
    tables = problem.arrivals.shape[1]
    pending, theirs, ours = np.zeros(tables, np.int64), np.full(tables, -1), np.full(tables, -1)
    for moment in range(problem.last):
        pending += problem.arrivals[moment]
        theirs[schedule.flushed[moment] > 0] = moment
        if problem.freshness.is_full(pending):
            sets[moment] = _thinned(problem, pending, np.flatnonzero(ours < theirs))
            pending[list(sets[moment])] = 0
            ours[list(sets[moment])] = moment
    return Schedule.of_sets(problem, sets)


def _thinned(problem: Problem, pending: Ints, tables: Ints) -> tuple[int, ...]:
    """Give a least set among tables whose flush together is enough; one pass finds it."""
    taken = {int(table) for table in tables}
    for table in sorted(taken):
        rest = pending.copy()
        rest[list(taken - {table})] = 0
        if not problem.freshness.is_full(rest):
            taken.discard(table)
    return tuple(sorted(taken))


def shared_batches(one: Schedule, other: Schedule, table: int) -> list[list[int]]:
    """Say, for each batch of a table in one schedule, which batches of the other share a change.

    Changes are numbered in the order in which they came, and flushed in that order.
    """
    ends = [np.cumsum(each.flushed[:, table][each.flushed[:, table] > 0]) for each in (one, other)]
    ranges = [list(pairwise([0, *found.tolist()])) for found in ends]
    return [
        [
            number
            for number, (start, end) in enumerate(ranges[1])
            if start < mine[1] and mine[0] < end
        ]
        for mine in ranges[0]
    ]
