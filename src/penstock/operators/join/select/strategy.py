"""What strategies share: the rectangles of all queries, and how to ask for affected ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from penstock.kernels.select_runs import tuples_able
from penstock.operators.join.runs import Runs
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.vocabulary.batches import Flags, Ints, Rows

SLOTS_MIN = 64
NO_ROWS: Rows = np.empty(0, dtype=np.int32)

Pairs = tuple[Rows, Rows]
"""Positions of tuples in their batch, and the slots of queries that they affect."""


class Strategy(Protocol):
    """One way to find affected queries; all ways give the same pairs.

    The ranges of queries are kept once, in the core's rectangles: `add` comes after they were put
    there, `drop` before they go. A slot may come again with other ranges.
    """

    def add(self, slots: Rows, al: Ints, ah: Ints, cl: Ints, ch: Ints, /) -> None:
        """Take queries."""
        ...

    def drop(self, slots: Rows, /) -> None:
        """Forget queries that are here."""
        ...

    def identify(self, a: Ints, codes: Rows, runs: Runs, /) -> Pairs:
        """Give all affected pairs, each once, in no particular order."""
        ...

    def find(self, a: Ints, codes: Rows, runs: Runs, /) -> int:
        """Count the affected pairs without writing them."""
        ...

    def counts(self) -> dict[str, int]:
        """Give the operations so far."""
        ...


class Rectangles:
    """The ranges of all queries by slot: `a[slot]` on the arriving side, `c[slot]` on the probed.

    A slot without a query has ranges that contain nothing.
    """

    def __init__(self) -> None:
        self.a: Ints = np.empty((0, 2), dtype=np.int64)
        self.c: Ints = np.empty((0, 2), dtype=np.int64)
        self.here: Flags = np.empty(0, dtype=np.bool_)
        self.count = 0

    def put(self, slots: Rows, al: Ints, ah: Ints, cl: Ints, ch: Ints) -> None:
        """Set the ranges of slots that are free."""
        if len(slots) == 0:
            return
        self._extend(int(slots.max()) + 1)
        assert not self.here[slots].any(), "a slot is free before a query gets it"
        self.a[slots, 0], self.a[slots, 1] = al, ah
        self.c[slots, 0], self.c[slots, 1] = cl, ch
        self.here[slots] = True
        self.count += len(slots)

    def remove(self, slots: Rows) -> None:
        """Free slots that are taken."""
        self.a[slots], self.c[slots] = (HIGHEST, LOWEST), (HIGHEST, LOWEST)
        self.here[slots] = False
        self.count -= len(slots)

    def _extend(self, size: int) -> None:
        have = len(self.here)
        if size <= have:
            return
        more = max(size, 2 * have, SLOTS_MIN) - have
        empty = np.tile(np.array([HIGHEST, LOWEST], dtype=np.int64), (more, 1))
        self.a, self.c = np.concatenate([self.a, empty]), np.concatenate([self.c, empty])
        self.here = np.concatenate([self.here, np.zeros(more, dtype=np.bool_)])


def able(codes: Rows, runs: Runs) -> tuple[Flags, int]:
    """Say which tuples have a run that is not empty, and how many they are."""
    flags = np.empty(len(codes), dtype=np.bool_)
    return flags, tuples_able(codes, runs.length, flags)


def joined(parts: Sequence[Pairs]) -> Pairs:
    """Put pairs together."""
    if len(parts) == 1:
        return parts[0]
    tuples = [part[0] for part in parts] or [NO_ROWS]
    return np.concatenate(tuples), np.concatenate([part[1] for part in parts] or [NO_ROWS])
