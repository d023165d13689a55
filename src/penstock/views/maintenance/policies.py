"""Policies: which tables are flushed, decided moment by moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from penstock.kernels.flush_choices import cheapest_pace
from penstock.views.maintenance.problems import Freshness, Problem, members_of
from penstock.views.maintenance.rates import RateEstimate
from penstock.views.maintenance.schedules import Schedule
from penstock.vocabulary.batches import Ints

AHEAD_MAX = 1 << 20
"""Moments beyond which nobody looks ahead."""
ReplayMode = Literal["seq", "time"]
"""How a schedule is followed when other changes come: by its order, or by its moments."""


class FlushPolicy(Protocol):
    """Decides at each moment, after it was told what came; moments count from the last refresh."""

    def observe(self, come: Ints) -> None:
        """Take what came at the next moment."""

    def choose(self, pending: Ints) -> tuple[int, ...]:
        """Give the tables to flush at this moment; what then waits must be within the bound."""

    def refreshed(self) -> None:
        """Begin again: everything has been flushed."""


class Immediate:
    """Flush whatever waits, at every moment: what maintenance at once does."""

    def observe(self, come: Ints) -> None:
        """Learn nothing."""

    def choose(self, pending: Ints) -> tuple[int, ...]:
        """Give every table that has changes."""
        return tuple(map(int, np.flatnonzero(pending)))

    def refreshed(self) -> None:
        """Keep nothing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Naive:
    """Flush every table when the bound is about to break."""

    freshness: Freshness

    def observe(self, come: Ints) -> None:
        """Learn nothing."""

    def choose(self, pending: Ints) -> tuple[int, ...]:
        """Give every table, or none."""
        return tuple(range(len(pending))) if self.freshness.is_full(pending) else ()

    def refreshed(self) -> None:
        """Keep nothing."""


class Online:
    """Flush the minimal set after which the least is spent per moment."""

    def __init__(self, freshness: Freshness, estimate: RateEstimate) -> None:
        self._freshness = freshness
        self._estimate = estimate
        self._moment = 0
        self._spent = 0.0

    def observe(self, come: Ints) -> None:
        """Learn rates."""
        self._estimate.observe(come)

    def choose(self, pending: Ints) -> tuple[int, ...]:
        """Give the set, or none as long as the bound holds."""
        self._moment += 1
        fresh = self._freshness
        if not fresh.is_full(pending):
            return ()
        bits = cheapest_pace(
            *fresh.curves.arrays, pending, self._estimate.rates, fresh.limit, self._spent,
            self._moment, AHEAD_MAX,
        )  # fmt: skip
        chosen = members_of(bits)
        self._spent += float(fresh.curves.parts(pending)[list(chosen)].sum())
        return chosen

    def refreshed(self) -> None:
        """Count what is spent from here."""
        self._moment = 0
        self._spent = 0.0

    def to_json(self) -> dict[str, Any]:
        """Give how far it has come, to be remembered."""
        return {"moment": self._moment, "spent": self._spent}

    def recall(self, known: Mapping[str, Any]) -> None:
        """Go on from where it was."""
        self._moment, self._spent = int(known["moment"]), float(known["spent"])


class ReplayedSchedule:
    """Follow a schedule again and again, made for one period of changes as they are expected.

    At the end of each period everything is flushed. By order: at the j-th moment at which something
    must be flushed, the j-th set of the schedule is. By time: its sets are flushed at its moments,
    and when something must be flushed between, the next set is. Where a set is not enough, the
    cheapest that is joins it.
    """

    def __init__(
        self,
        freshness: Freshness,
        planned: Mapping[int, tuple[int, ...]],
        period: int,
        mode: ReplayMode = "seq",
    ) -> None:
        self._freshness, self._period = freshness, period
        self._planned = {moment: own for moment, own in planned.items() if moment < period}
        self._order = list(self._planned.values())
        self._mode = mode
        self._moment = 0
        self._next = 0

    @classmethod
    def of(cls, schedule: Schedule, mode: ReplayMode = "seq") -> ReplayedSchedule:
        """Follow a schedule under its own bound."""
        return cls(schedule.problem.freshness, schedule.sets, schedule.problem.last, mode)

    def observe(self, come: Ints) -> None:
        """Learn nothing: the schedule stands."""

    def choose(self, pending: Ints) -> tuple[int, ...]:
        """Give the tables of the schedule, and what else must go."""
        self._moment += 1
        phase = self._moment % self._period
        if phase == 0:
            self._next = 0
            return tuple(range(len(pending)))
        if self._mode == "time" and phase in self._planned:
            return self._freshness.cheapest_set(pending, self._planned[phase])
        if not self._freshness.is_full(pending):
            return ()
        if self._mode == "time":
            return self._unplanned(phase, pending)
        planned = self._order[self._next % len(self._order)] if self._order else ()
        self._next += 1
        return self._freshness.cheapest_set(pending, planned)

    def _unplanned(self, phase: int, pending: Ints) -> tuple[int, ...]:
        """Give the next planned set if it is enough, else the cheapest that is."""
        later = (members for moment, members in self._planned.items() if moment > phase)
        planned = next(later, ())
        rest = pending.copy()
        rest[list(planned)] = 0
        return self._freshness.cheapest_set(pending) if self._freshness.is_full(rest) else planned

    def refreshed(self) -> None:
        """Begin the schedule again."""
        self._moment = 0
        self._next = 0

    def to_json(self) -> dict[str, int]:
        """Give how far it has come, to be remembered."""
        return {"moment": self._moment, "next": self._next}

    def recall(self, known: Mapping[str, int]) -> None:
        """Go on from where it was."""
        self._moment, self._next = known["moment"], known["next"]


def followed(problem: Problem, policy: FlushPolicy) -> Schedule:
    """Give the schedule that a policy makes of a problem."""
    sets: dict[int, tuple[int, ...]] = {}
    pending = np.zeros(problem.arrivals.shape[1], np.int64)
    for moment in range(1, problem.last):
        pending += problem.arrivals[moment]
        policy.observe(problem.arrivals[moment])
        chosen = policy.choose(pending)
        if chosen:
            sets[moment] = chosen
            pending[list(chosen)] = 0
    policy.refreshed()
    return Schedule.of_sets(problem, sets)
