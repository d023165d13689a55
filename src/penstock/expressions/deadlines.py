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
    timer = threading.Timer(max(deadline - monotonic(), 0.0), connection.interrupt)
    timer.daemon = True
    if deadline <= monotonic():
        raise _too_long()
    timer.start()
    try:
        return ask()
    except duckdb.InterruptException:
        raise _too_long() from None
    finally:
        timer.cancel()


def _too_long() -> AdmissionError:
    fact = f"The text takes more than {_LOCAL.limit_s:g} s to be checked."
    return AdmissionError("SQL-029", fact, "Simplify it.")
