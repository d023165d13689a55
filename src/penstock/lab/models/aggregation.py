"""Minima over sliding windows of models and of tuples, by rows per segment and by window.

A tuple updates every window that is open; a segment takes its place in the window once. Recorded
rows bring no models: these are fitted first, and that counts.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from penstock.algebra.models import Fit, ModelSource
from penstock.lab.draws import generator
from penstock.lab.kernels.tuple_queries import tuples_lowest
from penstock.lab.models.break_even import crossover, seconds_each
from penstock.lab.models.queries import QueryRun, windowed
from penstock.lab.models.sources import motion_rows, straight_motion
from penstock.lab.models.workload import SECOND, Motion, moving_objects
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized
from penstock.models.segments import WIDTH
from penstock.models.sources import SegmentSource, SourceRows
from penstock.models.tolerances import SourceTolerances

ROWS = sized(5_000, 200_000, 1_000_000)
PER_SEGMENT = sized((10, 100), (3, 10, 30, 100, 300, 1_000), (3, 10, 30, 100, 300, 1_000, 3_000))
WINDOWS = sized((10, 100), (10, 20, 40, 60, 80, 100), (10, 20, 40, 60, 80, 100))
OBJECTS, BATCH, SLIDE, FITTING = 10, 100_000, 2, 100
TOLERANCE = 0.001
FITTED, TUPLES = "fitted", "tuples"
PERIOD_US = 100_000
"""An object reports ten times a second."""


def run(size: Size) -> Findings:
    """Time both sides: models that fit better, and longer windows."""
    by_fit = [_both(size, per_segment, 60) for per_segment in PER_SEGMENT[size]]
    fits = Table.of(f"min(x) over 60 s every {SLIDE} s, processor time", by_fit)
    yield fits
    by_window = [_both(size, FITTING, window) for window in WINDOWS[size]]
    table = Table.of(
        f"min(x), {FITTING} rows per segment, processor time",
        [{"window (s)": each.pop("window (s)"), **each} for each in by_window],
    )
    yield table
    yield table.chart(
        "Minima by window", "nanoseconds per row", "models (ns/row)", "tuples (ns/row)"
    )
    found = crossover(
        PER_SEGMENT[size],
        [float(each["models (ns/row)"]) for each in by_fit],
        [float(each["tuples (ns/row)"]) for each in by_fit],
    )
    yield {"break-even (rows per segment)": found}
    recorded = _recorded(size)
    yield Table.of(
        f"Recorded rows: min(x) over 60 s every {SLIDE} s, fitting included",
        [{"side": name, "ns/row": cost * 1e9, "million rows/s": 1e-6 / cost}
         for name, cost in recorded.items()],
    )  # fmt: skip
    if size == "tiny":
        return
    yield at_most("Rows per segment from which models are cheaper", found, 90, timed=True)
    models, tuples = (
        np.array([float(each[name]) for each in by_window])
        for name in ("models (ns/row)", "tuples (ns/row)")
    )
    line = np.polyfit(WINDOWS[size], tuples, 1)
    left = tuples - np.polyval(line, WINDOWS[size])
    fit = 1 - left.var() / tuples.var()
    yield at_least("Tuples: cost is linear in the window (R²)", float(fit), 0.95, timed=True)
    spread = float(models.max() / models.min())
    yield at_most("Models: dearest over cheapest window", spread, 1.2, timed=True)
    yield at_most("Models over tuples at 100 s", float(models[-1] / tuples[-1]), 0.5, timed=True)
    faster = recorded[TUPLES] / recorded[FITTED]
    yield at_least("Rows fitted a second over those that tuples answer", faster, 2, timed=True)


def _both(size: Size, per_segment: int, window: int) -> dict[str, float]:
    motion = moving_objects(generator(78), OBJECTS, ROWS[size], per_segment, PERIOD_US)
    sides = {
        "models": partial(_over_models, motion_rows(motion, "x"), window),
        "tuples": partial(_over_tuples, motion, window),
    }
    each = seconds_each(sides, len(motion))
    return {
        "rows/segment": per_segment, "window (s)": window,
        "models (ns/row)": each["models"] * 1e9, "tuples (ns/row)": each["tuples"] * 1e9,
        "times": each["tuples"] / each["models"],
    }  # fmt: skip


def _recorded(size: Size) -> dict[str, float]:
    """Give what a row costs that is fitted; fitted and answered; and answered as a tuple."""
    motion = moving_objects(generator(87), OBJECTS, ROWS[size], FITTING, PERIOD_US)
    rows = motion_rows(motion, "x")
    rows = replace(rows, coefficients=np.empty((len(rows), 0, WIDTH)))
    source = straight_motion(2 * 60 * SECOND, axes="x")
    (position,) = source.attributes
    fitted = replace(source, attributes=(replace(position, coefficients=(), fit=Fit()),))
    sides = {
        FITTED: partial(_fit, fitted, rows),
        "fitted, then answered": partial(_over_models, rows, 60, fitted),
        TUPLES: partial(_over_tuples, motion, 60),
    }
    return seconds_each(sides, len(motion))


def _fit(source: ModelSource, rows: SourceRows) -> int:
    made = SegmentSource(source, SourceTolerances.absolute(TOLERANCE))
    return sum(
        len(made.process(rows.take(slice(start, start + BATCH))))
        for start in range(0, len(rows), BATCH)
    )


def _over_models(rows: SourceRows, window: int, source: ModelSource | None = None) -> int:
    read = source or straight_motion(2 * 60 * SECOND, axes="x")
    ran = QueryRun(windowed(read, "min", window, SLIDE), SourceTolerances.absolute(TOLERANCE))
    ran.run([rows], BATCH)
    return ran.answers


def _over_tuples(motion: Motion, window: int) -> int:
    open_ = np.full((OBJECTS, window // SLIDE + 1), np.inf)
    told = np.full(OBJECTS, -1)
    return tuples_lowest(
        motion.key, motion.at, motion.x, window * SECOND, SLIDE * SECOND, open_, told,
        np.empty(1 << 16),
    )  # fmt: skip
