"""Dual space: models as points of their coefficients, and what holds of whole boxes of them.

For times that are not below 0 a model whose coefficients are all lower is lower everywhere. Every
model of a box therefore lies between those of its corners. All models with one value at one instant
lie on a plane, the contour; two lines cross between two instants if, and only if, they have
different orders there.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from penstock.models.coefficient_bins import CoefficientBins
from penstock.vocabulary.batches import Flags, Floats

Side = Literal["<", ">"]


def values_at(models: npt.ArrayLike, at: npt.ArrayLike) -> Floats:
    """Give the values of models (…, coefficients) at instants (…)."""
    models, at = np.asarray(models, np.float64), np.asarray(at, np.float64)
    found: Floats = (models * at[..., np.newaxis] ** np.arange(models.shape[-1])).sum(-1)
    return found


def contour(model: npt.ArrayLike, at: float) -> tuple[Floats, float]:
    """Give the plane normal·c = value of all models that have the model's value at an instant.

    >>> contour([0.0, 1.0, 1.0, 1.0], 2.0)
    (array([1., 2., 4., 8.]), 14.0)
    """
    normal = at ** np.arange(len(np.asarray(model)), dtype=np.float64)
    return normal, float(normal @ np.asarray(model))


def dominates(higher: npt.ArrayLike, lower: npt.ArrayLike) -> bool:
    """Say whether no coefficient is lower: then the model is lower at no time from 0 on."""
    return bool((np.asarray(higher) >= np.asarray(lower)).all())


def crosses(one: npt.ArrayLike, other: npt.ArrayLike, begin: float, end: float) -> bool:
    """Say whether two models have different orders at two instants: for lines, whether they cross.

    An even number of crossings of models of a higher degree is missed.
    """
    difference = np.asarray(one, np.float64) - np.asarray(other, np.float64)
    first, second = values_at(difference, begin), values_at(difference, end)
    return bool(first * second < 0)


def holds_all(bins: CoefficientBins, number: float, side: Side) -> Flags:
    """Say which bins lie wholly on one side of a number, by the contours of their outer corners.

    For lines that is exact. A constant lies extremely on a side if it does so by its coefficients.
    """
    corner = bins.high if side == "<" else bins.low
    first, second = values_at(corner, bins.begins), values_at(corner, bins.ends)
    constant = np.zeros(bins.width)
    constant[0] = number
    if side == "<":
        extreme = (corner <= constant).all(1)
        return np.asarray(extreme | ((first < number) & (second < number)))
    extreme = (corner >= constant).all(1)
    return np.asarray(extreme | ((first > number) & (second > number)))


def contains(bins: CoefficientBins, model: npt.ArrayLike) -> Flags:
    """Say which boxes hold a model."""
    point = np.asarray(model, np.float64)
    return np.asarray(((bins.low <= point) & (point <= bins.high)).all(1))
