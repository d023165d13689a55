"""An edge: reads semantic messages from a broker, keeps its subscribers' values, tells changes.

It begins with the newest state, from which every subscriber's value follows, and reads what was
published behind it. If anything is missing later, it begins so anew, and tells what is different.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from penstock.brokers.message_format import ABOUT, END, WIDE, BatchEnd, MessageForm
from penstock.brokers.point_states import PointState
from penstock.brokers.protocol import Broker, BrokerReading, Publication, ReplayGapError
from penstock.edges.notifications import Notifications, Tell, raw_of, values_of_raw
from penstock.edges.range_extremes import NONE, range_extremes
from penstock.edges.subscribers import RangeColumns, Subscribers
from penstock.kernels.range_points import RangeRectangles
from penstock.operators.shared.keys import HIGHEST, LOWEST, ordered_keys
from penstock.operators.shared.subscription_points import SubscriptionPoints
from penstock.vocabulary.batches import Flags, Ints, Rows

PAUSE_FIRST_S, PAUSE_LAST_S = 0.05, 5.0
TAKE_S = 1.0
LOGGER = logging.getLogger("penstock.edges")


class RangeValues:
    """The values of all subscribers, and which of them a message concerns."""

    def __init__(self, subscribers: Subscribers, form: MessageForm) -> None:
        self.form, self.subscribers = form, subscribers
        self._type = form.schema.field(form.value).type
        self._index = SubscriptionPoints()
        slots = np.flatnonzero(subscribers.stands)
        self._index.add(
            slots, subscribers.codes[slots], subscribers.x1s[slots], subscribers.x2s[slots]
        )
        self._raw = np.zeros(len(subscribers), dtype=f"V{self._type.bit_width // 8}")
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
        which, slots = self._index.find(self._rectangles(rows))
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

    def _rectangles(self, rows: pa.RecordBatch) -> RangeRectangles:
        """Give what messages speak of in keys, all bounds included."""
        form = self.form
        columns = [rows.column(name) for name in form.partition]
        codes = self.subscribers.codes_of(columns, form, len(rows))

        def ends(name: str) -> tuple[Ints, Flags]:
            return ordered_keys(rows.column(name), form.attribute)

        outer_l, has_left = ends("outer_l")
        outer_r, has_right = ends("outer_r")
        return RangeRectangles(
            codes,
            np.where(has_left, outer_l + has_left, LOWEST),
            ends("inner_l")[0],
            ends("inner_r")[0],
            np.where(has_right, outer_r - has_right, HIGHEST),
        )

    def different(self, before: RangeValues) -> Rows:
        """Give whose value is another one than it was."""
        changed = (self._raw != before._raw) | (self._present != before._present)
        return np.flatnonzero(changed).astype(np.int32)

    def notifications(self, slots: Rows, batch: int, is_first: bool = False) -> Notifications:
        """Give the values of some subscribers."""
        raw, present = self._raw[slots], self._present[slots]
        values = values_of_raw(raw, present, self._type)
        ids = self.subscribers.ids.take(pa.array(slots))
        return Notifications(batch=batch, ids=ids, values=values, is_first=is_first)


class Edge:
    """Holds subscribers, follows a broker and tells what changes.

    `narrow` reads the buckets only that subscribers' ranges meet; what is told is the same without.
    """

    def __init__(
        self,
        broker: Broker,
        given: pa.Table,
        tell: Tell,
        columns: RangeColumns | None = None,
        narrow: bool = True,
    ) -> None:
        self._broker, self._given, self._tell = broker, given, tell
        self._columns, self._narrow = columns, narrow
        self._reading: BrokerReading | None = None
        self._values: RangeValues | None = None
        self._told: RangeValues | None = None
        """What was told, while values that begin anew catch up."""
        self._has_begun = False
        self._batch = self._number = -1
        self._subjects: frozenset[str] = frozenset()
        self._waiting: list[Publication] = []
        """Messages of the batch whose end has not come."""
        self._lock = threading.Lock()
        self.begins = 0
        """How often it began with a state."""

    @property
    def batch(self) -> int:
        """The batch behind which values stand."""
        return self._batch

    def values(self, ids: list[str] | None = None) -> Notifications | None:
        """Give the values of some subscribers, or of all; None before it has begun."""
        with self._lock:
            own = self._values
            if own is None or not self._has_begun:
                return None
            slots = np.arange(len(own.subscribers), dtype=np.int32)
            if ids is not None:
                known = pa.compute.is_in(own.subscribers.ids, value_set=pa.array(ids, pa.string()))
                slots = np.flatnonzero(np.asarray(known)).astype(np.int32)
            return own.notifications(slots, self._batch)

    def run(self, stop: threading.Event) -> None:
        """Follow the broker until stopped; one that is down is tried again."""
        pause_s = PAUSE_FIRST_S
        while not stop.is_set():
            try:
                went_on = self.step(TAKE_S)
            except ConnectionError as error:
                LOGGER.warning("The broker does not answer (%s); it is tried again", error)
                went_on = False
            if went_on:
                pause_s = PAUSE_FIRST_S
            else:
                stop.wait(pause_s)
                pause_s = min(2 * pause_s, PAUSE_LAST_S)
        self.close()

    def close(self) -> None:
        """Read no more."""
        if self._reading is not None:
            self._reading.close()
        self._reading = None
        self._broker.close()

    def step(self, timeout_s: float) -> bool:
        """Begin, or take what comes next; say whether there was something to begin with."""
        if self._reading is None and not self._begin():
            return False
        assert self._reading is not None
        try:
            for own in self._reading.take(timeout_s):
                self._take(own)
        except ReplayGapError as gap:
            LOGGER.warning("Messages are missing (%s): beginning with a new state", gap)
            self._reading.close()
            self._reading = None
            return False
        if not self._reading.is_behind and not self._waiting:
            self._caught_up()
        return True

    def _begin(self) -> bool:
        """Take the newest state, and read behind it; say whether there is one."""
        kept = self._broker.kept()
        form, state = state_of(kept)
        if form is None or state is None:
            LOGGER.info("Nothing is published yet")
            return False
        subscribers = Subscribers(self._given, form, self._columns)
        values = RangeValues(subscribers, form)
        values.begin(state.whole())
        with self._lock:
            if self._told is None and self._has_begun:
                self._told = self._values
            self._values, self._has_begun = values, False
            self._batch, self._number = state.head.batch, state.head.number
        self._waiting.clear()
        buckets = range(len(form.bounds) + 1)
        own = subscribers.buckets(form.bounds) if self._narrow else list(buckets)
        self._subjects = frozenset([WIDE, *(form.subject(bucket) for bucket in own)])
        self._reading = self._broker.read([*sorted(self._subjects), END], state.head.position)
        self.begins += 1
        return True

    def _caught_up(self) -> None:
        """Tell what holds now, once after every beginning: all of it, or what is different."""
        if self._has_begun:
            return
        values, before = self._values, self._told
        assert values is not None
        with self._lock:
            self._has_begun, self._told = True, None
        if before is None:
            slots = np.arange(len(values.subscribers), dtype=np.int32)
        else:
            slots = values.different(before)
        if len(slots):
            self._tell(values.notifications(slots, self._batch, is_first=before is None))

    def _take(self, own: Publication) -> None:
        """Take a message, or the end of a batch, with which its messages count."""
        if own.batch <= self._batch:
            return
        if own.subject != END:
            self._waiting.append(own)
            return
        values = self._values
        assert values is not None
        end = BatchEnd.of_bytes(own.payload)
        told = [each for each in self._waiting if each.batch == own.batch]
        expected = sum(parts for name, parts in end.parts.items() if name in self._subjects)
        if end.number != self._number + 1 or len({each.number for each in told}) != expected:
            raise ReplayGapError(f"batch {own.batch} came without all before it")
        self._waiting = [each for each in self._waiting if each.batch > own.batch]
        slots = None
        with self._lock:
            if told:
                slots = values.take(in_order(values.form, told))
            self._batch, self._number = own.batch, end.number
        if slots is not None and len(slots) and self._has_begun:
            self._tell(values.notifications(slots, own.batch))


def in_order(form: MessageForm, told: list[Publication]) -> pa.RecordBatch:
    """Give the rows of a batch's messages in the order in which they were found."""
    batches = [form.read(each.payload) for each in told]
    if len(batches) == 1:
        return batches[0]
    (whole,) = pa.Table.from_batches(batches).sort_by("ordinal").combine_chunks().to_batches()
    return whole


def state_of(kept: Mapping[str, bytes]) -> tuple[MessageForm | None, PointState | None]:
    """Read form and state from what is kept; None for what is not there."""
    if ABOUT not in kept:
        return None, None
    form = MessageForm.of_bytes(kept[ABOUT])
    return form, PointState.of_kept(form, kept)
