"""Stopping: a pipeline ends between two micro-batches.

Spark's `stop` cancels the job that it finds running, and a job that dies half-way fills stderr
with its stack. So the end of the batch in hand is awaited, and that is where Spark is stopped. One
that takes too long is given up, and that is told: the next start runs it again, whole.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic, sleep

HELD_S_MAX = 10.0
POLL_S = 0.02
LOOK_S = 0.1


class Gate:
    """Holds the pipeline at the end of a batch while somebody stops it."""

    def __init__(self, running: Callable[[], bool]) -> None:
        self._running = running
        self._wanted = threading.Event()
        self._between = threading.Event()
        self._insisted = threading.Event()
        self._batch_thread = -1

    def insist(self) -> None:
        """Let whoever stops wait no longer for the batch in hand."""
        self._insisted.set()

    def stop(
        self, stop: Callable[[], None], is_busy: Callable[[], bool], patience_s: float
    ) -> bool:
        """Call `stop` once the batch in hand has ended; say whether it did, or was given up."""
        self._wanted.set()
        ended = True
        # A listener may stop the engine: then the batch in hand is its own.
        if self._running() and threading.get_ident() != self._batch_thread:
            ended = self._await_end(is_busy, patience_s)
        try:
            stop()
        finally:
            for event in (self._wanted, self._between, self._insisted):
                event.clear()
        return ended

    def _await_end(self, is_busy: Callable[[], bool], patience_s: float) -> bool:
        deadline_s = monotonic() + patience_s
        while not self._between.wait(LOOK_S):
            if not is_busy():
                return True
            if monotonic() >= deadline_s or self._insisted.is_set():
                return False
        return True

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
