"""Lines to clients: connections that can be hung up, and end if nobody speaks."""

from __future__ import annotations

import asyncio
import json
import socket

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from penstock.server.refusals import bad_request, facts_of

SPEAK_S = 10.0
"""Who connects has so long for the head of a request."""
SEND_BYTES_MAX = 128 << 10
"""The system keeps so much for a client that does not read."""
TRANSPORT = "transport"
"""Under this name requests find their connection."""


class ClientLine(H11Protocol):
    """A connection whose requests, also those that become WebSockets, can hang it up.

    Closing waits until the client has read what it was sent. One that reads nothing would keep a
    closed connection for ever: it is ended at once, without a word.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, and wait for a request."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, TRANSPORT: transport}
        connection = transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES_MAX)
        self.loop.call_later(SPEAK_S, self._hang_up_silent)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, with a code as all refusals have."""
        body = json.dumps(facts_of(bad_request(msg))).encode()
        headers = [("content-type", "application/json"), ("connection", "close")]
        for event in (
            h11.Response(status_code=400, headers=headers),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _hang_up_silent(self) -> None:
        if self.cycle is None and self.transport.get_protocol() is self:
            self.transport.abort()
