"""Histograms of a source: those of its attributes, of the present period and of the last one.

A period is a stretch of event time between multiples of its length. When one ends its histograms
take the place of the last one's, and new ones begin with the narrowest cells: a wild coefficient
is forgotten, and what is told is of one to two periods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from penstock.models.coefficient_bins import CoefficientBins
from penstock.models.coefficient_histograms import NO_KEYS, WIDTH_MAX, CoefficientHistogram
from penstock.models.segments import Segments
from penstock.models.stores import Arrays
from penstock.vocabulary.batches import Ints

PERIOD_US = 60_000_000
"""How long a period is where nothing else is said."""
NEVER = -(1 << 62)


class SourceHistograms:
    """How often which models came lately, for each attribute of a source.

    `degrees` are the highest powers of time of its attributes; one above 3 has no histogram.
    """

    def __init__(self, degrees: Sequence[int], period_us: int = PERIOD_US) -> None:
        self._degrees = tuple(degrees)
        self._period_us = period_us
        self._number = NEVER
        self._newest_us = NEVER
        self._present = self._empty()
        self._last = self._empty()

    @property
    def counted(self) -> int:
        """How many segments the histograms hold."""
        return max(
            (self._present[k].counted + self._last[k].counted for k in self._present), default=0
        )

    @property
    def bins_held(self) -> int:
        """How many bins the histograms hold, of all attributes."""
        return sum(len(each) for each in (*self._present.values(), *self._last.values()))

    @property
    def seconds(self) -> float:
        """Over how long the segments came that the histograms hold."""
        if self._number == NEVER:
            return 0.0
        begin = self._number * self._period_us
        if any(each.counted for each in self._last.values()):
            begin -= self._period_us
        return max(self._newest_us - begin, 1) * 1e-6

    def count(self, segments: Segments, keys: Ints = NO_KEYS) -> None:
        """Count segments in the order in which they come.

        A segment whose period is over counts in the present one: it is late, and no stranger.
        """
        numbers = segments.reference // self._period_us
        begin = 0
        while begin < len(segments):
            later = numbers[begin:] > self._number
            end = begin + int(later.argmax()) if later.any() else len(segments)
            for place, histogram in self._present.items():
                histogram.count_range(segments, place, begin, end, keys)
            if end < len(segments):
                self._turn(int(numbers[end]))
            begin = end
        if len(segments):
            self._newest_us = max(self._newest_us, int(segments.reference.max()))

    def bins(self, attribute: int) -> CoefficientBins | None:
        """Give the bins of an attribute; None: it has no histogram."""
        if attribute not in self._present:
            return None
        own = self._present[attribute], self._last[attribute]
        return CoefficientBins.joined([each.bins() for each in own])

    def merge(self, other: Self) -> None:
        """Count what another shard counted, too."""
        if other._number > self._number:
            self._turn(other._number)
        for place, present in self._present.items():
            for number, theirs in (
                (other._number, other._present[place]),
                (other._number - 1, other._last[place]),
            ):
                if number == self._number:
                    present.merge(theirs)
                elif number == self._number - 1:
                    self._last[place].merge(theirs)
        self._newest_us = max(self._newest_us, other._newest_us)

    def arrays(self) -> Arrays:
        """Give the state."""
        state: Arrays = {"time": np.array([self._number, self._newest_us], np.int64)}
        for name, group in (("present", self._present), ("last", self._last)):
            for place, histogram in group.items():
                for part, array in histogram.arrays().items():
                    state[f"{name}.{place}.{part}"] = array
        return state

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Take up a state."""
        self._number, self._newest_us = (int(each) for each in arrays["time"])
        for name, group in (("present", self._present), ("last", self._last)):
            for place, histogram in group.items():
                head = f"{name}.{place}."
                own = {k.removeprefix(head): a for k, a in arrays.items() if k.startswith(head)}
                histogram.restore(own)

    def _turn(self, number: int) -> None:
        """Begin a period."""
        follows = number == self._number + 1
        self._last = self._present if follows else self._empty()
        self._present = self._empty()
        self._number = number

    def _empty(self) -> dict[int, CoefficientHistogram]:
        return {
            place: CoefficientHistogram(degree + 1)
            for place, degree in enumerate(self._degrees)
            if degree < WIDTH_MAX
        }
