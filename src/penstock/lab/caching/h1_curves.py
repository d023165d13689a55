"""What a row is worth beside a walk: scores by distance from its place, for three drifts."""

from __future__ import annotations

import numpy as np

from penstock.kernels.scores import table_score
from penstock.lab.report import Findings, Size, Table, at_most, chart
from penstock.operators.bounded.laws_markov import RandomWalk
from penstock.operators.bounded.laws_noise import Gaussian
from penstock.operators.bounded.scores import score_table
from penstock.operators.bounded.weightings import Exponential
from penstock.vocabulary.batches import Floats

ALPHA = 10.0
DRIFTS = (0, 2, 4)
REACH = 20
KNOWN = {
    (0, 0): 1.635,
    (0, 1): 1.378,
    (0, -1): 1.378,
    (0, 2): 0.924,
    (0, -2): 0.924,
    (2, 2): 0.448,
    (4, 4): 0.351,
    (4, 8): 0.239,
    (4, 12): 0.192,
}
"""Scores by drift and distance."""


def curve(drift: int) -> Floats:
    """Give the scores at all distances from -REACH to REACH."""
    table = score_table(RandomWalk(drift=drift, step=Gaussian(sigma=1.0)), Exponential(ALPHA))
    return np.array([table_score(table, far, 0, 0) for far in range(-REACH, REACH + 1)])


def run(_size: Size) -> Findings:
    """Draw the curves; the size changes nothing."""
    curves = {drift: curve(drift) for drift in DRIFTS}
    distances = list(range(-REACH, REACH + 1))
    yield Table(
        f"score by distance, alpha = {ALPHA:g}",
        ("distance", *(f"drift {drift}" for drift in DRIFTS)),
        [
            (distance, *(float(curves[drift][i]) for drift in DRIFTS))
            for i, distance in enumerate(distances)
        ],
    )
    yield from _judge(curves)
    yield chart(
        "what a row is worth beside a walk",
        "key less the walk's place",
        "score",
        {f"drift {drift}": (distances, line.tolist()) for drift, line in curves.items()},
    )


def _judge(curves: dict[int, Floats]) -> Findings:
    off = max(abs(curves[drift][REACH + at] - value) for (drift, at), value in KNOWN.items())
    skew = float(np.abs(curves[0] - curves[0][::-1]).max())
    highest = int(curves[2].argmax()) - REACH
    yield at_most("largest error of a known score", float(off), 0.0006)
    yield at_most("drift 0: difference of both sides", skew, 1e-12)
    yield at_most("drift 0: peaks other than at 0", len(_peaks(curves[0]) - {0}), 0)
    yield at_most("drift 2: distance of the highest from 2", abs(highest - 2), 0)
    yield at_most("drift 4: peaks missing at 4, 8, 12", len({4, 8, 12} - _peaks(curves[4])), 0)


def _peaks(line: Floats) -> set[int]:
    """Give the distances at which a curve is higher than at both neighbours."""
    inner = line[1:-1]
    places = np.flatnonzero((inner > line[:-2]) & (inner > line[2:]))
    return {int(place) + 1 - REACH for place in places}
