"""The meter counts, forgets what is past, and tells medians."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.meter import BUCKETS_KEPT, WINDOW_S, Meter, trend
from penstock.delivery.log import LoggedBatch, LoggedSection
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.figure_tables import FigureTable


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def report(batch: int, rows: int, matches: int, version: int = 1) -> BatchReport:
    section = LoggedSection(batch, version, "trades", {"filter-1": (0, matches)}, Path("x"))
    return BatchReport(
        batch=batch,
        version=version,
        rows_in=rows,
        matches=matches,
        seconds=0.02,
        figures=FigureTable(),
        logged=LoggedBatch(batch, version, rows, matches, (section,)),
    )


def test_rates_are_of_the_last_seconds() -> None:
    clock = Clock()
    meter = Meter(clock)
    for batch in range(20):
        clock.now_s += 0.5
        meter.take(report(batch, rows=500, matches=50))
    reading = meter.read()
    assert reading.events == 10_000
    assert abs(reading.events_per_s - 1_000) < 250
    clock.now_s += 2 * WINDOW_S
    assert meter.read().events_per_s == 0


def test_a_batch_lasts_from_one_end_to_the_next() -> None:
    clock = Clock()
    meter = Meter(clock)
    assert meter.read().batch_s is None
    assert meter.summary()["batch_ms"] is None
    for batch in range(5):
        clock.now_s += 0.1
        meter.take(report(batch, 1, 1, version=batch))
    assert round(meter.read().batch_s or 0, 3) == 0.1
    assert meter.summary()["batch_ms"] == {"p50": 100.0, "p95": 100.0}
    assert meter.summary()["operators_ms"] == {"p50": 20.0, "p95": 20.0}
    assert meter.summary([9.0, 0.05, 0.05])["batch_ms"] == {"p50": 50.0, "p95": 50.0}
    assert meter.summary()["version"] == 4


def test_matches_are_counted_by_group() -> None:
    meter = Meter(Clock())
    meter.take(report(0, 10, 3))
    meter.take(report(1, 10, 4))
    assert meter.group_matches == {"filter-1": 7}


def test_a_restart_forgets_rates_but_no_counts() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.take(report(0, 10, 3, version=8))
    clock.now_s += 5
    meter.restart()
    reading = meter.read()
    assert (reading.events, reading.version, meter.elapsed_s) == (10, 8, 0.0)
    assert (reading.events_per_s, reading.batch_s) == (0.0, None)


def test_the_trend_stays_short() -> None:
    clock = Clock()
    meter = Meter(clock)
    for batch in range(200):
        clock.now_s += 1.0
        meter.take(report(batch, 10, 0))
    assert len(meter.read().events_trend) == BUCKETS_KEPT
    assert set(meter.read().matches_trend) == {trend([0])}
