"""Draws: models as bins say that they come, for conditions that no closed form answers.

Every bin, and every part of its box, is drawn as often as it should be but for less than one draw:
a draw per stratum, the strata of different coefficients in orders of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.models.coefficient_bins import CoefficientBins
from penstock.models.segments import WIDTH
from penstock.vocabulary.batches import Floats, Ints

SEED = 1_618_033
"""Draws are the same at every call: an estimate is a function of its bins."""


@dataclass(frozen=True, slots=True)
class Draws:
    """Segments that were drawn; all arrays have their length."""

    models: Floats
    """The models (n, attributes, WIDTH) that were drawn."""
    begins: Floats
    """Where the segments of all attributes hold."""
    ends: Floats
    bins: tuple[Ints, ...]
    """For every attribute, the bins that they are of."""


def drawn(attributes: Sequence[CoefficientBins | None], count: int, salt: int = 0) -> Draws:
    """Draw segments, their attributes independently of each other.

    An attribute of which nothing is known is 0.
    """
    chance = np.random.default_rng([SEED, salt])
    models = np.zeros((count, len(attributes), WIDTH))
    begins, ends = np.zeros(count), np.full(count, np.inf)
    chosen = []
    for place, bins in enumerate(attributes):
        if bins is None or not len(bins):
            chosen.append(np.zeros(count, np.int64))
            continue
        upto = np.cumsum(bins.frequency)
        found = np.searchsorted(upto, _strata(chance, count) * upto[-1], side="right")
        found = np.minimum(found, len(bins) - 1)
        for k in range(bins.width):
            share = _strata(chance, count)
            models[:, place, k] = bins.low[found, k] * (1 - share) + bins.high[found, k] * share
        begins = np.maximum(begins, bins.begins[found])
        ends = np.minimum(ends, bins.ends[found])
        chosen.append(found)
    return Draws(models, begins, np.where(np.isfinite(ends), ends, 0.0), tuple(chosen))


def _strata(chance: np.random.Generator, count: int) -> Floats:
    """Give numbers in [0, 1), one in every `count`th part, in some order."""
    shares: Floats = (chance.permutation(count) + chance.random(count)) / count
    return shares
