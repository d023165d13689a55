"""Runs of a forecast: how long they are, how much of the streams they take, what they find."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.kernels.bounded_victims import AGED, LASTING, LEARNED, PROBABLE, SCANNED, TOSSED
from penstock.kernels.recall_counts import keys_sliced
from penstock.operators.bounded.caches import EVERY_OTHER, JoinCache
from penstock.operators.bounded.forecast_streams import (
    DrawnArrivals,
    Windows,
    drawn,
    is_still,
    lives,
    settling,
)
from penstock.operators.bounded.laws import Law
from penstock.operators.bounded.laws_independent import Stationary
from penstock.operators.bounded.laws_markov import RandomWalk
from penstock.operators.bounded.policies import CompiledPolicy
from penstock.operators.bounded.recall import NO_WINDOW, RecallMeter
from penstock.operators.bounded.spaced_laws import bare
from penstock.vocabulary.batches import Flags

TICKS_MIN = 20_000
TICKS_MAX = 1 << 19
TURNS = 4
"""How often the largest budget is filled and the longest window crossed."""
WORK_MAX = 2.0e6
"""What all runs of a forecast may take, in rows that are fed and admitted by a quick policy."""
SCANNED_GROUPS = 10.0
"""A policy that scans spends the time of one more row on so many keys held."""
AGED_GROUPS = 100.0
"""The same where what rows are worth falls with their remaining lifetime alone."""
DRAWS = 8
"""Walks that are drawn: no two are alike."""
MINIATURE_ROWS = 64
"""No run in miniature has a smaller budget, unless it is asked for."""
_SCANNING = frozenset({SCANNED, PROBABLE, LASTING, LEARNED, TOSSED, AGED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much is drawn and run.

    Attributes
    ----------
    ticks, warm_up
        How long streams are, and from which tick on results count.
    level
        How often the keys that are run are halved.
    draws
        How many pairs of streams are run.
    is_ended, is_cut
        Whether rows cease to join at some time, and whether that time is not reached.
    """

    ticks: int
    warm_up: int
    level: int
    draws: int
    is_ended: bool
    is_cut: bool


