"""Slots: small numbers for things that come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.vocabulary.batches import Rows

ROOM_MIN = 64


def grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Give the array, or a longer one with the same beginning and zeros behind it."""
    if len(array) >= size:
        return array
    room = max(size, 2 * len(array), ROOM_MIN)
    longer = np.zeros((room, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


class Slots:
    """Gives out slots, those that came back first.

    >>> slots = Slots()
    >>> slots.take(3).tolist(), slots.give_back(np.array([1], dtype=np.int32))
    ([0, 1, 2], None)
    >>> slots.take(2).tolist(), slots.size, slots.room
    ([1, 3], 4, 4)
    """

    def __init__(self) -> None:
        self.room = 0
        self.size = 0
        self._free: Rows = np.empty(ROOM_MIN, dtype=np.int32)
        self._freed = 0

    def take(self, count: int) -> Rows:
        """Give slots that are not in use."""
        again = min(count, self._freed)
        taken = np.empty(count, dtype=np.int32)
        self._freed -= again
        taken[:again] = self._free[self._freed : self._freed + again]
        taken[again:] = np.arange(self.room, self.room + count - again)
        self.room += count - again
        self.size += count
        return taken

    def give_back(self, slots: Rows) -> None:
        """Take slots back."""
        self._free = grown(self._free, self._freed + len(slots))
        self._free[self._freed : self._freed + len(slots)] = slots
        self._freed += len(slots)
        self.size -= len(slots)
