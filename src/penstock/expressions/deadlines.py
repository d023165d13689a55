"""Deadlines: how long DuckDB may take for the texts of one registration.

The clock is here, at the door, and decides one thing: whether a text is taken up. What a text that
stands gives for a row never hangs on it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

import duckdb

from penstock.expressions.admission import AdmissionError

REGISTRATION_S = 10.0
"""So long may the texts of one registration take to be checked."""

AGAIN_S = 0.05

T = TypeVar("T")
_LOCAL = threading.local()


@contextmanager
def within(limit_s: float = REGISTRATION_S) -> Iterator[None]:
    """Let all that this thread asks of DuckDB end within a time; one inside another has no say.

    >>> from penstock.expressions.connections import connect
    >>> with within(0.0):
    ...     watched(connect(), lambda: 1)
    Traceback (most recent call last):
    ...
    penstock.expressions.admission.AdmissionError: [SQL-029] The text takes more than 0 s to be \
checked. Simplify it.
    """
    if getattr(_LOCAL, "deadline", None) is not None:
        yield
        return
    _LOCAL.deadline, _LOCAL.limit_s = monotonic() + limit_s, limit_s
    try:
        yield
    finally:
        _LOCAL.deadline = None


def watched(connection: duckdb.DuckDBPyConnection, ask: Callable[[], T]) -> T:
    """Ask DuckDB; at the deadline of this thread, if it has one, the question is interrupted."""
    deadline: float | None = getattr(_LOCAL, "deadline", None)
    if deadline is None:
        return ask()
    if deadline <= monotonic():
        raise _too_long()
    try:
        with _WATCH.over(connection, deadline):
            return ask()
    except duckdb.InterruptException:
        raise _too_long() from None


class _DeadlineWatch:
    """One thread that interrupts whoever asks for too long; there may be very many questions."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._asked: dict[duckdb.DuckDBPyConnection, float] = {}
        self._looks_at_s = float("inf")
        self._thread: threading.Thread | None = None

    @contextmanager
    def over(self, connection: duckdb.DuckDBPyConnection, deadline_s: float) -> Iterator[None]:
        """Interrupt a connection at a time, unless it is done by then."""
        with self._change:
            self._asked[connection] = deadline_s
            if self._thread is None or not self._thread.is_alive():  # also after a fork
                self._thread = threading.Thread(
                    target=self._run, name="penstock-deadlines", daemon=True
                )
                self._looks_at_s = float("inf")
                self._thread.start()
            if deadline_s < self._looks_at_s:
                self._change.notify()
        try:
            yield
        finally:
            with self._change:
                del self._asked[connection]

    def _run(self) -> None:
        with self._change:
            while True:
                self._change.wait(self._look())

    def _look(self) -> float:
        """Interrupt who is late, and say when to look again; no connection stays in the thread."""
        now_s = monotonic()
        for connection in [each for each, at_s in self._asked.items() if at_s <= now_s]:
            connection.interrupt()
            # A question that began to listen only now is interrupted again.
            self._asked[connection] = now_s + AGAIN_S
        self._looks_at_s = min(self._asked.values(), default=now_s + REGISTRATION_S)
        return self._looks_at_s - now_s


_WATCH = _DeadlineWatch()


def _too_long() -> AdmissionError:
    fact = f"The text takes more than {_LOCAL.limit_s:g} s to be checked."
    return AdmissionError("SQL-029", fact, "Simplify it.")
