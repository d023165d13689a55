"""Ranges in order: standing ranges sorted by their low ends, kept up lazily."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.kernels.bands import BLOCK
from penstock.vocabulary.batches import Flags, Rows

Values = npt.NDArray[Any]
PARTS_MAX = 64


class Book:
    """The range of every slot, as added: what all structures of a core read.

    Slots that are not `live` hold anything.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.low: Values = np.zeros(0, dtype=dtype)
        self.high: Values = np.zeros(0, dtype=dtype)
        self.live: Flags = np.zeros(0, dtype=np.bool_)
        self.count = 0

    def add(self, slots: Rows, lows: Values, highs: Values) -> None:
        """Write down ranges; the slots must be free."""
        need = int(slots.max()) + 1 - len(self.live)
        if need > 0:
            more = max(need, len(self.live))
            self.low = np.append(self.low, np.zeros(more, dtype=self.low.dtype))
            self.high = np.append(self.high, np.zeros(more, dtype=self.high.dtype))
            self.live = np.append(self.live, np.zeros(more, dtype=np.bool_))
        assert not self.live[slots].any(), "a slot holds one query"
        self.low[slots], self.high[slots], self.live[slots] = lows, highs, True
        self.count += len(slots)

    def drop(self, slots: Rows) -> None:
        """Free slots."""
        assert self.live[slots].all(), "only what is there is dropped"
        self.live[slots] = False
        self.count -= len(slots)


class Touched:
    """Slots that may have changed; never many more than there are slots."""

    def __init__(self) -> None:
        self._parts: list[Rows] = []

    def add(self, slots: Rows) -> None:
        """Remember slots."""
        if len(slots):
            self._parts.append(slots)
        if len(self._parts) > PARTS_MAX:
            self._parts = [self.take()]

    def take(self) -> Rows:
        """Give all slots, ascending, each once, and forget them."""
        parts, self._parts = self._parts, []
        return np.unique(np.concatenate([np.empty(0, dtype=np.int32), *parts]))


class OrderedRanges:
    """Some of a book's ranges, ascending by low (then by slot).

    `touch` names slots that may have come, gone or changed; the order is made good at the next
    `refresh`, by one merge however many there are.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.low: Values = np.zeros(0, dtype=dtype)
        self.high: Values = np.zeros(0, dtype=dtype)
        self.slot: Rows = np.zeros(0, dtype=np.int32)
        self.blocks: Values = np.zeros(0, dtype=dtype)
        self._touched = Touched()
        self.touch = self._touched.add

    def __len__(self) -> int:
        return len(self.slot)

    def refresh(self, book: Book, member: Flags) -> None:
        """Take the touched slots out, and in again if they are members now."""
        slots = self._touched.take()
        if len(slots) == 0:
            return
        dirty = np.zeros(len(book.live), dtype=np.bool_)
        dirty[slots] = True
        kept = ~dirty[self.slot]
        old_low, old_high, old_slot = self.low[kept], self.high[kept], self.slot[kept]
        new = slots[member[slots]]
        new = new[np.argsort(book.low[new], kind="stable")].astype(np.int32)
        places = np.searchsorted(old_low, book.low[new], side="right")
        self.low = np.insert(old_low, places, book.low[new])
        self.high = np.insert(old_high, places, book.high[new])
        self.slot = np.insert(old_slot, places, new)
        starts = np.arange(0, len(self.slot), BLOCK)
        self.blocks = np.maximum.reduceat(self.high, starts) if len(starts) else self.high[:0]
