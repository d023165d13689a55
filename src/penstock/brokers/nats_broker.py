"""NATS with JetStream: a stream of all subjects below the root, and a bucket of what is kept.

`Nats-Msg-Id` is root, subject, batch and part: within the stream's window NATS itself leaves out
what comes again. What comes again later than that is known by what stands last in its subject.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, TypeVar

from penstock.brokers.addresses import BrokerAddress, client
from penstock.brokers.protocol import Publication, ReplayGapError

KEPT_BYTES = 1 << 30
HEAD_BYTES = 256
"""A publication has so many bytes beside its payload, or fewer."""
TIMEOUT_S = 10.0
HEARTBEAT_S = 2.0
SILENCE_MAX_S = 10.0
"""A reader that hears nothing for so long, not even a heartbeat, connects anew."""
PENDING_BYTES_MAX = 64 << 20
NUMBER = "Penstock-Number"
Answer = TypeVar("Answer")


class LoopThread:
    """An event loop in a thread of its own, for a client that speaks asyncio only."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, asked: Coroutine[Any, Any, Answer]) -> Answer:
        """Wait for a coroutine."""
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result()

    def close(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class NatsConnection:
    """One connection, and all that is asked through it; it does not come back once it is lost."""

    def __init__(self, address: BrokerAddress) -> None:
        self._nats: Any = client("nats", "nats-py", "A broker at nats://")
        client("nats.js.errors", "nats-py", "A broker at nats://")
        self._address = address
        self._loop: LoopThread | None = None
        self.client: Any = None
        self.streams: Any = None

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self.client is not None and bool(self.client.is_connected)

    def run(self, asked: Coroutine[Any, Any, Answer]) -> Answer:
        """Wait for an answer; whatever goes wrong on the way is a ConnectionError."""
        if self._loop is None:
            self._loop = LoopThread()
        try:
            return self._loop.run(asyncio.wait_for(asked, TIMEOUT_S))
        except self._nats.js.errors.NotFoundError:
            raise
        except (TimeoutError, self._nats.errors.Error, OSError) as error:
            self.close()
            told = f"{type(error).__name__} {error}".strip()
            raise ConnectionError(f"NATS does not answer: {told}") from None

    async def open(self) -> None:
        """Connect, if it is not."""
        if self.is_open:
            return
        own = self._address
        self.client = await self._nats.connect(
            f"nats://{own.host}:{own.port}", user=own.user, password=own.password,
            allow_reconnect=False, max_reconnect_attempts=1, reconnect_time_wait=0.01,
            connect_timeout=TIMEOUT_S, error_cb=_nothing,
        )  # fmt: skip
        self.streams = self.client.jetstream(timeout=TIMEOUT_S)

    def close(self) -> None:
        """Let it go."""
        loop, self._loop = self._loop, None
        connected, self.client = self.client, None
        if loop is not None:
            if connected is not None:
                loop.run(_closed(connected))
            loop.close()


async def _nothing(_: Exception) -> None:
    """Take no notice: whoever waits for an answer hears of it."""


async def _closed(connected: Any) -> None:
    try:
        await asyncio.wait_for(connected.close(), TIMEOUT_S)
    except Exception:  # noqa: BLE001  # what is lost need not be closed
        return


class NatsBroker:
    """Subjects `<root>.>` in a stream named by the root; `?keep_bytes=` says how large it grows."""

    def __init__(self, address: BrokerAddress) -> None:
        self.root = address.root
        self.stream = address.root.replace(".", "_")
        self._kept_name = f"{self.stream}_kept"
        self._bytes_max = address.number("keep_bytes", KEPT_BYTES)
        self._connection = NatsConnection(address)
        self._address = address
        self._numbers: dict[str, tuple[int, int]] = {}
        """What stands last in each subject, as far as it was asked or published."""
        self._bucket: Any = None

    def keeps(self, _subject: str, rounds: int, nbytes: int) -> bool:
        """Say whether so much is surely read again: half of what the stream holds."""
        return 2 * (nbytes + rounds * HEAD_BYTES) < self._bytes_max

    def publish(self, publications: Sequence[Publication]) -> str:
        """Publish all of them, one after another, so that no later one is there without it."""
        return str(self._connection.run(self._publish(publications)))

    async def _publish(self, publications: Sequence[Publication]) -> int:
        await self._opened()
        streams, position = self._connection.streams, 0
        for own in publications:
            before = self._numbers.get(own.subject)
            if before is None:
                found = await self._newest(own.subject)
                before = found.number if found is not None else (-1, -1)
            if own.number > before:
                number = f"{own.batch}-{own.part}"
                taken = await streams.publish(
                    f"{self.root}.{own.subject}", own.payload, stream=self.stream,
                    headers={"Nats-Msg-Id": f"{self.root}/{own.subject}/{number}", NUMBER: number},
                )  # fmt: skip
                position = taken.seq
            self._numbers[own.subject] = max(before, own.number)
        if not position:
            position = (await streams.stream_info(self.stream)).state.last_seq
        return int(position)

    def newest(self, subject: str) -> Publication | None:
        """Give what was published last under a subject."""

        async def asked() -> Publication | None:
            await self._opened()
            return await self._newest(subject)

        return self._connection.run(asked())

    async def _newest(self, subject: str) -> Publication | None:
        try:
            full = f"{self.root}.{subject}"
            found = await self._connection.streams.get_last_msg(self.stream, full)
        except self._missing:
            return None
        return self.publication(found)

    def keep(self, values: Mapping[str, bytes]) -> None:
        """Keep values by name."""

        async def asked() -> None:
            bucket = await self._opened()
            for name, value in values.items():
                await bucket.put(name, value)

        self._connection.run(asked())

    def kept(self) -> dict[str, bytes]:
        """Give all that is kept."""

        async def asked() -> dict[str, bytes]:
            # The client's own watch may end before all values came.
            bucket, prefix = await self._opened(), f"$KV.{self._kept_name}."
            streams = self._connection.streams
            info = await streams.stream_info(f"KV_{self._kept_name}", f"{prefix}>")
            names = [subject.removeprefix(prefix) for subject in info.state.subjects or ()]
            return {name: (await bucket.get(name)).value or b"" for name in sorted(names)}

        return self._connection.run(asked())

    def read(self, subjects: Sequence[str], after: str = "") -> NatsReading:
        """Read what was published under subjects behind a position."""
        return NatsReading(self, self._address, subjects, int(after or 0))

    def close(self) -> None:
        """Let the connection go."""
        self._numbers.clear()
        self._bucket = None
        self._connection.close()

    def publication(self, message: Any) -> Publication:
        """Give what a message of NATS holds."""
        batch, _, part = message.headers[NUMBER].partition("-")
        subject = message.subject[len(self.root) + 1 :]
        return Publication(subject, message.data or b"", int(batch), int(part))

    @property
    def _missing(self) -> type[Exception]:
        found: type[Exception] = client("nats.js.errors", "nats-py", "NATS").NotFoundError
        return found

    async def _opened(self) -> Any:
        """Connect, and give the bucket of what is kept; stream and bucket are made once."""
        if self._connection.is_open and self._bucket is not None:
            return self._bucket
        self._numbers.clear()
        await self._connection.open()
        streams = self._connection.streams
        try:
            self._bucket = await streams.key_value(self._kept_name)
        except self._missing:
            await streams.add_stream(
                name=self.stream, subjects=[f"{self.root}.>"], max_bytes=self._bytes_max
            )
            self._bucket = await streams.create_key_value(bucket=self._kept_name)
        return self._bucket


class NatsReading:
    """Reads by a consumer of its own, which NATS forgets when the connection goes."""

    def __init__(
        self, broker: NatsBroker, address: BrokerAddress, subjects: Sequence[str], after: int
    ) -> None:
        self._broker = broker
        self._filters = [f"{broker.root}.{subject}" for subject in subjects]
        self._after = after
        self._connection = NatsConnection(address)
        self._messages: Any = None
        self._delivered = self._target = 0
        """How many this consumer gave; and how many there were at the beginning."""
        self._heard_s = 0.0

    @property
    def is_behind(self) -> bool:
        """Whether something that was there at the beginning has not been taken yet."""
        return self._messages is None or self._delivered < self._target

    def take(self, timeout_s: float) -> list[Publication]:
        """Wait for what comes next."""
        taken = self._connection.run(self._take(min(timeout_s, TIMEOUT_S / 2)))
        if monotonic() - self._heard_s > SILENCE_MAX_S:
            self.close()
        return taken

    async def _take(self, timeout_s: float) -> list[Publication]:
        if not self._connection.is_open or self._messages is None:
            await self._begin()
            if not self.is_behind:
                return []
        found: list[Any] = []
        with suppress(TimeoutError):
            message = await self._messages.next_msg(timeout=max(timeout_s, 0.001))
            while self._is_next(message):
                if message.reply:  # what has no reply is a heartbeat
                    found.append(message)
                if not self._messages.pending_msgs:
                    break
                message = await self._messages.next_msg(timeout=1.0)
            else:
                self._messages = None
        # If the connection is lost before this, all of them are read again.
        if found:
            self._after = found[-1].metadata.sequence.stream
        return [self._broker.publication(own) for own in found]

    def _is_next(self, message: Any) -> bool:
        """Take note of a message; one that is missing before it was dropped on the way."""
        self._heard_s = monotonic()
        if not message.reply:
            return True
        self._delivered += 1
        return bool(message.metadata.sequence.consumer == self._delivered)

    async def _begin(self) -> None:
        """Let a consumer begin behind the last that was taken."""
        await self._connection.open()
        streams, own = self._connection.streams, self._connection.client
        state = (await streams.stream_info(self._broker.stream)).state
        if state.last_seq < self._after or state.first_seq > self._after + 1:
            raise ReplayGapError("it is no longer in the stream")
        inbox = own.new_inbox()
        self._messages = await own.subscribe(inbox, pending_bytes_limit=PENDING_BYTES_MAX)
        await streams._nc.flush()
        told = await streams.add_consumer(
            self._broker.stream, deliver_subject=inbox, filter_subjects=self._filters,
            deliver_policy="by_start_sequence", opt_start_seq=self._after + 1, ack_policy="none",
            idle_heartbeat=HEARTBEAT_S, mem_storage=True,
        )  # fmt: skip
        self._delivered = 0
        # What was delivered before the answer came is no longer counted as pending.
        self._target = told.num_pending + told.delivered.consumer_seq
        self._heard_s = monotonic()

    def close(self) -> None:
        """Read no more; what is taken next begins behind the last that was taken."""
        self._messages = None
        self._connection.close()
