"""Models of keys that stand apart: times on whole seconds, prices in steps of five.

Models count keys one by one. Where all keys of a stream are a multiple of some unit apart, a model
of how many units they are is the better law, and its tables are smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.kernels.scoring import LINEAR, ScoreTable
from penstock.operators.bounded.models import History, Law, Model
from penstock.operators.bounded.models_independent import NOTHING, LinearTrend
from penstock.operators.bounded.models_markov import Ar1, RandomWalk
from penstock.operators.bounded.models_noise import (
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
class Spaced(Model):
    """The law of base + unit * j, where j follows another model.

    >>> from penstock.operators.bounded.models_independent import Stationary
    >>> few = Stationary(keys=np.array([1, 2]), probabilities=np.array([0.25, 0.75]))
    >>> Spaced(model=few, unit=10, base=3).pmf(23, 1, History(now=0))
    0.75
    """

    is_independent: ClassVar[bool] = True
    model: Model
    unit: int
    base: int

    def masses(self, keys: Ints, ahead: int, history: History) -> Floats:
        """Give the probabilities of keys; those between the units have none."""
        steps, rest = np.divmod(np.asarray(keys, dtype=np.int64) - self.base, self.unit)
        found = self.model.masses(steps, ahead, self._inner(history))
        return np.where(rest == 0, found, 0.0)

    def law(self, ahead: int, history: History) -> Law:
        """List the keys."""
        steps, masses = self.model.law(ahead, self._inner(history))
        return self.base + self.unit * steps, masses

    def draw(self, length: int, generator: np.random.Generator) -> Ints:
        """Draw a key per tick."""
        steps = self.model.draw(length, generator)
        return np.where(steps == NOTHING, NOTHING, self.base + self.unit * steps)

    def _inner(self, history: History) -> History:
        return History(now=history.now, last=(history.last - self.base) // self.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacedChain(Spaced):
    """The same for a model whose next key depends on the last."""

    is_independent: ClassVar[bool] = False


def spaced(model: Model, unit: int, base: int) -> Model:
    """Give the model itself where keys stand one apart, from 0 on."""
    if unit == 1 and base == 0:
        return model
    make = Spaced if model.is_independent else SpacedChain
    return make(model=model, unit=unit, base=base)


def bare(model: Model) -> Model:
    """Give the model of the units."""
    return model.model if isinstance(model, Spaced) else model


def control_points(model: Model) -> int | None:
    """Say through how many points a side a surface goes: as many as its ridge needs."""
    if not isinstance(model, Ar1):
        return None
    if 10.0 * model.deviation / model.grid <= CELLS_DENSE:
        return None
    # The ridge is as wide as a step, the surface eight deviations.
    wanted = 8.0 / (0.4 * math.sqrt(1.0 - model.phi1**2))
    return min(max(math.ceil(wanted), CONTROL_POINTS[0]), CONTROL_POINTS[1])


def coarsened(model: Model) -> tuple[Model, int]:
    """Give a model in cells of several keys, and how many, where noise is wide.

    A table needs some tens of cells per deviation, not one per key.
    """
    if isinstance(model, RandomWalk) and model.is_real:
        cell = int(model.step.deviation / COARSE)
        if cell > 1:
            step = Gaussian(sigma=model.step.deviation / cell)
            return RandomWalk(drift=model.drift / cell, step=step), cell
    if isinstance(model, LinearTrend):
        cell = int(model.noise.deviation / COARSE)
        if cell > 1:
            return LinearTrend(
                slope=model.slope / cell,
                intercept=model.intercept / cell,
                noise=_narrowed(model.noise, cell),
            ), cell
    return model, 1


def _narrowed(noise: Noise, cell: int) -> Noise:
    if isinstance(noise, Uniform):
        return Uniform(half_width=math.ceil(noise.half_width / cell))
    if isinstance(noise, BoundedNormal):
        half_width = math.ceil(noise.half_width / cell)
        return BoundedNormal(sigma=noise.sigma / cell, half_width=half_width)
    return Normal(sigma=noise.deviation / cell)


def fitted_table(
    model: Model,
    weighting: Weighting,
    *,
    caching: bool = False,
    window: int | None = None,
    rate: float = 1.0,
) -> ScoreTable:
    """Make the table of a fitted model, in the keys as they are."""
    inner, cell = coarsened(bare(model))
    table = score_table(
        inner,
        weighting,
        caching=caching,
        window=window,
        rate=1.0 if caching else rate,
        control_points=control_points(inner),
    )
    unit, base = 1.0, 0.0
    if isinstance(model, Spaced):
        unit, base = float(model.unit), float(model.base)
        table = table._replace(keys=model.base + model.unit * table.keys)
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
