"""Caches: joins and lookups that hold no more rows than their budget, whatever comes.

In every tick the arrivals join with what is held and with each other; then arrivals and rows held
are candidates, and the policy discards until the budget holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.kernels.bounding import (
    EXPIRED,
    HELD,
    LAST,
    LEFT,
    NONE,
    REFUSED,
    ROW_BORN,
    ROW_KEY,
    ROW_LIST,
    ROW_NUMBER,
    ROW_STREAM,
    STAYED,
    STREAMS_FROM,
    pool_copy,
    pool_make,
    stream_at,
)
from penstock.kernels.bounding_counts import counts_make
from penstock.kernels.bounding_feeds import joins_feed, lookups_feed, row_admit
from penstock.kernels.bounding_histograms import SETTING_WORDS, learning_make
from penstock.kernels.scoring import ScoreTable
from penstock.operators.bounded.models import Ints
from penstock.operators.bounded.policies import (
    Candidates,
    CompiledPolicy,
    Policy,
    Rule,
    SteppedPolicy,
)
from penstock.operators.bounded.policies_stepping import SteppedJoin
from penstock.vocabulary.batches import Flags

KEYS_PER_ROW = 16
"""Keys that a counting policy remembers, per row of the budget."""

EVERY_OTHER: Flags = np.array([[False, True], [True, False]])
"""Two streams that join each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fed:
    """What a feed did, tick by tick.

    Attributes
    ----------
    made
        Results of arrivals with rows held: what a policy is judged by.
    together
        Results among the arrivals of one tick, which no policy can change.
    held
        `held[n, s]`: rows of stream s at the end of the n-th tick.
    pairs
        If asked for: the arrival numbers of both rows of every result, the later arrival first.
    """

    made: Ints
    together: Ints
    held: Ints
    pairs: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Where rows went: after a stay of `stayed` ticks in all, at arrival, or out of the window."""

    left: int
    stayed: int
    refused: int
    expired: int

    @property
    def residence(self) -> float:
        """Mean ticks that an admitted row stayed, of those that have left."""
        return self.stayed / self.left if self.left else 0.0


def _no_table() -> ScoreTable:
    none = np.empty(0, dtype=np.int64)
    return ScoreTable(
        kind=0, cells=np.zeros((1, 1, 1)), keys=none, places=none, times=none, lifetimes=none,
        shares=np.empty(0), first=0.0, width=1.0, state_first=0.0, state_width=1.0, left=0.0,
        right=0.0, slope=0.0, intercept=0.0, follows=0.0, decay=0.0,
    )  # fmt: skip


class _Memory:
    """A pool with everything that a rule asks for."""

    __slots__ = ("capacity", "counts", "learning", "lives", "pool", "rule", "tables")

    def __init__(self, rule: Rule, streams: int, budget: int, burst: int) -> None:
        assert not rule.tables or len(rule.tables) == streams
        assert not len(rule.lives) or len(rule.lives) == streams
        self.rule = rule
        self.capacity = budget + burst
        self.pool = pool_make(self.capacity, streams, rule.seed)
        self.counts = counts_make(rule.keys_max or KEYS_PER_ROW * budget, streams)
        settings = rule.settings if len(rule.settings) else np.zeros(SETTING_WORDS)
        self.learning = learning_make(streams, rule.buckets, settings)
        self.lives = rule.lives if len(rule.lives) else np.zeros((streams, 3))
        self.tables = rule.tables or (_no_table(),) * streams

    def grow(self, capacity: int) -> None:
        """Make room for more rows in a tick; nothing else changes."""
        streams = len(self.lives)
        larger = pool_make(capacity, streams, 0)
        pool_copy(self.pool, larger)
        self.pool = larger
        self.capacity = capacity


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
    """

    __slots__ = ("_arrivals", "_joins", "_memory", "_stepped", "budget", "policy", "window")

    def __init__(
        self, budget: int, policy: Policy, *, joins: Flags | None = None, window: int | None = None
    ) -> None:
        assert budget >= 1
        assert window is None or window >= 1
        self.budget = budget
        self.window = window
        self.policy = policy
        self._joins = EVERY_OTHER if joins is None else np.asarray(joins, dtype=np.bool_)
        assert (self._joins == self._joins.T).all()
        self._arrivals = 0
        self._memory: _Memory | None = None
        self._stepped: SteppedJoin | None = None
        if isinstance(policy, CompiledPolicy):
            self._memory = _Memory(policy.rule(), len(self._joins), budget, 2)
        else:
            assert isinstance(policy, SteppedPolicy)
            self._stepped = SteppedJoin(budget, policy, self._joins, window)

    def step(self, first: int, second: int, now: int) -> Ints:
        """Feed one row of each of two streams; give the pairs of arrival numbers that join.

        >>> from penstock.operators.bounded.policies_baselines import Rand
        >>> cache = JoinCache(4, Rand())
        >>> cache.step(7, 8, now=0).tolist(), cache.step(8, 9, now=1).tolist()
        ([], [[2, 1]])
        """
        fed = self.feed(np.arange(2), np.array([first, second]), np.array([now, now]), emit=True)
        return fed.pairs

    def feed(self, streams: Ints, keys: Ints, ticks: Ints, *, emit: bool = False) -> Fed:
        """Feed arrivals in the order of their ticks; a tick's arrivals must come in one feed."""
        streams = np.asarray(streams, dtype=np.int64)
        keys = np.asarray(keys, dtype=np.int64)
        ticks = np.asarray(ticks, dtype=np.int64)
        assert (np.diff(ticks) >= 0).all()
        begins = np.flatnonzero(np.diff(ticks, prepend=ticks[:1] - 1))
        burst = int(np.diff(begins, append=len(ticks)).max(initial=0))
        made, together = np.zeros((2, len(begins)), dtype=np.int64)
        held = np.zeros((len(begins), len(self._joins)), dtype=np.int64)
        if self._stepped is not None:
            pairs = self._stepped.feed(streams, keys, ticks, begins, made, together, held)
            self._arrivals += len(keys)
            return Fed(made=made, together=together, held=held, pairs=pairs)
        assert self._memory is not None
        if self._memory.capacity < self.budget + burst:
            self._memory.grow(self.budget + burst)
        memory = self._memory
        pairs, used = joins_feed(
            memory.pool, memory.tables, memory.counts, memory.learning, memory.lives, self._joins,
            streams, keys, ticks, self._arrivals, memory.rule.mode, self.budget, self.window or 0,
            emit, made, together, held,
        )  # fmt: skip
        self._arrivals += len(keys)
        assert len(self) <= self.budget
        return Fed(made=made, together=together, held=held, pairs=pairs[:used].copy())

    def replace(self, policy: CompiledPolicy) -> None:
        """Go on under another policy, or under the same with other tables; no row is lost.

        What keys came how often is kept; what a policy has learnt of offsets is not.
        """
        self.policy = policy
        rule, old, rows = policy.rule(), self._memory, self.rows
        assert old is not None
        new = _Memory(rule, len(self._joins), self.budget, old.capacity - self.budget)
        for stream in range(len(self._joins)):
            at = stream_at(stream, LAST)
            new.pool.meta[at] = old.pool.meta[at]
        new.pool.meta[LEFT:STREAMS_FROM] = old.pool.meta[LEFT:STREAMS_FROM]
        if rule.keys_max == old.rule.keys_max:
            new.counts = old.counts
        for stream, key, born, number in zip(
            rows.streams.tolist(), rows.keys.tolist(), rows.born.tolist(), rows.numbers.tolist(),
            strict=True,
        ):  # fmt: skip
            row_admit(
                new.pool, new.tables, new.counts, new.learning, self._joins,
                stream, key, rule.mode, born, number,
            )  # fmt: skip
        self._memory = new

    def __len__(self) -> int:
        if self._stepped is not None:
            return len(self._stepped)
        assert self._memory is not None
        return int(self._memory.pool.meta[HELD])

    @property
    def rows(self) -> Candidates:
        """The rows held, oldest first."""
        if self._stepped is not None:
            return self._stepped.candidates()
        assert self._memory is not None
        pool = self._memory.pool
        rows = pool.rows[pool.rows[: pool.meta[HELD], ROW_LIST]]
        rows = rows[np.argsort(rows[:, ROW_NUMBER])]
        return Candidates(
            streams=rows[:, ROW_STREAM],
            keys=rows[:, ROW_KEY],
            born=rows[:, ROW_BORN],
            numbers=rows[:, ROW_NUMBER],
        )

    @property
    def account(self) -> Account:
        """Where rows went so far."""
        meta = self._stepped.meta if self._stepped else self._memory.pool.meta  # type: ignore[union-attr]
        return Account(
            left=int(meta[LEFT]),
            stayed=int(meta[STAYED]),
            refused=int(meta[REFUSED]),
            expired=int(meta[EXPIRED]),
        )


