"""Draws models.svg: the altitude of a flight as rows tell it, and the segments that stand for it.

The rows are real: positions of an aircraft above Paris, from the samples of the package traffic,
whose files are read and which is not imported. From the repository's root:
python docs/images/models.py
"""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.algebra.models import ModelledAttribute, ModelSource
from penstock.models.segments import WIDTH, Segments
from penstock.models.sources import SegmentSource, SourceRows
from penstock.models.tolerances import SourceTolerances
from penstock.vocabulary.batches import Floats, Ints

SAMPLE = Path("data") / "samples" / "collections" / "quickstart.json.gz"
FLIGHT, FIRST_S, LAST_S = "MSR799", 120, 420
BOUND_FT, HORIZON_S = 100.0, 60
SECOND = 1_000_000


def rows() -> tuple[Ints, Floats, Floats]:
    """Give minutes of the flight in the order of time: microseconds, feet, feet per second."""
    found = importlib.util.find_spec("traffic")
    assert found is not None and found.submodule_search_locations, "the package traffic is needed"
    with gzip.open(Path(found.submodule_search_locations[0]) / SAMPLE) as file:
        told = [row for row in json.load(file) if row["callsign"] == FLIGHT]
    told = [row for row in told if None not in (row["altitude"], row["vertical_rate"])]
    told.sort(key=lambda row: row["timestamp"])
    at = np.array([row["timestamp"] for row in told], dtype=np.int64) * 1_000
    at -= at[0]
    altitude = np.array([row["altitude"] for row in told], dtype=np.float64)
    rate = np.array([row["vertical_rate"] for row in told], dtype=np.float64) / 60
    shown = (at >= FIRST_S * SECOND) & (at < LAST_S * SECOND)
    return at[shown], altitude[shown], rate[shown]


def segments(at: Ints, altitude: Floats, rate: Floats) -> Segments:
    """Give what rows change under `MODEL altitude = altitude + vertical_rate / 60 * t`."""
    model = ModelledAttribute(name="altitude", observed="altitude", coefficients=("c0", "c1"))
    source = ModelSource(
        relation="flights", event_time="at", attributes=(model,), horizon_us=HORIZON_S * SECOND
    )
    models = np.zeros((len(at), 1, WIDTH))
    models[:, 0, 0], models[:, 0, 1] = altitude, rate
    none = np.empty((len(at), 0), np.int64)
    made = SegmentSource(source, SourceTolerances.absolute(BOUND_FT))
    return made.process(SourceRows(none, at, altitude[:, None], models, none))


def draw_segments(axes: Axes, changes: Segments) -> None:
    """Draw every segment as far as it held, its band, and what was withdrawn of it."""
    withdrawn = {
        int(changes.serial[place]): float(changes.low[place])
        for place in np.flatnonzero(changes.sign < 0)
    }
    for place in np.flatnonzero(changes.sign > 0):
        base, slope = changes.coefficients[place, 0, :2]
        start = changes.reference[place] / SECOND
        end = float(changes.high[place])
        held = withdrawn.get(int(changes.serial[place]), end)
        at = np.array([0.0, held])
        line = base + slope * at
        axes.fill_between(start + at, line - BOUND_FT, line + BOUND_FT, color="#cfe2f3", lw=0)
        axes.plot(start + at, line, color="#1f5fa8", lw=1.6)
        axes.plot(start, base, "o", color="#1f5fa8", ms=4)
        if held < end:
            rest = np.array([held, end])
            axes.plot(start + rest, base + slope * rest, color="#c0504d", lw=0.9, ls=(0, (4, 3)))
            axes.plot(start + held, base + slope * held, "x", color="#c0504d", ms=5)


def drawing() -> Figure:
    """Draw rows, segments, bands and withdrawn predictions."""
    at, altitude, rate = rows()
    changes = segments(at, altitude, rate)
    figure = Figure(figsize=(8.0, 4.4), layout="constrained")
    axes = figure.add_subplot()
    draw_segments(axes, changes)
    axes.plot(at / SECOND, altitude, ".", color="#333333", ms=2.2)
    made = int(np.count_nonzero(changes.sign > 0))
    axes.plot([], [], ".", color="#333333", label=f"{len(at)} rows")
    axes.plot([], [], "o-", color="#1f5fa8", ms=4, label=f"{made} segments")
    axes.plot([], [], color="#cfe2f3", lw=8, label=f"within {BOUND_FT:g} feet")
    axes.plot([], [], "x--", color="#c0504d", lw=0.9, ms=5, label="withdrawn")
    axes.set_xlim(FIRST_S, LAST_S)
    axes.set_ylim(altitude.min() - 400, altitude.max() + 400)
    axes.set_xlabel("seconds")
    axes.set_ylabel("altitude in feet")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure


if __name__ == "__main__":
    rcParams["svg.hashsalt"] = "models"
    drawing().savefig(Path(__file__).with_name("models.svg"), metadata={"Date": None})
