"""The pulse: batches without events, for rows that wait.

A row that looks up a table of a database which does not answer waits in its operator, and
operators work only when a batch comes. So while rows wait and no events come, an empty version of
the registry is published every so often: its announcement is a batch, in every shard.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from penstock.spark.hosts import BatchReport
from penstock.vocabulary.counts import counted
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.shared_figures import ROWS_WAITING

POLL_S = 0.05
PATIENCE_S = 60.0
"""A run that ends by itself waits so long for a database that does not answer."""


class SparkQuery(Protocol):
    """What the pulse asks of a Spark query."""

    @property
    def running(self) -> bool:
        """Whether it runs."""

    @property
    def failed(self) -> bool:
        """Whether a failure ended it."""


class Heartbeat:
    """Follows one run, and brings a batch when rows wait and nothing else does.

    Parameters
    ----------
    query
        The Spark query of the moment.
    every_s
        How long nothing may come before a batch is brought.
    beat
        Publishes an empty version, and gives its number.
    begin_again
        Starts another Spark query that ends by itself; None if the query of this run goes on.
    tell
        Takes the news: rows wait, none waits any more, or `patience_s` have passed since any was
        answered and the run ends.
    """

    def __init__(
        self,
        *,
        query: Callable[[], SparkQuery | None],
        every_s: Callable[[], float],
        beat: Callable[[], int],
        begin_again: Callable[[], None] | None,
        tell: Callable[[str], None],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._query = query
        self._every_s = every_s
        self._beat = beat
        self._begin_again = begin_again
        self._tell = tell
        self._patience_s = patience_s
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.error: Exception | None = None
        """Why the run could not go on, if it could not."""
        self.waiting = 0
        self._version = 0
        self._sent = 0
        self._unsent: str | None = None
        """Why the last beat failed, if it did."""
        self._last_s = self._moved_s = monotonic()

    @property
    def pending(self) -> bool:
        """Say whether a run that has ended will go on, for the rows that wait."""
        return (
            self._begin_again is not None
            and self.waiting > 0
            and not self._stopped.is_set()
            and not self._failed
        )

    def take(self, report: BatchReport) -> None:
        """Take a batch's report."""
        waiting = report.figures.total(ROWS_WAITING)
        self._last_s = monotonic()
        if waiting < self.waiting or not self.waiting:
            self._moved_s = self._last_s
        before, self.waiting, self._version = self.waiting, waiting, report.version
        if bool(before) != bool(waiting):
            self._tell(_waiting_words(waiting, self._every_s()))
        if waiting and self._thread is None and not self._stopped.is_set():
            self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Bring no more batches."""
        self._stopped.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    @property
    def _failed(self) -> bool:
        query = self._query()
        return query is None or query.failed

    def _run(self) -> None:
        while not self._stopped.wait(POLL_S):
            if self._failed:
                return
            now_s = monotonic()
            if not self.waiting:
                continue
            ends = self._begin_again is not None and now_s - self._moved_s >= self._patience_s
            if not ends and now_s - self._last_s < self._every_s():
                continue
            if self._begin_again is None:
                # One at a time: a batch may itself take long to find out that nobody answers.
                if self._sent <= self._version:
                    self._bring()
                continue
            query = self._query()
            if query is None or query.running:
                continue
            if ends:
                self._stopped.set()
                self._tell(_ending_words(self.waiting))
                return
            try:
                self._beat()
                self._begin_again()
            except Exception as error:  # noqa: BLE001
                self.error = error
                self._stopped.set()
                return
            self._last_s = monotonic()

    def _bring(self) -> None:
        """Bring a batch; on a full disk, when there is room again."""
        try:
            self._sent, self._unsent = self._beat(), None
        except (OSError, PenstockError) as error:
            if str(error) != self._unsent:
                self._unsent = str(error)
                self._tell(f"rows that wait cannot be asked for: {error} It is tried again.")


def _waiting_words(rows: int, every_s: float) -> str:
    if not rows:
        return "the database answers again, and no row waits."
    waiting = counted(rows, "row waits", "rows wait")
    return f"{waiting} for a database that does not answer; it is asked again every {every_s:g} s."


def _ending_words(rows: int) -> str:
    waiting = counted(rows, "row waits", "rows wait")
    return (
        f"{waiting} for a database that does not answer, and the run ends. Nothing is lost: what "
        "waits is kept, and the next run asks again."
    )
