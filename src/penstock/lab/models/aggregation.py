"""Minima over sliding windows of models and of tuples, by rows per segment and by window.

A tuple updates every window that is open; a segment takes its place in the window once.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from penstock.lab.draws import generator
from penstock.lab.kernels.tuple_queries import tuples_lowest
from penstock.lab.models.break_even import crossover, seconds_each
from penstock.lab.models.queries import QueryRun, windowed
from penstock.lab.models.sources import motion_rows, straight_motion
from penstock.lab.models.workload import SECOND, Motion, moving_objects
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized
from penstock.models.sources import SourceRows
from penstock.models.tolerances import SourceTolerances

ROWS = sized(5_000, 200_000, 1_000_000)
PER_SEGMENT = sized((10, 100), (3, 10, 30, 100, 300, 1_000), (3, 10, 30, 100, 300, 1_000, 3_000))
WINDOWS = sized((10, 100), (10, 20, 40, 60, 80, 100), (10, 20, 40, 60, 80, 100))
OBJECTS, BATCH, SLIDE, FITTING = 10, 100_000, 2, 100
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


def _over_models(rows: SourceRows, window: int) -> int:
    plan = windowed(straight_motion(2 * 60 * SECOND, axes="x"), "min", window, SLIDE)
    ran = QueryRun(plan, SourceTolerances.absolute(0.001))
    ran.run([rows], BATCH)
    return ran.answers


def _over_tuples(motion: Motion, window: int) -> int:
    open_ = np.full((OBJECTS, window // SLIDE + 1), np.inf)
    told = np.full(OBJECTS, -1)
    return tuples_lowest(
        motion.key, motion.at, motion.x, window * SECOND, SLIDE * SECOND, open_, told,
        np.empty(1 << 16),
    )  # fmt: skip
