"""Stream inflow: the segments of a model stream, as a group reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pyarrow as pa

from penstock.algebra.models import ModelQueryStep
from penstock.algebra.physical import signature
from penstock.models.segments import Segments
from penstock.models.sources import SegmentSource
from penstock.operators.model_query.figures import KEYS, LARGEST_BOUND, SPARED
from penstock.operators.model_query.key_codes import KeyCodes
from penstock.operators.model_query.row_inflow import COUNTED, InflowState
from penstock.operators.model_query.standing_segments import SECOND_US, ends_of
from penstock.operators.model_query.state import SegmentRound, SegmentRun
from penstock.operators.model_query.stream_operator import ModelStreamOperator
from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import Flags
from penstock.vocabulary.figures import Key, Tally

PER_SOURCE = frozenset([*COUNTED.values(), KEYS, LARGEST_BOUND])
"""What is told of each source: with the number that it has in the plan of the reader."""


class StreamInflow:
    """Reads a model stream, for all sources of a plan: there are several where it meets itself."""

    def __init__(self, stream: ModelStreamOperator, step: ModelQueryStep) -> None:
        self._stream = stream
        self._reader = signature(step)
        self._sources = range(len(step.sources))

    @property
    def codes(self) -> KeyCodes:
        """The codes of keys, which are the stream's."""
        return self._stream.codes

    @property
    def sources(self) -> Sequence[SegmentSource]:
        """The source of segments, as often as the plan has it."""
        return [self._stream.source for _ in self._sources]

    @property
    def now(self) -> int:
        """How far the stream has come."""
        return self._stream.now

    @property
    def frontier(self) -> int:
        """The event time before which the stream changes nothing any more."""
        return self._stream.frontier

    @property
    def is_new(self) -> bool:
        """Whether nothing has come yet."""
        return self.now == LOWEST_TIME

    def beginning(self) -> list[SegmentRun]:
        """Give what the stream's models say of the time to come, for a group that is new."""
        standing = from_now(self._stream.standing, self.now)
        return [SegmentRun(number, standing) for number in self._sources if len(standing)]

    def process(self, batch: Mapping[str, pa.Table], counts: Tally) -> list[SegmentRun] | None:
        """Give what the stream made of the batch; None: nothing came, and time did not pass."""
        del batch
        self._tell(self._stream.met, counts)
        if not self._stream.has_moved:
            return None
        runs = self._runs()
        if len(self._sources) == 1:
            counts[SPARED] += self._stream.changes - sum(len(run.segments) for run in runs)
        return runs

    def _runs(self) -> list[SegmentRun]:
        changed = self._stream.changed(net=len(self._sources) > 1, reader=self._reader)
        return [SegmentRun(number, changed) for number in self._sources if len(changed)]

    def _tell(self, told: Tally, into: Tally) -> None:
        """Tell what the stream tells, of every source by its number here."""
        if len(self._sources) == 1:
            into.add(told)
            return
        for figure, labels, value in told:
            if figure in PER_SOURCE:
                for number in self._sources:
                    into[cast(Key, (figure, number, *labels[1:]))] += value
            else:
                into[cast(Key, (figure, *labels))] += value

    def round(self, runs: Sequence[SegmentRun], bears: bool = False) -> SegmentRound:
        """Give what other copies do not know of the stream's."""
        del runs
        return SegmentRound.of_reader(bears=bears)

    def follow(self, told: SegmentRound) -> Sequence[SegmentRun]:
        """Give what the stream's copy changed, which followed before."""
        del told
        return self._runs()

    def state(self) -> InflowState:
        """Give what is kept here: nothing but how far the stream has come."""
        return InflowState(pa.array([], pa.string()), [], [], [], self.now)

    def sizes(self) -> Tally:
        """Say what the stream holds."""
        found = Tally()
        self._tell(self._stream.held, found)
        return found


def from_now(segments: Segments, now: int) -> Segments:
    """Give the parts of segments that are of the time from now on."""
    ends = ends_of(segments)
    stays: Flags = (ends > now) | (segments.points & (ends >= now))
    left = segments.take(stays)
    low = np.where(left.points, left.low, np.maximum(left.low, (now - left.reference) / SECOND_US))
    return replace(left, low=low)
