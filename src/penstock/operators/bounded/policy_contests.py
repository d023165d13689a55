"""Contests of bounded joins: HEEB as it is steered, and policies that need no law of streams."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.algebra.memories import Memory
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.contests import Contest
from penstock.operators.bounded.law_policies import Windows
from penstock.operators.bounded.policies import Policy
from penstock.operators.bounded.policies_named import policy_of
from penstock.vocabulary.batches import Flags, Ints

HEEB = "HEEB"
LAWLESS = ("LRU", "LFU", "RAND")
"""Candidates beside HEEB, which is in force until something is known."""
MINIATURE_ROWS = 512
"""A miniature holds no more."""
MEMORY_BUDGETS, MEMORY_LEAST = 12, 8_192
"""What the choice remembers: so many arrivals per row of the budget, but no fewer."""
PERIODS = (64, 512)
"""The shortest and the longest time from choice to choice, in ticks; two per row, if longer."""
GROWTH = 1 / 12
"""Between them it is such a share of all ticks: the more is known, the less the next tick tells."""


class ContestArrivals(NamedTuple):
    """Arrivals in the order of their ticks, as a `JoinCache` is fed them."""

    streams: Ints
    keys: Ints
    ticks: Ints
    stamps: Ints | None
    nows: Ints | None
    owned: Flags

    def at(self, places: slice | Flags) -> ContestArrivals:
        """Give some of them."""
        return ContestArrivals(*(None if each is None else each[places] for each in self))  # type: ignore[arg-type]


class JoinContest(Contest[JoinCache]):
    """Miniatures of a bounded join: HEEB, and LRU, LFU and RAND beside it."""

    __slots__ = ("_longest", "lawless")

    def __init__(
        self, memory: Memory, heeb: Policy, *, budget: int, windows: Windows, joins: Flags
    ) -> None:
        count = len(windows)
        made = {name: policy_of(memory, name, budget=budget, streams=count) for name in LAWLESS}
        self.lawless = made
        self._longest = max(2 * budget, PERIODS[1])
        sizes = [None if window is None else int(window) for window in windows]
        super().__init__(
            (HEEB, *LAWLESS),
            lambda name, bits: JoinCache(
                budget >> bits, made.get(name, heeb), joins=joins, windows=sizes
            ),
            budget=budget,
            rows_max=MINIATURE_ROWS,
            memory=max(MEMORY_BUDGETS * budget, MEMORY_LEAST),
        )

    @property
    def _period(self) -> int:
        return min(max(int(GROWTH * self.settled_at), PERIODS[0]), self._longest)

    def is_due(self, now: int) -> bool:
        """Say whether it is time to choose, where laws are fitted at a tick anyway."""
        return now - self.settled_at >= 0.75 * self._period

    @property
    def latest(self) -> int:
        """The tick of the next choice, whether laws are fitted or not."""
        return self.settled_at + self._period

    @property
    def heeb(self) -> JoinCache:
        """The miniature of HEEB."""
        return self.miniatures[HEEB]

    @property
    def is_heeb(self) -> bool:
        """Whether the cache itself is what HEEB's miniature would be, which then rests."""
        return self.bits == 0 and self.switches == 0

    def rejoin(self, joins: Flags) -> None:
        """Let other streams join each other from the next tick on."""
        for miniature in self.miniatures.values():
            miniature.rejoin(joins)

    def watch_heeb(self, arrivals: ContestArrivals, made: int) -> None:
        """Show arrivals to HEEB's miniature; those of other keys tell where the streams are.

        `made` are the results of the cache itself.
        """
        taken = self.sliced(arrivals.keys, arrivals.owned)
        if not self.is_heeb:
            made = _made(self.heeb, arrivals._replace(owned=taken))
        self.count(HEEB, made)
        self.count_all(int(np.count_nonzero(taken)))

    def choose(self, cache: JoinCache, now: int, heeb: Policy, recent: tuple[Ints, Ints]) -> None:
        """Let the cache go on under the best policy of late, whatever HEEB goes by.

        `recent` are the last arrivals, for counts to begin with where no miniature has them all.
        """
        self.record(now)
        was_heeb = self.is_heeb
        if not self.settle(now):
            return
        if was_heeb:
            self.heeb.replace(cache.policy)
            self.heeb.restore(cache.arrays())
        counted = self.miniatures[self.in_force] if self.bits == 0 else None
        cache.replace(self.policy(heeb), recent, counted)

    def watch_lawless(self, arrivals: ContestArrivals) -> None:
        """Show arrivals to the others."""
        taken = self.sliced(arrivals.keys, arrivals.owned)
        if not taken.all():
            arrivals = arrivals.at(taken)
        for name in LAWLESS if len(arrivals.keys) else ():
            self.count(name, _made(self.miniatures[name], arrivals))

    def facts(self) -> dict[str, Any]:
        """Tell what a contest tells; a row that comes may find several results, or none."""
        found = super().facts()
        rates = found.pop("hit_rates")
        return {**found, "results_per_row": rates}

    def policy(self, heeb: Policy) -> Policy:
        """Give the policy in force, if HEEB would go by this one."""
        return self.lawless.get(self.in_force, heeb)


def _made(cache: JoinCache, arrivals: ContestArrivals) -> int:
    fed = cache.feed(
        arrivals.streams, arrivals.keys, arrivals.ticks, stamps=arrivals.stamps,
        nows=arrivals.nows, owned=arrivals.owned,
    )  # fmt: skip
    return int(fed.made.sum())
