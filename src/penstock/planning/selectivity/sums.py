"""Sums: integrals and means over sliding windows of time, and sums over keys.

The integral over a window ends in the segment that enters it (the head), begins in the one that
leaves it (the tail), and has whole segments between them, whose integrals are constants.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.algebra.models import ModelWindow
from penstock.models.coefficient_bins import CoefficientBins
from penstock.models.coefficient_histograms import WIDTH_MAX
from penstock.models.segments import WIDTH
from penstock.planning.selectivity.conditions import Filtered
from penstock.planning.selectivity.draws import drawn
from penstock.planning.selectivity.maps import counted
from penstock.planning.selectivity.statistics import (
    GUESS,
    Estimation,
    SegmentStatistics,
    Selectivity,
    scaled,
)
from penstock.vocabulary.batches import Floats

LEVELS = 1024
"""How many values a histogram of integrals tells apart."""


def summed(stage: ModelWindow, given: SegmentStatistics, how: Estimation) -> Filtered:
    """Estimate a sum or an average over a sliding window.

    Every segment that enters makes a piece, and one more when it leaves, unless others enter then.
    """
    bins = given.attributes[stage.attribute]
    if bins is None or not bins.total:
        return GUESS, replace(given, attributes=(None,), count=given.count * GUESS.estimate)
    size_s = stage.size_us * 1e-6
    lengths = bins.ends - bins.begins
    length = float((lengths * bins.frequency).sum() / bins.total)
    steps = size_s / max(length, 1e-9)
    constant = bool(np.ptp(lengths) <= 1e-9 * max(length, 1e-9))
    whole = how.aligned and constant and abs(steps - round(steps)) <= 1e-9 * steps
    selectivity = Selectivity(estimate=1.0 if whole else 2.0, low=1.0, high=2.0)
    keys = given.keys if not stage.group else 1
    scale = 1.0 / (size_s * keys) if stage.function == "avg" else 1.0
    made = window_bins(bins, steps, keys, how.draws, scale)
    count = given.count * selectivity.estimate
    return selectivity, replace(
        given, attributes=(None if made is None else scaled(made, count),), count=count,
        keys=given.keys if stage.group else 1,
    )  # fmt: skip


def window_bins(
    bins: CoefficientBins, steps: float, keys: int, draws: int, scale: float = 1.0
) -> CoefficientBins | None:
    """Give the bins of the sum, over a window of so many segments and over so many keys, scaled.

    None: it has more coefficients than a histogram takes.
    """
    width = bins.width + 1
    if width > WIDTH_MAX:
        return None
    heads = drawn([bins] * keys, draws, 4)
    tails = drawn([bins] * keys, draws, 5)
    length = np.maximum(heads.ends, 0.0)
    head = integrals(heads.models.sum(1))[:, :width]
    tail = integrals(tails.models.sum(1))[:, :width]
    made = head - tail
    at = tails.ends[:, np.newaxis] ** np.arange(width)
    made[:, 0] += (tail * at).sum(1)
    between = max(round(steps) - 1, 0) * keys
    if between:
        made[:, 0] += constants_drawn(*folded(*integral_shares(bins), between), draws)
    return counted(made * scale, np.zeros(draws), length)


def integrals(models: Floats) -> Floats:
    """Give the integrals from 0 on of models (n, coefficients): each power's, one power up.

    >>> integrals(np.array([[2.0, 6.0, 0.0]])).tolist()
    [[0.0, 2.0, 3.0]]
    """
    made = np.zeros_like(models)
    made[:, 1:] = models[:, :-1] / np.arange(1, models.shape[1])
    return made


def integral_shares(bins: CoefficientBins) -> tuple[float, float, Floats]:
    """Give the integrals of whole segments: the least, the step between values, their shares."""
    models = np.zeros((len(bins), WIDTH))
    models[:, : bins.width] = bins.middle
    whole = integrals(models)
    powers = np.arange(WIDTH)
    value = (whole * (bins.ends[:, np.newaxis] ** powers)).sum(1)
    value -= (whole * (bins.begins[:, np.newaxis] ** powers)).sum(1)
    least = float(value.min())
    step = max((float(value.max()) - least) / (LEVELS - 1), 1e-300)
    places = np.rint((value - least) / step).astype(np.int64)
    shares: Floats = np.bincount(places, bins.frequency / bins.total, LEVELS).astype(np.float64)
    return least, step, shares


def folded(least: float, step: float, shares: Floats, times: int) -> tuple[float, float, Floats]:
    """Give the values and shares of the sum of so many independent ones, by repeated squaring.

    >>> least, step, shares = folded(0.0, 1.0, np.array([0.5, 0.5]), 3)
    >>> least, step, shares.tolist()
    (0.0, 1.0, [0.125, 0.375, 0.375, 0.125])
    """
    total: tuple[float, float, Floats] | None = None
    power = least, step, shares
    while times:
        if times & 1:
            total = power if total is None else _added(total, power)
        times >>= 1
        if times:
            power = _added(power, power)
    assert total is not None
    return total


def _added(
    one: tuple[float, float, Floats], other: tuple[float, float, Floats]
) -> tuple[float, float, Floats]:
    """Give the sum of two independent values; its step grows where there are too many values."""
    step = max(one[1], other[1])
    left, right = _coarser(one, step), _coarser(other, step)
    shares = np.maximum(np.convolve(left, right), 0.0)
    made = one[0] + other[0], step, shares
    if len(shares) > 4 * LEVELS:
        coarse = step * np.ceil(len(shares) / (2 * LEVELS))
        made = made[0], coarse, _coarser(made, coarse)
    return made


def _coarser(of: tuple[float, float, Floats], step: float) -> Floats:
    if step == of[1]:
        return of[2]
    places = np.rint(np.arange(len(of[2])) * (of[1] / step)).astype(np.int64)
    shares: Floats = np.bincount(places, of[2]).astype(np.float64)
    return shares


def constants_drawn(least: float, step: float, shares: Floats, draws: int) -> Floats:
    """Draw values as often as their shares say."""
    chance = np.random.default_rng(6)
    upto = np.cumsum(shares)
    strata = (chance.permutation(draws) + 0.5) / draws * upto[-1]
    found: Floats = least + step * np.searchsorted(upto, strata)
    return found
