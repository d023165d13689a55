"""Replays: keys that came once, run through caches again, policy by policy, budget by budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from penstock.algebra.inputs import WindowLength
from penstock.algebra.memories import AUTO, Memory, PolicyName, StreamLaw
from penstock.operators.bounded.caches import NO_WINDOW, JoinCache
from penstock.operators.bounded.forecast_curves import Measure, Point
from penstock.operators.bounded.forecast_streams import rows_needed
from penstock.operators.bounded.lookups import AutoLookup
from penstock.operators.bounded.offline import lfd, opt_offline
from penstock.operators.bounded.policy_control import Steering
from penstock.operators.bounded.recall import RecallMeter
from penstock.vocabulary.batches import Flags, Ints

SCANNING: frozenset[PolicyName] = frozenset({"HIST", "LIFE"})
"""Policies that look at every key held when a row must go."""
SCANNED_MAX = 300_000_000
"""Keys that one replay of these may look at, in all."""
OPTIMAL_WORK_MAX = 150_000_000
"""Slots times rows and results, up to which the optimum of a join is sought."""
OPTIMAL_RESULTS_MAX = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What one replay brought."""

    point: Point
    """The budget and the share of the results or lookups that it brought."""
    facts: dict[str, Any]
    """What the policy in force tells of itself: laws with their fits, the weighting."""
    need: int | None = None
    """Rows that suffice for all results by the laws found; None if they do not say."""


class Replay(Protocol):
    """What can be asked of a trace."""

    bound: ClassVar[str]
    """The name of what no policy can beat."""
    bound_limits: ClassVar[str]
    """Why that bound may not be told."""
    measure: ClassVar[Measure]

    @property
    def count(self) -> int:
        """Rows that are replayed."""

    @property
    def rows_max(self) -> int:
        """A budget above which nothing changes."""

    @property
    def most(self) -> float:
        """The share that memory without end would bring; 0: none ever brings anything."""

    @property
    def streams(self) -> int:
        """How many streams there are."""

    @property
    def policies(self) -> tuple[PolicyName, ...]:
        """Policies that make sense here, HEEB first."""

    def is_affordable(self, policy: PolicyName, budget: int) -> bool:
        """Say whether a policy can be replayed in a short time."""

    def run(
        self, policy: PolicyName, budget: int, laws: tuple[StreamLaw, ...] | None = None
    ) -> Replayed:
        """Replay all rows; laws are AUTO, if not given."""

    def optimum(self, budgets: Sequence[int]) -> tuple[Point, ...]:
        """Give the best that could have been done, for those budgets for which it can be said."""


