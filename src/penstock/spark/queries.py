"""A running Spark query: wait for it, stop it, hear why it failed."""

from __future__ import annotations

from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.spark.sources import explain_failure


class RunningQuery:
    """One Structured Streaming query, started when made."""

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
        self._query = writer.start()

    @property
    def running(self) -> bool:
        """Say whether the query runs."""
        return bool(self._query.isActive)

    @property
    def failed(self) -> bool:
        """Say whether a failure ended the query."""
        return self._query.exception() is not None

    def wait(self, timeout_s: float | None) -> bool:
        """Wait for the end; raise what ended it, if that was a failure."""
        try:
            if timeout_s is None:
                self._query.awaitTermination()
                return True
            # Declared as int, but meant as seconds with fractions, from one millisecond on.
            timeout_s = max(timeout_s, 0.001)
            return bool(self._query.awaitTermination(timeout_s))  # type: ignore[arg-type]
        except StreamingQueryException as error:
            raise explain_failure(error) from error

    def raise_failure(self) -> None:
        """Raise what ended the query, if that was a failure."""
        error = self._query.exception()
        if error is not None:
            raise explain_failure(error) from error

    def stop(self) -> None:
        """Stop after the batch in hand."""
        self._query.stop()

    def batch_seconds(self) -> dict[int, float]:
        """Give Spark's own measure of the last micro-batches that had rows, by batch number."""
        return {
            progress.batchId: progress.durationMs["triggerExecution"] / 1000
            for progress in self._query.recentProgress
            if progress.numInputRows
        }
