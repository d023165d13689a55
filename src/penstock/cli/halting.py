"""Halting: the end of a run on Ctrl-C, on a signal, or when its time is over."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from types import FrameType

from penstock.engine import Engine
from penstock.spark.hosts import BatchReport

IN_HAND_S_MAX = 3.0
"""How long to wait for the end of the micro-batch in hand; a stream without rows has none."""
PAUSE_S_MAX = 10.0
POLL_S = 0.02


class Halt:
    """Ends a run between two micro-batches.

    Spark's `stop` cancels the job that it finds running, and a job that dies half-way fills stderr
    with its stack. So the end of the batch in hand is awaited, and that is where Spark is stopped.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._wanted = threading.Event()
        self._between = threading.Event()
        self._ended = False
        engine.on_batch(self._pause)

    @property
    def wanted(self) -> bool:
        """Say whether somebody asked for the end."""
        return self._wanted.is_set()

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Let Ctrl-C and SIGTERM ask for the end; a second one insists.

        Spark's own handler of Ctrl-C cancels its jobs, so this one must come after Spark's start.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self._heard) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    def stop(self) -> None:
        """Stop the engine after the batch in hand."""
        self._wanted.set()
        if self._engine.running:
            self._between.wait(IN_HAND_S_MAX)
        self._engine.stop()
        self._ended = True

    def _pause(self, report: BatchReport) -> None:  # noqa: ARG002  # a listener's signature
        """Hold the pipeline at the end of a batch until Spark knows that it is to stop."""
        if not self.wanted or self._ended:
            return
        self._between.set()
        deadline_s = monotonic() + PAUSE_S_MAX
        while self._engine.running and monotonic() < deadline_s:
            sleep(POLL_S)

    def _heard(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.wanted:
            raise KeyboardInterrupt
        self._wanted.set()
