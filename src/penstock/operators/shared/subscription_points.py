"""Points of subscriptions: an index that says which of them lie in a rectangle."""

from __future__ import annotations

import numpy as np

from penstock.kernels.range_messages import RangeMessages
from penstock.kernels.range_points import (
    GONE,
    STACK,
    RangePoints,
    RangeRectangles,
    points_build,
    rectangles_find,
    rectangles_meet,
)
from penstock.operators.shared.slots import grown
from penstock.vocabulary.batches import Flags, Ints, Rows

ROOM_MIN = 1024


def rectangles(messages: RangeMessages) -> RangeRectangles:
    """Give the rectangles that messages speak of."""
    return RangeRectangles(
        messages.partitions, messages.outer_l, messages.inner_l, messages.inner_r, messages.outer_r
    )


class SubscriptionPoints:
    """Which subscriptions (partition, x1, x2) lie in a rectangle; slots stand for them.

    Points lie in parts, each an index that does not change but for those that are dropped. What is
    added is a part of its own; two parts of which neither is much smaller become one, and a part
    half of whose points are gone is built anew. So a point is moved a logarithmic number of times.

    >>> points = SubscriptionPoints()
    >>> points.add(*(np.array(column) for column in ([0, 1], [7, 7], [25, 35], [60, 80])))
    >>> asked = (np.array([code]) for code in (7, 21, 30, 50, 69))
    >>> points.find(RangeRectangles(*asked))
    (array([0]), array([0], dtype=int32))
    """

    def __init__(self) -> None:
        self._parts: list[RangePoints] = []
        self._sizes: list[int] = []
        self._part: Rows = np.empty(0, np.int32)
        self._place: Ints = np.empty(0, np.int64)
        self._stack = np.empty(STACK, np.int64)
        self._found: Rows = np.empty(ROOM_MIN, np.int32)
        self._found_in: Ints = np.empty(ROOM_MIN, np.int64)

    def __len__(self) -> int:
        return sum(self._sizes)

    @property
    def nbytes(self) -> int:
        """Bytes of all parts."""
        arrays = [array for part in self._parts for array in part]
        return sum(array.nbytes for array in (*arrays, self._part, self._place))

    def add(self, slots: Rows | Ints, partitions: Ints, x1s: Ints, x2s: Ints) -> None:
        """Add subscriptions; their slots are not in use."""
        if not len(slots):
            return
        together = [(partitions, x1s, x2s, slots.astype(np.int32))]
        size = len(slots)
        while self._sizes and self._sizes[-1] < 2 * size:
            together.append(self._live(len(self._parts) - 1))
            size += self._sizes[-1]
            del self._parts[-1], self._sizes[-1]
        partitions, x1s, x2s = (np.concatenate([part[k] for part in together]) for k in range(3))
        self._parts.append(_nothing())
        self._sizes.append(size)
        rows = np.concatenate([part[3] for part in together])
        self._build(len(self._parts) - 1, partitions, x1s, x2s, rows)

    def drop(self, slots: Rows | Ints) -> None:
        """Take subscriptions out."""
        parts, places = self._part[slots], self._place[slots]
        for number, part in enumerate(self._parts):
            gone = places[parts == number]
            part.slots[gone] = GONE
            self._sizes[number] -= len(gone)
            if 2 * self._sizes[number] < len(part.slots):
                self._build(number, *self._live(number))

    def find(self, asked: RangeRectangles) -> tuple[Ints, Rows]:
        """Give the subscriptions in every rectangle: numbers of rectangles, and slots."""
        count = 0
        progress = np.zeros(2, np.int64)
        for part in self._parts:
            first = 0
            while not rectangles_find(
                part, asked, first, count, self._stack, self._found, self._found_in, progress
            ):
                first, count = progress.tolist()
                self._found = grown(self._found, 2 * len(self._found))
                self._found_in = grown(self._found_in, 2 * len(self._found_in))
            count = int(progress[1])
        return self._found_in[:count].copy(), self._found[:count].copy()

    def meet(self, asked: RangeRectangles) -> Flags:
        """Say of every rectangle whether any subscription lies in it."""
        meets = np.zeros(len(asked.partitions), np.bool_)
        for part in self._parts:
            rectangles_meet(part, asked, self._stack, self._found, meets)
        return meets

    def _live(self, number: int) -> tuple[Ints, Ints, Ints, Rows]:
        part = self._parts[number]
        partitions = np.repeat(part.directory, np.diff(part.starts))
        live = part.slots != GONE
        return partitions[live], part.x1s[live], part.x2s[live], part.slots[live]

    def _build(self, number: int, partitions: Ints, x1s: Ints, x2s: Ints, slots: Rows) -> None:
        order = np.argsort(partitions, kind="stable")
        directory, starts = np.unique(partitions[order], return_index=True)
        part = RangePoints(
            directory, np.append(starts, len(order)), x1s[order], x2s[order], slots[order]
        )
        points_build(part, self._stack)
        self._parts[number] = part
        room = int(slots.max(initial=-1)) + 1
        self._part, self._place = grown(self._part, room), grown(self._place, room)
        self._part[part.slots] = number
        self._place[part.slots] = np.arange(len(part.slots))


def _nothing() -> RangePoints:
    none = np.empty(0, np.int64)
    return RangePoints(none, np.zeros(1, np.int64), none, none, np.empty(0, np.int32))
