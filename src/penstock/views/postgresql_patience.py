"""Patience with PostgreSQL: how long a server that hangs is waited for, and then left alone.

A server that is stopped, or whose machine is, answers nothing and refuses nothing; its own timeouts
do not run. So whoever waits for a statement asks, now and then, whether it takes connections at
all: if it does, the statement is slow, else the server is gone. While it is, every attempt takes as
long as one may wait, and others wait for whoever tries: so it is left alone for longer than that.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from time import monotonic
from typing import Any

CONNECT_S = 5
"""How long a connection may take; the driver knows whole seconds, from two on."""
PROBE_S = 5.0
"""So long a transaction may take before it is asked whether the server is there."""
REST = 3.0
"""A server that did not answer is left alone so many times as long as it was waited for."""
NETWORK = {
    "keepalives_idle": 30, "keepalives_interval": 5, "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}  # fmt: skip
"""When a network that swallows everything is given up: seconds, and for the last milliseconds."""

_RESTS: dict[str, float] = {}
"""Servers that are left alone, and until when."""


def connected(driver: Any, url: str, **options: Any) -> Any:
    """Connect to a server; one that hung a moment ago is not asked again."""
    if monotonic() < _RESTS.get(url, 0.0):
        raise driver.OperationalError("it did not answer a moment ago, and is left alone")
    begun = monotonic()
    try:
        connection = driver.connect(url, connect_timeout=CONNECT_S, **NETWORK, **options)
    except driver.Error:
        _RESTS[url] = monotonic() + REST * (monotonic() - begun)
        raise
    _RESTS.pop(url, None)
    return connection


@contextmanager
def attended(driver: Any, url: str, connection: Any) -> Iterator[None]:
    """Cut a connection off when its server is found to hang while this lasts."""
    is_over = Event()

    def attend() -> None:
        while not is_over.wait(PROBE_S):
            try:
                connected(driver, url, autocommit=True).close()
            except driver.Error:
                _cut_off(connection)
                return

    watcher = Thread(target=attend, name="penstock-view-store", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()


def _cut_off(connection: Any) -> None:
    """End both directions of a connection: whoever waits for it is told."""
    with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as own:
        own.shutdown(socket.SHUT_RDWR)
