"""Waiting for an engine, or for anything, without asking what time it is."""

from __future__ import annotations

import threading
from collections.abc import Callable

import penstock as ps

POLL_S = 0.05
POLLS_MAX = 12_000


def until_events(engine: ps.Engine, events: int) -> None:
    """Wait until a running engine has processed so many events since it was opened."""
    for _ in range(POLLS_MAX):
        if engine.runner.totals["events"] >= events:
            return
        assert not engine.wait(POLL_S), "the engine ended by itself"
    raise AssertionError(f"{engine.runner.totals['events']} of {events} events after a long time")


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, however busy the machine is."""
    pause = threading.Event()
    for _ in range(POLLS_MAX):
        if is_so():
            return
        pause.wait(POLL_S)
    raise AssertionError("it is not so after a long time")
