"""Splits: how the bound of an output segment is divided among the segments that it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from penstock.kernels.segment_tolerances import models_measure
from penstock.models.kernel_rooms import turn_room
from penstock.models.tolerances import MIN_SHARE
from penstock.vocabulary.batches import Floats

Bound = tuple[float, float]
"""How far a value may be below, a number that is not positive, and above."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """An attribute of an input segment that an output attribute depends on.

    `coefficients` are of the seconds that `low` and `high` count.
    """

    key: tuple[int, ...]
    attribute: int
    coefficients: Floats


class BoundSplit(Protocol):
    """A way to divide a bound: one that users may write themselves."""

    def __call__(
        self, bound: Bound, dependencies: Sequence[Dependency], low: float, high: float
    ) -> tuple[Bound, ...]:
        """Give a part of the bound to each dependency; widths together are at most the whole's."""


def equi_split(
    bound: Bound, dependencies: Sequence[Dependency], low: float, high: float
) -> tuple[Bound, ...]:
    """Give every dependency the same.

    >>> x = [Dependency((key,), a, np.zeros(1)) for key in (1, 2) for a in (0, 1)]
    >>> equi_split((-1.0, 1.0), x, 0.0, 1.0)[0]
    (-0.25, 0.25)
    """
    del low, high
    count = len(dependencies)
    return ((bound[0] / count, bound[1] / count),) * count


@dataclass(frozen=True, slots=True)
class GradientSplit:
    """Give more to what moves more: by the mean absolute slope, `min_share` of all equally.

    >>> x = [Dependency((1,), 0, np.array([0.0, slope])) for slope in (1.0, -3.0, 0.0)]
    >>> GradientSplit(min_share=0.0)((-1.0, 1.0), x, 0.0, 2.0)
    ((-0.25, 0.25), (-0.75, 0.75), (-0.0, 0.0))
    """

    min_share: float = MIN_SHARE

    def __call__(
        self, bound: Bound, dependencies: Sequence[Dependency], low: float, high: float
    ) -> tuple[Bound, ...]:
        """Divide a bound."""
        slopes = mean_slopes([each.coefficients for each in dependencies], low, high)
        total = float(slopes.sum())
        if not 0.0 < total < np.inf:
            return equi_split(bound, dependencies, low, high)
        shares = (1.0 - self.min_share) * slopes / total + self.min_share / len(slopes)
        return tuple((bound[0] * share, bound[1] * share) for share in shares.tolist())


def mean_slopes(models: Sequence[Floats], low: float, high: float) -> Floats:
    """Give the mean absolute slope of models over a range: how far they go, by its length.

    >>> mean_slopes([np.array([0.0, -1.0, 1.0])], 0.0, 1.0).tolist()
    [0.5]
    """
    slopes: Floats = model_measures(models, low, high)[1]
    return slopes


def model_measures(models: Sequence[Floats], low: float, high: float) -> Floats:
    """Give (4, n) of models over a range.

    That is the smallest absolute value, the mean absolute slope, the least and the greatest value.
    """
    width = max((len(model) for model in models), default=1)
    padded = np.zeros((len(models), width + 1))
    for model, row in zip(models, padded, strict=True):
        row[: len(model)] = model
    found = np.empty((4, len(models)))
    models_measure(padded, low, high, turn_room(width, 1), found)
    return found
