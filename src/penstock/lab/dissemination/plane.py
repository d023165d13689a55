"""Ranges of two attributes: which rectangles of subscriptions a change of a tuple concerns.

A tuple at q with value y changes the minimum of those that hold q and no other tuple with a value
up to y. In each of the four quadrants around q, the others next to q bound the region as the steps
of a stair. A rectangle that holds q lies in the region if all its corners do: if no step of the
quadrant lies between q and the corner. So a message is q, a value, and four stairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penstock.vocabulary.batches import Flags, Ints, Words

QUADRANTS = ((1, 1), (1, -1), (-1, 1), (-1, -1))


class PlaneTuples(NamedTuple):
    """Tuples with two range attributes."""

    xs: Ints
    zs: Ints
    ys: Ints


class PlaneRanges(NamedTuple):
    """Subscriptions: x1 <= x <= x2 and z1 <= z <= z2."""

    x1s: Ints
    x2s: Ints
    z1s: Ints
    z2s: Ints


class Stair(NamedTuple):
    """Steps of a quadrant by their distance in x, ascending; those in z descend."""

    across: Words
    along: Words


@dataclass(frozen=True, slots=True)
class PlaneRegion:
    """Where a subscription must lie to be concerned: around a point, inside four stairs."""

    x: int
    z: int
    stairs: tuple[Stair, ...]

    @classmethod
    def of(cls, others: PlaneTuples, x: int, z: int, y: int) -> PlaneRegion | None:
        """Give the region of a tuple among others; None if one at the same place hides it."""
        blocks = others.ys <= y
        xs, zs = others.xs[blocks], others.zs[blocks]
        if np.any((xs == x) & (zs == z)):
            return None
        stairs = []
        for right, up in QUADRANTS:
            across, along = _apart(xs, x, right), _apart(zs, z, up)
            inside = xs >= x if right > 0 else xs <= x
            inside = inside & (zs >= z if up > 0 else zs <= z)
            across, along = across[inside], along[inside]
            order = np.lexsort((along, across))
            across, along = across[order], along[order]
            steps = np.ones(len(along), np.bool_)
            steps[1:] = along[1:] < np.minimum.accumulate(along)[:-1]
            stairs.append(Stair(across[steps], along[steps]))
        return cls(x, z, tuple(stairs))

    def concerns(self, asked: PlaneRanges) -> Flags:
        """Say which subscriptions hold the point and lie in the region."""
        inside = (asked.x1s <= self.x) & (self.x <= asked.x2s)
        inside &= (asked.z1s <= self.z) & (self.z <= asked.z2s)
        for (right, up), stair in zip(QUADRANTS, self.stairs, strict=True):
            across = _apart(asked.x2s if right > 0 else asked.x1s, self.x, right)
            along = _apart(asked.z2s if up > 0 else asked.z1s, self.z, up)
            step = np.searchsorted(stair.across, across, side="right") - 1
            if len(stair.across):
                inside &= (step < 0) | (stair.along[step] > along)
        return inside


def _apart(values: Ints, origin: int, side: int) -> Words:
    """Give distances to one side; of values on the other one they mean nothing."""
    ours = np.asarray(values).view(np.uint64)
    there = np.array([origin], np.int64).view(np.uint64)
    return ours - there if side > 0 else there - ours


class PlaneExtremes:
    """The tuples of a table with two range attributes, for minima of rectangles.

    Every change scans the tuples: there is no tree of two attributes.
    """

    def __init__(self, tuples: PlaneTuples) -> None:
        self.tuples = tuples

    def answers(self, asked: PlaneRanges) -> tuple[Ints, Flags]:
        """Give the least value of every rectangle, and whether there is none."""
        values, empty = np.zeros(len(asked.x1s), np.int64), np.ones(len(asked.x1s), np.bool_)
        xs, zs, ys = self.tuples
        for k, (x1, x2, z1, z2) in enumerate(zip(*asked, strict=True)):
            inside = ys[(x1 <= xs) & (xs <= x2) & (z1 <= zs) & (zs <= z2)]
            if len(inside):
                values[k], empty[k] = inside.min(), False
        return values, empty

    def insert(self, x: int, z: int, y: int) -> PlaneRegion | None:
        """Add a tuple; give the region in which its value is the new minimum."""
        region = PlaneRegion.of(self.tuples, x, z, y)
        new = (np.array([code], np.int64) for code in (x, z, y))
        self.tuples = PlaneTuples(
            *(np.concatenate(pair) for pair in zip(self.tuples, new, strict=True))
        )
        return region

    def delete(self, x: int, z: int, y: int) -> PlaneRegion | None:
        """Take a tuple out; give the region in which there is a new minimum, to be asked for."""
        xs, zs, ys = self.tuples
        found = np.flatnonzero((xs == x) & (zs == z) & (ys == y))
        if not len(found):
            return None
        self.tuples = PlaneTuples(*(np.delete(column, found[0]) for column in self.tuples))
        return PlaneRegion.of(self.tuples, x, z, y)
