"""Halting: the end of a run on Ctrl-C, on a signal, or when its time is over."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from penstock.engine import Engine


class Halt:
    """Whether somebody asked for the end of a run; the engine then ends it between two batches."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._wanted = threading.Event()
        self._insisted = False

    @property
    def wanted(self) -> bool:
        """Say whether somebody asked for the end."""
        return self._wanted.is_set()

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Let Ctrl-C and SIGTERM ask for the end; a second one gives up the batch in hand.

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
        self._engine.stop()

    def _heard(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._insisted:
            raise KeyboardInterrupt
        if self.wanted:
            self._insisted = True
            self._engine.runner.insist()
        self._wanted.set()
