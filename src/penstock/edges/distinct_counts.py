"""Distinct counts of subscribers: how many different values are in the range of each."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.brokers.message_format import MessageForm
from penstock.brokers.message_kinds import GAIN, OP, X
from penstock.edges.concerned import concerned_rectangles, index_of
from penstock.edges.notifications import Notifications
from penstock.edges.scalar_values import ScalarValues
from penstock.edges.subscribers import Subscribers
from penstock.kernels.range_points import RangeRectangles
from penstock.operators.shared.keys import HIGHEST, LOWEST, ordered_keys, whole
from penstock.vocabulary.batches import Ints, Rows


class DistinctCounts(ScalarValues):
    """How many values each subscriber has, and which of them gain or lose one."""

    def __init__(self, subscribers: Subscribers, form: MessageForm) -> None:
        self.form, self.subscribers = form, subscribers
        self._index = index_of(subscribers)
        self._counts: Ints = np.zeros(len(subscribers), dtype=np.int64)

    def begin(self, points: pa.Table) -> None:
        """Take the counts that follow from a state: which values are at every x."""
        form = self.form
        columns = [whole(points.column(name)) for name in (*form.partition, X, form.value)]
        codes = self.subscribers.codes_of(columns[:-2], form, len(points))
        xs, _ = ordered_keys(columns[-2], form.attribute)
        values, _ = ordered_keys(columns[-1], columns[-1].type)
        there = np.flatnonzero(codes >= 0)
        there = there[np.lexsort((xs[there], values[there], codes[there]))]
        codes, xs, values = codes[there], xs[there], values[there]
        # A range has a value by the first point in it that has the value.
        before = np.full(len(xs), LOWEST)
        same = (codes[1:] == codes[:-1]) & (values[1:] == values[:-1])
        before[1:][same] = xs[:-1][same] + 1
        asked = RangeRectangles(codes, before, xs, xs, np.full(len(xs), HIGHEST))
        slots = self._index.find(asked)[1]
        self._counts = np.bincount(slots, minlength=len(self.subscribers)).astype(np.int64)

    def take(self, rows: pa.RecordBatch) -> Rows:
        """Take messages; give whose count is another one now, each once."""
        which, slots = self._index.find(concerned_rectangles(self.subscribers, self.form, rows))
        gains = np.asarray(pc.equal(rows.column(OP), GAIN))
        concerned, at = np.unique(slots, return_inverse=True)
        added = np.zeros(len(concerned), dtype=np.int64)
        np.add.at(added, at, np.where(gains[which], 1, -1))
        self._counts[concerned] += added
        found: Rows = concerned[added != 0]
        return found

    def different(self, before: DistinctCounts) -> Rows:
        """Give whose count is another one than it was."""
        return np.flatnonzero(self._counts != before._counts).astype(np.int32)

    def notifications(self, told: Rows, batch: int, is_first: bool = False) -> Notifications:
        """Give the counts of some subscribers."""
        ids = self.subscribers.ids.take(pa.array(told))
        values = pa.array(self._counts[told])
        return Notifications(batch=batch, ids=ids, values=values, is_first=is_first)
