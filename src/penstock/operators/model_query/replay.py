"""Replay: queries that are asked of segments which are there already, without rows.

Segments go through the plan once, in the order of their times; whoever asks is asked of what the
plan said. So many queries cost little more than one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from penstock.algebra.models import ModelQueryStep
from penstock.models.plans import SegmentPlan
from penstock.models.segments import Segments
from penstock.operators.model_query.asked_index import AskedIndex
from penstock.operators.model_query.key_codes import KeyCodes
from penstock.operators.model_query.made_rows import MadePairs, RowMaker
from penstock.operators.model_query.standing_segments import starts_of
from penstock.operators.shared.keys import whole
from penstock.vocabulary.errors import PenstockError

TOGETHER = 1 << 14
"""Segments that go through the plan at a time; what is over by then is forgotten."""
SAID_MAX = 1 << 24
"""Segments that a plan may say in all."""


class SegmentReplay:
    """The plan of one shape, and the queries that are asked of what it says."""

    def __init__(self, step: ModelQueryStep) -> None:
        self._step = step
        self.codes = KeyCodes(step)
        self._maker = RowMaker(step, self.codes)

    def said(self, segments: Sequence[Segments]) -> Segments:
        """Let the segments of every source through the plan; give what it says in the end."""
        plan, found, count = SegmentPlan(self._step.plan), list[Segments](), 0
        for runs, until in _cuts(segments):
            for source, own in enumerate(runs):
                if len(own):
                    found.append(plan.push(source, own))
                    count += len(found[-1])
            plan.advance(until)
            if count > SAID_MAX:
                raise PenstockError(
                    "SWP-009",
                    f"The plan says more than {SAID_MAX:,} segments of these rows.",
                    "Put a condition into ON, or sweep over fewer rows.",
                )
        none = Segments.none(plan.shape.key, len(plan.shape.degrees))
        return Segments.joined([none, *found])

    def pairs(self, entries: pa.Table, said: Segments) -> MadePairs:
        """Give what is told to queries; their slots are the rows of `entries`."""
        asked, rows = self._step.asked, entries.num_rows
        keys = np.empty((rows, len(asked.key)), dtype=np.int64)
        for place in range(len(asked.key)):
            keys[:, place] = self.codes.find(whole(entries.column(f"e{place}")))
        numbers = np.empty((rows, len(asked.comparisons)))
        for place in range(len(asked.comparisons)):
            numbers[:, place] = whole(entries.column(f"n{place}")).to_numpy()
        index = AskedIndex(self._step)
        index.put(np.arange(rows, dtype=np.int32), keys, numbers)
        return self._maker.pairs(said, index.pieces(said))


def _cuts(segments: Sequence[Segments]) -> Iterator[tuple[list[Segments], int]]:
    """Give segments by their times, some of every source at a time, and when the next begin."""
    starts = [starts_of(own) for own in segments]
    orders = [np.argsort(own, kind="stable") for own in starts]
    sorted_ = [own[order] for own, order in zip(starts, orders, strict=True)]
    every = np.sort(np.concatenate(sorted_))
    if len(every) == 0:
        return
    ends = np.append(np.unique(every[TOGETHER::TOGETHER]), every[-1] + 1)
    done = [0] * len(segments)
    for end in ends.tolist():
        upto = [int(np.searchsorted(own, end)) for own in sorted_]
        yield (
            [
                own.take(order[first:last])
                for own, order, first, last in zip(segments, orders, done, upto, strict=True)
            ],
            end,
        )
        done = upto
