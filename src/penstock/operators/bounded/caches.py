"""Caches: joins that hold no more rows than their budget, whatever comes.

In every tick the arrivals join with what is held and with each other; then arrivals and rows held
are candidates, and the policy discards until the budget holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.kernels.bounded_windows import (
    ADVANCE,
    NO_WINDOW,
    SIZE,
    WINDOW_WORDS,
    ticks_count,
)
from penstock.operators.bounded.caches_state import Arrays, CacheMemory
from penstock.operators.bounded.policies import Candidates, CompiledPolicy, Policy, SteppedPolicy
from penstock.operators.bounded.policies_plain import SteppedJoin
from penstock.vocabulary.batches import Flags, Ints

__all__ = ["EVERY_OTHER", "NO_WINDOW", "Account", "Fed", "JoinCache"]

EVERY_OTHER: Flags = np.array([[False, True], [True, False]])
"""Two streams that join each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fed:
    """What a feed did, tick by tick."""

    made: Ints
    """Results of arrivals with rows held: what a policy is judged by."""
    together: Ints
    """Results among the arrivals of one tick, which no policy can change."""
    held: Ints
    """`held[n, s]`: rows of stream s at the end of the n-th tick."""
    pairs: Ints
    """If asked for: the arrival numbers of both rows of every result, the later arrival first."""
    found: Ints
    """Results of each arrival, with rows held and with earlier arrivals of its tick."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Where rows went.

    Attributes
    ----------
    left, stayed
        Rows that left after a tick or more, and how many ticks they stayed in all.
    refused, evicted
        Rows that the policy discarded, in the tick of their arrival and later.
    expired
        Rows that left because their window had passed.
    """

    left: int
    stayed: int
    refused: int
    expired: int
    evicted: int

    @property
    def residence(self) -> float:
        """Mean ticks that an admitted row stayed, of those that have left."""
        return self.stayed / self.left if self.left else 0.0


