"""Joins and lookups under policies in Python: the same steps as the compiled ones, one by one.

Every decision shows the policy all rows, so a tick takes some tens of microseconds, and more with
more rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.kernels.bounded_windows import ADVANCE, NO_WINDOW, SIZE
from penstock.operators.bounded.policies import Arrays, Candidates, SteppedPolicy
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.errors import PenstockError

STREAM, KEY, BORN, NUMBER, USED, STAMP = range(6)
"""What is known of a row."""
WORDS = 6
WENT = ("left", "stayed", "refused", "expired", "evicted")
OWN = "policy."
"""How the names of a policy's own arrays begin."""


def candidates_of(rows: Ints) -> Candidates:
    """Give rows as a policy sees them: it changes none."""
    rows = rows.view()
    rows.flags.writeable = False
    return Candidates(
        streams=rows[STREAM], keys=rows[KEY], born=rows[BORN], numbers=rows[NUMBER], used=rows[USED]
    )


def victims_of(policy: SteppedPolicy, rows: Ints, count: int, now: int) -> Flags:
    """Ask a policy who goes, and see that it names as many as must."""
    named = np.atleast_1d(policy.choose_victims(candidates_of(rows), count, now))
    leaving = np.zeros(rows.shape[1], dtype=np.bool_)
    if named.ndim == 1 and np.issubdtype(named.dtype, np.integer):
        leaving[named[(named >= 0) & (named < len(leaving))]] = True
    if np.count_nonzero(leaving) != count or len(named) != count:
        raise PenstockError(
            "ENG-045",
            f"{policy.name} must name {count:,} of {len(leaving):,} rows to discard, each once, "
            f"and names {named.tolist()[:8]}.",
            "Let `choose_victims` give the places of so many candidates.",
        )
    return leaving


def policy_arrays(policy: SteppedPolicy) -> Arrays:
    """Give what a policy remembers, by names of their own."""
    return {f"{OWN}{name}": np.array(array) for name, array in policy.arrays().items()}


