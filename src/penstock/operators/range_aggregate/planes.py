"""Planes: tuples with two range attributes, and the least value of each box."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.range_planes import boxes_least, points_lose, points_sum_up
from penstock.kernels.range_points import RangeRectangles
from penstock.operators.shared.slots import Slots, grown
from penstock.operators.shared.subscription_points import SubscriptionPoints
from penstock.vocabulary.batches import Flags, Ints, Rows


class PlaneWeights(NamedTuple):
    """Distinct (partition, x, z, y) in their order, and how many of each come, or go."""

    partitions: Ints
    xs: Ints
    zs: Ints
    ys: Ints
    weights: Ints

    def chosen(self, which: Flags | Ints) -> PlaneWeights:
        """Give some of them."""
        return PlaneWeights(*(own[which] for own in self))


class ValuedPoints(SubscriptionPoints):
    """Points (partition, x, z) with a value each, by slot, for the least value in boxes."""

    def __init__(self) -> None:
        super().__init__()
        self.values: Ints = np.empty(0, np.int64)
        self._valued: list[tuple[Ints, Ints]] = []
        """Of every part, the values of its points, and the least of each run."""

    def put(self, slots: Rows, points: PlaneWeights) -> None:
        """Add points with their values; their slots are not in use."""
        self.values = grown(self.values, int(slots.max(initial=-1)) + 1)
        self.values[slots] = points.ys
        self.add(slots, points.partitions, points.xs, points.zs)

    def drop(self, slots: Rows | Ints) -> None:
        """Take points out."""
        parts, places = self._part[slots].copy(), self._place[slots].copy()
        before = [part.slots for part in self._parts]
        super().drop(slots)
        for number, own in enumerate(before):
            part = self._parts[number]
            if part.slots is own:  # else it was built anew
                gone = places[parts == number]
                points_lose(part, *self._valued[number], gone, self._stack)

    def least(self, boxes: RangeRectangles) -> tuple[Ints, Flags]:
        """Give the least value in every box, and whether there is one."""
        found = np.zeros(len(boxes.partitions), np.bool_)
        least = np.zeros(len(found), np.int64)
        for part, valued in zip(self._parts, self._valued, strict=True):
            boxes_least(part, *valued, boxes, self._stack, least, found)
        return least, found

    def _build(self, number: int, partitions: Ints, x1s: Ints, x2s: Ints, slots: Rows) -> None:
        super()._build(number, partitions, x1s, x2s, slots)
        part = self._parts[number]
        ys, lows = self.values[part.slots], np.empty(len(part.slots), np.int64)
        points_sum_up(part, ys, lows)
        self._valued = [*self._valued[:number], (ys, lows), *self._valued[number + 1 :]]
        del self._valued[len(self._parts) :]


class PlaneBag:
    """A bag of tuples (partition, x, z, y), and the least y of every box.

    Examples
    --------
    >>> ints = lambda *own: np.array(own, dtype=np.int64)
    >>> tuples = PlaneBag()
    >>> tuples.change(PlaneWeights(ints(0, 0), ints(3, 4), ints(5, 9), ints(7, 6), ints(1, 2)))
    >>> box = RangeRectangles(ints(0, 0), ints(0, 0), ints(9, 9), ints(0, 8), ints(8, 9))
    >>> tuples.least(box)
    (array([7, 6]), array([ True,  True]))
    """

    def __init__(self) -> None:
        self._points = ValuedPoints()
        self._slots = Slots()
        self._keys: list[Ints] = [np.empty(0, np.int64) for _ in range(3)]
        self._counts: Ints = np.empty(0, np.int64)

    def change(self, net: PlaneWeights) -> None:
        """Let tuples come and go; what goes and is not there changes nothing."""
        held = self._held(net)
        known = held >= 0
        at = held[known]
        self._counts[at] += net.weights[known]
        gone = at[self._counts[at] <= 0]
        if len(gone):
            self._counts[gone] = 0
            self._points.drop(gone)
            self._slots.give_back(gone)
        new = net.chosen(~known & (net.weights > 0))
        slots = self._slots.take(len(new.xs))
        self._counts = grown(self._counts, self._slots.room)
        self._counts[slots] = new.weights
        self._keys = [grown(own, self._slots.room) for own in self._keys]
        for column, own in zip(self._keys, new[:3], strict=True):
            column[slots] = own
        self._points.put(slots, new)

    def _held(self, net: PlaneWeights) -> Rows:
        """Give the slots of tuples, or -1."""
        places = RangeRectangles(net.partitions, net.xs, net.xs, net.zs, net.zs)
        at, slots = self._points.find(places)
        same = self._points.values[slots] == net.ys[at]
        held: Rows = np.full(len(net.xs), -1, dtype=np.int32)
        held[at[same]] = slots[same]
        return held

    def least(self, boxes: RangeRectangles) -> tuple[Ints, Flags]:
        """Give the least value in every box, and whether there is one."""
        return self._points.least(boxes)

    def tuples(self) -> PlaneWeights:
        """Give all tuples, and how often each is there."""
        slots = np.flatnonzero(self._counts)
        keys = [own[slots] for own in self._keys]
        columns = [*keys, self._points.values[slots], self._counts[slots]]
        return PlaneWeights._make(columns)


def least_of(tuples: PlaneWeights, boxes: RangeRectangles) -> tuple[Ints, Flags]:
    """Give the least value that some tuples have in every box, and whether there is one."""
    points = ValuedPoints()
    points.put(np.arange(len(tuples.xs), dtype=np.int32), tuples)
    return points.least(boxes)
