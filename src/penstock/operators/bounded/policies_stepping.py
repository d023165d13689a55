"""Joins under policies in Python: the same steps as the compiled ones, one tick at a time."""

from __future__ import annotations

import numpy as np

from penstock.kernels.bounding import EVICTED, EXPIRED, LEFT, REFUSED, STAYED, STREAMS_FROM
from penstock.operators.bounded.models import Ints
from penstock.operators.bounded.policies import Candidates, SteppedPolicy
from penstock.vocabulary.batches import Flags


class SteppedJoin:
    """The rows of a bounded join, as columns in the order of arrival."""

    __slots__ = ("_arrivals", "_budget", "_joins", "_policy", "_rows", "_window", "meta")

    def __init__(
        self, budget: int, policy: SteppedPolicy, joins: Flags, window: int | None
    ) -> None:  # fmt: skip
        self._budget = budget
        self._policy = policy
        self._joins = joins
        self._window = window
        self._rows = np.empty((4, 0), dtype=np.int64)
        self._arrivals = 0
        self.meta = np.zeros(STREAMS_FROM, dtype=np.int64)

    def __len__(self) -> int:
        return self._rows.shape[1]

    def candidates(self) -> Candidates:
        """Give the rows held."""
        streams, keys, born, numbers = self._rows
        return Candidates(streams=streams, keys=keys, born=born, numbers=numbers)

    def feed(
        self, streams: Ints, keys: Ints, ticks: Ints, begins: Ints,
        made: Ints, together: Ints, held: Ints,
    ) -> Ints:  # fmt: skip
        """Feed whole ticks, beginning at `begins`; fill the counts per tick and give the pairs."""
        pairs = [np.empty((0, 2), dtype=np.int64)]
        for tick, begin in enumerate(begins.tolist()):
            end = begins[tick + 1] if tick + 1 < len(begins) else len(ticks)
            now = int(ticks[begin])
            fresh = np.empty((4, end - begin), dtype=np.int64)
            fresh[0], fresh[1], fresh[2] = streams[begin:end], keys[begin:end], now
            fresh[3] = self._arrivals + np.arange(end - begin)
            self._arrivals += end - begin
            if self._window is not None:
                self._let_go(self._rows[2] < now - self._window, now, EXPIRED)
            for place in range(end - begin):
                stream, key, _, number = fresh[:, place]
                for rows, counts in ((self._rows, made), (fresh[:, :place], together)):
                    found = rows[3][(rows[1] == key) & self._joins[stream, rows[0]]]
                    counts[tick] += len(found)
                    pairs.append(np.stack([np.full(len(found), number), found], axis=1))
            self._policy.see(fresh[0], fresh[1], now)
            self._rows = np.concatenate([self._rows, fresh], axis=1)
            self._shrink(now)
            held[tick] = np.bincount(self._rows[0], minlength=len(self._joins))
        return np.concatenate(pairs)

    def _shrink(self, now: int) -> None:
        if self._window is not None:
            self._let_go(self._rows[2] <= now - self._window, now, EXPIRED)
        above = len(self) - self._budget
        if above > 0:
            victims = np.asarray(self._policy.choose_victims(self.candidates(), above, now))
            assert len(np.unique(victims)) == above
            leaving = np.zeros(len(self), dtype=np.bool_)
            leaving[victims] = True
            self._let_go(leaving, now, None)
        assert len(self) <= self._budget

    def _let_go(self, leaving: Flags, now: int, reason: int | None) -> None:
        stays = now - self._rows[2][leaving]
        self.meta[LEFT] += np.count_nonzero(stays)
        self.meta[STAYED] += stays.sum()
        if reason is None:
            self.meta[EVICTED] += np.count_nonzero(stays)
            self.meta[REFUSED] += np.count_nonzero(stays == 0)
        else:
            self.meta[reason] += len(stays)
        self._rows = self._rows[:, ~leaving]