def policy_restore(policy: SteppedPolicy, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Let a policy remember what `policy_arrays` gave."""
    own = {name.removeprefix(OWN): each for name, each in arrays.items() if name.startswith(OWN)}
    policy.restore({name: np.array(array) for name, array in own.items()})


class SteppedJoin:
    """The rows of a bounded join, as columns in the order of arrival.

    `windows` are the streams' windows as `kernels.bounding_windows` wants them.
    """

    def __init__(self, budget: int, policy: SteppedPolicy, joins: Flags, windows: Ints) -> None:
        self._budget = budget
        self._policy = policy
        self.joins = joins
        self._windows = windows
        self._measured = bool((windows[:, SIZE] != NO_WINDOW).any())
        self._measures = np.zeros((2, len(joins) + 1), dtype=np.int64)
        """The measures of all streams and the tick, at first and now."""
        self.rows: Ints = np.empty((WORDS, 0), dtype=np.int64)
        self.went = dict.fromkeys(WENT, 0)

    def __len__(self) -> int:
        return len(self.rows[KEY])

    def feed(
        self, streams: Ints, keys: Ints, ticks: Ints, stamps: Ints, nows: Ints, owned: Flags,
        first: int, _burst: int, made: Ints, together: Ints, held: Ints, found: Ints, *,
        emit: bool,
    ) -> Ints:  # fmt: skip
        """Feed whole ticks; fill the counts and give the pairs, if they are asked for."""
        begins = np.flatnonzero(np.diff(ticks, prepend=ticks[:1] - 1))
        arrivals = np.empty((WORDS, len(keys)), dtype=np.int64)
        arrivals[STREAM], arrivals[KEY], arrivals[BORN], arrivals[STAMP] = (
            streams, keys, ticks, stamps
        )  # fmt: skip
        arrivals[NUMBER] = arrivals[USED] = first + np.arange(len(keys))
        pairs = [np.empty((0, 2), dtype=np.int64)]
        for tick, (begin, end) in enumerate(pairwise([*begins.tolist(), len(keys)])):
            now, mine = int(ticks[begin]), owned[begin:end]
            fresh = arrivals[:, begin:end]
            for place in range(end - begin):
                self._move(nows[begin + place], now, is_first=first + begin + place == 0)
                if not mine[place]:
                    continue
                pairs.append(self._join(self.rows, True, fresh[:, place]))
                made[tick] += len(pairs[-1])
                found[begin + place] += len(pairs[-1])
                if place:
                    earlier = self._active(fresh[:, :place], nows[begin + place]) & mine[:place]
                    pairs.append(self._join(fresh[:, :place], earlier, fresh[:, place]))
                    together[tick] += len(pairs[-1])
                    found[begin + place] += len(pairs[-1])
            self._policy.see(fresh[STREAM].copy(), fresh[KEY].copy(), now)
            self.rows = np.concatenate([self.rows, fresh[:, mine]], axis=1)
            self._shrink(now)
            held[tick] = self.held
        return np.concatenate(pairs if emit else pairs[:1])

    def _join(self, rows: Ints, among: Flags | bool, arrival: Ints) -> Ints:
        """Join an arrival with some of the rows, which it uses."""
        met = np.flatnonzero((rows[KEY] == arrival[KEY]) & among)
        met = met[self.joins[arrival[STREAM], rows[STREAM, met]]]
        rows[USED, met] = arrival[NUMBER]
        pairs = np.empty((len(met), 2), dtype=np.int64)
        pairs[:, 0], pairs[:, 1] = arrival[NUMBER], rows[NUMBER, met]
        return pairs

    def _move(self, nows: Ints, now: int, *, is_first: bool) -> None:
        """Note the measures at an arrival; rows go whose window has passed."""
        if not self._measured:
            return
        self._measures[1] = [*nows, now]
        if is_first:
            self._measures[0] = self._measures[1]
        self._let_go(~self._active(self.rows, nows), now, "expired")

    def _active(self, rows: Ints, nows: Ints) -> Flags:
        """Say which rows may join at some measures."""
        size = self._windows[rows[STREAM], SIZE]
        active: Flags = (size == NO_WINDOW) | (nows[rows[STREAM]] - rows[STAMP] < size)
        return active

    def _shrink(self, now: int) -> None:
        if self._measured:
            ahead = self._measures[1, :-1] + self._windows[:, ADVANCE]
            self._let_go(~self._active(self.rows, ahead), now, "expired")
        above = len(self) - self._budget
        if above > 0:
            self._let_go(victims_of(self._policy, self.rows, above, now), now, "evicted")
        assert len(self) <= self._budget

    def _let_go(self, leaving: Flags, now: int, reason: str) -> None:
        if not leaving.any():
            return
        stays = now - self.rows[BORN, leaving]
        self.went["left"] += int(np.count_nonzero(stays))
        self.went["stayed"] += int(stays.sum())
        refused = int(np.count_nonzero(stays == 0)) if reason == "evicted" else 0
        self.went["refused"] += refused
        self.went[reason] += len(stays) - refused
        self.rows = self.rows[:, ~leaving]

    @property
    def held(self) -> tuple[int, ...]:
        """The rows of every stream."""
        return tuple(np.bincount(self.rows[STREAM], minlength=len(self.joins)).tolist())

    @property
    def candidates(self) -> Candidates:
        """The rows held, oldest first."""
        return candidates_of(self.rows)

    def rejoin(self, joins: Flags, _now: int) -> None:
        """Let other streams join each other; rows stay where they are."""
        self.joins = joins

    def passed(self, _now: int) -> list[int]:
        """Give by how much the measures and the tick have grown since the first arrival."""
        grown: list[int] = (self._measures[1] - self._measures[0]).tolist()
        return grown

    def arrays(self) -> Arrays:
        """Give all that is held and remembered."""
        return {
            "rows": self.rows.copy(),
            "measures": self._measures.copy(),
            "went": np.array([self.went[name] for name in WENT], dtype=np.int64),
            **policy_arrays(self._policy),
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what `arrays` gave, as the same join would."""
        self.rows, self._measures = arrays["rows"].copy(), arrays["measures"].copy()
        self.went = dict(zip(WENT, arrays["went"].tolist(), strict=True))
        policy_restore(self._policy, arrays)


class SteppedLookup:
    """A cache of a stored relation's rows, one per key, never more than `budget`."""

    def __init__(self, budget: int, policy: SteppedPolicy) -> None:
        assert budget >= 1
        self.budget = budget
        self._policy = policy
        self._now = 0
        self._rows: Ints = np.empty((WORDS, 0), dtype=np.int64)

    def trace(self, keys: Ints, owned: Flags | None = None) -> tuple[Flags, Ints]:
        """Look keys up one after another, as `LookupCache.trace` does."""
        keys = np.ascontiguousarray(keys, dtype=np.int64)
        hits, left = np.zeros(len(keys), dtype=np.bool_), np.full(len(keys), -1, dtype=np.int64)
        stream = np.zeros(1, dtype=np.int64)
        for place, key in enumerate(keys.tolist()):
            now = self._now
            self._now += 1
            self._policy.see(stream.copy(), keys[place : place + 1].copy(), now)
            if owned is not None and not owned[place]:
                continue
            held = self._rows[KEY] == key
            if held.any():
                hits[place] = True
                self._rows[USED, held] = now
                continue
            row = np.array([[0], [key], [now], [now], [now], [0]], dtype=np.int64)
            self._rows = np.concatenate([self._rows, row], axis=1)
            if len(self) > self.budget:
                leaving = victims_of(self._policy, self._rows, 1, now)
                left[place] = self._rows[NUMBER, leaving][0]
                self._rows = self._rows[:, ~leaving]
        assert len(self) <= self.budget
        return hits, left

    @property
    def keys(self) -> Ints:
        """The keys held, oldest first."""
        held: Ints = self._rows[KEY].copy()
        return held

    def __len__(self) -> int:
        return len(self._rows[KEY])

    def arrays(self) -> Arrays:
        """Give all that is held and remembered."""
        told = np.array([self._now], dtype=np.int64)
        return {"told": told, "rows": self._rows.copy(), **policy_arrays(self._policy)}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what `arrays` gave, as the same cache would."""
        (self._now,) = arrays["told"].tolist()
        self._rows = arrays["rows"].copy()
        policy_restore(self._policy, arrays)
