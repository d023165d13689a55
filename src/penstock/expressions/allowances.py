"""Allowances: how much processor time the text of one group may take in one micro-batch.

What a row may cost is bounded when a text is registered; how many rows come, is not. So a batch
gives each group an allowance: some seconds, and more for every candidate and every byte that it is
asked about. A text that has taken it all is interrupted, and its group is suspended; everybody else
goes on. The clock is that of the thread's own processor time: a busy machine makes no text dear.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

import duckdb
import pyarrow as pa

from penstock.vocabulary.errors import PenstockError

BATCH_S = 5.0
"""So much may a group's text take in a batch, beside what its candidates bring."""
BATCH_S_SETTING = "PENSTOCK_BATCH_SECONDS"
"""Says another number of seconds, in the environment of an engine."""
CANDIDATE_S = 20e-6
"""What each candidate may take: plain conditions take a hundredth of it."""
BYTE_S = 20e-9
"""What each byte of the values may take: parsing JSON takes a tenth of it."""
LOOK_S = 0.05
"""How often it is looked whether a text has taken too much."""
QUICK_ROW_S = 10e-6
CAREFUL_ROWS = 64
"""DuckDB is interrupted between two pieces of a table: of a dear text they have so many rows."""

T = TypeVar("T")


class EvaluationError(PenstockError):
    """DuckDB could not evaluate a text for a reason that is not in the rows, or not in time."""


@dataclass(slots=True)
class Allowance:
    """What is left of a group's time, in seconds, and what was given so far.

    >>> allowance = Allowance(2.0)
    >>> allowance.grant(pa.table({"x": [1, 2]}))
    >>> allowance.left_s > 2.0
    True
    """

    left_s: float
    given_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.given_s = self.left_s

    def grant(self, rows: pa.Table) -> None:
        """Give more, for rows that are asked about."""
        self.more(CANDIDATE_S * rows.num_rows + BYTE_S * rows.nbytes)

    def more(self, more_s: float) -> None:
        """Give so much more."""
        self.left_s += more_s
        self.given_s += more_s


_CURRENT: ContextVar[Allowance | None] = ContextVar("allowance", default=None)


def batch_seconds() -> float:
    """Give how many seconds a text may take in a batch, as this process was told."""
    told = os.environ.get(BATCH_S_SETTING)
    try:
        found = BATCH_S if told is None else float(told)
    except ValueError:
        found = -1.0
    if found > 0.0:
        return found
    raise PenstockError(
        "ENG-059",
        f"{BATCH_S_SETTING} is {told!r}, and no number of seconds.",
        "Set it to a number above zero, or leave it out.",
    )


@contextmanager
def allowance(limit_s: float | None = None) -> Iterator[None]:
    """Let all that is asked of DuckDB inside end within an allowance, also in threads of a pool.

    Threads must be given the context (`contextvars.copy_context`).
    """
    token = _CURRENT.set(Allowance(batch_seconds() if limit_s is None else limit_s))
    try:
        yield
    finally:
        _CURRENT.reset(token)


class Pace:
    """Remembers whether the rows of a text are quick; it decides nothing but the size of pieces."""

    __slots__ = ("_is_quick",)

    def __init__(self) -> None:
        self._is_quick = False

    def pieces(self, rows: pa.Table) -> pa.Table:
        """Cut rows into small pieces unless the text is known to be quick."""
        if self._is_quick or _CURRENT.get() is None or rows.num_rows <= CAREFUL_ROWS:
            return rows
        return pa.Table.from_batches(rows.to_batches(max_chunksize=CAREFUL_ROWS), rows.schema)

    def took(self, spent_s: float, rows: int) -> None:
        """Learn from what some rows took."""
        if rows >= CAREFUL_ROWS:
            self._is_quick = spent_s < QUICK_ROW_S * rows


def allowed(
    connection: duckdb.DuckDBPyConnection, rows: pa.Table, ask: Callable[[], T], pace: Pace
) -> T:
    """Ask DuckDB about rows within what is allowed here, if anything limits it.

    Raises
    ------
    EvaluationError
        RUN-013 when all that is allowed is taken.
    """
    current = _CURRENT.get()
    if current is None:
        return ask()
    current.grant(rows)
    clock = thread_clock()
    began_s = clock()
    try:
        with limited(connection):
            return ask()
    finally:
        pace.took(clock() - began_s, rows.num_rows)


@contextmanager
def limited(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Interrupt what is asked of DuckDB inside when all that is allowed here is taken.

    Raises
    ------
    EvaluationError
        RUN-013 then.
    """
    current = _CURRENT.get()
    if current is None:
        yield
        return
    watch = _Watch(connection, current.left_s)
    _watchdog().add(watch)
    try:
        yield
    except duckdb.InterruptException:
        if not watch.is_over:
            raise
        raise _too_dear(current) from None
    finally:
        _watchdog().remove(watch)
        current.left_s -= watch.spent_s()
    if current.left_s < 0.0:
        raise _too_dear(current)


def grant(more_s: float) -> None:
    """Allow so much more here, if anything limits it."""
    current = _CURRENT.get()
    if current is not None:
        current.more(more_s)


def _too_dear(spent: Allowance) -> EvaluationError:
    return EvaluationError(
        "RUN-013",
        f"Its text takes more than the {spent.given_s:,.1f} s that a batch allows it.",
        f"Simplify it, take smaller batches, or allow more: {BATCH_S_SETTING}.",
    )


class _Watch:
    """One question, and the processor time of the thread that asks it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, left_s: float) -> None:
        self.connection, self._left_s = connection, left_s
        self.is_over = False
        self._clock = thread_clock()
        self._began_s = self._clock()

    def spent_s(self) -> float:
        return self._clock() - self._began_s

    def look(self) -> None:
        if not self.is_over and self.spent_s() > self._left_s:
            self.is_over = True
            self.connection.interrupt()


def thread_clock() -> Callable[[], float]:
    """Give the clock of this thread's processor time, which other threads can read too."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    number = time.pthread_getcpuclockid(threading.get_ident())
    return lambda: time.clock_gettime(number)


class _Watchdog:
    """The thread of a process that looks at all questions; it sleeps while there are none."""

    def __init__(self) -> None:
        self._watches: set[_Watch] = set()
        self._lock = threading.Lock()
        self._work = threading.Event()
        threading.Thread(target=self._run, name="penstock-allowances", daemon=True).start()

    def add(self, watch: _Watch) -> None:
        with self._lock:
            self._watches.add(watch)
        self._work.set()

    def remove(self, watch: _Watch) -> None:
        with self._lock:
            self._watches.discard(watch)

    def _run(self) -> None:
        while True:
            self._work.wait()
            time.sleep(LOOK_S)
            self._look()

    def _look(self) -> None:
        with self._lock:
            for watch in self._watches:
                watch.look()
            if not self._watches:
                self._work.clear()


_WATCHDOGS: dict[int, _Watchdog] = {}
_MAKING = threading.Lock()


def _watchdog() -> _Watchdog:
    """Give this process's watchdog: a forked worker has its own."""
    number = os.getpid()
    found = _WATCHDOGS.get(number)
    if found is None:
        with _MAKING:
            found = _WATCHDOGS.get(number) or _Watchdog()
            _WATCHDOGS[number] = found
    return found
