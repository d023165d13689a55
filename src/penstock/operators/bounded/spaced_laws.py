"""Laws of keys that stand apart: times on whole seconds, prices in steps of five.

Laws count keys one by one. Where all keys of a stream are a multiple of some unit apart, a law
of how many units they are is the better law, and its tables are smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.kernels.scores import LINEAR, ScoreTable
from penstock.operators.bounded.laws import Distribution, History, Law
from penstock.operators.bounded.laws_independent import NOTHING, LinearTrend
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import (
    BoundedNormal,
    Gaussian,
    Noise,
    Normal,
    Uniform,
)
from penstock.operators.bounded.scores import score_table
from penstock.operators.bounded.weightings import Weighting
from penstock.vocabulary.batches import Floats, Ints

COARSE = 32
"""Cells per deviation, where keys are more."""
CELLS_DENSE = 96
"""An autoregression over so many keys gets a surface with every cell."""
CONTROL_POINTS = (17, 65)
"""The fewest and the most points a side of other surfaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spaced(Law):
    """The law of base + unit * j, where j follows another law.

    >>> from penstock.operators.bounded.laws_independent import Stationary
    >>> few = Stationary(keys=np.array([1, 2]), probabilities=np.array([0.25, 0.75]))
    >>> Spaced(law=few, unit=10, base=3).pmf(23, 1, History(now=0))
    0.75
    """

    is_independent: ClassVar[bool] = True
    law: Law
    unit: int
    base: int

    def masses(self, keys: Ints, ahead: int, history: History) -> Floats:
        """Give the probabilities of keys; those between the units have none."""
        steps, rest = np.divmod(np.asarray(keys, dtype=np.int64) - self.base, self.unit)
        found = self.law.masses(steps, ahead, self._inner(history))
        return np.where(rest == 0, found, 0.0)

    def distribution(self, ahead: int, history: History) -> Distribution:
        """List the keys."""
        steps, masses = self.law.distribution(ahead, self._inner(history))
        return self.base + self.unit * steps, masses

    def draw(self, length: int, generator: np.random.Generator) -> Ints:
        """Draw a key per tick."""
        steps = self.law.draw(length, generator)
        return np.where(steps == NOTHING, NOTHING, self.base + self.unit * steps)

    def _inner(self, history: History) -> History:
        return History(now=history.now, last=(history.last - self.base) // self.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacedChain(Spaced):
    """The same for a law whose next key depends on the last."""

    is_independent: ClassVar[bool] = False


def spaced(law: Law, unit: int, base: int) -> Law:
    """Give the law itself where keys stand one apart, from 0 on."""
    if unit == 1 and base == 0:
        return law
    make = Spaced if law.is_independent else SpacedChain
    return make(law=law, unit=unit, base=base)


def bare(law: Law) -> Law:
    """Give the law of the units."""
    return law.law if isinstance(law, Spaced) else law


def control_points(law: Law) -> int | None:
    """Say through how many points a side a surface goes: as many as its ridge needs."""
    if not isinstance(law, Ar1):
        return None
    if 10.0 * law.deviation / law.grid <= CELLS_DENSE:
        return None
    # The ridge is as wide as a step, the surface eight deviations.
    wanted = 8.0 / (0.4 * math.sqrt(1.0 - law.phi1**2))
    return min(max(math.ceil(wanted), CONTROL_POINTS[0]), CONTROL_POINTS[1])


def coarsened(law: Law) -> tuple[Law, int]:
    """Give a law in cells of several keys, and how many, where noise is wide.

    A table needs some tens of cells per deviation, not one per key.
    """
    if isinstance(law, RandomWalk) and law.is_real:
        cell = int(law.step.deviation / COARSE)
        if cell > 1:
            step = Gaussian(sigma=law.step.deviation / cell)
            return RandomWalk(drift=law.drift / cell, step=step), cell
    if isinstance(law, LinearTrend):
        cell = int(law.noise.deviation / COARSE)
        if cell > 1:
            return LinearTrend(
                slope=law.slope / cell,
                intercept=law.intercept / cell,
                noise=_narrowed(law.noise, cell),
            ), cell
    return law, 1


def _narrowed(noise: Noise, cell: int) -> Noise:
    if isinstance(noise, Uniform):
        return Uniform(half_width=math.ceil(noise.half_width / cell))
    if isinstance(noise, BoundedNormal):
        half_width = math.ceil(noise.half_width / cell)
        return BoundedNormal(sigma=noise.sigma / cell, half_width=half_width)
    return Normal(sigma=noise.deviation / cell)


def fitted_table(
    law: Law,
    weighting: Weighting,
    *,
    caching: bool = False,
    window: int | None = None,
    rate: float = 1.0,
) -> ScoreTable:
    """Make the table of a fitted law, in the keys as they are."""
    inner, cell = coarsened(bare(law))
    table = score_table(
        inner,
        weighting,
        caching=caching,
        window=window,
        rate=1.0 if caching else rate,
        control_points=control_points(inner),
    )
    unit, base = 1.0, 0.0
    if isinstance(law, Spaced):
        unit, base = float(law.unit), float(law.base)
        table = table._replace(keys=law.base + law.unit * table.keys)
    unit *= cell
    if unit == 1.0 and base == 0.0:
        return table
    # Distances have no base; a centre that follows the last key has it already.
    is_distance = table.kind == LINEAR
    return table._replace(
        cells=table.cells / cell,
        first=table.first * unit + (0.0 if is_distance else base),
        width=table.width * unit,
        state_first=table.state_first * unit + base,
        state_width=table.state_width * unit,
        left=table.left / unit,
        right=table.right / unit,
        slope=table.slope * unit,
        intercept=table.intercept * unit + (0.0 if table.follows else base),
    )
