"""Contests of bounded joins: HEEB as it is steered, and policies that need no law of streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.algebra.memories import Memory
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.contests import Arrays, Contest
from penstock.operators.bounded.law_policies import Windows
from penstock.operators.bounded.policies import Policy
from penstock.operators.bounded.policies_named import policy_of
from penstock.vocabulary.batches import Flags, Ints

HEEB = "HEEB"
LAWLESS = ("LRU", "LFU", "RAND")
"""Candidates beside HEEB."""
MINIATURE_ROWS = 512
"""A miniature holds no more."""
MEMORY_BUDGETS, MEMORY_LEAST = 12, 8_192
"""What the choice remembers: so many arrivals per row of the budget, but no fewer."""
PERIODS = (64, 512)
"""The shortest and the longest time from choice to choice, in ticks.

An eighth of a tick and two ticks per row of the budget, if longer: larger caches show things late.
"""
GROWTH = 1 / 12
"""Between them it is such a share of all ticks: the more is known, the less the next tick tells."""
COUNTED, RESTING, WARMING = range(3)
"""What miniatures do: hits count; nothing is shown; rows of before a rest make room for others."""
RESTS = 8
"""Miniatures rest so many times as long as they warm up and are counted, where HEEB leads."""


class ContestArrivals(NamedTuple):
    """Arrivals in the order of their ticks, as a `JoinCache` is fed them; all are contiguous."""

    streams: Ints
    keys: Ints
    ticks: Ints
    stamps: Ints
    nows: Ints
    owned: Flags

    @classmethod
    def of(
        cls, streams: Ints, keys: Ints, ticks: Ints, stamps: Ints | None, nows: Ints | None,
        owned: Flags | None, count: int,
    ) -> ContestArrivals:  # fmt: skip
        """Take arrivals of `count` streams; where no measures are given, ticks are what counts."""
        if stamps is None or nows is None:
            assert stamps is None
            assert nows is None
            stamps, nows = ticks, np.repeat(ticks, count).reshape(len(ticks), count)
        owned = np.ones(len(ticks), dtype=np.bool_) if owned is None else owned
        ready = [
            np.ascontiguousarray(each, dtype=np.int64)
            for each in (streams, keys, ticks, stamps, nows)
        ]
        return cls(ready[0], ready[1], ready[2], ready[3], ready[4], owned)

    def at(self, places: slice | Flags) -> ContestArrivals:
        """Give some of them."""
        return ContestArrivals(
            self.streams[places], self.keys[places], self.ticks[places], self.stamps[places],
            self.nows[places], self.owned[places],
        )  # fmt: skip


class JoinContest(Contest[JoinCache]):
    """Miniatures of a bounded join: HEEB, and LRU, LFU and RAND beside it.

    While HEEB leads by far the miniatures rest most of the time: they are looked at now and then,
    and at once when a stream becomes another.

    Until something is known HEEB is in force where keys can be counted with. Of names it knows no
    more than how often they came, which is nothing at first, and where results are few it is long
    before anything shows: there LRU is. Where they are many, HEEB soon takes over if it is better.
    """

    __slots__ = ("_budget", "_periods", "_phase", "_until", "lawless")

    def __init__(
        self, memory: Memory, heeb: Policy, *, numeric: bool, budget: int, windows: Windows,
        joins: Flags,
    ) -> None:  # fmt: skip
        count = len(windows)
        made = {name: policy_of(memory, name, budget=budget, streams=count) for name in LAWLESS}
        self.lawless = made
        self._budget = budget
        self._periods = max(budget // 8, PERIODS[0]), max(2 * budget, PERIODS[1])
        self._phase, self._until = COUNTED, 0
        sizes = [None if window is None else int(window) for window in windows]
        super().__init__(
            (HEEB, *LAWLESS),
            lambda name, bits: JoinCache(
                budget >> bits, made.get(name, heeb), joins=joins, windows=sizes
            ),
            budget=budget,
            rows_max=MINIATURE_ROWS,
            memory=max(MEMORY_BUDGETS * budget, MEMORY_LEAST),
            first=HEEB if numeric else "LRU",
        )

    @property
    def _period(self) -> int:
        shortest, longest = self._periods
        return min(max(int(GROWTH * self.settled_at), shortest), longest)

    def is_due(self, now: int) -> bool:
        """Say whether it is time to choose, where laws are fitted at a tick anyway."""
        if self._phase != COUNTED:
            return now >= self._until
        return now - self.settled_at >= 0.75 * self._period

    @property
    def latest(self) -> int:
        """The tick of the next choice, whether laws are fitted or not."""
        return self._until if self._phase != COUNTED else self.settled_at + self._period

    @property
    def is_resting(self) -> bool:
        """Whether nothing is shown to miniatures."""
        return self._phase == RESTING

    def wake(self, now: int) -> None:
        """End a rest: the streams are others than those that HEEB led by far on."""
        if self._phase == RESTING:
            self._phase, self._until = WARMING, now + self._budget

    @property
    def heeb(self) -> JoinCache:
        """The miniature of HEEB."""
        return self.miniatures[HEEB]

    @property
    def is_heeb(self) -> bool:
        """Whether the cache itself is what HEEB's miniature would be, which then rests."""
        return self.bits == 0 and self.switches == 0 and self.in_force == HEEB

    def rejoin(self, joins: Flags) -> None:
        """Let other streams join each other from the next tick on."""
        for miniature in self.miniatures.values():
            miniature.rejoin(joins)

    def watch_heeb(self, arrivals: ContestArrivals, made: int) -> None:
        """Show arrivals to HEEB's miniature; those of other keys tell where the streams are.

        `made` are the results of the cache itself.
        """
        if self._phase == RESTING:
            return
        taken = self.sliced(arrivals.keys, arrivals.owned)
        if not self.is_heeb:
            made = self.heeb.results(*arrivals._replace(owned=taken))
        if self._phase == COUNTED:
            self.count(HEEB, made)
            self.count_all(int(np.count_nonzero(taken)))

    def choose(self, cache: JoinCache, now: int, heeb: Policy, recent: tuple[Ints, Ints]) -> None:
        """Let the cache go on under the best policy of late, whatever HEEB goes by.

        `recent` are the last arrivals, for counts to begin with where no miniature has them all.
        """
        if self._phase == RESTING:
            self.wake(now)
            return
        if self._phase == WARMING:
            self._phase, self.settled_at = COUNTED, now
            return
        period = now - self.settled_at
        self.record(now)
        was_heeb = self.is_heeb
        if not (self.yield_to_first(now) or self.settle(now)):
            if self.in_force == HEEB and self.leads_by_far:
                self._phase, self._until = RESTING, now + RESTS * (self._budget + period)
            return
        if was_heeb:
            self.heeb.replace(cache.policy)
            self.heeb.restore(cache.arrays())
        counted = self.miniatures[self.in_force] if self.bits == 0 else None
        cache.replace(self.policy(heeb), recent, counted)

    def watch_lawless(self, arrivals: ContestArrivals) -> None:
        """Show arrivals to the others."""
        if self._phase == RESTING:
            return
        taken = self.sliced(arrivals.keys, arrivals.owned)
        if not taken.all():
            arrivals = arrivals.at(taken)
        for name in LAWLESS if len(arrivals.keys) else ():
            made = self.miniatures[name].results(*arrivals)
            if self._phase == COUNTED:
                self.count(name, made)

    def arrays(self) -> Arrays:
        """Give everything that decides what comes next."""
        return {**super().arrays(), "phase": np.array([self._phase, self._until], dtype=np.int64)}

    def restore_choice(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what `arrays` gave; before there were rests, all was counted."""
        super().restore_choice(arrays)
        if "phase" in arrays:
            self._phase, self._until = arrays["phase"].tolist()

    def facts(self) -> dict[str, Any]:
        """Tell what a contest tells; a row that comes may find several results, or none."""
        found = super().facts()
        rates = found.pop("hit_rates")
        return {**found, "results_per_row": rates}

    def policy(self, heeb: Policy) -> Policy:
        """Give the policy in force, if HEEB would go by this one."""
        return self.lawless.get(self.in_force, heeb)