@dataclass(frozen=True, kw_only=True)
class JoinReplay:
    """Rows of two streams in one order, to be joined.

    Attributes
    ----------
    streams_of, keys, ticks
        Where each row came from, its key, and its tick.
    nows
        `nows[i, s]`: the measure of stream s when row i came, which is counted in it.
    numeric
        Whether keys can be counted with.
    window
        How long rows of both streams join; None: forever.
    is_even
        Whether no tick has two rows of one stream.
    """

    bound: ClassVar[str] = "OPT"
    bound_limits: ClassVar[str] = "where rows, results or budgets are many, it takes too long"
    measure: ClassVar[Measure] = "recall"
    streams: ClassVar[int] = 2
    streams_of: Ints
    keys: Ints
    ticks: Ints
    nows: Ints
    numeric: bool
    window: WindowLength | None = None
    is_even: bool = True
    _sizes: tuple[int | None, int | None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        size = None if self.window is None else self.window.size
        object.__setattr__(self, "_sizes", (size, size))

    @property
    def count(self) -> int:
        """Rows that are replayed."""
        return len(self.keys)

    @cached_property
    def _stamps(self) -> Ints:
        found: Ints = self.nows[np.arange(self.count), self.streams_of]
        return found

    @cached_property
    def _distinct(self) -> int:
        return len(np.unique(self.keys))

    @cached_property
    def results(self) -> int:
        """All results."""
        sizes = tuple(NO_WINDOW if size is None else size for size in self._sizes)
        meter = RecallMeter((sizes[0], sizes[1]), 2 * self.count + 2)
        found = np.zeros(self.count, dtype=np.int64)
        return meter.feed(self.streams_of, self.keys, self._stamps, self.nows, found)[1]

    @cached_property
    def rows_max(self) -> int:
        """Rows that windows hold at most, of both streams."""
        if self.window is None:
            return max(self.count, 1)
        total = 0
        for stream in range(2):
            own = self._stamps[self.streams_of == stream]
            first = np.searchsorted(own, own - self.window.size, side="right")
            total += int((np.arange(len(own)) - first + 1).max(initial=0))
        return max(total, 1)

    @property
    def most(self) -> float:
        """All results, if there are any."""
        return 1.0 if self.results else 0.0

    @property
    def policies(self) -> tuple[PolicyName, ...]:
        """All but LFU, which discards what PROB does; LIFE needs windows, HIST numbers."""
        found: list[PolicyName] = ["HEEB", "PROB"]
        found += ["LIFE"] if self.window is not None else []
        found += ["HIST"] if self.numeric else []
        return (*found, "LRU", "RAND")

    def is_affordable(self, policy: PolicyName, budget: int) -> bool:
        """Say whether a policy can be replayed in a short time."""
        return policy not in SCANNING or self.count * min(budget, self._distinct) <= SCANNED_MAX

    def run(
        self, policy: PolicyName, budget: int, laws: tuple[StreamLaw, ...] | None = None
    ) -> Replayed:
        """Replay all rows as an engine with one shard would; laws are AUTO, if not given."""
        memory = Memory(rows=budget, policy=policy, laws=laws or (AUTO, AUTO))
        sizes = self._sizes
        windows = tuple(None if size is None else float(size) for size in sizes)
        steering = Steering(memory, numeric=self.numeric, budget=budget, windows=windows)
        cache = JoinCache(budget, steering.policy(), windows=sizes)
        made, held = 0, np.zeros(2)
        for _, fed in steering.feed(
            cache, self.streams_of, self.keys, self.ticks, stamps=self._stamps, nows=self.nows
        ):
            made += int(fed.found.sum())
            held += fed.held.sum(axis=0)
        ticks = max(len(np.unique(self.ticks)), 1)
        point = Point(
            budget=budget, share=made / max(self.results, 1), results=made / ticks,
            held=tuple((held / ticks / budget).tolist()),
        )  # fmt: skip
        fits = [fit for fit in steering.fits if fit is not None]
        need = None
        if len(fits) == 2 and self.numeric:
            need = rows_needed(
                [fit.law for fit in fits], [fit.rate for fit in fits], cache.window_ticks()
            )
        return Replayed(point=point, facts=steering.facts(), need=need)

    def optimum(self, budgets: Sequence[int]) -> tuple[Point, ...]:
        """Give what all that is known beforehand would bring.

        Where ticks are uneven, rows are looked at one by one with room for one more: no less.
        """
        work = self.count + self.results
        able = [budget for budget in budgets if budget * work <= OPTIMAL_WORK_MAX]
        if not able or self.results > OPTIMAL_RESULTS_MAX:
            return ()
        _, codes = np.unique(self.keys, return_inverse=True)
        # Where no row is, there is one that joins nothing.
        places = self.ticks if self.is_even else np.arange(self.count)
        both = -1 - np.arange(2 * (int(places[-1]) + 1)).reshape(2, -1)
        both[self.streams_of, places] = codes
        lasts = np.full(both.shape, both.shape[1])
        lasts[self.streams_of, places] = self._lasts(places)
        more = 0 if self.is_even else 1
        values = opt_offline(both[0], both[1], max(able) + more, lasts=lasts).values
        together = self._together if self.is_even else 0
        ticks = len(np.unique(self.ticks))
        return tuple(
            Point(budget=budget, share=min(made / self.results, 1.0), results=made / ticks)
            for budget in able
            for made in (int(values[budget + more]) + together,)
        )

    def _lasts(self, places: Ints) -> Ints:
        """Give the place of the last row of the other stream that each row may join."""
        if self.window is None:
            return np.full(self.count, places[-1])
        found = np.array(places)
        for stream in range(2):
            own, others = (np.flatnonzero(self.streams_of == s) for s in (stream, 1 - stream))
            ends = self._stamps[own] + self.window.size
            until = np.searchsorted(self.nows[others, stream], ends)
            met = until > 0
            found[own[met]] = places[others[until[met] - 1]]
        return found

    @property
    def _together(self) -> int:
        """Results between rows of one tick."""
        same = (np.diff(self.ticks) == 0) & (np.diff(self.keys) == 0)
        same &= np.diff(self.streams_of) != 0
        if self.window is not None:
            late = self.nows[np.arange(1, self.count), self.streams_of[:-1]]
            same &= late - self._stamps[:-1] < self.window.size
        return int(same.sum())


@dataclass(frozen=True, kw_only=True)
class LookupReplay:
    """Keys that were looked up, one after another."""

    bound: ClassVar[str] = "LFD"
    bound_limits: ClassVar[str] = ""
    measure: ClassVar[Measure] = "hit rate"
    streams: ClassVar[int] = 1
    policies: ClassVar[tuple[PolicyName, ...]] = ("HEEB", "LRU", "LFU", "RAND")
    keys: Ints
    numeric: bool

    @property
    def count(self) -> int:
        """Keys that are looked up."""
        return len(self.keys)

    @cached_property
    def rows_max(self) -> int:
        """Keys that differ."""
        return max(len(np.unique(self.keys)), 1)

    @property
    def most(self) -> float:
        """All but the first lookup of each key."""
        return 1.0 - self.rows_max / max(self.count, 1)

    def is_affordable(self, policy: PolicyName, budget: int) -> bool:  # noqa: ARG002
        """Say that all policies are quick."""
        return True

    def run(
        self, policy: PolicyName, budget: int, laws: tuple[StreamLaw, ...] | None = None
    ) -> Replayed:
        """Look all keys up as an engine with one shard would; the law is AUTO, if not given."""
        memory = Memory(rows=budget, policy=policy, laws=laws or (AUTO,))
        cache = AutoLookup(memory, numeric=self.numeric)
        point = self._point(budget, cache.feed(self.keys), held=(len(cache) / budget,))
        facts = cache.facts()
        found = {
            "policy": facts["policy"],
            "streams": [facts.get("law", {"family": None})],
        }
        if "alpha" in facts:
            found["alpha"] = facts["alpha"]
        return Replayed(point=point, facts=found)

    def optimum(self, budgets: Sequence[int]) -> tuple[Point, ...]:
        """Discard what is needed last."""
        return tuple(self._point(budget, lfd(self.keys, budget)) for budget in budgets)

    def _point(self, budget: int, hits: Flags, held: tuple[float, ...] = ()) -> Point:
        share = float(hits.mean())
        return Point(budget=budget, share=share, results=share, held=held)


def join_replay(
    keys: tuple[Ints, Ints], present: tuple[Flags, Flags], *, numeric: bool,
    times: tuple[Ints, Ints] | None = None, window: WindowLength | None = None,
) -> JoinReplay:  # fmt: skip
    """Put the rows of two streams into one order and count it in ticks of two rows.

    Parameters
    ----------
    keys, present
        The streams' keys, and which rows have one: rows without are counted, and join nothing.
    numeric
        Whether keys can be counted with.
    times
        The rows' event times; without, rows are taken in turn until one stream ends.
    window
        How long rows join.

    >>> two = (np.array([5, 6, 7]), np.array([6, 7]))
    >>> there = (np.ones(3, dtype=np.bool_), np.ones(2, dtype=np.bool_))
    >>> join_replay(two, there, numeric=True).keys.tolist()
    [5, 6, 6, 7]
    >>> join_replay(two, there, numeric=True, times=(np.arange(3), np.arange(2))).keys.tolist()
    [5, 6, 6, 7]
    """
    counts = [len(each) for each in keys]
    if times is None:
        counts = [min(counts)] * 2
        ranks = np.concatenate([np.arange(count) for count in counts])
    else:
        ranks = np.concatenate(times)
    # Stable: rows of one time stay by stream, then by place.
    order = np.argsort(ranks, kind="stable")
    order = order[: len(order) // 2 * 2]
    streams = np.repeat(np.arange(2), counts)[order]
    if window is not None and window.kind == "range":
        assert times is not None
        nows = np.repeat(ranks[order], 2).reshape(-1, 2)
    else:
        nows = np.column_stack([np.cumsum(streams == stream) for stream in range(2)])
    ticks = np.arange(len(order)) // 2
    cut = [each[:count] for each, count in zip(keys, counts, strict=True)]
    there = [each[:count] for each, count in zip(present, counts, strict=True)]
    kept = np.concatenate(there)[order]
    return JoinReplay(
        streams_of=streams[kept], keys=np.concatenate(cut)[order][kept], ticks=ticks[kept],
        nows=nows[kept], numeric=numeric, window=window,
        is_even=bool((streams[::2] != streams[1::2]).all()),
    )  # fmt: skip
