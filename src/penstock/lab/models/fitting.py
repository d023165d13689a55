"""Fitting: three ways to make segments of rows, each within its error.

Random walks, 400 points each, as in the specification's own test; then the speed of each method on
one long series, and how well it fits. BOTTOM_UP keeps what it has until a piece must close; SWAB
keeps five pieces or so.
"""

from __future__ import annotations

from dataclasses import replace
from time import thread_time

import numpy as np

from penstock.algebra.models import Fit, FitMethod, ModelSource
from penstock.lab.draws import generator
from penstock.lab.models.sources import constant_prices, tick_rows
from penstock.lab.models.workload import SECOND, Ticks
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized
from penstock.models.segments import WIDTH, Segments
from penstock.models.sources import SegmentSource, SourceRows
from penstock.models.tolerances import SourceTolerances

METHODS: tuple[FitMethod, ...] = ("sliding", "bottom_up", "swab")
SERIES, POINTS = sized(4, 40, 200), 400
ROWS = sized(5_000, 300_000, 2_000_000)
ERROR = 0.5
NEVER_US = 1 << 60


def run(size: Size) -> Findings:
    """Fit many short series, then a long one; look for a row beyond the error."""
    chance = generator(84)
    walks = [np.cumsum(chance.normal(0, 0.2, POINTS)) for _ in range(SERIES[size])]
    counted = {method: [_fitted(_rows(walk), method, 1)[0] for walk in walks] for method in METHODS}
    means = {
        method: float(np.mean([np.count_nonzero(each.sign > 0) for each in own]))
        for method, own in counted.items()
    }
    long = _rows(np.cumsum(chance.normal(0, 0.2, ROWS[size])))
    found = []
    for method in METHODS:
        for degree in (0, 1, 2, 3):
            segments, seconds = _fitted(long, method, degree)
            pieces = int(np.count_nonzero(segments.sign > 0))
            found.append(
                {
                    "method": method, "degree": degree, "rows/segment": len(long) / pieces,
                    "million rows/s": len(long) / seconds / 1e6,
                    "farthest off, of 1": _off(segments, long) / ERROR,
                }
            )  # fmt: skip
    yield Table.of(f"One walk of {len(long):,} rows", found)
    yield Table.of(
        f"Segments of {SERIES[size]} walks of {POINTS} points, mean",
        [{"method": method, "segments": mean} for method, mean in means.items()],
    )
    worst = max(float(each["farthest off, of 1"]) for each in found)
    yield at_most("A row's distance from its piece, over the error", worst, 1 + 1e-9)
    share = means["swab"] / means["bottom_up"]
    if size != "tiny":
        yield at_most("Segments of SWAB over those of BOTTOM_UP", share, 1.1)
        for each in found:
            yield at_least(
                f"Rows a second and core, {each['method']}, degree {each['degree']}, in millions",
                float(each["million rows/s"]), 2, timed=True,
            )  # fmt: skip


def _rows(values: np.ndarray) -> SourceRows:
    at = np.arange(len(values), dtype=np.int64) * SECOND
    rows = tick_rows(Ticks(key=np.zeros(len(values), np.int64), at=at, price=values))
    return replace(rows, coefficients=np.empty((len(values), 0, WIDTH)))


def _fitted(rows: SourceRows, method: FitMethod, degree: int) -> tuple[Segments, float]:
    """Fit rows; give all pieces, and the seconds that it took."""
    price = replace(
        constant_prices().attributes[0], coefficients=(),
        fit=Fit(method=method, degree=degree, error=ERROR),
    )  # fmt: skip
    node: ModelSource = replace(constant_prices(), attributes=(price,))
    source = SegmentSource(node, SourceTolerances.absolute(ERROR))
    started = thread_time()
    parts = [source.process(rows), source.advance(NEVER_US)]
    seconds = thread_time() - started
    return Segments.joined(parts), seconds


def _off(segments: Segments, rows: SourceRows) -> float:
    """Give the largest distance of a row from the piece that holds at its time."""
    made = segments.take(segments.sign > 0)
    begins = made.reference + np.rint(made.low * SECOND).astype(np.int64)
    order = np.argsort(begins, kind="stable")
    place = order[np.searchsorted(begins[order], rows.at, side="right") - 1]
    since = (rows.at - made.reference[place]) / SECOND
    value = np.polynomial.polynomial.polyval(since, made.coefficients[place, 0].T, tensor=False)
    return float(np.abs(rows.observed[:, 0] - value).max())
