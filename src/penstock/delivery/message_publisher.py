"""Publishes semantic messages: by buckets of the attribute, each batch with an end, and states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from penstock.brokers.message_format import (
    ABOUT,
    BatchEnd,
    MessageForm,
    StateHead,
    buckets_of,
    chosen_bounds,
    numbers_of,
)
from penstock.brokers.message_kinds import message_rows
from penstock.brokers.point_states import PointState
from penstock.brokers.protocol import END, PUBLISH_BYTES_MAX, Broker, Publication
from penstock.delivery.sink_kinds import SinkAddress

FEW_ROWS = 16
"""With no more rows for each bucket, what a message of its own costs is more than it saves."""
FEW_BYTES = 65_536
NOTHING = StateHead(batch=-1, number=0, position="", chunks={})


class MessagePublisher:
    """Publishes messages under `<root>.b<k>`, where k is the bucket of inner_l, or in `<root>.end`.

    A range that a message concerns contains inner_l, or, of a total, the place that changes. So
    whoever reads the ends, and the buckets that its ranges meet, has all that concerns it.
    """

    def __init__(
        self,
        broker: Broker,
        kept: Mapping[str, bytes],
        address: SinkAddress,
        buckets: int,
    ) -> None:
        self._broker, self._address = broker, address
        self._buckets = buckets
        self._state: PointState | None = None
        self._rounds: Counter[str] = Counter()
        newest = broker.newest(END)
        self._batch = newest.batch if newest is not None else -1
        self._number = BatchEnd.of_bytes(newest.payload).number if newest is not None else 0
        self._position = ""
        if ABOUT in kept:
            self._resume(MessageForm.of_bytes(kept[ABOUT]), kept)

    def _resume(self, form: MessageForm, kept: Mapping[str, bytes]) -> None:
        """Find the state that stands behind the newest batch whose end was published."""
        state = PointState.of_kept(form, kept) or PointState(form, NOTHING, {})
        subjects = [*(form.subject(bucket) for bucket in range(len(form.bounds) + 1)), END]
        reading = self._broker.read(subjects, state.head.position)
        taken: set[tuple[str, int, int]] = set()
        try:
            while reading.is_behind:
                for own in reading.take(1.0):
                    name = (own.subject, *own.number)
                    if state.head.batch < own.batch <= self._batch and name not in taken:
                        is_end = own.subject == END
                        rows = BatchEnd.of_bytes(own.payload).rows if is_end else own.payload
                        if rows is not None:
                            state.take(form.read(rows))
                        taken.add(name)
        finally:
            reading.close()
        self._state = state

    def publish(self, table: pa.Table, batch: int) -> None:
        """Publish the messages of a batch, unless its end was published before."""
        rows = message_rows(table)
        if self._state is None:
            self._state = PointState(self._begin(rows), NOTHING, {})
        if batch <= self._batch:
            return
        publications = self._publications(self._state.form, rows, batch)
        parts = Counter(own.subject for own in publications)
        own = None if publications else self._state.form.payload(rows)
        end = BatchEnd(number=self._number + 1, parts=dict(parts), rows=own)
        last = Publication(END, end.to_bytes(), batch, len(publications))
        self._position = self._broker.publish([*publications, last])
        self._state.take(rows)
        self._batch, self._number = batch, self._number + 1
        self._rounds.update({**parts, END: 1})
        has_to = any(self._broker.rounds_max(own) <= n for own, n in self._rounds.items())
        if has_to or self._state.head is NOTHING:
            self.write_state()

    def write_state(self) -> None:
        """Write the state behind the newest batch, if it is not written."""
        if self._state is not None and self._position:
            for values in self._state.written(self._batch, self._number, self._position):
                self._broker.keep(values)
            self._position = ""
            self._rounds.clear()

    def _begin(self, rows: pa.Table) -> MessageForm:
        """Choose buckets by the first rows, and keep what messages look like from now on."""
        form = MessageForm(
            schema=rows.schema.remove_metadata(), bounds=(),
            engine=self._address.engine, subscription=self._address.subscription,
        )  # fmt: skip
        form = replace(form, bounds=chosen_bounds(numbers_of(rows[form.place]), self._buckets))
        self._broker.keep({ABOUT: form.to_bytes()})
        return form

    def _publications(self, form: MessageForm, rows: pa.Table, batch: int) -> list[Publication]:
        """Divide rows by bucket; none if they are few, and go with the end of their batch."""
        buckets = buckets_of(numbers_of(rows[form.place]), form.bounds)
        touched = np.unique(buckets).tolist()
        found: list[Publication] = []
        if len(rows) <= FEW_ROWS * len(touched) and rows.nbytes <= FEW_BYTES:
            return found
        for bucket in touched:
            own = rows.filter(pa.array(buckets == bucket))
            size = max(len(own) * PUBLISH_BYTES_MAX // max(2 * own.nbytes, 1), 1)
            for at in range(0, len(own), size):
                payload = form.payload(own.slice(at, size))
                found.append(Publication(form.subject(bucket), payload, batch, len(found)))
        return found
