"""Predictions: which of some made-up ships will come within a kilometre of each other.

Ships keep their course for five minutes or so and tell it, their positions are off by ten metres.
Two positions a few seconds apart say little of a course then; a model stands while reports agree.
"""

from __future__ import annotations

from penstock.lab.draws import generator
from penstock.lab.models.approaches import (
    POINTS,
    Approaches,
    StandingModels,
    drawn_moments,
    drawn_scores,
    mean_f1,
)
from penstock.lab.models.workload import vessels
from penstock.lab.report import Findings, Size, at_least, sized

NEAR_M = 1_000.0
SHIPS = sized(30, 100, 100)
SECONDS = sized(1_500, 5_400, 14_400)
HORIZONS = sized((60, 300), (30, 60, 120, 300, 600), (30, 60, 120, 300, 600, 900))
MOMENTS = sized(8, 60, 300)
STANDING = (StandingModels(metres=50.0), StandingModels(metres=200.0))


def run(size: Size) -> Findings:
    """Predict at many moments, with models and with the last two points."""
    ships = vessels(generator(87), SHIPS[size], SECONDS[size])
    asked = Approaches(
        motion=ships, near_m=NEAR_M, horizons=HORIZONS[size], standing=STANDING,
        moments=drawn_moments(ships, MOMENTS[size], max(HORIZONS[size]), generator(88)),
    )  # fmt: skip
    scores = asked.scores()
    yield from drawn_scores("Predicted approaches of made-up ships", scores)
    points = max(mean_f1(scores, POINTS), 1e-9)
    for own in STANDING:
        better = mean_f1(scores, own.name) / points
        yield at_least(f"F1 of {own.name}, over that of the last two points", better, 1.0)
