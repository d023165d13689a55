"""Feeds: the newest changes of a subscription, shared by all clients that have it open.

A feed is one follower of the courier. What a batch has for its subscription is written as text
once, and is kept until so many bytes or batches have come after it. That is the bound of every
client: one that has not taken a batch when it goes is cut off, and costs no memory of its own. Who
begins further back reads files, one read for all at the same place.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from typing import Protocol

from penstock.server.batches import ServedBatch
from penstock.vocabulary.errors import PenstockError

READS_KEPT = 8
"""So many reads of files are remembered for clients at the same place."""

ReadOn = Callable[[str, int, int], Awaitable[tuple[ServedBatch | None, int]]]
"""`(subscription, start, stop)`: gives its next batch in the files, and where to go on."""


class FeedClient(Protocol):
    """Who takes batches from a feed."""

    def wake(self) -> None:
        """Hear that there is news."""

    def hear_gone(self, floor: int) -> None:
        """Hear that batches before `floor` are gone."""


class Feed:
    """What one subscription's clients share; used in the event loop alone."""

    def __init__(
        self, name: str, floor: int, read_on: ReadOn, bytes_max: int, batches_max: int
    ) -> None:
        self.name, self.floor = name, floor
        """From the batch `floor` on all that comes is here."""
        self.reach = floor
        """Before this batch nothing is still to come."""
        self.is_being_fed = False
        """Whether a batch was taken for it that is not here yet."""
        self.users = 0
        """How many have it open, or are about to."""
        self.clients: set[FeedClient] = set()
        self.wanted: Counter[str] = Counter()
        """The ids that clients follow one by one."""
        self.error: PenstockError | None = None
        """Why nothing will come any more, if that is so."""
        self.is_over = False
        self._read_on = read_on
        self._bytes_max, self._batches_max = bytes_max, batches_max
        self._recent: list[ServedBatch] = []
        self._nbytes = 0
        self._reads: OrderedDict[int, asyncio.Future[tuple[ServedBatch | None, int]]] = (
            OrderedDict()
        )

    def join(self, client: FeedClient, id_: str | None) -> None:
        """Let a client hear of news, of all or of one id."""
        self.clients.add(client)
        if id_ is not None:
            self.wanted[id_] += 1

    def part(self, client: FeedClient, id_: str | None) -> None:
        """Let a client hear no more."""
        self.clients.discard(client)
        if id_ is not None:
            self.wanted[id_] -= 1
            self.wanted += Counter()  # without those that nobody follows

    def publish(self, served: ServedBatch) -> None:
        """Take a new batch; those that take too much room go, and with them who lags."""
        self._recent.append(served)
        self._nbytes += served.nbytes
        gone = 0
        while len(self._recent) - gone > 1 and (
            self._nbytes > self._bytes_max or len(self._recent) - gone > self._batches_max
        ):
            self._nbytes -= self._recent[gone].nbytes
            self.floor = self._recent[gone].batch + 1
            gone += 1
        if gone:
            del self._recent[:gone]
            for client in list(self.clients):
                client.hear_gone(self.floor)
        self._wake()

    def advance(self, reach: int) -> None:
        """Hear that all before a batch was here, also of batches that had nothing for it."""
        self.reach = max(self.reach, reach)

    def end(self, error: PenstockError | None) -> None:
        """Let all clients end, when they have taken what is there."""
        self.is_over, self.error = True, error
        self._wake()

    def after(self, position: int) -> ServedBatch | None:
        """Give the next batch that is here, at a position or behind it."""
        at = bisect_left(self._recent, position, key=lambda served: served.batch)
        return self._recent[at] if at < len(self._recent) else None

    async def read(self, position: int, stop: int) -> tuple[ServedBatch | None, int]:
        """Read on in the files, from a position before `stop`; gives where to go on."""
        reading = self._reads.get(position)
        if reading is None:
            reading = asyncio.ensure_future(self._read_on(self.name, position, stop))
            self._reads[position] = reading
            while len(self._reads) > READS_KEPT:
                self._reads.popitem(last=False)
        try:
            return await asyncio.shield(reading)
        except Exception:
            self._reads.pop(position, None)
            raise

    def _wake(self) -> None:
        for client in list(self.clients):
            client.wake()
