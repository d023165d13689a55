"""Totals: how many rows are at each place, and what their values add up to, in digits.

A place is (partition, x), or (partition, x, z) where queries have ranges of two attributes. What a
range counts or adds up is the difference of two prefix sums; of boxes, these are kept by z.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from penstock.kernels.range_keys import keys_seek
from penstock.kernels.range_planes import boxes_add_up
from penstock.kernels.range_points import RangeRectangles
from penstock.kernels.range_searches import HIGHEST, LOWEST
from penstock.vocabulary.batches import Flags, Ints

COUNT = -1_000
"""The place of digits where rows are counted: below all that floats have."""
WAITING_MAX = 1024
"""Changes of places in a plane that may wait, however few places there are."""


class PlaceSums(NamedTuple):
    """Distinct places in their order, and by column of sums what is at each."""

    partitions: Ints
    xs: Ints
    sums: dict[int, Ints]
    zs: Ints | None = None

    def __len__(self) -> int:
        return len(self.xs)

    def own(self, name: int) -> Ints:
        """Give a column of sums; zeros, if nothing is in it."""
        return self.sums.get(name, np.zeros(len(self.xs), dtype=np.int64))

    def chosen(self, which: Flags) -> PlaceSums:
        """Give some of the places."""
        sums = {name: own[which] for name, own in self.sums.items()}
        zs = None if self.zs is None else self.zs[which]
        return PlaceSums(self.partitions[which], self.xs[which], sums, zs)


def no_sums() -> PlaceSums:
    """Give no places."""
    none = np.empty(0, dtype=np.int64)
    return PlaceSums(none, none, {})


def added_up(
    keys: Sequence[Ints], sums: dict[int, Ints]
) -> tuple[tuple[Ints, ...], dict[int, Ints]]:
    """Add up the numbers of equal keys; give the keys in their order, without those of nothing.

    >>> ints = lambda *own: np.array(own, dtype=np.int64)
    >>> (keys,), sums = added_up([ints(5, 4, 5, 3)], {0: ints(1, 1, -1, 2)})
    >>> keys.tolist(), sums[0].tolist()
    ([3, 4], [2, 1])
    """
    order = np.lexsort(tuple(keys)[::-1])
    ordered = [own[order] for own in keys]
    differs = np.zeros(len(order), dtype=np.bool_)
    differs[:1] = True
    for own in ordered:
        differs[1:] |= own[1:] != own[:-1]
    starts = np.flatnonzero(differs)
    if len(starts) == 0:
        return tuple(ordered), {name: own[:0] for name, own in sums.items()}
    added = {name: np.add.reduceat(own[order], starts) for name, own in sums.items()}
    counts = np.zeros(len(starts), dtype=np.bool_)
    for own in added.values():
        counts |= own != 0
    at = starts[counts]
    return tuple(own[at] for own in ordered), {name: own[counts] for name, own in added.items()}


def summed_up(
    partitions: Ints, xs: Ints, sums: dict[int, Ints], zs: Ints | None = None
) -> PlaceSums:
    """Add up what rows bring to their places; what adds up to nothing is left out."""
    across = () if zs is None else (zs,)
    (partitions, xs, *rest), added = added_up((partitions, xs, *across), sums)
    return PlaceSums(partitions, xs, added, *rest)


def joined_sums(parts: Sequence[PlaceSums]) -> PlaceSums:
    """Add up what several have at their places."""
    names = {name for each in parts for name in each.sums}
    sums = {name: np.concatenate([each.own(name) for each in parts]) for name in names}
    zs = [each.zs for each in parts if each.zs is not None]
    partitions, xs = (np.concatenate([each[k] for each in parts]) for k in range(2))
    return summed_up(partitions, xs, sums, np.concatenate(zs) if zs else None)


def ranges_seek(places: PlaceSums, partitions: Ints, lows: Ints, highs: Ints) -> tuple[Ints, Ints]:
    """Give the places [first, last) that lie in each range."""
    first, last = np.empty(len(lows), dtype=np.int64), np.empty(len(lows), dtype=np.int64)
    keys_seek(places.partitions, places.xs, partitions, lows, 0, first)
    keys_seek(places.partitions, places.xs, partitions, highs, 1, last)
    return first, np.maximum(first, last)


def range_sums(
    places: PlaceSums, partitions: Ints, lows: Ints, highs: Ints, across: Sequence[Ints] = ()
) -> dict[int, Ints]:
    """Give what is in each range, by column of sums; `across` has the ends of boxes in z."""
    first, last = ranges_seek(places, partitions, lows, highs)
    if places.zs is not None:
        return _box_sums(places, first, last, *across)
    found = {}
    for name, own in places.sums.items():
        prefix = np.concatenate([[0], np.cumsum(own)])
        found[name] = prefix[last] - prefix[first]
    return found


def _box_sums(
    places: PlaceSums, first: Ints, last: Ints, lows: Ints, highs: Ints
) -> dict[int, Ints]:
    """Give what is at the places [first, last) with z in a range, by column of sums."""
    assert places.zs is not None
    levels, ranks = np.unique(places.zs, return_inverse=True)
    low = np.searchsorted(levels, lows, side="left")
    high = np.searchsorted(levels, highs, side="right")
    at = np.concatenate([first, last])
    events = np.argsort(at, kind="stable")
    found = {}
    for name, own in places.sums.items():
        found[name] = np.zeros(len(first), dtype=np.int64)
        tree = np.zeros(len(levels) + 1, dtype=np.int64)
        boxes_add_up(ranks, own, events, at, low, high, tree, found[name])
    return found


class Totals:
    """The places that have rows, with what these add up to.

    >>> totals = Totals()
    >>> ints = lambda *own: np.array(own, dtype=np.int64)
    >>> totals.change(summed_up(ints(0, 0, 0), ints(7, 3, 7), {COUNT: ints(1, 1, 1)}))
    >>> range_sums(totals.places, ints(0), ints(4), ints(9))[COUNT].tolist()
    [2]
    """

    def __init__(self) -> None:
        self.places = no_sums()

    def change(self, changes: PlaceSums) -> None:
        """Add changes to what is there; places without rows are forgotten."""
        if len(changes) == 0:
            return
        held = self.places
        at, here = self.find(changes)
        names = {COUNT, *held.sums, *changes.sums}
        sums = {name: held.own(name) for name in names}
        for name, own in changes.sums.items():
            sums[name][at[here]] += own[here]
        partitions, xs = held.partitions, held.xs
        if not here.all():
            new = ~here
            partitions = np.insert(partitions, at[new], changes.partitions[new])
            xs = np.insert(xs, at[new], changes.xs[new])
            sums = {
                name: np.insert(own, at[new], changes.own(name)[new]) for name, own in sums.items()
            }
        self.places = PlaceSums(partitions, xs, sums)
        stands = sums[COUNT] > 0
        if not stands.all():
            self.places = self.places.chosen(stands)

    def find(self, changes: PlaceSums) -> tuple[Ints, Flags]:
        """Give where the places of changes are, or would be, and which are there."""
        held = self.places
        at = np.empty(len(changes), dtype=np.int64)
        keys_seek(held.partitions, held.xs, changes.partitions, changes.xs, 0, at)
        here = at < len(held)
        near = at[here]
        here[here] = (held.xs[near] == changes.xs[here]) & (
            held.partitions[near] == changes.partitions[here]
        )
        return at, here


class PlaneTotals:
    """The places of two attributes with what is at each: changes wait to be added up together."""

    def __init__(self) -> None:
        none = np.empty(0, dtype=np.int64)
        self._places = PlaceSums(none, none, {}, none)
        self._waiting: list[PlaceSums] = []

    @property
    def places(self) -> PlaceSums:
        """All places."""
        self._add_up()
        return self._places

    def _add_up(self) -> None:
        if self._waiting:
            self._places = joined_sums([self._places, *self._waiting])
            self._waiting = []

    def change(self, changes: PlaceSums) -> None:
        """Add changes to what is there."""
        self._waiting.append(changes)
        if sum(map(len, self._waiting)) > max(len(self._places), WAITING_MAX):
            self._add_up()


def stabs(places: PlaceSums) -> RangeRectangles:
    """Give the ranges that hold any of the places, each by the first that it holds."""
    before = np.full(len(places.xs), LOWEST)
    same = places.partitions[1:] == places.partitions[:-1]
    before[1:][same] = places.xs[:-1][same] + 1
    ends = np.full(len(places.xs), HIGHEST)
    return RangeRectangles(places.partitions, before, places.xs, places.xs, ends)
