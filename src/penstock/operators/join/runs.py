"""Runs: the data index of one side, rows by join key and then by value."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.kernels.runs import (
    MISSED,
    USED,
    WASTE,
    RunIndex,
    changes_order,
    runs_copy,
    runs_measure,
    runs_merge,
    runs_pack,
    runs_slice,
)
from penstock.vocabulary.batches import Ints, Rows

POOL_MIN = 64


def own(array: npt.ArrayLike, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Give an array as kernels know it: any other layout would compile them again."""
    return np.require(array, dtype, ["C_CONTIGUOUS", "WRITEABLE"])


class Runs:
    """Rows of one side, grouped by the code of their join key, sorted by (value, row slot).

    Run `code` is `value[start[code] : start[code] + length[code]]`, and the same of `slot`. A code
    that has no run has length 0, and so has one beyond the end of `start`.

    >>> runs = Runs()
    >>> runs.change([2, 2, 0], [30, 10, 5], [0, 1, 2], [True, True, True])
    >>> runs.run(2).tolist(), len(runs)
    ([10, 30], 3)
    >>> offsets, slots = runs.expand([2, 7], [20, 0], [40, 99])
    >>> offsets.tolist(), slots.tolist()
    ([0, 1, 1], [0])
    """

    def __init__(self) -> None:
        self.start: Ints = np.zeros(0, dtype=np.int64)
        self.length: Rows = np.zeros(0, dtype=np.int32)
        self.value: Ints = np.empty(POOL_MIN, dtype=np.int64)
        self.slot: Rows = np.empty(POOL_MIN, dtype=np.int32)
        self._room: Rows = np.zeros(0, dtype=np.int32)
        self._state: Ints = np.zeros(3, dtype=np.int64)
        self._rows = 0

    def __len__(self) -> int:
        """Count the rows."""
        return self._rows

    @property
    def pool(self) -> tuple[int, int]:
        """Say how much of the pool is in use, and how much of that is waste."""
        return int(self._state[USED]), int(self._state[WASTE])

    @property
    def index(self) -> RunIndex:
        """Give what kernels read."""
        return RunIndex(self.start, self.length, self.value)

    def run(self, code: int) -> Ints:
        """Give the sorted values of one run; the array is the index's own, to be read only."""
        if not 0 <= code < len(self.start):
            return self.value[:0]
        begin = int(self.start[code])
        return self.value[begin : begin + int(self.length[code])]

    def change(
        self, codes: npt.ArrayLike, values: npt.ArrayLike, slots: npt.ArrayLike,
        added: npt.ArrayLike,
    ) -> None:  # fmt: skip
        """Add and remove rows; a removal names the code, value and slot that were added."""
        codes_, slots_ = own(codes, np.int32), own(slots, np.int32)
        values_, added_ = own(values, np.int64), own(added, np.bool_)
        if len(codes_) == 0:
            return
        assert int(codes_.min()) >= 0 and int(slots_.min()) >= 0
        self._extend(int(codes_.max()) + 1)
        order = changes_order(codes_, values_, slots_)
        needed, longest = runs_measure(codes_, added_, order, self.length, self._room)
        self._reserve(int(self._state[USED]) + needed)
        spare = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int32)
        runs_merge(
            codes_, values_, slots_, added_, order, self.start, self.length, self._room,
            self.value, self.slot, *spare, self._state,
        )  # fmt: skip
        assert self._state[MISSED] == 0, "removals name rows, additions new ones"
        self._rows += 2 * int(np.count_nonzero(added_)) - len(added_)
        if 2 * self._state[WASTE] > self._state[USED]:
            self._pack()

    def slices(
        self, codes: npt.ArrayLike, lows: npt.ArrayLike, highs: npt.ArrayLike
    ) -> tuple[Ints, Ints]:
        """Give, per item, where in the pool the rows with values in [low, high] begin and end."""
        return self._slices(codes, lows, highs)[:2]

    def expand(
        self, codes: npt.ArrayLike, lows: npt.ArrayLike, highs: npt.ArrayLike
    ) -> tuple[Ints, Rows]:
        """Give the row slots with values in [low, high], item by item, and where each begins."""
        starts, stops, total = self._slices(codes, lows, highs)
        offsets = np.empty(len(starts) + 1, dtype=np.int64)
        out = np.empty(total, dtype=np.int32)
        runs_copy(starts, stops, self.slot, offsets, out)
        return offsets, out

    def _slices(
        self, codes: npt.ArrayLike, lows: npt.ArrayLike, highs: npt.ArrayLike
    ) -> tuple[Ints, Ints, int]:
        codes_ = own(codes, np.int32)
        starts = np.empty(len(codes_), dtype=np.int64)
        stops = np.empty(len(codes_), dtype=np.int64)
        total = runs_slice(
            codes_, own(lows, np.int64), own(highs, np.int64), self.start, self.length, self.value,
            starts, stops,
        )  # fmt: skip
        return starts, stops, total

    def _extend(self, codes: int) -> None:
        """Make place for more codes."""
        have = len(self.start)
        if codes <= have:
            return
        more = max(codes, 2 * have) - have
        self.start = np.concatenate([self.start, np.zeros(more, dtype=np.int64)])
        self.length = np.concatenate([self.length, np.zeros(more, dtype=np.int32)])
        self._room = np.concatenate([self._room, np.zeros(more, dtype=np.int32)])

    def _reserve(self, size: int) -> None:
        """Make the pool at least this large."""
        if size <= len(self.value):
            return
        used = int(self._state[USED])
        value = np.empty(max(size, 2 * len(self.value)), dtype=np.int64)
        slot = np.empty(len(value), dtype=np.int32)
        value[:used], slot[:used] = self.value[:used], self.slot[:used]
        self.value, self.slot = value, slot

    def _pack(self) -> None:
        """Copy the runs into a pool without waste."""
        live = self.length.astype(np.int64)
        size = max(int((live + (live >> 1) + 2 * (live > 0)).sum()), POOL_MIN)
        value, slot = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int32)
        used = runs_pack(self.start, self.length, self._room, self.value, self.slot, value, slot)
        self.value, self.slot = value, slot
        self._state[USED], self._state[WASTE] = used, 0
