"""Windows: an attribute's extremes, sum and mean over a sliding window of time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.algebra.models import GapRule, ModelWindow
from penstock.kernels.segment_curves import FAIL, HOLD, ZERO, ranges_widen
from penstock.kernels.segment_pieces import Course, Parts, Zones
from penstock.kernels.window_extremes import Crests, extremes_write
from penstock.kernels.window_integrals import Ledger, integrals_write
from penstock.models.groups import GroupStage, solving
from penstock.models.segments import WIDTH, Segments
from penstock.models.shapes import SegmentShape, limited

GAPS: dict[GapRule, int] = {"fail": FAIL, "hold": HOLD, "zero": ZERO}


class WindowStage(GroupStage):
    """The aggregate of the window that ends at an instant, for groups that are functions of time.

    It is said of instants whose window is filled, from its begin to its end. A gap shorter than the
    window counts by its rule (`hold`: the last value before it; `zero`: 0) once the model goes on;
    a longer one, or any under the rule `fail`, lets windows begin anew behind it. So an answer
    depends on no more than three windows of the past.
    """

    def __init__(
        self, node: ModelWindow, attribute: int, group: tuple[int, ...], given: SegmentShape
    ) -> None:
        sums = node.function in ("sum", "avg")
        self._fills_us = node.size_us if node.gap != "fail" else 0
        shape = replace(
            given, key=len(group), degrees=(given.degrees[attribute] + int(sums),),
            is_function=True, same={}, late_us=given.late_us + self._fills_us,
        )  # fmt: skip
        super().__init__(attribute, group, given, limited(shape))
        self._function = node.function
        self._size_us = node.size_us
        self._gap = GAPS[node.gap]

    def advance(self, now_us: int) -> None:
        """Forget what no window reaches that can still change."""
        self._active.evict(now_us - self._given.late_us - self._size_us - 2 * self._fills_us)
        self._said.evict(now_us - self.shape.late_us)

    def _takes(self, segments: Segments) -> Segments:
        return segments if self._function in ("min", "max") else segments.take(~segments.points)

    def _asked(self, asked: Zones) -> Zones:
        size = self._size_us * 1e-6
        ranges_widen(self._active.stored, self._group, asked, self._own, size, self._gap)
        return asked

    def _write(self, asked: Zones, pieces: Parts) -> int:
        size = self._size_us * 1e-6
        slots, starts = self._collected(self._active)
        models = 2 * len(slots) + 2
        curve = Course(
            np.empty(models), np.empty(models), np.empty(models), np.empty((models, WIDTH)),
            np.empty(models, np.int64),
        )  # fmt: skip
        given = self._gap, self._active.stored, self._group, asked, self._own, curve
        wide = WIDTH + 2
        if self._function in ("sum", "avg"):
            factor = 1.0 if self._function == "sum" else 1.0 / size
            sheet = Ledger(
                slots, starts, np.empty(models), np.empty(models), np.empty(wide),
                np.empty(wide), np.empty(wide), np.empty(WIDTH), np.empty(wide),
            )  # fmt: skip
            return integrals_write(size, factor, *given, sheet, pieces)
        better = 1.0 if self._function == "max" else -1.0
        count = models * (WIDTH + 1)
        cells = Crests(
            np.empty(count), np.empty(count), np.empty(count, np.int64), np.empty((count, 2)),
            np.empty(2 * count + 2, np.int64), slots, starts, np.empty(WIDTH), np.empty(WIDTH),
            np.zeros(WIDTH), np.empty(3 * wide + 1), np.empty(wide),
        )  # fmt: skip
        return extremes_write(size, better, *given, cells, solving(), pieces)
