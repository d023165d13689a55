"""Extremes of subscribers: the least or greatest value in the range of each."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.brokers.message_format import MessageForm
from penstock.edges.concerned import concerned_rectangles, index_of
from penstock.edges.notifications import Notifications, raw_of, values_of_raw
from penstock.edges.range_extremes import NONE, range_extremes
from penstock.edges.scalar_values import ScalarValues
from penstock.edges.subscribers import Subscribers
from penstock.operators.shared.keys import ordered_keys
from penstock.vocabulary.batches import Rows


class ExtremeValues(ScalarValues):
    """The extremes of all subscribers, and which of them a message concerns."""

    def __init__(self, subscribers: Subscribers, form: MessageForm) -> None:
        self.form, self.subscribers = form, subscribers
        self._type = form.schema.field(form.value).type
        self._index = index_of(subscribers)
        self._raw = np.zeros(len(subscribers), dtype=raw_of(pa.array([], self._type)).dtype)
        self._present = np.zeros(len(subscribers), dtype=np.bool_)
        self._mark = np.zeros(len(subscribers), dtype=np.int64)

    def begin(self, points: pa.Table) -> None:
        """Take the values that follow from a state."""
        form, own = self.form, self.subscribers
        codes = own.codes_of([points[name] for name in form.partition], form, len(points))
        places, valid = ordered_keys(points["x"], form.attribute)
        values, _ = ordered_keys(points[form.value], self._type)
        told = np.flatnonzero(valid & (codes >= 0))
        found = range_extremes(
            (codes[told], places[told], values[told]),
            (own.codes, own.x1s, own.x2s),
            form.value == "max",
        )
        self._present = own.stands & (found != NONE)
        raw = raw_of(pa.concat_arrays(points[form.value].chunks or [pa.array([], self._type)]))
        self._raw[:] = np.zeros(1, dtype=self._raw.dtype)
        self._raw[self._present] = raw[told[found[self._present]]]

    def take(self, rows: pa.RecordBatch) -> Rows:
        """Take messages in order; give whom they concern, each once."""
        which, slots = self._index.find(concerned_rectangles(self.subscribers, self.form, rows))
        if len(which) > 1 and np.any(which[1:] < which[:-1]):
            order = np.argsort(which, kind="stable")
            which, slots = which[order], slots[order]
        # Where several messages concern one, the last holds.
        turns = np.arange(len(slots))
        self._mark[slots] = turns
        last = self._mark[slots] == turns
        which, slots = which[last], slots[last]
        value = rows.column(self.form.value)
        raw, present = raw_of(value)[which], np.asarray(value.is_valid())[which]
        changed = (self._raw[slots] != raw) | (self._present[slots] != present)
        concerned: Rows = slots[changed]
        self._raw[concerned], self._present[concerned] = raw[changed], present[changed]
        return concerned

    def different(self, before: ExtremeValues) -> Rows:
        """Give whose value is another one than it was."""
        changed = (self._raw != before._raw) | (self._present != before._present)
        return np.flatnonzero(changed).astype(np.int32)

    def notifications(self, told: Rows, batch: int, is_first: bool = False) -> Notifications:
        """Give the values of some subscribers."""
        raw, present = self._raw[told], self._present[told]
        values = values_of_raw(raw, present, self._type)
        ids = self.subscribers.ids.take(pa.array(told))
        return Notifications(batch=batch, ids=ids, values=values, is_first=is_first)
