"""Stopping: a pipeline ends between two micro-batches.

Spark's `stop` cancels the job that it finds running, and a job that dies half-way fills stderr
with its stack. So the end of the batch in hand is awaited, and that is where Spark is stopped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic, sleep

IN_HAND_S_MAX = 3.0
"""How long to wait for the end of the micro-batch in hand; a stream without rows has none."""
HELD_S_MAX = 10.0
POLL_S = 0.02


class Gate:
    """Holds the pipeline at the end of a batch while somebody stops it."""

    def __init__(self, running: Callable[[], bool]) -> None:
        self._running = running
        self._wanted = threading.Event()
        self._between = threading.Event()
        self._batch_thread = -1

    def stop(self, stop: Callable[[], None]) -> None:
        """Call `stop` once the batch in hand has ended."""
        self._wanted.set()
        # A listener may stop the engine: then the batch in hand is its own.
        if self._running() and threading.get_ident() != self._batch_thread:
            self._between.wait(IN_HAND_S_MAX)
        stop()
        self._wanted.clear()
        self._between.clear()

    def batch_began(self) -> None:
        """Note whose thread the batch runs in."""
        self._batch_thread = threading.get_ident()

    def batch_ended(self) -> None:
        """Hold here if somebody stops the pipeline, until Spark knows."""
        self._batch_thread = -1
        if not self._wanted.is_set():
            return
        self._between.set()
        deadline_s = monotonic() + HELD_S_MAX
        while self._running() and monotonic() < deadline_s:
            sleep(POLL_S)
