"""Histograms of a source: those of its attributes, of the present period and of the last one.

A period is a stretch of event time between multiples of its length; one with few segments goes on
through the next. When it ends its histograms take the place of the last one's, and new ones begin,
with cells as wide as the last one needed: a wild coefficient is forgotten, if not at once, and what
is told is of lately. Of the first segments of a source every one is counted, of the others a sample
that their keys and references say.

What is told of them is a summary, made anew whenever half as much again has come. When that is,
segments say and not batches, so a summary is state, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from penstock.kernels.coefficient_cells import segments_draw
from penstock.models.coefficient_bins import CoefficientBins
from penstock.models.coefficient_histograms import (
    NO_KEYS,
    WIDTH_MAX,
    CoefficientHistogram,
)
from penstock.models.segments import Segments
from penstock.models.stores import Arrays
from penstock.vocabulary.batches import Ints

PERIOD_US = 60_000_000
"""How long a period is where nothing else is said."""
SEGMENTS_MIN = 32_768
"""A period with fewer segments does not end: 8 that are looked at for each bin there may be."""
BITS = {1: 8, 2: 4, 3: 3, 4: 2}
"""By the number of coefficients: the power of two of the bins of each."""
PLACES_MAX = 256
"""How many bins of an attribute are kept at most of a period; one more makes cells wider.

