"""Sinks: consumers that the engine feeds, each in a thread of its own.

A sink follows the result log with its own durable cursor. A slow one lags, a failing one is tried
again with growing pauses; neither is noticed by the pipeline or by another sink.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rich.console import Console

from penstock.delivery.changes import Change
from penstock.storage.files import read_json, write_json

PAUSE_FIRST_S = 0.1
PAUSE_LAST_S = 30.0
CURSOR_EVERY_CHANGES = 1_000


class Sink(Protocol):
    """Takes changes one by one; raising means "not taken, try again later"."""

    def __call__(self, change: Change) -> None:
        """Take one change."""


class ConsoleSink:
    """Prints changes, one per line."""

    def __init__(self, title: str = "", console: Console | None = None) -> None:
        self._title = title
        self._console = console or Console(highlight=False, soft_wrap=True)

    def __call__(self, change: Change) -> None:
        """Print one change."""
        sign = "+" if change.sign > 0 else "-"
        row = json.dumps(change.row, default=str)
        self._console.print(f"{sign} {self._title} {change.id} {row}", markup=False)


@dataclass(slots=True)
class SinkState:
    """How a sink fares."""

    delivered: int = 0
    failures: int = 0
    last_error: str | None = None


class SinkRunner(threading.Thread):
    """Feeds one sink from the log, from its cursor on, until stopped."""

    def __init__(
        self,
        name: str,
        sink: Sink,
        changes: Callable[[str | None, Callable[[], bool]], Iterator[Change]],
        cursor: Path,
        running: Callable[[], bool],
    ) -> None:
        super().__init__(name=f"penstock-sink-{name}", daemon=True)
        self.state = SinkState()
        self._sink = sink
        self._changes = changes
        self.cursor = cursor
        self._running = running
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Stop after the change in hand."""
        self._stopped.set()

    def run(self) -> None:
        """Follow the log; after a failure begin again behind the last change that was taken."""
        pause = PAUSE_FIRST_S
        while not self._stopped.is_set():
            before = self.state.delivered
            try:
                self._follow()
            except Exception as error:  # noqa: BLE001  # a sink is the user's code
                self.state.failures += 1
                self.state.last_error = f"{type(error).__name__}: {error}"
                pause = (
                    PAUSE_FIRST_S if self.state.delivered > before else min(2 * pause, PAUSE_LAST_S)
                )
                self._stopped.wait(pause)
            else:
                return

    def _follow(self) -> None:
        token = read_json(self.cursor)["token"] if self.cursor.exists() else None
        following = lambda: self._running() and not self._stopped.is_set()  # noqa: E731
        taken = token
        try:
            for change in self._changes(token, following):
                self._sink(change)
                taken = change.token
                self.state.delivered += 1
                if self.state.delivered % CURSOR_EVERY_CHANGES == 0:
                    write_json(self.cursor, {"token": taken})
                if self._stopped.is_set():
                    return
        finally:
            if taken != token:
                write_json(self.cursor, {"token": taken})
