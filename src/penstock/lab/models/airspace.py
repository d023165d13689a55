"""Airspace: who comes within five nautical miles of whom, now and in the next minutes.

Positions of aircraft that really flew. Models stand under a bound, as a running query has them; the
peer extrapolates the last two positions of every aircraft. A position within 200 metres of its
model says little of where the aircraft turns to: there, models of the velocity are held as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import thread_time

from penstock.lab.draws import generator
from penstock.lab.models.approaches import (
    POINTS,
    Approaches,
    StandingModels,
    drawn_moments,
    drawn_scores,
    mean_f1,
)
from penstock.lab.models.queries import QueryRun
from penstock.lab.models.sources import motion_rows, segmented, straight_motion
from penstock.lab.models.workload import SECOND, Motion, aircraft
from penstock.lab.report import Findings, Size, Table, at_least, sized
from penstock.models.tolerances import SourceTolerances
from penstock.worlds.aircraft import MILES, aircraft_path

NEAR_M = 5 * MILES
HORIZONS = sized((30, 120), (15, 30, 60, 90, 120), (15, 30, 60, 90, 120, 180, 300))
BOUNDS_M = sized((200.0,), (50.0, 200.0, 1_000.0), (50.0, 200.0, 1_000.0))
SHARES = sized((0.01,), (0.001, 0.01, 0.05), (0.001, 0.01, 0.05))
"""Bounds of the standing query: metres, and shares of the distance from the middle, by axis."""
MOMENTS = sized(10, 800, 2_000)
"""With 200 of them, ratios of F1 differ by some 3 % from draw to draw."""
ROWS = sized(40_000, 400_000, 400_000)
BATCH = 20_000
CLOSE, WIDE = StandingModels(metres=50.0), StandingModels(metres=200.0)
HELD = StandingModels(metres=200.0, speed=10.0)


def run(size: Size) -> Findings:
    """Predict at many moments, with models and with the last two points; then run the query."""
    if aircraft_path() is None:
        yield "No real aircraft are here to measure: `pip install --no-deps traffic` brings them."
        return
    flown = aircraft("quickstart").first(ROWS[size])
    asked = Approaches(
        motion=flown, near_m=NEAR_M, horizons=HORIZONS[size], standing=(CLOSE, WIDE, HELD),
        moments=drawn_moments(flown, MOMENTS[size], max(HORIZONS[size]), generator(83)),
    )  # fmt: skip
    scores = asked.scores()
    yield from drawn_scores("Predicted approaches of real aircraft", scores)
    points = max(mean_f1(scores, POINTS), 1e-9)
    for own in (CLOSE,) if size == "tiny" else (CLOSE, HELD):
        better = mean_f1(scores, own.name) / points
        yield at_least(f"F1 of {own.name}, over that of the last two points", better, 1.0)
    share = mean_f1(scores, WIDE.name) / points
    yield f"F1 of {WIDE.name}, without the velocity: {share:.3f} times that of the last two points."
    yield Table.of(
        f"The standing query over {len(flown):,} positions", list(_costs(asked, flown, size))
    )


def _costs(asked: Approaches, flown: Motion, size: Size) -> Iterator[dict[str, float | str]]:
    """Run the standing query over all positions, under several bounds."""
    rows = motion_rows(flown)
    bounds = {f"{own:.0f} m": SourceTolerances.absolute(own, own) for own in BOUNDS_M[size]}
    bounds |= {f"{own:.1%}": SourceTolerances.relative(own, own) for own in SHARES[size]}
    for bound, tolerances in bounds.items():
        source, _ = segmented(straight_motion(max(HORIZONS[size]) * SECOND), tolerances, rows)
        ran = QueryRun(asked.plan(), tolerances)
        started = thread_time()
        ran.run([rows], BATCH)
        seconds = thread_time() - started
        yield {
            "bound": bound, "inside (%)": 100 * source.counts["validated"] / len(rows),
            "rows/segment": len(rows) / source.counts["segments"], "answers": ran.answers,
            "rows/s": len(rows) / seconds,
        }  # fmt: skip
