"""The reception: who may come in, and which streams are open."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time

from penstock.delivery.changes import is_of_log, parse_token
from penstock.delivery.log_files import ResultsExpiredError
from penstock.server.access import AccessToken, AccessTokens
from penstock.server.batches import Form
from penstock.server.figures import STREAMS_OPEN, STREAMS_OPENED, nothing_told
from penstock.server.limits import TokenUse
from penstock.server.refusals import ahead_of_log, too_many_streams
from penstock.server.served_home import ServedHome
from penstock.server.streams import ClientStream
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.exposition import prometheus_text
from penstock.vocabulary.figure_tables import FigureTable, together

LOG = logging.getLogger("penstock.server")
STREAMS_MAX = 10_000
"""So many streams are open at once, of all access tokens."""
START, NOW = "start", "now"
"""Where streams may begin beside resume tokens: with all that is kept, or with what comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRequest:
    """What a client wants of a subscription's changes."""

    name: str
    form: Form
    after: str
    id_: str | None
    follow: bool


class Reception:
    """A home, its access tokens and its clients, for one server."""

    def __init__(self, path: Path, clock: Callable[[], float] = time) -> None:
        self.home = ServedHome(path, self._see)
        self.tokens = AccessTokens(self.home.path, clock)
        self.told = nothing_told()
        self._uses: dict[str, TokenUse] = {}
        self._streams: set[ClientStream] = set()

    def admit(self, text: str | None) -> TokenUse:
        """Give what is under way with the access token that a text is, or refuse."""
        token = self.tokens.admitted(text)
        use = self._uses.get(token.id)
        if use is None or use.token != token:
            use = self._uses[token.id] = TokenUse(token)
        return use

    def metrics(self) -> str:
        """Give all figures as the text that Prometheus reads."""
        return prometheus_text(together([self.home.figures(), FigureTable({"": self.told})]))

    async def close(self) -> None:
        """End all streams."""
        await self.home.close()

    @asynccontextmanager
    async def stream(
        self, use: TokenUse, asked: StreamRequest, hang_up: Callable[[], None]
    ) -> AsyncIterator[ClientStream]:
        """Open a stream, or refuse; it counts until the client has gone."""
        if len(self._streams) >= STREAMS_MAX:
            raise too_many_streams(STREAMS_MAX)
        use.begin()
        feed = None
        try:
            since, newest = await self.home.do(lambda: self._since(asked))
            feed = await self.home.feed(asked.name)
            until = None if asked.follow else newest + 1
            stream = ClientStream(
                feed, use, self.told, form=asked.form, id_=asked.id_, since=since,
                until=until, hang_up=hang_up,
            )  # fmt: skip
            self._streams.add(stream)
            self.told[STREAMS_OPENED] += 1
            self.told[STREAMS_OPEN] += 1
            try:
                yield stream
            finally:
                self._streams.discard(stream)
                self.told[STREAMS_OPEN] -= 1
        finally:
            use.end()
            if feed is not None:
                self.home.leave(feed)

    def _since(self, asked: StreamRequest) -> tuple[tuple[int, int], int]:
        """Say where a stream begins, and the newest batch; or refuse what was asked for."""
        first = self.home.first(asked.name, asked.id_)
        newest = self.home.look()
        if asked.after == START:
            return (first, 0), newest
        if asked.after == NOW:
            return (newest + 1, 0), newest
        batch, taken = parse_token(asked.after)
        if not is_of_log(batch, taken, newest):
            raise ahead_of_log(asked.after, newest)
        if batch < first:
            raise ResultsExpiredError(batch, first)
        return (batch, taken), newest

    def _see(self) -> None:
        """End the streams of access tokens that are over; forget those of nobody."""
        for id_, use in list(self._uses.items()):
            error = self._error_of(use.token)
            if error is None:
                continue
            del self._uses[id_]
            for stream in [own for own in self._streams if own.use is use]:
                LOG.info("A stream of the access token %s ends: %s", id_, error)
                stream.end(error)

    def _error_of(self, token: AccessToken) -> PenstockError | None:
        try:
            if self.tokens.of_id(token.id) is None:
                return PenstockError(
                    "SRV-003", f"The access token {token.id} was revoked.", "Use another."
                )
            self.tokens.refuse_expired(token)
        except PenstockError as error:
            return error
        return None