There are more where lengths of segments are of many sizes: wider cells do not make them fewer.
"""
SLOTS = 1_024
ONE_IN = 16
"""Of how many segments one is looked at, once there are enough."""
EVERY_UNTIL = 1_024
"""So many segments of a source are all counted."""
SUMMED = 64
"""How many bins of an attribute a summary has at most."""
SUMMARY_MIN = 16
"""A summary is made anew behind so many segments at least."""
SUMMARY_PARTS = ("low", "high", "frequency", "ends")
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
        self._began_us = self._last_began_us = NEVER
        self._came = 0
        """Segments of the present period, looked at or not."""
        self._present = self._begun({})
        self._last = self._begun({})
        self._due = SUMMARY_MIN
        """Behind so many segments of the present period the summaries are made anew."""
        self.summaries: dict[int, CoefficientBins] = {
            place: each.bins() for place, each in self._present.items()
        }
        """By attribute that has a histogram: what is told of it."""

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
        if self._newest_us == NEVER:
            return 0.0
        begun = self._began_us if self._last_began_us == NEVER else self._last_began_us
        return max(self._newest_us - begun, 1) * 1e-6

    def count(self, segments: Segments, keys: Ints = NO_KEYS) -> None:
        """Count segments in the order in which they come.

        A segment whose period is over counts in the present one: it is late, and no stranger.
        """
        if not len(segments):
            return
        newest_us = int(segments.reference.max())
        begin = 0
        if self._number == NEVER or newest_us >= (self._number + 1) * self._period_us:
            if self._number == NEVER or self._came + len(segments) >= SEGMENTS_MIN:
                begin = self._periods(segments, keys)
            else:
                self._number = newest_us // self._period_us
        self._count(segments, keys, begin, len(segments))
        self._newest_us = max(self._newest_us, newest_us)

    def bins(self, attribute: int) -> CoefficientBins | None:
        """Give the bins of an attribute; None: it has no histogram."""
        if attribute not in self._present:
            return None
        own = self._present[attribute], self._last[attribute]
        return CoefficientBins.joined([each.bins() for each in own])

    def merge(self, other: Self) -> None:
        """Count what another shard counted lately, too."""
        for mine, theirs in ((self._present, other._present), (self._last, other._last)):
            for place, histogram in mine.items():
                histogram.merge(theirs[place])
        begun = [
            tuple(each for each in pair if each != NEVER)
            for pair in zip(self._times()[2:4], other._times()[2:4], strict=True)
        ]
        self._came += other._came
        self._number = max(self._number, other._number)
        self._newest_us = max(self._newest_us, other._newest_us)
        self._began_us, self._last_began_us = (min(each, default=NEVER) for each in begun)
        self._summarise()

    def arrays(self) -> Arrays:
        """Give the state."""
        state: Arrays = {
            "time": np.array(self._times(), np.int64), "due": np.array([self._due], np.int64),
        }  # fmt: skip
        for place, bins in self.summaries.items():
            state |= {f"summary.{place}.{part}": getattr(bins, part) for part in SUMMARY_PARTS}
        for name, group in (("present", self._present), ("last", self._last)):
            for place, histogram in group.items():
                for part, array in histogram.arrays().items():
                    state[f"{name}.{place}.{part}"] = array
        return state

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Take up a state."""
        times = (int(each) for each in arrays["time"])
        self._number, self._newest_us, self._began_us, self._last_began_us, self._came = times
        for name, group in (("present", self._present), ("last", self._last)):
            for place, histogram in group.items():
                histogram.restore(_below(arrays, f"{name}.{place}."))
        if "due" not in arrays:  # a state of before there were summaries
            self._summarise()
            return
        self._due = int(arrays["due"][0])
        parts = {place: _below(arrays, f"summary.{place}.") for place in self._present}
        self.summaries = {
            place: CoefficientBins.of(*(own[part] for part in SUMMARY_PARTS))
            for place, own in parts.items()
        }

    def _times(self) -> tuple[int, int, int, int, int]:
        return self._number, self._newest_us, self._began_us, self._last_began_us, self._came

    def _count(self, segments: Segments, keys: Ints, begin: int, end: int) -> None:
        """Count the segments [begin, end): the first of a source all, of the others a sample."""
        while begin < end:
            upto, one_in = min(end, begin + self._due - self._came), ONE_IN
            if self._last_began_us == NEVER and self._came < EVERY_UNTIL:
                upto, one_in = min(upto, begin + EVERY_UNTIL - self._came), 1
            self._count_sample(segments, keys, begin, upto, one_in)
            begin = upto
            if self._came == self._due:
                self._due = self._next_due()
                if self._due - self._came > end - begin:  # Else the next comes before anybody asks.
                    self._renew()

    def _count_sample(
        self, segments: Segments, keys: Ints, begin: int, end: int, one_in: int
    ) -> None:
        self._came += end - begin
        drawn = np.empty(end - begin + 1, np.int64)
        count = segments_draw(
            segments.key, segments.reference, segments.sign, one_in - 1, begin, end, drawn
        )
        for place, histogram in self._present.items():
            histogram.count_drawn(segments, place, drawn[:count], one_in, keys)

    def _periods(self, segments: Segments, keys: Ints) -> int:
        """Count the segments of periods that end, and begin others; give the first that is left."""
        newest = np.maximum.accumulate(segments.reference)
        begin = end = 0
        while True:
            over_us = NEVER if self._number == NEVER else (self._number + 1) * self._period_us
            end = int(np.searchsorted(newest, over_us))
            if end == len(segments):
                return begin
            if self._number == NEVER or self._came + end - begin >= SEGMENTS_MIN:
                self._count(segments, keys, begin, end)
                begin = end
                self._begin(int(newest[end]))
            # With fewer segments the period goes on.
            self._number = int(newest[end]) // self._period_us

    def _begin(self, at_us: int) -> None:
        """Begin a period, the first or one behind another that has segments enough."""
        if self._number == NEVER:
            self._began_us = at_us
        else:
            self._last, self._present = self._present, self._begun(self._present)
            self._last_began_us, self._began_us, self._came = self._began_us, at_us, 0
            self._summarise()

    def _summarise(self) -> None:
        """Make the summaries anew, and say when to do so again."""
        self._renew()
        self._due = self._next_due()

    def _renew(self) -> None:
        self.summaries = {place: self._summary(place) for place in self._present}

    def _next_due(self) -> int:
        before = max((each.counted for each in self._last.values()), default=0)
        return self._came + max((self._came + before) // 2, SUMMARY_MIN)

    def _summary(self, place: int) -> CoefficientBins:
        return CoefficientHistogram.summary(self._last[place], self._present[place], SUMMED)

    def _begun(self, before: Mapping[int, CoefficientHistogram]) -> dict[int, CoefficientHistogram]:
        """Begin histograms, with cells as narrow as fits those before."""
        begun = {}
        for place, degree in enumerate(self._degrees):
            old = before.get(place)
            if degree >= WIDTH_MAX:
                continue
            begun[place] = CoefficientHistogram(
                degree + 1, BITS[degree + 1], places_max=PLACES_MAX, slots=SLOTS,
                finest=None if old is None else old.power_needed,
            )  # fmt: skip
        return begun


def _below(arrays: Mapping[str, npt.NDArray[np.generic]], head: str) -> Arrays:
    """Give the arrays whose names begin so, by what follows."""
    return {name.removeprefix(head): own for name, own in arrays.items() if name.startswith(head)}
