"""A broker: the changes of a batch are published, or, of range aggregates, the messages.

Where a batch comes again, after a crash, the broker leaves out what it has: payloads are numbered
by batch and part, and divided alike each time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.brokers.addresses import BrokerAddress, broker_at, subject_word
from penstock.brokers.message_format import ABOUT
from penstock.brokers.message_kinds import kind_of_results
from penstock.brokers.protocol import PUBLISH_BYTES_MAX, Broker, Publication
from penstock.delivery.announced_edges import AnnouncedEdges
from penstock.delivery.message_publisher import MessagePublisher
from penstock.delivery.row_texts import json_lines
from penstock.delivery.sink_kinds import SinkAddress, batch_of
from penstock.vocabulary.errors import PenstockError

CHANGES = "changes"
CHOICES = {"format": ("json", "arrow"), "by": ("batch", "id")}


class BrokerSink:
    """Publishes under `<root>.changes`, as JSON lines or, with `?format=arrow`, as Arrow's streams.

    With `?by=id` each standing query has a subject of its own, `<root>.changes.<id>`.
    """

    def __init__(self, address: SinkAddress) -> None:
        place = BrokerAddress.of(
            address.resolved(), root=f"penstock.{subject_word(address.subscription)}"
        )
        for name, choices in CHOICES.items():
            if place.options.get(name, choices[0]) not in choices:
                raise PenstockError(
                    "BRK-003",
                    f"{name}={place.options[name]} in the address of a broker is not known.",
                    f"Write {' or '.join(f'{name}={choice}' for choice in choices)}.",
                )
        self._address, self._place = address, place
        self.broker: Broker = broker_at(place)
        self._is_ours = False
        self._has_published = address.resumes
        self._messages: MessagePublisher | None = None
        names = place.words("edges")
        self._edges = AnnouncedEdges(place, names) if names else None

    def stands_behind(self, table: pa.Table, _token: str) -> int | None:
        """Say, once per connection, behind which batch of messages the broker stands.

        A broker that lost what it had not written yet, as in a power cut, is given it again: states
        and edges need every batch.
        """
        if self._is_ours:
            return None
        try:
            self._claim(kind_of_results(table.schema) is not None)
        except ConnectionError:
            self._release()
            raise
        return None if self._messages is None else self._messages.batch

    def write(self, table: pa.Table, token: str) -> None:
        """Publish a batch."""
        try:
            self._claim(kind_of_results(table.schema) is not None)
            if self._messages is not None:
                self._messages.publish(table, batch_of(token))
            else:
                payloads = enumerate(self._payloads(table))
                self.broker.publish(
                    [Publication(own, data, batch_of(token), at) for at, (own, data) in payloads]
                )
            self._has_published = True
        except ConnectionError:
            # What was taken is not known: whoever comes back asks the broker.
            self._release()
            raise

    def close(self) -> None:
        """Let the connection go; the next batch opens another."""
        if self._messages is not None:
            with suppress(ConnectionError):  # a state before, and what follows it, say the same
                self._messages.write_state()
        self._release()

    def _release(self) -> None:
        self._is_ours, self._messages = False, None
        self.broker.close()
        if self._edges is not None:
            self._edges.close()

    def _claim(self, are_messages: bool) -> None:
        """Make sure, once per connection, that nobody else publishes under this root."""
        if self._is_ours:
            return
        kept = self.broker.kept()
        own = {"engine": self._address.engine, "subscription": self._address.subscription}
        found = json.loads(kept[ABOUT]) if ABOUT in kept else None
        if found is not None and {name: found.get(name) for name in own} != own:
            raise PenstockError(
                "BRK-004",
                f"Under {self._place.root!r} another subscription is published: "
                f"{found.get('subscription')!r} of the engine {found.get('engine')!r}.",
                "Give another root in the address, or remove in the broker what is there.",
            )
        if are_messages:
            if found is None and self._has_published:
                raise PenstockError(
                    "BRK-006",
                    f"The broker has lost what was published under {self._place.root!r}.",
                    "Drop the sink and name it again: it begins with the first change there is.",
                )
            buckets = self._place.number("buckets", 16)
            self._messages = MessagePublisher(
                self.broker, kept, self._address, buckets, self._edges
            )
        elif self._edges is not None:
            raise PenstockError(
                "BRK-007",
                "edges= in the address of a broker is of messages, and these results are none.",
                "Leave it out, or subscribe AS MESSAGES.",
            )
        elif found is None:
            self.broker.keep({ABOUT: json.dumps(own).encode()})
        self._is_ours = True

    def _payloads(self, table: pa.Table) -> Iterator[tuple[str, bytes]]:
        """Give what is published of a batch, with the subjects."""
        for subject, rows in self._by_subject(table):
            if self._place.options.get("format") == "arrow":
                yield from ((subject, _stream(piece)) for piece in _pieces(rows))
            else:
                pieces = json_lines(rows).pieces(PUBLISH_BYTES_MAX)
                yield from ((subject, bytes(piece)) for _, piece in pieces)

    def _by_subject(self, table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
        if self._place.options.get("by") != "id":
            yield CHANGES, table
            return
        order = pc.sort_indices(table, [("_id", "ascending")])
        ids = table["_id"].take(order).combine_chunks().dictionary_encode()
        ids = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
        starts = np.flatnonzero(np.diff(np.asarray(ids.indices), prepend=-1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
            # Rows of one id stay in the order in which they came.
            own = order.slice(start, end - start)
            name = subject_word(str(table["_id"][own[0].as_py()].as_py()))
            yield f"{CHANGES}.{name}", table.take(own)


def _pieces(table: pa.Table) -> Iterator[pa.Table]:
    """Divide rows until every piece can be published; a row is not divided."""
    if table.nbytes <= PUBLISH_BYTES_MAX * 9 // 10 or len(table) < 2:
        yield table
        return
    half = len(table) // 2
    yield from _pieces(table.slice(0, half))
    yield from _pieces(table.slice(half))


def _stream(table: pa.Table) -> bytes:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return bytes(out.getvalue())
