"""Boxes: standing rectangles or boxes, asked which of them contain a point.

The tree is packed, so changes wait: new boxes stand in a short tail that every probe reads, dropped
ones become empty. When either is too long, the tree is packed again, at the next probe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.kernels.boxes import FANOUT, STACK, boxes_enclose, boxes_stab, points_stab
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
        order = tile_order(sides)
        counts = [len(slots)]
        while counts[-1] > FANOUT:
            counts.append(-(-counts[-1] // FANOUT))
        self._starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._tree = np.empty((int(self._starts[-1]), 2 * self.dimensions), dtype=np.int64)
        self._tree[: len(slots)] = sides[order]
        self._slots = slots[order]
        boxes_enclose(self._tree, self._starts)
        self._place[self._slots] = np.arange(len(slots), dtype=np.int32)
        self._tail, self._tail_slots = self._tail[:0], self._tail_slots[:0]
        self._dead = 0


def tile_order(sides: Ints) -> Ints:
    """Give the Sort-Tile-Recursive order: slabs by one dimension, in each slabs by the next, ...

    A point visits about the product of (slabs x relative extent + 1) leaves, so a dimension in
    which boxes are short gets more slabs, and comes first.
    """
    count, dimensions = len(sides), sides.shape[1] // 2
    order, slab = np.arange(count), np.zeros(count, dtype=np.int64)
    if count <= FANOUT:
        return order
    # Halves, since the sum or the difference of two ends may not fit.
    halves = [(sides[:, 2 * d] // 2, sides[:, 2 * d + 1] // 2) for d in range(dimensions)]
    centres = [low + high for low, high in halves]
    leaves = count / FANOUT
    extents = np.array([_extent(low, high, leaves) for low, high in halves])
    slabs = (leaves * extents.prod()) ** (1 / dimensions) / extents
    size = float(count)
    for d in np.argsort(extents):
        order = order[np.lexsort((centres[d][order], slab[order]))]
        size = max(size / max(slabs[d], 1.0), FANOUT)
        sorted_slab = slab[order]
        rank = np.arange(count) - np.searchsorted(sorted_slab, sorted_slab)
        step = FANOUT * max(round(size / FANOUT), 1)
        fresh = rank // step
        starts = np.concatenate([[False], (np.diff(fresh) != 0) | (np.diff(sorted_slab) != 0)])
        slab[order] = np.cumsum(starts)
    return order


def _extent(low: Ints, high: Ints, leaves: float) -> float:
    """Give the usual extent of boxes in one dimension, as a share of where their centres lie."""
    ends = np.quantile((low + high).astype(np.float64), [0.05, 0.95])
    usual = float(np.median(high.astype(np.float64) - low.astype(np.float64))) * 2
    spread = max(float(ends[1] - ends[0]), 1.0)
    return min(max(usual / spread, 1 / leaves), 1.0)
