"""Trends: whether something grows with time, or only goes up and down.

The first part of a run is warm-up. What follows is cut into blocks, so that the saw teeth of folds
and volumes even out; a line through their means says how much was gained from the first block to
the last, and how far the blocks lie beside the line says how sure that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.lab.report import Check, at_most

WARM_UP = 0.4
"""So much of a run is not judged."""
BLOCKS = 8
DEVIATIONS = 2.0
GROWTH_MAX, NOISE_MAX = 0.03, 0.15
"""What is called flat: no growth beyond this share, or beyond the noise, which must be small."""


@dataclass(frozen=True, slots=True)
class Trend:
    """How something went after the warm-up: its level, and shares of it that it grew or varied by.

    >>> saw = [100 + step % 10 for step in range(400)]
    >>> trend_of(saw).growth < 0.01, trend_of([step * 1.0 for step in range(400)]).growth > 0.5
    (True, True)
    """

    level: float
    growth: float
    noise: float

    def flat(self, name: str, timed: bool = False) -> Check:
        """Claim that it does not grow."""
        bound = max(GROWTH_MAX, min(DEVIATIONS * self.noise, NOISE_MAX))
        return at_most(f"growth of {name}", round(self.growth, 4), round(bound, 4), timed=timed)


def trend_of(values: Sequence[float]) -> Trend:
    """Fit a line through the means of blocks after the warm-up."""
    after = np.asarray(values[int(WARM_UP * len(values)) :], dtype=np.float64)
    blocks = np.array([block.mean() for block in np.array_split(after, BLOCKS)])
    x = np.arange(BLOCKS, dtype=np.float64)
    slope, base = np.polyfit(x, blocks, 1)
    beside = blocks - (slope * x + base)
    deviation = np.sqrt((beside**2).sum() / (BLOCKS - 2) / ((x - x.mean()) ** 2).sum())
    level, span = float(blocks.mean()), BLOCKS - 1
    if not level:
        return Trend(0.0, 0.0, 0.0)
    return Trend(level, float(slope) * span / level, float(deviation) * span / level)
