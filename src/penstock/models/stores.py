"""Stores: the segments that a stage remembers, with what is taken back cut out of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from penstock.kernels.segment_stores import (
    LIVE,
    USED,
    Came,
    Stored,
    store_apply,
    store_link,
)
from penstock.models.segments import WIDTH, Segments
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.errors import PenstockError

Arrays = dict[str, npt.NDArray[np.generic]]
"""State by name."""

SLOTS_MIN = 64
SEGMENTS_MAX = 1 << 26
"""How many segments a store holds at most."""
KEPT = ("key", "reference", "low", "high", "models", "serial")


def came(segments: Segments) -> Came:
    """Give segments as kernels take them."""
    return Came(
        segments.key, segments.reference, segments.low, segments.high,
        np.ascontiguousarray(segments.coefficients), segments.sign, segments.serial,
    )  # fmt: skip


class SegmentStore:
    """Segments by the values of some of their key columns."""

    def __init__(self, key: int, attributes: int, columns: Sequence[int]) -> None:
        self.columns: Ints = np.array(columns, np.int64)
        self._key = key
        self._attributes = attributes
        self.stored = self._empty(SLOTS_MIN)

    def __len__(self) -> int:
        return int(self.stored.sizes[LIVE])

    def apply(self, segments: Segments) -> None:
        """Keep segments with sign 1; cut out those with sign -1."""
        self.reserve(len(segments))
        store_apply(self.stored, self.columns, came(segments))

    def evict(self, before_us: int) -> None:
        """Forget what ended before an event time, once there is enough of it.

        When that is, what is alive says, and not how many slots are free: a restored store has none
        of those that were cut out, and is to forget with the others.
        """
        used, live = int(self.stored.sizes[USED]), len(self)
        ends = (self.stored.high[:used] * 1e6).astype(np.int64) + self.stored.reference[:used]
        keep = self.stored.alive[:used] & (ends >= before_us)
        gone = live - int(keep.sum())
        if (gone > SLOTS_MIN and gone * 4 > live) or gone == live:
            self._pack(keep, live - gone)

    def arrays(self) -> Arrays:
        """Give the state."""
        used = int(self.stored.sizes[USED])
        keep = self.stored.alive[:used]
        return {name: getattr(self.stored, name)[:used][keep] for name in KEPT}

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Take up a state."""
        count = len(arrays["reference"])
        self.stored = self._empty(max(count, SLOTS_MIN))
        for name in KEPT:
            getattr(self.stored, name)[:count] = arrays[name]
        self._fill(count)

    def reserve(self, more: int) -> None:
        """Have a free slot for each of so many segments: one that comes, or what a cut splits."""
        used, live = int(self.stored.sizes[USED]), len(self)
        if live + more > SEGMENTS_MAX:
            raise PenstockError(
                "MDL-051",
                f"A stage of a model query would hold more than {SEGMENTS_MAX:,} segments.",
                "Shorten its windows and horizons, or widen its error bound.",
            )
        if used + more > len(self.stored.alive):
            self._pack(self.stored.alive[:used], live, more)

    def _pack(self, keep: Flags, count: int, more: int = 0) -> None:
        old = self.stored
        slots = SLOTS_MIN
        while slots < (count + more) * 2:
            slots *= 2
        self.stored = self._empty(slots)
        for name in KEPT:
            getattr(self.stored, name)[:count] = getattr(old, name)[: len(keep)][keep]
        self._fill(count)

    def _fill(self, count: int) -> None:
        self.stored.alive[:count] = True
        self.stored.sizes[:] = count
        store_link(self.stored, self.columns)

    def _empty(self, slots: int) -> Stored:
        buckets = 1 << max(slots - 1, 1).bit_length()
        return Stored(
            np.empty((slots, self._key), np.int64), np.empty(slots, np.int64), np.empty(slots),
            np.empty(slots), np.empty((slots, self._attributes, WIDTH)),
            np.empty(slots, np.int64), np.zeros(slots, np.bool_), np.empty(slots, np.int64),
            np.full(buckets, -1, np.int64), np.full(buckets, -1, np.int64),
            np.zeros(2, np.int64),
        )  # fmt: skip
