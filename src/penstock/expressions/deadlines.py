"""Deadlines: how long DuckDB may take for the texts of one registration.

The clock is here, at the door, and decides one thing: whether a text is taken up. What a text that
stands gives for a row never hangs on it. It is that of the thread's own processor time, so that a
busy machine refuses nothing that an idle one takes; a clock on the wall ends what waits for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

import duckdb

from penstock.expressions.admission import AdmissionError
from penstock.expressions.allowances import thread_clock

REGISTRATION_S = 10.0
"""So long may the texts of one registration take of a processor to be checked."""
BUSY_TIMES = 6.0
"""So many times as long may it take by the clock on the wall."""

AGAIN_S = 0.05

T = TypeVar("T")
_LOCAL = threading.local()


@dataclass(frozen=True, slots=True, eq=False)
class _Deadline:
    """When the questions of one thread must be answered, by its processor time and by the wall."""

    limit_s: float
    clock: Callable[[], float]
    spent_at_s: float
    wall_at_s: float

    @classmethod
    def of_this_thread(cls, limit_s: float) -> _Deadline:
        clock = thread_clock()
        return cls(limit_s, clock, clock() + limit_s, monotonic() + BUSY_TIMES * limit_s)

    def left_s(self) -> float:
        """Say how long it is at least until then."""
        return min(self.spent_at_s - self.clock(), self.wall_at_s - monotonic())


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
    _LOCAL.deadline = _Deadline.of_this_thread(limit_s)
    try:
        yield
    finally:
        _LOCAL.deadline = None


def watched(connection: duckdb.DuckDBPyConnection, ask: Callable[[], T]) -> T:
    """Ask DuckDB; at the deadline of this thread, if it has one, the question is interrupted."""
    deadline: _Deadline | None = getattr(_LOCAL, "deadline", None)
    if deadline is None:
        return ask()
    if deadline.left_s() <= 0.0:
        raise _too_long(deadline)
    try:
        with _WATCH.over(connection, deadline):
            return ask()
    except duckdb.InterruptException:
        raise _too_long(deadline) from None


class _DeadlineWatch:
    """One thread that interrupts whoever asks for too long; there may be very many questions."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._asked: dict[duckdb.DuckDBPyConnection, _Deadline] = {}
        self._looks_at_s = float("inf")
        self._thread: threading.Thread | None = None

    @contextmanager
    def over(self, connection: duckdb.DuckDBPyConnection, deadline: _Deadline) -> Iterator[None]:
        """Interrupt a connection at its deadline, unless it is done by then."""
        with self._change:
            self._asked[connection] = deadline
            if self._thread is None or not self._thread.is_alive():  # also after a fork
                self._thread = threading.Thread(
                    target=self._run, name="penstock-deadlines", daemon=True
                )
                self._looks_at_s = float("inf")
                self._thread.start()
            if monotonic() + deadline.left_s() < self._looks_at_s:
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
        left_s = {connection: deadline.left_s() for connection, deadline in self._asked.items()}
        for connection, own_s in left_s.items():
            if own_s <= 0.0:
                connection.interrupt()
        # Who began to listen only now, or was given less of a processor, is looked at again.
        pause_s = max(min(left_s.values(), default=REGISTRATION_S), AGAIN_S)
        self._looks_at_s = monotonic() + pause_s
        return pause_s


_WATCH = _DeadlineWatch()


def _too_long(deadline: _Deadline) -> AdmissionError:
    fact = f"The text takes more than {deadline.limit_s:g} s to be checked."
    return AdmissionError("SQL-029", fact, "Simplify it.")
