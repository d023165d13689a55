"""Event streams: notifications over HTTP, as server-sent events, to clients on this machine.

`GET /notifications` goes on until the client leaves, `?id=anna&id=bert` for these alone. `GET
/values` gives what holds now, one JSON object per line. A client that does not read is cut off.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa

from penstock.edges.notifications import Notifications
from penstock.vocabulary.errors import PenstockError

CLIENTS_MAX = 100
WAITING_MAX = 256
"""So many batches of notifications wait for a client; then it is cut off."""
HEARTBEAT_S = 15.0
STALLED_S = 60.0
"""A client that says nothing, or takes nothing, for so long is cut off."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
Values = Callable[[list[str] | None], Notifications | None]


def listen_address(text: str) -> tuple[str, int]:
    """Read `host:port`; only this machine's own are taken, since nobody is asked who he is.

    >>> listen_address("127.0.0.1:8080")
    ('127.0.0.1', 8080)
    """
    host, _, port = text.rpartition(":")
    if host not in LOOPBACK or not port.isdigit():
        raise PenstockError(
            "EDG-004",
            f"{text!r} is no port of this machine's own.",
            "Write 127.0.0.1:8080, and put a server that knows its users before it.",
        )
    return host, int(port)


class EventStreams:
    """A server of notifications; `port` is where it listens."""

    def __init__(self, place: tuple[str, int], values: Values) -> None:
        self._clients: dict[queue.Queue[Notifications | None], frozenset[str]] = {}
        self._lock = threading.Lock()
        self.values = values
        self._server = NotificationServer(place, self)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def tell(self, notifications: Notifications) -> None:
        """Hand notifications to every client, and cut those off who do not read."""
        with self._lock:
            for client in list(self._clients):
                try:
                    client.put_nowait(notifications)
                except queue.Full:
                    del self._clients[client]

    def join(self, ids: frozenset[str]) -> queue.Queue[Notifications | None] | None:
        """Take a client that asks for some ids, or all; None if there are too many."""
        with self._lock:
            if len(self._clients) >= CLIENTS_MAX:
                return None
            client: queue.Queue[Notifications | None] = queue.Queue(WAITING_MAX)
            self._clients[client] = ids
            return client

    def leave(self, client: queue.Queue[Notifications | None]) -> None:
        """Let a client go."""
        with self._lock:
            self._clients.pop(client, None)

    def has(self, client: queue.Queue[Notifications | None]) -> bool:
        """Say whether a client is still served."""
        with self._lock:
            return client in self._clients

    def close(self) -> None:
        """Listen no more."""
        with self._lock:
            self._clients.clear()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class NotificationServer(ThreadingHTTPServer):
    """An HTTP server that knows whose notifications it gives."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, place: tuple[str, int], streams: EventStreams) -> None:
        self.streams = streams
        super().__init__(place, NotificationRequest)


class NotificationRequest(BaseHTTPRequestHandler):
    """One request."""

    server: NotificationServer
    timeout = STALLED_S

    def do_GET(self) -> None:  # the standard library's name
        """Answer, unless the client is gone."""
        with suppress(OSError):
            self._answer()

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        ids = parse_qs(parts.query).get("id", [])
        if parts.path == "/notifications":
            self._stream(frozenset(ids))
        elif parts.path == "/values":
            found = self.server.streams.values(ids or None)
            self._begin(200 if found is not None else 503, "application/x-ndjson")
            self.wfile.write((found.lines() if found is not None else "").encode())
        else:
            self._begin(404, "text/plain")

    def _begin(self, status: int, type_: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", type_)
        self.send_header("Cache-Control", "no-store")
        self.end_headers()

    def _stream(self, ids: frozenset[str]) -> None:
        streams = self.server.streams
        client = streams.join(ids)
        if client is None:
            self._begin(503, "text/plain")
            return
        asked = pa.array(sorted(ids), pa.string())
        try:
            self._begin(200, "text/event-stream")
            while streams.has(client) or not client.empty():
                try:
                    told = client.get(timeout=HEARTBEAT_S)
                except queue.Empty:
                    self.wfile.write(b": still here\n\n")
                    continue
                if told is not None:
                    self._write(told.chosen(asked) if ids else told)
        finally:
            streams.leave(client)

    def _write(self, notifications: Notifications) -> None:
        if len(notifications):
            self.wfile.write(
                notifications.lines(f"id: {notifications.batch}\ndata: ", "\n\n").encode()
            )

    def log_message(self, *_: Any) -> None:
        """Say nothing of requests."""
