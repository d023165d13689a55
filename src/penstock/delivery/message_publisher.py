"""Publishes semantic messages: by buckets of the attribute, each batch with an end, and states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
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
from penstock.brokers.message_kinds import ORDINAL, message_rows
from penstock.brokers.point_states import PointState, points_of
from penstock.brokers.protocol import (
    END,
    PUBLISH_BYTES_MAX,
    REST,
    Broker,
    Publication,
    ReplayGapError,
)
from penstock.delivery.announced_edges import AnnouncedEdges
from penstock.delivery.sink_kinds import SinkAddress
from penstock.vocabulary.errors import PenstockError

FEW_ROWS = 16
"""With no more rows for each bucket, what a message of its own costs is more than it saves."""
FEW_BYTES = 65_536
ROUNDS, ROUNDS_MAX = 256, 4_096
"""Between two states there are so many batches at least, where the broker keeps them, and at
most."""
NOTHING = StateHead(batch=-1, number=0, position="", chunks={})
ALONE, ENDED = b"\0", b"\1"
"""Whether an end follows what is published under `rest`: none does of a batch that concerns
nobody."""


class MessagePublisher:
    """Publishes messages under `<root>.b<k>`, where k is the bucket of inner_l, or in `<root>.end`.

    A range that a message concerns contains inner_l, or, of a total, the place that changes. So
    whoever reads the ends, and the buckets that its ranges meet, has all that concerns it.

    If all `edges` have told what they hold, rows that concern none of them are left out. What they
    say of single places, of which states are made, is in `<root>.rest` then, which no edge reads.
    Before other ranges hold, a state is written that says so: ends behind it were made by these.
    """

    def __init__(
        self,
        broker: Broker,
        kept: Mapping[str, bytes],
        address: SinkAddress,
        buckets: int,
        edges: AnnouncedEdges | None = None,
    ) -> None:
        self._broker, self._address = broker, address
        self._buckets, self._edges = buckets, edges
        self._state: PointState | None = None
        self._rounds: Counter[str] = Counter()
        self._nbytes = 0
        """What was published since the newest state: how often under each subject, and how much."""
        newest, rest = broker.newest(END), broker.newest(REST)
        self._batch = newest.batch if newest is not None else -1
        self._number = BatchEnd.of_bytes(newest.payload).number if newest is not None else 0
        self._unended: int | None = None
        """A batch of which all was published but its end, which has to follow."""
        if rest is not None and rest.batch > self._batch:
            is_alone = rest.payload[:1] == ALONE
            self._batch = rest.batch if is_alone else rest.batch - 1
            self._unended = None if is_alone else rest.batch
        self._position = ""
        if ABOUT in kept:
            self._resume(MessageForm.of_bytes(kept[ABOUT]), kept)

    def _resume(self, form: MessageForm, kept: Mapping[str, bytes]) -> None:
        """Find the state that stands behind the newest batch that was published."""
        names = self._edges.names if self._edges is not None else ()
        if form.edges != names:
            form = replace(form, edges=names)
            self._broker.keep({ABOUT: form.to_bytes()})
        state = PointState.of_kept(form, kept) or PointState(form, NOTHING, {})
        subjects = [*(form.subject(bucket) for bucket in range(len(form.bounds) + 1)), REST, END]
        reading = self._broker.read(subjects, state.head.position)
        found: dict[tuple[int, int, str], Publication] = {}
        try:
            while reading.is_behind:
                for own in reading.take(1.0):
                    if state.head.batch < own.batch <= self._batch:
                        found[(*own.number, own.subject)] = own
        except ReplayGapError:
            raise _lost(self._address) from None
        finally:
            reading.close()
        # Where rows were left out, the rest tells of all of them.
        rests = {own.batch for own in found.values() if own.subject == REST}
        self._check_whole(state.head, found.values(), rests)
        # What was published since the state, by whomever: before it is lost, another follows.
        self._count(found.values())
        for _, own in sorted(found.items()):
            if own.subject == REST:
                state.take_points(form.read_points(own.payload[1:]))
            elif own.batch not in rests:
                is_end = own.subject == END
                rows = BatchEnd.of_bytes(own.payload).rows if is_end else own.payload
                if rows is not None:
                    state.take(form.read(rows))
        self._state = state

    def _check_whole(
        self, head: StateHead, found: Collection[Publication], rests: Container[int]
    ) -> None:
        """Refuse to go on where the broker lacks something behind the state."""
        parts = Counter((own.batch, own.subject) for own in found)
        ends = {own.batch: BatchEnd.of_bytes(own.payload) for own in found if own.subject == END}
        numbers = sorted(end.number for end in ends.values())
        are_whole = all(
            parts[batch, subject] == count
            for batch, end in ends.items() if batch not in rests
            for subject, count in end.parts.items()
        )  # fmt: skip
        if not are_whole or numbers != list(range(head.number + 1, self._number + 1)):
            raise _lost(self._address)

    @property
    def batch(self) -> int | None:
        """The newest batch that the broker has; None if it has none."""
        return self._batch if self._batch >= 0 else None

    def publish(self, table: pa.Table, batch: int) -> None:
        """Publish the messages of a batch, unless its end was published before."""
        rows = message_rows(table)
        if self._state is None:
            self._state = PointState(self._begin(rows), NOTHING, {})
        if batch <= self._batch:
            return
        self._state.check_room(rows)
        self._hear()
        publications = self._publications(self._state, rows, batch)
        self._position = self._broker.publish(publications)
        self._state.take(rows)
        self._batch = batch
        self._number += publications[-1].subject == END
        self._count(publications)
        if self._is_due(self._state):
            self.write_state()

    def _count(self, publications: Iterable[Publication]) -> None:
        """Count what is published behind the newest state."""
        for own in publications:
            self._rounds[own.subject] += 1
            self._nbytes += len(own.payload)

    def _is_due(self, state: PointState) -> bool:
        """Say whether a state has to follow, or is worth what it takes.

        Who begins reads it and what follows: a large one need not come again before as much does.
        """
        rounds = max(self._rounds.values())
        is_worth_it = rounds >= ROUNDS and self._nbytes >= state.nbytes_changed
        if state.head is NOTHING or rounds >= ROUNDS_MAX or is_worth_it:
            return True
        return not all(self._broker.keeps(s, n, self._nbytes) for s, n in self._rounds.items())

    def write_state(self) -> None:
        """Write the state behind the newest batch, if it is not written."""
        if self._state is not None and self._position:
            self._write_state(self._state.head.heard, self._state.head.edges)

    def _write_state(self, heard: int, edges: Mapping[str, str]) -> None:
        assert self._state is not None
        # Who reads from an earlier position leaves out what is not behind the batch.
        position = self._position or self._state.head.position
        for values in self._state.written(self._batch, self._number, position, heard, edges):
            self._broker.keep(values)
        if self._position:
            self._rounds.clear()
            self._nbytes = 0
        self._position = ""

    def _hear(self) -> None:
        """Take note of what edges hold now; if it is something else, a state says so first."""
        assert self._state is not None
        if self._edges is not None:
            self._edges.look()
        heard, head = self._edges.heard if self._edges is not None else {}, self._state.head
        if head is not NOTHING and heard != head.edges:
            self._write_state(head.heard + 1, heard)

    def _begin(self, rows: pa.Table) -> MessageForm:
        """Choose buckets by the first rows, and keep what messages look like from now on."""
        form = MessageForm(
            schema=rows.schema.remove_metadata(), bounds=(),
            engine=self._address.engine, subscription=self._address.subscription,
            edges=self._edges.names if self._edges is not None else (),
        )  # fmt: skip
        form = replace(form, bounds=chosen_bounds(numbers_of(rows[form.place]), self._buckets))
        self._broker.keep({ABOUT: form.to_bytes()})
        return form

    def _publications(self, state: PointState, rows: pa.Table, batch: int) -> list[Publication]:
        """Give what is published of a batch, its end last; none, if it concerns no edge."""
        form, heard = state.form, state.head.heard
        few = self._concerning(state, rows)
        if few is not None:
            has_end = len(few) > 0 or batch == self._unended
            rest = (ENDED if has_end else ALONE) + form.points_payload(points_of(form, rows))
            found = [Publication(REST, rest, batch, 0)]
            if has_end:
                told = form.payload(few) if len(few) else None
                end = BatchEnd(number=self._number + 1, parts={}, rows=told, heard=heard)
                found.append(Publication(END, end.to_bytes(), batch, 1))
            return found
        found = self._by_bucket(form, rows, batch)
        parts = Counter(own.subject for own in found)
        told = None if found else form.payload(rows)
        end = BatchEnd(number=self._number + 1, parts=dict(parts), rows=told, heard=heard)
        # Behind a rest that a crash left without an end, numbers go on.
        return [*found, Publication(END, end.to_bytes(), batch, max(len(found), 1))]

    def _concerning(self, state: PointState, rows: pa.Table) -> pa.Table | None:
        """Give the rows that may concern an edge; None if all are published.

        So they are where edges have not told what they hold, and where very many rows concern
        them: what is in buckets is the same each time that it is published.
        """
        if not state.head.edges:
            return None
        assert self._edges is not None
        found = rows.filter(pa.array(self._edges.concerned(state.form, rows)))
        if found.nbytes > FEW_BYTES:
            return None
        ordinals = pa.array(np.arange(len(found), dtype=np.int32))
        return found.set_column(found.schema.get_field_index(ORDINAL), ORDINAL, ordinals)

    def _by_bucket(self, form: MessageForm, rows: pa.Table, batch: int) -> list[Publication]:
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


def _lost(address: SinkAddress) -> PenstockError:
    """Say that states would lack something from now on."""
    return PenstockError(
        "BRK-006",
        f"The broker has lost some of what {address.subscription!r} published behind its newest "
        "state.",
        "Drop the sink and name it again with another root, or remove in the broker what is there; "
        "subscribe WITH SNAPSHOT, so that edges begin with all there is.",
    )
