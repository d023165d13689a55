"""Instants: the least, greatest, sum or mean of the keys of a group at every instant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.algebra.models import WindowFunction
from penstock.kernels.segment_instants import envelopes_write, sums_write
from penstock.kernels.segment_pieces import Parts, Zones
from penstock.models.groups import GroupStage, solving
from penstock.models.segments import WIDTH, Segments
from penstock.models.shapes import SegmentShape


class InstantStage(GroupStage):
    """What the segments of a group are together at an instant; where there is none, nothing.

    A single instant counts for the least and the greatest: it is said where it beats the ranges,
    and then stands beside them.
    """

    def __init__(
        self, function: WindowFunction, attribute: int, group: tuple[int, ...], given: SegmentShape
    ) -> None:
        degrees = (given.degrees[attribute],)
        shape = replace(given, key=len(group), degrees=degrees, is_function=True, same={})
        super().__init__(attribute, group, given, shape)
        self._function = function

    def advance(self, now_us: int) -> None:
        """Forget what ended before all that may come."""
        for store in (self._active, self._said):
            store.evict(now_us - self._given.late_us)

    def _takes(self, segments: Segments) -> Segments:
        return segments if self._function in ("min", "max") else segments.take(~segments.points)

    def _asked(self, asked: Zones) -> Zones:
        return asked

    def _write(self, asked: Zones, pieces: Parts) -> int:
        stored = self._active.stored
        rest = stored, self._group, asked, self._own, self._layers(), solving()
        room = np.empty(WIDTH + 2)
        if self._function in ("min", "max"):
            better = 1.0 if self._function == "max" else -1.0
            return envelopes_write(better, *rest, room, pieces)
        return sums_write(self._function == "avg", *rest, room, pieces)
