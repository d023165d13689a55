"""Totals: how many rows are at each place, and what their values add up to, in digits.

A place is (partition, x). What a range counts or adds up is the difference of two prefix sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.range_keys import keys_seek
from penstock.kernels.range_points import RangeRectangles
from penstock.kernels.range_searches import HIGHEST, LOWEST
from penstock.vocabulary.batches import Flags, Ints

COUNT = -1_000
"""The place of digits where rows are counted: below all that floats have."""


class PlaceSums(NamedTuple):
    """Distinct places in their order, and by column of sums what is at each."""

    partitions: Ints
    xs: Ints
    sums: dict[int, Ints]

    def __len__(self) -> int:
        return len(self.xs)

    def own(self, name: int) -> Ints:
        """Give a column of sums; zeros, if nothing is in it."""
        return self.sums.get(name, np.zeros(len(self.xs), dtype=np.int64))

    def chosen(self, which: Flags) -> PlaceSums:
        """Give some of the places."""
        sums = {name: own[which] for name, own in self.sums.items()}
        return PlaceSums(self.partitions[which], self.xs[which], sums)


def no_sums() -> PlaceSums:
    """Give no places."""
    none = np.empty(0, dtype=np.int64)
    return PlaceSums(none, none, {})


def summed_up(partitions: Ints, xs: Ints, sums: dict[int, Ints]) -> PlaceSums:
    """Add up what rows bring to their places; what adds up to nothing is left out."""
    order = np.lexsort((xs, partitions))
    partitions, xs = partitions[order], xs[order]
    differs = np.ones(len(xs), dtype=np.bool_)
    differs[1:] = (xs[1:] != xs[:-1]) | (partitions[1:] != partitions[:-1])
    starts = np.flatnonzero(differs)
    if len(starts) == 0:
        return no_sums()
    added = {name: np.add.reduceat(own[order], starts) for name, own in sums.items()}
    found = PlaceSums(partitions[starts], xs[starts], added)
    counts = np.zeros(len(starts), dtype=np.bool_)
    for own in added.values():
        counts |= own != 0
    return found if counts.all() else found.chosen(counts)


def ranges_seek(places: PlaceSums, partitions: Ints, lows: Ints, highs: Ints) -> tuple[Ints, Ints]:
    """Give the places [first, last) that lie in each range."""
    first, last = np.empty(len(lows), dtype=np.int64), np.empty(len(lows), dtype=np.int64)
    keys_seek(places.partitions, places.xs, partitions, lows, 0, first)
    keys_seek(places.partitions, places.xs, partitions, highs, 1, last)
    return first, np.maximum(first, last)


def range_sums(places: PlaceSums, partitions: Ints, lows: Ints, highs: Ints) -> dict[int, Ints]:
    """Give what is in each range, by column of sums."""
    first, last = ranges_seek(places, partitions, lows, highs)
    found = {}
    for name, own in places.sums.items():
        prefix = np.concatenate([[0], np.cumsum(own)])
        found[name] = prefix[last] - prefix[first]
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
        self.rows = 0

    def __len__(self) -> int:
        return len(self.places)

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
        self.rows += int(changes.own(COUNT).sum())
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


def stabs(places: PlaceSums) -> RangeRectangles:
    """Give the ranges that hold any of the places, each by the first that it holds."""
    before = np.full(len(places.xs), LOWEST)
    same = places.partitions[1:] == places.partitions[:-1]
    before[1:][same] = places.xs[:-1][same] + 1
    ends = np.full(len(places.xs), HIGHEST)
    return RangeRectangles(places.partitions, before, places.xs, places.xs, ends)
