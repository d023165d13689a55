"""Joins: pairs of segments that hold at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from penstock.algebra.models import ModelConjunction, ModelJoin
from penstock.kernels.pair_distances import pairs_stay
from penstock.kernels.segment_stores import Came, pairs_build, store_meet
from penstock.models.conditions import ConditionSolver
from penstock.models.distances import distance_asked
from penstock.models.segments import WIDTH, Segments
from penstock.models.shapes import SegmentShape
from penstock.models.stores import Arrays, SegmentStore, came

Side = Literal[0, 1]
LEFT: Side = 0
RIGHT: Side = 1
SIDES = ("left", "right")
PAIRS_MAX = 1 << 13
"""How many pairs are solved at a time: few enough to stay in a processor's caches."""


class JoinStage:
    """A join over two stores: what comes meets what holds on the other side, and is then kept.

    That is bilinear: what is taken back meets the same partners, and takes the pairs back. Where
    the condition wants a distance to be small, nothing is made of pairs that stay apart. With
    `whole`, pairs in which the condition holds for an instant are given as long as both hold.
    """

    def __init__(
        self, node: ModelJoin, left: SegmentShape, right: SegmentShape, *, whole: bool = False
    ) -> None:
        self._shapes = (left, right)
        equal = [np.array([pair[side] for pair in node.equal], np.int64) for side in (0, 1)]
        self._unequal = [
            np.array([pair[side] for pair in node.unequal], np.int64) for side in (0, 1)
        ]
        self._stores = tuple(
            SegmentStore(shape.key, len(shape.degrees), columns.tolist())
            for shape, columns in zip(self._shapes, equal, strict=True)
        )
        self._window_us = node.window_us or 0
        degrees = (*left.degrees, *right.degrees)
        same = dict(left.same)
        same |= {left.key + own: left.key + first for own, first in right.same.items()}
        same |= {left.key + two: left.same.get(one, one) for one, two in node.equal}
        self.shape = SegmentShape(
            key=left.key + right.key, degrees=degrees, same=same,
            is_function=left.is_function and right.is_function,
            late_us=max(left.late_us, right.late_us),
        )  # fmt: skip
        self._solver = ConditionSolver(node.condition, len(degrees))
        self._distance = distance_asked(node, left, right)
        self._always = node.condition == ModelConjunction(terms=())
        self._whole = whole

    def push(self, side: Side, segments: Segments) -> Segments:
        """Take changes of one side; give the changes of pairs."""
        own, other = self._stores[side], self._stores[1 - side]
        state = np.array([0, -1], np.int64)
        rows, slots = np.empty(PAIRS_MAX, np.int64), np.empty(PAIRS_MAX, np.int64)
        arrived = came(segments)
        parts = []
        while state[0] < len(segments):
            count = store_meet(
                other.stored, other.columns, arrived, own.columns, self._unequal[1 - side],
                self._unequal[side], state, rows, slots,
            )  # fmt: skip
            if self._distance is not None:
                count = pairs_stay(
                    other.stored, arrived, side == LEFT, self._distance, rows, slots, count
                )
            if count:
                pairs = self._room(count)
                pairs_build(other.stored, arrived, side == LEFT, rows, slots, count, pairs)
                parts.append(self._restricted(Segments(*pairs)))
        own.apply(segments)
        if not parts:
            return Segments.none(self.shape.key, len(self.shape.degrees))
        return parts[0] if len(parts) == 1 else Segments.joined(parts)

    def advance(self, now_us: int) -> None:
        """Forget segments by their ends: those that nothing can meet that begins now or later."""
        for store in self._stores:
            store.evict(now_us - self.shape.late_us - self._window_us)

    def arrays(self) -> Arrays:
        """Give the state of both sides."""
        return {
            f"{name}.{part}": array
            for name, store in zip(SIDES, self._stores, strict=True)
            for part, array in store.arrays().items()
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Take up a state."""
        for name, store in zip(SIDES, self._stores, strict=True):
            own = {k.partition(".")[2]: a for k, a in arrays.items() if k.startswith(name + ".")}
            store.restore(own)

    def __len__(self) -> int:
        return sum(len(store) for store in self._stores)

    def _restricted(self, pairs: Segments) -> Segments:
        if self._always:
            return pairs
        if self._whole:
            return self._solver.gate(pairs)
        index, low, high = self._solver.solve(pairs.coefficients, pairs.low, pairs.high)
        return pairs.parts(index, low, high)

    def _room(self, count: int) -> Came:
        return Came(
            np.empty((count, self.shape.key), np.int64), np.empty(count, np.int64),
            np.empty(count), np.empty(count),
            np.empty((count, len(self.shape.degrees), WIDTH)), np.empty(count, np.int8),
            np.empty(count, np.int64),
        )  # fmt: skip
