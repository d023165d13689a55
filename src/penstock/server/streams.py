"""Streams: the changes of a subscription on their way to one client.

A client takes batches at its own pace, from its feed or, further back, from the files. What it is
sent waits in the system's buffers and nowhere else. One that takes nothing is cut off: when the
batch that it is being sent leaves its feed, or when nothing of a piece was taken for `STALL_S`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable

from penstock.server.batches import Form, ServedBatch
from penstock.server.feeds import Feed
from penstock.server.figures import CLIENTS_CUT_OFF, ROWS_SENT
from penstock.server.limits import TokenUse
from penstock.server.refusals import facts_of
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figures import Tally

LOG = logging.getLogger("penstock.server")
PIECE_BYTES_MAX = 64 << 10
"""So much is sent at once: a client that lags holds no more than a few of these."""
OWN_ROWS_MAX = 256
"""So many changes of one standing query are sent at once."""
STALL_S = 30.0
"""A client that has taken nothing for so long is cut off."""
LIFE_S = 15.0
"""After so long without news a client is told how far it is: its token, and nothing else."""

Send = Callable[[bytes], Awaitable[None]]


class ClientStream:
    """One client's way through the changes of a subscription, from a resume token on.

    It follows, or ends before the batch `until`.
    """

    def __init__(
        self,
        feed: Feed,
        use: TokenUse,
        told: Tally,
        *,
        form: Form,
        id_: str | None,
        since: tuple[int, int],
        until: int | None,
        hang_up: Callable[[], None],
    ) -> None:
        self._feed, self.use, self._told = feed, use, told
        self._form, self._id, self._until = form, id_, until
        self._position, self._taken = since
        self._hang_up = hang_up
        self._is_live = self._is_sending = self.is_gone = False
        self._error: PenstockError | None = None
        self._news: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._life_s = 0.0
        """When a sign of life is due."""

    @property
    def token(self) -> str:
        """The resume token behind all that was sent."""
        return f"{self._position}:{self._taken}"

    # What others tell it

    def wake(self) -> None:
        """Hear that there is news."""
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def leave(self) -> None:
        """Hear that the client has gone."""
        self.is_gone = True
        self.wake()

    def end(self, error: PenstockError) -> None:
        """Tell the client an error, and end."""
        self._error = error
        self.wake()

    def hear_gone(self, floor: int) -> None:
        """Hear that batches before `floor` are gone: a client that is being sent one lags."""
        if self._is_live and self._is_sending and self._position < floor:
            self._cut_off("it lags further behind than is kept for it")

    def _cut_off(self, why: str) -> None:
        if not self.is_gone:
            self._told[CLIENTS_CUT_OFF] += 1
            place = f"{self._feed.name!r} with the access token {self.use.token.id}"
            LOG.warning("A client of %s was cut off at %s: %s", place, self.token, why)
            self.leave()
            self._hang_up()

    # What it does

    async def run(self, send: Send) -> None:
        """Send changes until the client goes, the subscription ends, or there are no more."""
        self._feed.join(self, self._id)
        try:
            await self._put(send, self._life())
            while not self.is_gone:
                if self._error is not None:
                    raise self._error
                stop = self._feed.floor if self._until is None else self._until
                if self._position < stop:
                    self._is_live = False
                    served, following = await self._feed.read(self._position, stop)
                    await self._tell(send, served, following)
                elif self._until is not None:
                    return
                elif (served := self._feed.after(self._position)) is not None:
                    self._is_live = True
                    await self._tell(send, served, served.batch + 1)
                elif self._feed.error is not None:
                    raise self._feed.error
                elif self._feed.is_over:
                    return
                else:
                    self._go_on(self._feed.reach)
                    await self._wait_for_news()
                if self._loop.time() >= self._life_s:
                    await self._put(send, self._life())
        except PenstockError as error:
            await self._put(send, self._refusal(error))
        finally:
            self._feed.part(self, self._id)

    async def _tell(self, send: Send, served: ServedBatch | None, following: int) -> None:
        """Send what is left of a batch, in pieces; then go on behind it."""
        if served is not None:
            self._go_on(served.batch)
            rows = None if self._id is None else served.rows_of(self._id)
            count = len(served) if rows is None else len(rows)
            while self._taken < count and not self.is_gone and self._error is None:
                start = self._taken
                stop = served.stop_within(start, PIECE_BYTES_MAX)
                if rows is not None:
                    stop = min(start + OWN_ROWS_MAX, count)
                granted = self.use.grant(stop - start)
                if not granted:
                    await asyncio.sleep(self.use.wait_s)
                    continue
                stop = start + granted
                await self._put(send, served.text(self._form, rows, start, stop))
                self._taken = stop
                self._told[ROWS_SENT] += granted
            if self._taken < count:
                return
        self._go_on(following)

    def _go_on(self, position: int) -> None:
        if position > self._position:
            self._position, self._taken = position, 0

    async def _wait_for_news(self) -> None:
        """Wait for news, or until a sign of life is due."""
        self._news = self._loop.create_future()
        timer = self._loop.call_at(self._life_s, self.wake)
        try:
            await self._news
        finally:
            timer.cancel()
            self._news = None

    async def _put(self, send: Send, text: bytes) -> None:
        """Send, and cut the client off if nothing of it is taken for too long."""
        if self.is_gone:
            return
        self._is_sending = True
        timer = self._loop.call_later(STALL_S, self._cut_off, f"nothing was taken for {STALL_S} s")
        try:
            await send(text)
        finally:
            timer.cancel()
            self._is_sending = False
            self._life_s = self._loop.time() + LIFE_S

    def _life(self) -> bytes:
        if self._form == "events":
            return b"id: %s\n\n" % self.token.encode()
        return b'{"token":"%s","changes":[]}' % self.token.encode()

    def _refusal(self, error: PenstockError) -> bytes:
        facts = json.dumps({"error": facts_of(error)}).encode()
        return b"event: refusal\ndata: %s\n\n" % facts if self._form == "events" else facts
