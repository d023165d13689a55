"""An edge: reads semantic messages from a broker, keeps its subscribers' values, tells changes.

It begins with the newest state, from which every subscriber's value follows, and reads what was
published behind it. If anything is missing later, it begins so anew, and tells what is different.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sized

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.brokers.message_format import ABOUT, BatchEnd, MessageForm
from penstock.brokers.point_states import PointState
from penstock.brokers.protocol import END, Broker, BrokerReading, Publication, ReplayGapError
from penstock.brokers.range_summaries import announce
from penstock.edges.notifications import Notifications, Tell
from penstock.edges.range_values import RangeValues, range_values
from penstock.edges.subscribers import RangeColumns, Subscribers
from penstock.vocabulary.errors import PenstockError

PAUSE_FIRST_S, PAUSE_LAST_S = 0.05, 5.0
TAKE_S = 1.0
LOGGER = logging.getLogger("penstock.edges")


class Edge:
    """Holds subscribers, follows a broker and tells what changes.

    `narrow` reads the buckets only that subscribers' ranges meet; what is told is the same without.
    Of messages of totals, `aggregate` says what subscribers ask for: count, sum or avg. Where a
    publisher names its edges, `announced` is one of these, with its own place in the broker: there
    it tells which ranges it holds, and begins with a state of a publisher that has heard it.
    """

    def __init__(
        self,
        broker: Broker,
        given: pa.Table,
        tell: Tell,
        columns: RangeColumns | None = None,
        narrow: bool = True,
        aggregate: str | None = None,
        announced: tuple[str, Broker] | None = None,
    ) -> None:
        self._broker, self._given, self._tell = broker, given, tell
        self._announced = announced
        self._heard = 0
        """By which knowledge of what edges hold messages are left out, as the state says."""
        self._next_given: pa.Table | None = None
        self._columns, self._narrow, self._aggregate = columns, narrow, aggregate
        self._reading: BrokerReading | None = None
        self._values: RangeValues | None = None
        self._told: RangeValues | None = None
        """What was told, while values that begin anew catch up."""
        self._has_begun = False
        self._batch = self._number = self._told_batch = -1
        self._publisher: tuple[str, str] | None = None
        self._subjects: frozenset[str] = frozenset()
        self._waiting: list[Publication] = []
        """Messages of the batch whose end has not come."""
        self._lock = threading.Lock()
        self.begins = 0
        """How often it began with a state."""

    @property
    def batch(self) -> int:
        """The batch up to which all was told: values may be ahead of it for a moment."""
        return self._told_batch

    def values(self, ids: list[str] | None = None) -> Notifications | None:
        """Give the values of some subscribers, or of all; None before it has begun.

        While it catches up anew, they are those that were told.
        """
        with self._lock:
            own = self._values if self._has_begun else self._told
            if own is None:
                return None
            slots = np.arange(len(own.subscribers), dtype=np.int32)
            if ids is not None:
                known = pc.is_in(own.subscribers.ids, value_set=pa.array(ids, pa.string()))
                slots = np.flatnonzero(np.asarray(known)).astype(np.int32)
            batch = self._batch if self._has_begun else self._told_batch
            return own.notifications(own.standing(slots), batch)

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
        if self._announced is not None:
            self._announced[1].close()

    def replace(self, given: pa.Table) -> None:
        """Have other subscribers from the next step on; from another thread, if need be.

        Who is new is told his value, who stays hears of it if it is another one, and who is gone
        hears nothing more. Subscribers that the messages cannot be told are not taken.
        """
        self._next_given = given

    def _take_replacement(self) -> None:
        given, self._next_given = self._next_given, None
        if given is None:
            return
        if self._values is not None:
            try:
                Subscribers(given, self._values.form, self._columns)
            except PenstockError as error:
                LOGGER.warning("The new subscribers are not taken: %s", error)
                return
        self._given = given
        if self._reading is not None:
            self._reading.close()
        self._reading = None

    def step(self, timeout_s: float) -> bool:
        """Begin, or take what comes next; say whether there was something to begin with."""
        self._take_replacement()
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
        if self._has_begun:
            self._told_batch = self._batch
        return True

    def _begin(self) -> bool:
        """Take the newest state, and read behind it; say whether there is one."""
        kept = self._broker.kept()
        form, state = state_of(kept)
        if form is None or state is None:
            LOGGER.info("Nothing is published yet")
            return False
        subscribers = Subscribers(self._given, form, self._columns)
        if not self._is_heard(form, state, subscribers):
            LOGGER.info("The publisher has not heard yet which ranges are held here")
            return False
        values = range_values(subscribers, form, self._aggregate)
        values.begin(state.whole())
        with self._lock:
            if self._told is None and self._has_begun:
                self._told = self._values
            if self._publisher != (publisher := (form.engine, form.subscription)):
                self._publisher, self._told_batch = publisher, -1  # its batches are others
            self._values, self._has_begun = values, False
            self._batch, self._number = state.head.batch, state.head.number
        self._heard = state.head.heard
        self._waiting.clear()
        buckets = range(len(form.bounds) + 1)
        own = subscribers.buckets(form.bounds) if self._narrow else list(buckets)
        self._subjects = frozenset(form.subject(bucket) for bucket in own)
        self._reading = self._broker.read([*sorted(self._subjects), END], state.head.position)
        self.begins += 1
        return True

    def _is_heard(self, form: MessageForm, state: PointState, subscribers: Subscribers) -> bool:
        """Tell the publisher which ranges are held, if it asks; say whether it knows it."""
        if not form.edges:
            return True
        name, broker = self._announced or (None, None)
        if broker is None or name not in form.edges:
            raise PenstockError(
                "EDG-006",
                f"These messages are published for the edges {', '.join(form.edges)}, and this one "
                + (f"is {name!r}." if name else "has no name."),
                "Give one of these with --name, each to one edge; or name this one in the address "
                "of the subscription, edges=….",
            )
        digest = announce(broker, subscribers.summary())
        return not state.head.edges or state.head.edges.get(name) == digest

    def _caught_up(self) -> None:
        """Tell what holds now, once after every beginning: to whom it is new, or different.

        A broker that has come back may have less than was told, until it is published again.
        """
        if self._has_begun or self._batch < self._told_batch:
            return
        values, before = self._values, self._told
        assert values is not None
        with self._lock:
            self._has_begun, self._told = True, None
            differences = _differences(values, before)
        for told, is_first in zip(differences, (True, False), strict=True):
            if len(told):
                self._tell(values.notifications(told, self._batch, is_first))

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
        if end.heard != self._heard:
            raise ReplayGapError("the publisher knows other ranges of edges")
        # What came again is taken once; what a crash left without an end, not at all.
        mine = [each for each in self._waiting if each.batch == own.batch and end.rows is None]
        told = list({each.number: each for each in mine}.values())
        expected = sum(parts for name, parts in end.parts.items() if name in self._subjects)
        if end.number != self._number + 1 or len(told) != expected:
            raise ReplayGapError(f"batch {own.batch} came without all before it")
        self._waiting = [each for each in self._waiting if each.batch > own.batch]
        changed = None
        with self._lock:
            payloads = [each.payload for each in told] if end.rows is None else [end.rows]
            if payloads:
                changed = values.take(in_order(values.form, payloads))
            self._batch, self._number = own.batch, end.number
        if changed is not None and len(changed) and self._has_begun:
            self._tell(values.notifications(changed, own.batch))


def _differences(values: RangeValues, before: RangeValues | None) -> tuple[Sized, Sized]:
    """Give what is told of those who had nothing before, and of the others what is different.

    Among subscribers that were replaced, ids say who is who; where one is there twice, all are new.
    """
    all_of, none = np.arange(len(values.subscribers), dtype=np.int32), np.empty(0, dtype=np.int32)
    if before is None:
        return values.standing(all_of), none
    ids, old_ids = values.subscribers.ids, before.subscribers.ids
    if ids.equals(old_ids):
        return none, values.changed(before, all_of, all_of)
    if any(len(own) != len(own.unique()) for own in (ids, old_ids)):
        return values.standing(all_of), none
    known = pc.index_in(ids, value_set=old_ids)
    stays = np.flatnonzero(np.asarray(known.is_valid())).astype(np.int32)
    at = np.asarray(known.drop_null(), dtype=np.int32)
    new = np.setdiff1d(all_of, stays)
    return values.standing(new), values.changed(before, stays, at)


def in_order(form: MessageForm, payloads: list[bytes]) -> pa.RecordBatch:
    """Give the rows of a batch's messages in the order in which they were found."""
    batches = [form.read(each) for each in payloads]
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
