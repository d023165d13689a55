"""A server of webhooks on loopback, which keeps what is posted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class HookServer(ThreadingHTTPServer):
    """Answers with `status`; the request number `refused` with 503, the first being 1."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Hook)
        self.status, self.refused = 204, 0
        self.posted: list[tuple[str, str]] = []
        """The key and the body of every request."""

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}/hook"


class Hook(BaseHTTPRequestHandler):
    """Takes a request."""

    server: HookServer

    def do_POST(self) -> None:
        """Keep what is posted."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posted.append((self.headers["Idempotency-Key"], body.decode()))
        is_refused = len(self.server.posted) == self.server.refused
        self.send_response(503 if is_refused else self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def listening() -> Iterator[HookServer]:
    """Give a server that runs."""
    server = HookServer()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join(600)
        server.server_close()
