"""Limits of fits: degrees, buffers, and how far rows may be from the models fitted to them."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from penstock.algebra.models import Fit, FitMethod, ModelSource
from penstock.models.tolerances import SourceTolerances
from penstock.vocabulary.batches import Floats, Ints
from penstock.vocabulary.errors import PenstockError

DEGREE_FITTED_MAX = 3
BUFFERS: dict[FitMethod | Literal["predict"], int] = {
    "sliding": 256,
    "bottom_up": 512,
    "swab": 128,
    "predict": 16,
}
"""How many rows of a key are kept: SWAB keeps up to twice as many."""
BUFFER_MIN, BUFFER_MAX = 4, 4096
ANYTHING = 1e300
"""What stands for no limit: sums with it are still numbers."""


def fits_of(source: ModelSource) -> tuple[Fit, ...]:
    """Give the fits of a source, which must go together: its attributes share pieces."""
    fits = [each.fit for each in source.attributes]
    found = tuple(fit for fit in fits if fit is not None)
    if len(found) != len(fits) or len({(fit.method, fit.buffer) for fit in found}) > 1:
        raise PenstockError(
            "MDL-046",
            f"The attributes of {source.relation} are not all fitted in one way.",
            "Use the same FIT method and buffer for all of them, or MODEL for all of them.",
        )
    for fit in found:
        size = BUFFER_MIN if fit.buffer is None else fit.buffer
        if not 0 <= fit.degree <= DEGREE_FITTED_MAX or not BUFFER_MIN <= size <= BUFFER_MAX:
            raise PenstockError(
                "MDL-048",
                f"A fit has the degree {fit.degree} and a buffer of {fit.buffer} rows.",
                f"Degrees go from 0 to {DEGREE_FITTED_MAX}, buffers from {BUFFER_MIN} to "
                f"{BUFFER_MAX} rows.",
            )
    return found


def degrees_of(source: ModelSource) -> Ints:
    """Give the degree that each attribute is fitted to; 0 where rows bring its coefficients."""
    if any(each.fit is None for each in source.attributes) and not any(
        each.fit is not None for each in source.attributes
    ):
        return np.zeros(len(source.attributes), np.int64)
    return np.array([fit.degree for fit in fits_of(source)], np.int64)


def buffer_of(source: ModelSource, use: FitMethod | Literal["predict"]) -> int:
    """Give how many rows of a key are kept."""
    given = fits_of(source)[0].buffer
    return BUFFERS[use] if given is None else given


def fit_limits(source: ModelSource, tolerances: SourceTolerances) -> Floats:
    """Give how far rows may be from fitted models: amount, share of the model, and floor.

    That is what the text says of the fit, else what the query's bounds allow, divided equally:
    gradients are known when a piece is, too late for it.
    """
    limits = np.zeros((len(source.attributes), 3))
    equal = tolerances.equal or (math.inf,) * len(source.attributes)
    shares = tolerances.shares or (math.inf,) * len(source.attributes)
    for place, fit in enumerate(fits_of(source)):
        amount, share = (
            (equal[place], shares[place]) if fit.error is None else (fit.error, math.inf)
        )
        if not (amount > 0.0 and share > 0.0):
            raise PenstockError(
                "MDL-047",
                f"Nothing says how far {source.attributes[place].name} may be from its fit.",
                "Give the fit an error, FIT name USING SLIDING(0.5), or the query a bound, ERROR "
                "WITHIN.",
            )
        limits[place] = min(amount, ANYTHING), share, tolerances.floor
    return limits
