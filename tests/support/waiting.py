"""Waiting for an engine without asking what time it is."""

from __future__ import annotations

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
