"""A running Spark query: wait for it, stop it, hear why it failed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TypeVar

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.spark.java_process import JavaProcess
from penstock.spark.sources import explain_failure
from penstock.vocabulary.errors import PenstockError

Answer = TypeVar("Answer")
STARTS_MAX = 5
PASSING = {
    "RUN-002": "A Python process of Spark died, as often as its task was tried",
    "RUN-007": "A Python process of Spark took over ten seconds to begin, as on a busy machine",
}
"""Failures that may not come again: nothing is wrong with a query that they end."""
LOOK_S = 1.0
"""So often is it looked whether the query must be started again."""


class RunningQuery:
    """One Structured Streaming query, started when made.

    One that fails because a Python process of Spark died or began too slowly is started again: a
    home outlives the end of its query at any moment. It is given up when it fails so, time and
    again, without one batch in between. A thread looks after it, since whoever started it may
    never ask.
    """

    def __init__(
        self,
        writer: DataStreamWriter,
        checkpoint: Path,
        available_now: bool,
        trigger_seconds: float,
    ) -> None:
        writer = writer.option("checkpointLocation", str(checkpoint))
        if available_now:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{round(trigger_seconds * 1000)} milliseconds")
        self._writer, self._starts, self._is_stopped = writer, 1, False
        self._turn = threading.Lock()
        self._java = JavaProcess()
        self._death: PenstockError | None = None
        self._given_up: StreamingQueryException | PenstockError | None = None
        try:
            self._query = writer.start()
        except PySparkException as error:
            raise explain_failure(error) from error
        self._stopping = threading.Event()
        threading.Thread(target=self._attend, name="penstock-query", daemon=True).start()

    def _attend(self) -> None:
        """Look until the query has ended: to look is to start it again, if need be."""
        while not self._stopping.wait(LOOK_S) and self.running:
            pass

    @property
    def running(self) -> bool:
        """Say whether the query runs."""
        while True:
            # Asked first: of a query that has ended it is known by then whether it failed.
            query = self._query
            is_active = bool(self._asked(lambda: query.isActive))  # noqa: B023 - asked at once
            if self._failure() is not None:
                return False
            if query is self._query:
                return is_active

    @property
    def is_busy(self) -> bool:
        """Say whether a micro-batch is in hand, or the query is still being set up."""
        status = (self._asked(lambda: self._query.status) if self.running else None) or {}
        begins = str(status.get("message", "")).startswith("Initializing")
        return begins or bool(status.get("isTriggerActive") and status.get("isDataAvailable"))

    @property
    def failed(self) -> bool:
        """Say whether a failure ended the query."""
        return self._failure() is not None

    def wait(self, timeout_s: float | None) -> bool:
        """Wait for the end; raise what ended it, if that was a failure."""
        deadline_s = None if timeout_s is None else monotonic() + timeout_s
        while True:
            try:
                ended = self._asked(lambda: self._awaited(deadline_s))
            except StreamingQueryException:
                self.raise_failure()
                continue
            if ended is None:
                self.raise_failure()
            return bool(ended)

    def _awaited(self, deadline_s: float | None) -> bool:
        if deadline_s is None:
            self._query.awaitTermination()
            return True
        # Declared as int, but meant as seconds with fractions, from one millisecond on.
        left_s = max(deadline_s - monotonic(), 0.001)
        return bool(self._query.awaitTermination(left_s))  # type: ignore[arg-type]

    def raise_failure(self) -> None:
        """Raise what ended the query, if that was a failure."""
        error = self._failure()
        if error is not None:
            raise explain_failure(error) from error

    def stop(self) -> None:
        """Stop after the batch in hand."""
        with self._turn:
            self._is_stopped = True
        self._stopping.set()
        self._asked(self._query.stop)
        if self._death is not None:
            raise self._death

    def _asked(self, question: Callable[[], Answer]) -> Answer | None:
        """Ask Java; None once it is dead, and that is what ended the query."""
        if self._death is None:
            try:
                with self._java.asked():
                    return question()
            except PenstockError as error:
                self._death = error
        return None

    def _failure(self) -> StreamingQueryException | PenstockError | None:
        """Give what ended the query, after a new start if it only had bad luck with Python."""
        with self._turn:
            error = self._given_up or self._asked(self._query.exception) or self._death
            if error is None or self._is_stopped or error is self._given_up:
                return error
            why = PASSING.get(explain_failure(error).code)
            if self._asked(lambda: self._query.lastProgress):
                self._starts = 1  # It has come on since it was started last.
            if why is None or self._starts == STARTS_MAX:
                self._given_up = error
                return error
            self._starts += 1
            logging.getLogger("penstock").warning(
                "%s; the query is started again (start %d of %d).", why, self._starts, STARTS_MAX
            )
            try:
                started = self._asked(self._writer.start)
            except Exception as failure:  # noqa: BLE001 - whatever Spark says to a new start
                self._given_up = explain_failure(failure)
                return self._given_up
            if started is None:
                return self._death
            self._query = started
            return None

    def batch_seconds(self) -> dict[int, float]:
        """Give Spark's own measure of the last micro-batches that had rows, by batch number."""
        return {
            progress.batchId: progress.durationMs["triggerExecution"] / 1000
            for progress in self._asked(lambda: self._query.recentProgress) or ()
            if progress.numInputRows
        }
