"""Boxes: standing rectangles or boxes, asked which of them contain a point.

The tree is packed, so changes wait: new boxes stand in a short tail that every probe reads, dropped
ones become empty. When either is too long, the tree is packed again, at the next probe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.kernels.boxes import STACK, boxes_stab, points_stab
from penstock.kernels.packed_boxes import boxes_pack
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.vocabulary.batches import Flags, Ints, Rows

TAIL_MIN = 64
FOUND_MIN = 65_536
TAIL_SHARE = 16
"""The tail may have one box for so many packed ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Arrays of a tree and its tail, in the order that `kernels.boxes.boxes_stab` takes them."""

    boxes: Ints
    starts: Ints
    slots: Rows
    tail: Ints
    tail_slots: Rows

    def arrays(self) -> tuple[Ints, Ints, Rows, Ints, Rows]:
        """Give what the kernel takes first."""
        return self.boxes, self.starts, self.slots, self.tail, self.tail_slots


class Boxes:
    """Boxes by slot, in two or three dimensions; `sides` columns are (low, high) per dimension.

    >>> boxes = Boxes(2)
    >>> boxes.add(np.array([4, 7], dtype=np.int32), np.array([[0, 9, 0, 9], [5, 9, 5, 9]]))
    >>> boxes.stab(np.array([6, 1])).tolist()
    [4]
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.rebuilds = 0
        self._place: Rows = np.empty(0, dtype=np.int32)  # Packed: >= 0; in the tail: -2 - place.
        self._tree: Ints = np.empty((0, 2 * dimensions), dtype=np.int64)
        self._starts: Ints = np.zeros(2, dtype=np.int64)
        self._slots: Rows = np.empty(0, dtype=np.int32)
        self._tail: Ints = np.empty((0, 2 * dimensions), dtype=np.int64)
        self._tail_slots: Rows = np.empty(0, dtype=np.int32)
        self._dead = 0

    def __len__(self) -> int:
        """Count the boxes."""
        return len(self._slots) + len(self._tail_slots) - self._dead

    @property
    def slots_end(self) -> int:
        """Give a number above every slot that was ever here."""
        return len(self._place)

    def add(self, slots: Rows, sides: Ints) -> None:
        """Take boxes: row i of `sides` is (low, high, low, high, ...) of slot i."""
        if len(slots) == 0:
            return
        top = int(slots.max()) + 1
        if top > len(self._place):
            more = max(top, 2 * len(self._place)) - len(self._place)
            self._place = np.concatenate([self._place, np.full(more, -1, dtype=np.int32)])
        first = len(self._tail_slots)
        self._place[slots] = -2 - np.arange(first, first + len(slots), dtype=np.int32)
        self._tail = np.concatenate([self._tail, np.asarray(sides, dtype=np.int64)])
        self._tail_slots = np.concatenate([self._tail_slots, slots.astype(np.int32)])

    def drop(self, slots: Rows) -> None:
        """Forget boxes that are here."""
        places = self._place[slots]
        empty = [HIGHEST, LOWEST] * self.dimensions
        self._tree[places[places >= 0]] = empty
        self._tail[-2 - places[places < 0]] = empty
        self._place[slots] = -1
        self._dead += len(slots)

    def packed(self) -> Packed:
        """Give the tree for probing; pack it first if changes have piled up."""
        if (
            len(self._tail_slots) > max(TAIL_MIN, len(self._slots) // TAIL_SHARE)
            or 2 * self._dead > len(self._slots) + TAIL_MIN
        ):
            self._pack()
        return Packed(
            boxes=self._tree, starts=self._starts, slots=self._slots,
            tail=self._tail, tail_slots=self._tail_slots,
        )  # fmt: skip

    def stab(self, point: Ints) -> Rows:
        """Give the slots of the boxes that contain one point."""
        tree = self.packed()
        found = np.empty(len(tree.slots) + len(tree.tail_slots), dtype=np.int32)
        stack = np.empty(STACK, dtype=np.int64)
        at = np.asarray(point, dtype=np.int64)
        return found[: boxes_stab(*tree.arrays(), at, stack, found)]

    def find(self, points: Ints) -> tuple[Ints, Rows]:
        """Give which points lie in which boxes: numbers of points, and slots.

        >>> boxes = Boxes(2)
        >>> boxes.add(np.array([4, 7], dtype=np.int32), np.array([[0, 9, 0, 9], [5, 9, 5, 9]]))
        >>> boxes.find(np.array([[6, 1], [99, 1], [6, 6]]))
        (array([0, 2, 2]), array([4, 4, 7], dtype=int32))
        """
        tree = self.packed()
        room = len(tree.slots) + len(tree.tail_slots)
        capacity = max(room, FOUND_MIN)
        stack, found = np.empty(STACK, dtype=np.int64), np.empty(room, dtype=np.int32)
        out = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int32)
        state = np.zeros(1, dtype=np.int64)
        given = np.ascontiguousarray(points, dtype=np.int64)
        parts: list[tuple[Ints, Rows]] = []
        while not parts or state[0] < len(given):
            count = points_stab(state, given, *tree.arrays(), stack, found, *out)
            parts.append((out[0][:count].copy(), out[1][:count].copy()))
        which, slots = zip(*parts, strict=True)
        return np.concatenate(which), np.concatenate(slots)

    def _pack(self) -> None:
        """Build the tree of all boxes."""
        self.rebuilds += 1
        sides = np.concatenate([self._tree[: len(self._slots)], self._tail])
        slots = np.concatenate([self._slots, self._tail_slots])
        alive: Flags = sides[:, 0] <= sides[:, 1]
        sides, slots = sides[alive], slots[alive]
        order, self._tree, self._starts = boxes_pack(sides)
        self._slots = slots[order]
        self._place[self._slots] = np.arange(len(slots), dtype=np.int32)
        self._tail, self._tail_slots = self._tail[:0], self._tail_slots[:0]
        self._dead = 0