class LookupCache:
    """A cache of a stored relation's rows, one per key, never more than `budget`."""

    __slots__ = ("_memory", "_now", "budget", "policy")

    def __init__(self, budget: int, policy: CompiledPolicy) -> None:
        assert budget >= 1
        self.budget = budget
        self.policy = policy
        self._memory = _Memory(policy.rule(), 1, budget, 1)
        self._now = 0

    def reference(self, key: int) -> bool:
        """Look a key up; say whether it was held. If not, it is fetched and may be admitted."""
        return bool(self.feed(np.array([key]))[0])

    def feed(self, keys: Ints) -> Flags:
        """Look keys up one after another; say which were held."""
        return self.trace(keys)[0]

    def trace(self, keys: Ints) -> tuple[Flags, Ints]:
        """As `feed`; also say which row went at each reference: the number of the one it came at.

        The number of the reference itself says that its row was not admitted; -1, that none went.
        """
        keys = np.asarray(keys, dtype=np.int64)
        hits, left = np.zeros(len(keys), dtype=np.bool_), np.full(len(keys), NONE, dtype=np.int64)
        memory = self._memory
        lookups_feed(
            memory.pool, memory.tables, memory.counts, memory.learning, memory.lives,
            np.ones((1, 1), dtype=np.bool_), keys, self._now, memory.rule.mode, self.budget,
            hits, left,
        )  # fmt: skip
        self._now += len(keys)
        assert len(self) <= self.budget
        return hits, left

    @property
    def keys(self) -> Ints:
        """The keys held, in no order."""
        pool = self._memory.pool
        held: Ints = pool.rows[pool.rows[: pool.meta[HELD], ROW_LIST], ROW_KEY]
        return held

    def __len__(self) -> int:
        return int(self._memory.pool.meta[HELD])
