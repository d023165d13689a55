"""Ranges of query slots in a stabbing index."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.operators.shared.stabbing_index import BranchIndex
from penstock.operators.shared.stabbing_level import LevelEntries
from penstock.operators.shared.stabbing_probes import NO_CODES, Events
from penstock.vocabulary.batches import Flags, Ints, Rows

CHUNK = 1 << 16
"""So many candidates at a time: few enough to stay in the cache between stabbing and search."""


class SlotRanges:
    """Which slots' ranges hold a value.

    The index wants numbers that ascend, while slots come again: a slot's serial number is the
    count of additions before it, and the slot as its lower half.
    """

    def __init__(self) -> None:
        self._index = BranchIndex((), 1)
        self._additions = 0
        self.serial_of: Ints = np.zeros(0, dtype=np.int64)
        self.hits = 0
        """How many candidates were given."""

    def __len__(self) -> int:
        return len(self._index)

    @property
    def scanned(self) -> int:
        """How many entries stabbing looked at."""
        return self._index.work.scanned

    def add(self, slots: Rows, ranges: Ints) -> None:
        """Take slots; `ranges` has the range (low, high) of every slot there is."""
        if len(slots) == 0:
            return
        slots = np.sort(slots)
        serials = (np.int64(self._additions) << np.int64(32)) | slots.astype(np.int64)
        self._additions += 1
        if len(self.serial_of) < len(ranges):
            more = np.zeros(len(ranges) - len(self.serial_of), dtype=np.int64)
            self.serial_of = np.concatenate([self.serial_of, more])
        self.serial_of[slots] = serials
        own = ranges[slots]
        self._index.add_entries(
            LevelEntries(
                codes=np.zeros(len(slots), dtype=np.int32),
                lows=np.ascontiguousarray(own[:, 0])[None],
                highs=np.ascontiguousarray(own[:, 1])[None],
                queries=serials, shared=None, parameters=None,
            )
        )  # fmt: skip

    def drop(self, slots: Rows) -> None:
        """Forget slots."""
        self._index.drop(np.sort(self.serial_of[slots]))
        self.serial_of[slots] = -1

    def events(self, a: Ints, valid: Flags) -> Events | None:
        """Prepare values for `probe`; None: nothing can be found."""
        if not self._index.levels or not valid.any():
            return None
        return Events(codes=NO_CODES, keys=a[None], valid=valid, code_count=1)

    def probe(self, events: Events, start: int, stop: int) -> Iterator[tuple[Rows, Ints]]:
        """Give pairs (value, serial number of a slot) in chunks, for some of the values."""
        for _, tuples, serials in self._index.probe(events, start, stop, CHUNK):
            self.hits += len(tuples)
            yield tuples, serials