class JoinCache:
    """A join of streams that never holds more than `budget` rows after a tick.

    Parameters
    ----------
    budget
        Rows, of all streams together.
    policy
        Who goes.
    joins
        `joins[a, b]`: whether rows of stream a join with rows of stream b; symmetric. Two streams
        that join each other, if not given.
    window
        A row that arrived at tick u joins at t only if u >= t - window; None: always.
    windows
        Instead, in measures that are fed beside the rows: a row of stream s joins only while the
        stream's measure is less than `windows[s]` above the row's stamp; None: always.
    """

    def __init__(
        self, budget: int, policy: Policy, *, joins: Flags | None = None,
        window: int | None = None, windows: Sequence[int | None] | None = None,
    ) -> None:  # fmt: skip
        assert budget >= 1
        assert window is None or (window >= 1 and windows is None)
        self.budget = budget
        self.policy = policy
        self.arrivals = 0
        """The number of the next arrival."""
        self._joins = EVERY_OTHER if joins is None else np.asarray(joins, dtype=np.bool_)
        assert (self._joins == self._joins.T).all()
        self._windows = _windows(len(self._joins), window, windows)
        self.now = 0
        """The last tick."""
        self._scratch: Ints = np.zeros((2, 0), dtype=np.int64)
        self._rows: CacheMemory | SteppedJoin
        if isinstance(policy, CompiledPolicy):
            self._rows = CacheMemory(policy.rule(), budget, self._joins, self._windows)
        else:
            assert isinstance(policy, SteppedPolicy)
            self._rows = SteppedJoin(budget, policy, self._joins, self._windows)

    def step(self, first: int, second: int, now: int) -> Ints:
        """Feed one row of each of two streams; give the pairs of arrival numbers that join.

        >>> from penstock.operators.bounded.policies_baselines import Rand
        >>> cache = JoinCache(4, Rand())
        >>> cache.step(7, 8, now=0).tolist(), cache.step(8, 9, now=1).tolist()
        ([], [[2, 1]])
        """
        fed = self.feed(np.arange(2), np.array([first, second]), np.array([now, now]), emit=True)
        return fed.pairs

    def feed(
        self, streams: Ints, keys: Ints, ticks: Ints, *, stamps: Ints | None = None,
        nows: Ints | None = None, owned: Flags | None = None, emit: bool = False,
    ) -> Fed:  # fmt: skip
        """Feed arrivals in the order of their ticks; a tick's arrivals must come in one feed.

        `stamps[i]` is the measure of the arrival's own stream, `nows[i, s]` that of stream s; if
        not given, both are the tick. Arrivals that are not `owned` are neither joined nor held;
        they show the policy where their stream is.
        """
        streams = np.ascontiguousarray(streams, dtype=np.int64)
        keys = np.ascontiguousarray(keys, dtype=np.int64)
        ticks = np.ascontiguousarray(ticks, dtype=np.int64)
        if stamps is None or nows is None:
            assert stamps is None
            assert nows is None
            stamps, nows = ticks, np.repeat(ticks, len(self._joins)).reshape(-1, len(self._joins))
        stamps = np.ascontiguousarray(stamps, dtype=np.int64)
        nows = np.ascontiguousarray(nows, dtype=np.int64)
        owned = np.ones(len(keys), dtype=np.bool_) if owned is None else owned
        arrived = (streams, keys, ticks, stamps, nows, owned)
        count, burst = self._ticks_of(ticks)
        made, together = np.zeros((2, count), dtype=np.int64)
        held = np.zeros((count, len(self._joins)), dtype=np.int64)
        found = np.zeros(len(keys), dtype=np.int64)
        filled = (made, together, held, found)
        pairs = self._rows.feed(*arrived, self.arrivals, burst, *filled, emit=emit)
        self._moved(ticks)
        return Fed(made=made, together=together, held=held, pairs=pairs, found=found)

    def results(
        self, streams: Ints, keys: Ints, ticks: Ints, stamps: Ints, nows: Ints, owned: Flags
    ) -> int:
        """Feed arrivals, all of whose arrays are contiguous; give the results with rows held.

        What else is counted goes where nobody looks: miniatures are fed often and little.
        """
        count, burst = self._ticks_of(ticks)
        if self._scratch.shape[1] < len(keys):
            self._scratch = np.zeros((2, 2 * len(keys)), dtype=np.int64)
        made, rest = self._scratch[0, :count], self._scratch[1]
        made[:] = 0
        unseen = np.empty((0, len(self._joins)), dtype=np.int64)
        self._rows.feed(
            streams, keys, ticks, stamps, nows, owned, self.arrivals, burst, made, rest, unseen,
            rest, emit=False,
        )  # fmt: skip
        self._moved(ticks)
        return int(made.sum())

    def _ticks_of(self, ticks: Ints) -> tuple[int, int]:
        """Give how many ticks there are, and the most arrivals of one."""
        count, burst = ticks_count(ticks)
        assert count >= 0, "arrivals come in the order of their ticks"
        return count, burst

    def _moved(self, ticks: Ints) -> None:
        """Note how far arrivals went."""
        self.arrivals += len(ticks)
        self.now = int(ticks[-1]) if len(ticks) else self.now
        assert len(self) <= self.budget

    def replace(
        self, policy: Policy, seen: tuple[Ints, Ints] | None = None,
        counted: JoinCache | None = None,
    ) -> None:  # fmt: skip
        """Go on under another policy, or under the same with other tables; no row is lost.

        What keys came how often is kept, or counted anew from arrivals `seen` (streams, keys), or
        taken from a cache of the same budget that has `counted`; what a policy has learnt of
        offsets is not.
        """
        assert isinstance(policy, CompiledPolicy), "policies in Python stay"
        self.policy = policy
        memory_of(self).replace(
            policy.rule(), self.now, seen, None if counted is None else memory_of(counted)
        )

    def rejoin(self, joins: Flags) -> None:
        """Let other streams join each other from the next tick on; rows stay where they are."""
        self._joins = np.asarray(joins, dtype=np.bool_)
        self._rows.rejoin(self._joins, self.now)

    def arrays(self) -> Arrays:
        """Give all that is kept; caches that were fed the same give the same."""
        told = np.array([self.arrivals, self.now], dtype=np.int64)
        return {"told": told, **self._rows.arrays()}

    def restore(self, arrays: Arrays) -> None:
        """Go on from `arrays`, in a cache that was made with the same arguments and is unused."""
        self.arrivals, self.now = arrays["told"].tolist()
        self._rows.restore(arrays)

    def window_ticks(self) -> tuple[float | None, ...]:
        """Give the streams' windows in ticks, by the ticks that their measures took so far.

        None: no window, or nothing is known yet.
        """
        found = list[float | None]()
        *grown, ticks = self._rows.passed(self.now)
        for passed, (size, advance) in zip(
            grown, self._windows[:, [SIZE, ADVANCE]].tolist(), strict=True
        ):
            if size == NO_WINDOW or (not advance and (passed <= 0 or ticks <= 0)):
                found.append(None)
            else:
                found.append(float(size - 1) if advance else size * ticks / passed)
        return tuple(found)

    @property
    def oldest(self) -> Ints:
        """The number of every stream's oldest row; of the next arrival, where none is held."""
        found = np.full(len(self._joins), self.arrivals, dtype=np.int64)
        held = self.rows
        np.minimum.at(found, held.streams, held.numbers)
        return found

    @property
    def held(self) -> tuple[int, ...]:
        """The rows of every stream."""
        return self._rows.held

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> Candidates:
        """The rows held, oldest first."""
        return self._rows.candidates

    @property
    def account(self) -> Account:
        """Where rows went so far."""
        return Account(**self._rows.went)


def memory_of(cache: JoinCache) -> CacheMemory:
    """Give what a compiled cache keeps."""
    assert isinstance(cache._rows, CacheMemory)
    return cache._rows


def _windows(streams: int, window: int | None, windows: Sequence[int | None] | None) -> Ints:
    found = np.zeros((streams, WINDOW_WORDS), dtype=np.int64)
    found[:, SIZE] = NO_WINDOW
    if window is not None:
        # At the end of its last tick a row may go: ticks are what is counted.
        found[:, SIZE], found[:, ADVANCE] = window + 1, 1
    for stream, size in enumerate(windows or ()):
        assert size is None or size >= 1
        found[stream, SIZE] = NO_WINDOW if size is None else size
    return found