def extent_of(
    laws: Sequence[Law], rates: Sequence[float], windows: Windows, policy: CompiledPolicy,
    budgets: Sequence[int], asked: int, ticks: int | None, work_max: float,
    joins: Flags = EVERY_OTHER,
) -> Extent:  # fmt: skip
    """Say how much to draw and to run, so that it shows enough and takes no longer than it may."""
    rate = max(sum(rates), 1e-9)
    ends = [life for life in lives(laws, windows, joins) if math.isfinite(life)]
    longest = max(ends, default=0.0)
    wanted = math.ceil(TURNS * max(longest, budgets[-1] / rate))
    wanted = ticks or min(max(TICKS_MIN, wanted), TICKS_MAX)
    level = 0
    work = work_of(policy, laws, budgets, level) * rate
    while work * wanted > work_max and _can_halve(laws, budgets, level):
        level += 1
        work = work_of(policy, laws, budgets, level) * rate
    if ticks is None:
        most = work_max / work
        least = min(2.5 * longest, 3.0 * most)
        ticks = min(wanted, math.ceil(max(most, least, TICKS_MIN)))
    warm_up = 0
    if len(ends) == len(laws):
        warm_up = min(math.ceil(max(longest, asked / rate)), ticks // 2)
    draws = 1
    if any(isinstance(bare(law), RandomWalk) for law in laws):
        draws = max(1, min(DRAWS, int(work_max / (work * ticks))))
    return Extent(
        ticks=ticks, warm_up=warm_up, level=level, draws=draws,
        is_ended=len(ends) == len(laws), is_cut=longest > ticks / 2,
    )  # fmt: skip


def shrink_of(
    laws: Sequence[Law], rates: Sequence[float], windows: Windows, budgets: Sequence[int]
) -> int:
    """Say by how much time and memory can be divided: only streams that forget allow it."""
    settled = max(settling(law) for law in laws)
    known = [window for window in windows if window is not None]
    ticks = TURNS * max([budgets[-1] / max(sum(rates), 1e-9), *known])
    shortest = min([float(budgets[0]), *known])
    most = min(budgets[0] // MINIATURE_ROWS, int(shortest / max(settled, 1.0)))
    return max(1, min(math.ceil(ticks / TICKS_MIN), most))


def work_of(
    policy: CompiledPolicy, laws: Sequence[Law], budgets: Sequence[int], level: int = 0
) -> float:
    """Say what a row costs with all budgets together, the keys being halved so often."""
    mode = policy.rule().mode
    inners = [bare(law) for law in laws]
    per = AGED_GROUPS if mode == AGED and all(map(is_still, laws)) else SCANNED_GROUPS
    known = [len(inner.keys) if isinstance(inner, Stationary) else math.inf for inner in inners]
    weight = float(1 << level)
    total = 0.0
    for budget in budgets:
        groups = min(budget, sum(known)) / weight
        total += (1.0 + (groups / per if mode in _SCANNING else 0.0)) / weight
    return total


def _can_halve(laws: Sequence[Law], budgets: Sequence[int], level: int) -> bool:
    """Say whether half the keys would show the same: not where few keys have most of the rows."""
    if any(is_still(law) for law in laws):
        return False
    return budgets[0] >> (level + 1) >= min(MINIATURE_ROWS, budgets[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The streams of a forecast: from where on results count, and the slice that is run."""

    arrivals: DrawnArrivals
    owned: Flags
    sizes: tuple[int, ...]
    joins: Flags
    cuts: tuple[int, int, int, int]
    weight: int

    @property
    def parts(self) -> list[tuple[DrawnArrivals, Flags]]:
        """The warm-up and both halves of what counts."""
        found = []
        for first, until in zip(self.cuts, self.cuts[1:], strict=False):
            low, high = np.searchsorted(self.arrivals.ticks, [first, until])
            found.append((self.arrivals.part(first, until), self.owned[low:high]))
        return found

    def all(self) -> list[int]:
        """Count the results that there are, part by part."""
        count = len(self.sizes)
        meter = RecallMeter(self.sizes, count * (len(self.arrivals.keys) + 1))
        found = []
        for rows, owned in self.parts:
            none = np.zeros((len(rows.keys), count), dtype=np.int64)
            there = meter.feed_joins(
                rows.streams, rows.keys, rows.ticks, rows.nows(count), none, owned, self.joins
            )[1]
            found.append(int(there.sum()))
        return found

    def cache(self, budget: int, policy: CompiledPolicy) -> JoinCache:
        """Give an empty cache with the slice's share of a budget."""
        windows = [None if size == NO_WINDOW else size for size in self.sizes]
        rows = max(1, round(budget / self.weight))
        return JoinCache(rows, policy, joins=self.joins, windows=windows)

    def made(self, budget: int, policy: CompiledPolicy) -> tuple[list[int], tuple[float, ...]]:
        """Count the results that are found, part by part; give rows held as shares."""
        cache = self.cache(budget, policy)
        found, held = [], np.zeros(len(self.sizes))
        for rows, owned in self.parts:
            fed = cache.feed(
                rows.streams, rows.keys, rows.ticks, stamps=rows.ticks, owned=owned,
                nows=rows.nows(len(self.sizes)),
            )  # fmt: skip
            found.append(int(fed.made.sum() + fed.together.sum()))
            if len(fed.held):
                held = fed.held.mean(axis=0) / cache.budget
        return found, tuple(float(share) for share in held)


def runs_of(
    laws: Sequence[Law], rates: Sequence[float], windows: Windows, extent: Extent, seed: int,
    joins: Flags = EVERY_OTHER,
) -> list[Run]:  # fmt: skip
    """Draw the streams, as often as they are to be drawn."""
    sizes = [NO_WINDOW if window is None else max(1, round(window)) for window in windows]
    found = []
    for number in range(extent.draws):
        arrivals = drawn(laws, rates, extent.ticks, seed + number)
        owned = np.ones(len(arrivals.keys), dtype=np.bool_)
        keys_sliced(arrivals.keys, seed, extent.level, owned)
        run = Run(
            arrivals=arrivals,
            owned=owned,
            sizes=tuple(sizes),
            joins=joins,
            cuts=(0, extent.warm_up, (extent.warm_up + extent.ticks) // 2, extent.ticks),
            weight=1 << extent.level,
        )
        found.append(run)
    return found
