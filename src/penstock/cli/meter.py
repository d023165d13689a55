"""The meter: what a run did so far, and how fast it goes now."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from penstock.delivery.log import LoggedBatch
from penstock.spark.hosts import BatchReport

WINDOW_S = 3.0
"""Rates are means over so many seconds."""
BATCHES_KEPT = 10_000
BUCKETS_KEPT = 24
BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterReading:
    """What the meter shows at one moment; times are in seconds.

    `batch_s` is the time from one micro-batch's end to the next one's: Spark's part and ours.
    `operators_s` is ours. Both are of the last micro-batch.
    """

    batches: int
    events: int
    matches: int
    events_per_s: float
    matches_per_s: float
    version: int
    batch_s: float | None
    operators_s: float | None
    events_trend: str
    matches_trend: str


class Meter:
    """Takes the reports of micro-batches; safe to read from another thread."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.version = 0
        self._counts = Counter[str]()
        self.group_matches = Counter[str]()
        self.batches: deque[LoggedBatch] = deque(maxlen=BATCHES_KEPT)
        self._restart()

    def restart(self) -> None:
        """Measure rates and times from now on; what was counted stays counted."""
        with self._lock:
            self._restart()

    def _restart(self) -> None:
        self._started_s = self._clock()
        self._recent: deque[tuple[float, int, int]] = deque()
        self._batch_s: deque[float] = deque(maxlen=BATCHES_KEPT)
        self._operators_s: deque[float] = deque(maxlen=BATCHES_KEPT)
        self._buckets: dict[int, tuple[int, int]] = {}
        self._last_s: float | None = None

    @property
    def elapsed_s(self) -> float:
        """Seconds since the meter was made."""
        return self._clock() - self._started_s

    def take(self, report: BatchReport) -> None:
        """Take a micro-batch's report."""
        now_s = self._clock()
        with self._lock:
            if self._last_s is not None:
                self._batch_s.append(now_s - self._last_s)
            self._last_s = now_s
            self._operators_s.append(report.seconds)
            self._recent.append((now_s, report.rows_in, report.matches))
            bucket = int(now_s - self._started_s)
            events, matches = self._buckets.get(bucket, (0, 0))
            self._buckets[bucket] = (events + report.rows_in, matches + report.matches)
            self._buckets.pop(bucket - BUCKETS_KEPT - 1, None)
            self._counts.update(batches=1, events=report.rows_in, matches=report.matches)
            self.version = report.version
            self.batches.append(report.logged)
            for section in report.logged.sections:
                for group, (start, stop) in section.groups.items():
                    self.group_matches[group] += stop - start

    def read(self) -> MeterReading:
        """Give the figures of this moment."""
        now_s = self._clock()
        with self._lock:
            while self._recent and self._recent[0][0] < now_s - WINDOW_S:
                self._recent.popleft()
            span_s = max(min(WINDOW_S, now_s - self._started_s), 0.1)
            current = int(now_s - self._started_s)
            seconds = range(max(current - BUCKETS_KEPT, 0), current)
            past = [self._buckets.get(second, (0, 0)) for second in seconds]
            return MeterReading(
                batches=self._counts["batches"],
                events=self._counts["events"],
                matches=self._counts["matches"],
                events_per_s=sum(events for _, events, _ in self._recent) / span_s,
                matches_per_s=sum(matches for _, _, matches in self._recent) / span_s,
                version=self.version,
                batch_s=self._batch_s[-1] if self._batch_s else None,
                operators_s=self._operators_s[-1] if self._operators_s else None,
                events_trend=trend([events for events, _ in past]),
                matches_trend=trend([matches for _, matches in past]),
            )

    def summary(self, batch_seconds: Iterable[float] = ()) -> dict[str, Any]:
        """Give the figures of the whole run, for people and for JSON.

        `batch_seconds` is Spark's measure of micro-batches, which is better than the meter's own:
        it leaves out the time without rows.
        """
        with self._lock:
            measured_s = list(batch_seconds) or list(self._batch_s)
            # The first batch loads the registry: that is not what a row waits for.
            settled_s = measured_s[1:] or measured_s
            return {
                "seconds": round(self.elapsed_s, 3),
                "batches": self._counts["batches"],
                "events": self._counts["events"],
                "matches": self._counts["matches"],
                "version": self.version,
                "batch_ms": _percentiles(settled_s),
                "operators_ms": _percentiles(list(self._operators_s)),
            }


def trend(values: list[int]) -> str:
    """Draw values as a line of blocks.

    >>> trend([0, 1, 2, 4])
    '▁▃▅█'
    """
    top = max(values, default=0) or 1
    return "".join(BLOCKS[round(value / top * (len(BLOCKS) - 1))] for value in values)


def _percentiles(seconds: list[float]) -> dict[str, float] | None:
    if not seconds:
        return None
    half, most = np.percentile(np.asarray(seconds) * 1000.0, [50, 95])
    return {"p50": round(float(half), 1), "p95": round(float(most), 1)}
