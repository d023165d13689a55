"""MQTT 5: topics below the root, each publication retained in a ring, so that it is read again.

MQTT itself replays nothing. So what is published under a subject stays as one of its last few
retained messages: the topic is `<root>/<subject>/<slot>`, the slots are taken in turn. Whoever
comes is sent them first, and what is kept, and knows by a message of its own that these were all.
What a broker lost in a crash is published again by whoever published it, as soon as it answers.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any
from uuid import uuid4

from penstock.brokers.addresses import BrokerAddress, client
from penstock.brokers.protocol import END, REST, Publication

RING, ENDS_RING = 64, 512
"""So many publications of a subject are retained, and of those that are short."""
TIMEOUT_S = 10.0
AGAIN_S = 0.5
"""So often one who publishes tries to connect again."""
KEPT, MARK = "kept", "mark"
TAKEN_MAX = 100_000
"""So many messages wait for a reader; of more it connects anew."""


class MqttConnection:
    """One connection, and what came by it; it does not come back once it is lost."""

    def __init__(self, address: BrokerAddress) -> None:
        self._mqtt: Any = client("paho.mqtt.client", "paho-mqtt", "A broker at mqtt://")
        self._properties: Any = client("paho.mqtt.properties", "paho-mqtt", "MQTT")
        self._packets: Any = client("paho.mqtt.packettypes", "paho-mqtt", "MQTT")
        self._address = address
        self._client: Any = None
        self.root = address.root.replace(".", "/")
        self.messages: queue.Queue[Any] = queue.Queue(TAKEN_MAX)
        self._lost = threading.Event()
        self._opened = threading.Event()

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self._client is not None and not self._lost.is_set()

    def open(self) -> None:
        """Connect."""
        self.close()
        mqtt, own = self._mqtt, self._address
        self._client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
        self._client.max_queued_messages_set(0)
        if own.user is not None:
            self._client.username_pw_set(own.user, own.password)
        self._lost.clear()
        self._opened.clear()
        self.messages = queue.Queue(TAKEN_MAX)
        self._client.on_connect = self._hear_opened
        self._client.on_disconnect = lambda *_: self._lost.set()
        self._client.on_message = self._hear
        try:
            self._client.connect(own.host, own.port)
        except OSError as error:
            self._client = None
            raise ConnectionError(f"MQTT does not answer: {error}") from None
        self._client.loop_start()
        if not self._opened.wait(TIMEOUT_S) or self._lost.is_set():
            self.close()
            raise ConnectionError("MQTT does not take the connection")

    def _hear_opened(self, _client: Any, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:
        if reason.is_failure:
            self._lost.set()
        self._opened.set()

    def _hear(self, _client: Any, _data: Any, message: Any) -> None:
        try:
            self.messages.put_nowait(message)
        except queue.Full:
            self._lost.set()

    def close(self) -> None:
        """Let it go."""
        own, self._client = self._client, None
        if own is not None:
            own.disconnect()
            own.loop_stop()

    def publish(self, messages: Iterable[tuple[str, bytes, tuple[str, str] | None]]) -> None:
        """Publish payloads by topic, retained, with a user property; wait until all are taken."""
        sent = []
        for topic, payload, told in messages:
            properties = None
            if told is not None:
                properties = self._properties.Properties(self._packets.PacketTypes.PUBLISH)
                properties.UserProperty = told
            full = f"{self.root}/{topic}"
            sent.append(self._client.publish(full, payload, 1, told is not None, properties))
        until_s = monotonic() + TIMEOUT_S
        for each in sent:
            while not self._is_taken(each):
                if self._lost.is_set() or monotonic() > until_s:
                    self.close()
                    raise ConnectionError("MQTT does not answer")

    def _is_taken(self, sent: Any) -> bool:
        """Wait a moment for the broker to take what was sent; a lost connection wakes nobody."""
        try:
            sent.wait_for_publish(0.05)
            return bool(sent.is_published())
        except (RuntimeError, ValueError):  # there is no connection
            self._lost.set()
            return False

    def subscribe(self, topics: Sequence[str]) -> str:
        """Subscribe; give the topic of a message that comes behind all that was retained."""
        options = self._mqtt.SubscribeOptions
        mark = f"{MARK}/{uuid4().hex}"
        asked = [(f"{self.root}/{topic}", options(qos=0)) for topic in (*topics, mark)]
        self._client.subscribe(asked)
        self.publish([(mark, b"", None)])
        return mark

    def unsubscribe(self, topics: Sequence[str]) -> None:
        """Hear no more of topics."""
        self._client.unsubscribe([f"{self.root}/{topic}" for topic in topics])

    def next(self, timeout_s: float) -> tuple[str, Any] | None:
        """Wait for a message; give its topic below the root, and it."""
        try:
            found = (
                self.messages.get(timeout=timeout_s) if timeout_s else self.messages.get_nowait()
            )
        except queue.Empty:
            if not self.is_open:
                raise ConnectionError("MQTT does not answer") from None
            return None
        return found.topic[len(self.root) + 1 :], found


def ring_size(subject: str) -> int:
    """Give how many publications of a subject are retained."""
    return ENDS_RING if subject in (END, REST) else RING


def publication_of(topic: str, message: Any) -> Publication:
    """Give what a message of a ring holds."""
    (_, number), *_ = message.properties.UserProperty
    batch, _, part = number.partition("-")
    return Publication(
        ".".join(topic.split("/")[:-1]), bytes(message.payload), int(batch), int(part)
    )


class MqttBroker:
    """Topics `<root>/<subject>/<slot>`, and `<root>/kept/<name>` for what is kept."""

    def __init__(self, address: BrokerAddress) -> None:
        self._address = address
        self._connection = MqttConnection(address)
        self._rings: dict[str, deque[Publication]] = {}
        self._counts: dict[str, int] = {}
        self._kept: dict[str, bytes] = {}
        self._is_known = False
        """Whether what the broker retains was read once: from then on it is known here."""
        self._lock = threading.RLock()
        self._closed: threading.Event | None = None
        """Set when the connection that stands is not wanted any more."""

    def keeps(self, subject: str, rounds: int, _nbytes: int) -> bool:
        """Say whether so many publications are surely read again: half of those retained."""
        return 2 * rounds < ring_size(subject)

    def publish(self, publications: Sequence[Publication]) -> str:
        """Publish all of them, each in the next slot of its subject."""
        with self._lock:
            return self._publish(publications)

    def _publish(self, publications: Sequence[Publication]) -> str:
        self._open()
        news = []
        for own in publications:
            ring = self._rings.setdefault(own.subject, deque(maxlen=ring_size(own.subject)))
            if ring and ring[-1].number >= own.number:
                continue
            ring.append(own)
            self._counts[own.subject] = self._counts.get(own.subject, 0) + 1
            news.append(self._message(own, self._counts[own.subject]))
        self._connection.publish(news)
        newest = max((own.number for own in publications), default=(0, 0))
        return f"{newest[0]}-{newest[1]}"

    def newest(self, subject: str) -> Publication | None:
        """Give what was published last under a subject."""
        with self._lock:
            self._open()
            ring = self._rings.get(subject)
            return ring[-1] if ring else None

    def keep(self, values: Mapping[str, bytes]) -> None:
        """Keep values by name."""
        with self._lock:
            self._open()
            self._kept.update(values)
            self._connection.publish(self._kept_messages(values))

    def kept(self) -> dict[str, bytes]:
        """Give all that is kept; of one who publishes, once it is there again."""
        if self._is_known:
            with self._lock:
                self._open()
        connection = MqttConnection(self._address)
        try:
            connection.open()
            found = retained(connection, f"{KEPT}/+")
            return {topic.rpartition("/")[2]: bytes(own.payload) for topic, own in found}
        finally:
            connection.close()

    def read(self, subjects: Sequence[str], after: str = "") -> MqttReading:
        """Read what was published under subjects behind a position."""
        batch, _, part = (after or "-1-0").rpartition("-")
        return MqttReading(self._address, subjects, (int(batch), int(part)))

    def close(self) -> None:
        """Let the connection go."""
        with self._lock:
            if self._closed is not None:
                self._closed.set()
            self._connection.close()

    def _stay_open(self, closed: threading.Event) -> None:
        """Connect again whenever the connection is lost, until it is not wanted any more."""
        while not closed.wait(AGAIN_S):
            if not self._connection.is_open:
                with self._lock, suppress(ConnectionError):
                    if not closed.is_set():
                        self._open()

    def _open(self) -> None:
        """Connect; the first time learn what there is, later publish again what there should be."""
        if self._connection.is_open:
            return
        self._connection.open()
        if self._closed is None or self._closed.is_set():
            self._closed = threading.Event()
            threading.Thread(target=self._stay_open, args=(self._closed,), daemon=True).start()
        if not self._is_known:
            self._learn()
            return
        for subject, ring in self._rings.items():
            first = self._counts[subject] - len(ring) + 1
            messages = [self._message(own, at) for at, own in enumerate(ring, start=first)]
            self._connection.publish(messages)
        self._connection.publish(self._kept_messages(self._kept))

    def _learn(self) -> None:
        """Read all that the broker retains below the root; slots go on where they were."""
        found = []
        for topic, message in retained(self._connection, "#"):
            name, _, last = topic.rpartition("/")
            if name == KEPT:
                self._kept[last] = bytes(message.payload)
            elif last.isdigit():
                found.append((publication_of(topic, message), int(last)))
        for own, slot in sorted(found, key=lambda each: each[0].number):
            self._rings.setdefault(own.subject, deque(maxlen=ring_size(own.subject))).append(own)
            self._counts[own.subject] = ring_size(own.subject) + slot
        self._is_known = True

    def _message(self, own: Publication, count: int) -> tuple[str, bytes, tuple[str, str]]:
        topic = f"{own.subject.replace('.', '/')}/{count % ring_size(own.subject)}"
        return topic, own.payload, ("number", f"{own.batch}-{own.part}")

    def _kept_messages(
        self, values: Mapping[str, bytes]
    ) -> list[tuple[str, bytes, tuple[str, str]]]:
        return [(f"{KEPT}/{name}", value, ("number", "0-0")) for name, value in values.items()]


def retained(connection: MqttConnection, topics: str) -> Iterator[tuple[str, Any]]:
    """Subscribe, give what is retained, and subscribe no more."""
    mark = connection.subscribe([topics])
    while True:
        found = connection.next(TIMEOUT_S)
        if found is None:
            raise ConnectionError("MQTT does not answer")
        if found[0] == mark:
            break
        if not found[0].startswith(MARK):
            yield found
    connection.unsubscribe([topics, mark])


class MqttReading:
    """Reads the rings of some subjects, then what comes."""

    def __init__(
        self, address: BrokerAddress, subjects: Sequence[str], after: tuple[int, int]
    ) -> None:
        self._connection = MqttConnection(address)
        self._topics = [f"{subject.replace('.', '/')}/+" for subject in subjects]
        self._numbers: dict[str, tuple[int, int]] = {}
        self._first = after
        self._mark = ""
        self.is_behind = True

    def take(self, timeout_s: float) -> list[Publication]:
        """Wait for what comes next."""
        if not self._connection.is_open:
            self._connection.open()
            self._mark = self._connection.subscribe(self._topics)
        # Retained messages come in no order: they are given together, up to the mark.
        found: list[Publication] = []
        awaited = bool(self._mark)
        while (message := self._connection.next(TIMEOUT_S if awaited else timeout_s)) is not None:
            topic, own = message
            if topic == self._mark:
                self._mark, awaited, timeout_s = "", False, 0.0
                self.is_behind = False
                continue
            found.append(publication_of(topic, own))
            if not awaited:
                timeout_s = 0.0
        if awaited:
            self.close()
            raise ConnectionError("MQTT does not answer")
        return self._news(found)

    def _news(self, found: list[Publication]) -> list[Publication]:
        taken = []
        for own in sorted(found, key=lambda each: each.number):
            if own.number > self._numbers.get(own.subject, self._first):
                self._numbers[own.subject] = own.number
                taken.append(own)
        return taken

    def close(self) -> None:
        """Read no more."""
        self._connection.close()
