"""Packed boxes: the tree of many boxes made at once, and whether any of them contains a point."""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Flags, Ints
from penstock.kernels.boxes import FANOUT, box_holds, boxes_enclose
from penstock.kernels.compilation import kernel


def keys_place(codes: Ints, keys: Ints, ends: Ints) -> Ints:
    """Give places that lie to each other as keys do to ends, apart for every partition.

    So partition and range of a box are one side of it.
    """
    ranks = np.searchsorted(ends, keys) + np.searchsorted(ends, keys, side="right")
    places: Ints = codes * (2 * len(ends) + 1) + ranks
    return places


def boxes_pack(sides: Ints) -> tuple[Ints, Ints, Ints]:
    """Give the order in which boxes stand, and their tree: its boxes, and where levels start.

    Row i of `sides` is (low, high, low, high, ...).
    """
    order = tile_order(sides)
    counts = [len(sides)]
    while counts[-1] > FANOUT:
        counts.append(-(-counts[-1] // FANOUT))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    tree = np.empty((int(starts[-1]), sides.shape[1]), dtype=np.int64)
    tree[: len(sides)] = sides[order]
    boxes_enclose(tree, starts)
    return order, tree, starts


@kernel
def points_meet(points: Ints, boxes: Ints, starts: Ints, stack: Ints, meets: Flags) -> None:
    """Mark the points that any box of a tree contains; `stack` has room for STACK numbers."""
    levels = len(starts) - 1
    for at in range(len(points)):
        waiting = 0
        for k in range(starts[levels - 1], starts[levels]):
            stack[waiting] = k
            waiting += 1
        while waiting > 0 and not meets[at]:
            waiting -= 1
            k = stack[waiting]
            if not box_holds(boxes, k, points[at]):
                continue
            level = 0
            while k >= starts[level + 1]:
                level += 1
            if level == 0:
                meets[at] = True
                continue
            first = starts[level - 1] + (k - starts[level]) * FANOUT
            for child in range(first, min(first + FANOUT, starts[level])):
                stack[waiting] = child
                waiting += 1


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
