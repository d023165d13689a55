"""Filters: how many segments of each bin a condition on one attribute lets through."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf

import numpy as np

from penstock.algebra.models import Fidelity
from penstock.kernels.coefficient_volumes import GOLDEN, boxes_partition, thresholds_partition
from penstock.models.coefficient_bins import CoefficientBins
from penstock.models.conditions import ConditionSolver
from penstock.models.segments import WIDTH
from penstock.planning.selectivity.dual_space import Side, contains, holds_all
from penstock.planning.selectivity.terms import ValueBand
from penstock.vocabulary.batches import Floats, Ints

POINTS = 64
"""How many models of a box are asked where no closed form tells what happens between two ends."""


@dataclass(frozen=True, slots=True)
class Passed:
    """What becomes of the segments of each bin."""

    pieces: Floats
    """Output segments per input segment."""
    whole: Floats
    """The share of segments that stay as they are."""


@dataclass(frozen=True, slots=True)
class Solutions:
    """When models of bins pass: some time ranges of each bin, and how much each weighs."""

    index: Ints
    """The bins that they are of."""
    begins: Floats
    ends: Floats
    weight: Floats
    """Output segments that the range stands for."""


def volumes(bins: CoefficientBins, number: float) -> tuple[Floats, Floats]:
    """Give the shares of each box below, and above, a number at both ends of its time.

    >>> bins = CoefficientBins.of([[100.0, -1.0]], [[110.0, 1.0]], [1], 10.0)
    >>> below, above = volumes(bins, 105.0)
    >>> float(20 * below[0]), float(20 * above[0])
    (6.25, 6.25)
    """
    if abs(number) == inf:
        nothing, all_ = np.zeros(len(bins)), np.ones(len(bins))
        return (all_, nothing) if number > 0 else (nothing, all_)
    below, above = np.empty(len(bins)), np.empty(len(bins))
    boxes_partition(
        bins.low, bins.high, bins.begins, bins.ends, number, np.empty((3, bins.width)), below, above
    )
    return below, above


def thresholds_passed(bins: CoefficientBins, numbers: Floats, side: Side) -> Floats:
    """Give the output segments per input segment of `x < number`, or `>`, for many numbers.

    It is what `passed` gives, number by number; `numbers` are finite.

    >>> bins = CoefficientBins.of([[100.0, -1.0]], [[110.0, 1.0]], [20], 10.0)
    >>> thresholds_passed(bins, np.array([90.0, 105.0, 130.0]), "<").tolist()
    [0.0, 0.6875, 1.0]
    """
    if bins.width > 2:
        ranges = [
            ValueBand(0, high=each) if side == "<" else ValueBand(0, low=each)
            for each in numbers.tolist()
        ]
        return np.array([(passed(bins, each).pieces @ bins.frequency) for each in ranges]) / max(
            bins.total, 1e-300
        )
    below, above = np.empty(len(numbers)), np.empty(len(numbers))
    thresholds_partition(
        bins.low, bins.high, bins.begins, bins.ends, bins.frequency,
        np.ascontiguousarray(numbers, np.float64), np.empty((3, bins.width)), below, above,
    )  # fmt: skip
    found: Floats = 1.0 - (above if side == "<" else below) / max(bins.total, 1e-300)
    return np.maximum(found, 0.0)


def passed(bins: CoefficientBins, band: ValueBand, fidelity: Fidelity = "repaired") -> Passed:
    """Say what becomes of the segments of bins under a condition on their attribute.

    `literal` asks the middle of a bin that a contour cuts, and counts models that violate the
    condition throughout with those that cross it.
    """
    if band.empty and not band.outside:
        return Passed(np.zeros(len(bins)), np.zeros(len(bins)))
    if fidelity == "literal":
        return _literal(bins, band)
    if bins.width <= 2:
        return _closed(bins, band)
    return _asked(bins, band)


def solutions(bins: CoefficientBins, band: ValueBand, found: Passed, points: int = 16) -> Solutions:
    """Give when the segments of bins pass, as often as `found` says.

    Bins that pass whole do so for all of their time; of the others some models are asked.
    """
    whole = np.flatnonzero(found.whole >= 1 - 1e-12)
    cut = np.flatnonzero((found.whole < 1 - 1e-12) & (found.pieces > 0))
    index, begins, ends = asked_points(bins.take(cut), band, points)
    count = np.bincount(index, minlength=len(cut))
    missed = np.flatnonzero(count == 0)
    weight = (bins.frequency[cut] * found.pieces[cut])[index] / np.maximum(count[index], 1)
    parts = (
        (whole, bins.begins[whole], bins.ends[whole], bins.frequency[whole] * found.pieces[whole]),
        (cut[index], begins, ends, weight),
        # No model that was asked passes, though some do: they touch an end of their time.
        (
            cut[missed], bins.begins[cut[missed]], bins.ends[cut[missed]],
            bins.frequency[cut[missed]] * found.pieces[cut[missed]],
        ),
    )  # fmt: skip
    return Solutions(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def derived(
    bins: CoefficientBins, band: ValueBand, fidelity: Fidelity = "repaired"
) -> CoefficientBins:
    """Give the bins of what passes.

    Repaired, what stays whole and what is cut are bins of their own, the second with the mean of
    the time ranges in which its models pass. Literal, a bin has the time range of its middle, and
    a correction factor for how much nearer its models then lie to its bounding contour.
    """
    found = passed(bins, band, fidelity)
    frequency = bins.frequency * bins.correction * found.pieces
    if fidelity == "literal":
        return _derived_literal(bins, band, frequency)
    kept = np.flatnonzero(bins.frequency * found.whole > 0)
    whole = replace(bins.take(kept), frequency=(bins.frequency * found.whole)[kept])
    rest = bins.frequency * (found.pieces - found.whole)
    places = np.flatnonzero(rest > 1e-12 * np.maximum(bins.frequency, 1e-300))
    cut = replace(bins.take(places), frequency=rest[places])
    index, begins, ends = asked_points(cut, band, 16)
    partial = (begins > cut.begins[index]) | (ends < cut.ends[index])
    weight = np.bincount(index, partial, len(cut))
    mean = [
        np.where(weight > 0, np.bincount(index, partial * each, len(cut)) / np.maximum(weight, 1),
                 whole_end)
        for each, whole_end in ((begins, cut.begins), (ends, cut.ends))
    ]  # fmt: skip
    return CoefficientBins.joined([whole, replace(cut, begins=mean[0], ends=mean[1])])


def displacement(bins: CoefficientBins) -> Floats:
    """Give how far the middles of boxes lie from their bounding contours, on the mean of both ends.

    >>> bins = CoefficientBins.of(np.zeros((3, 2)), np.full((3, 2), [10.0, 2.0]), [1, 1, 1],
    ...                           [0.0, 5.0, 10.0], begins=[0.0, 5.0, 10.0])
    >>> np.round(displacement(bins), 2).tolist()
    [5.0, 1.96, 1.49]
    """
    powers = np.arange(bins.width)
    found = np.zeros(len(bins))
    for at in (bins.begins, bins.ends):
        normal = at[:, np.newaxis] ** powers
        length = np.sqrt((normal**2).sum(1))
        found += (normal * (bins.high - bins.low) / 2).sum(1) / length / 2
    return found


def asked_points(
    bins: CoefficientBins, band: ValueBand, points: int
) -> tuple[Ints, Floats, Floats]:
    """Give bin, begin and end of every time range in which some even models of bins pass."""
    even = _even(points, bins.width)
    models = np.zeros((len(bins) * points, 1, WIDTH))
    spread = bins.low[:, np.newaxis] + even * (bins.high - bins.low)[:, np.newaxis]
    models[:, 0, : bins.width] = spread.reshape(-1, bins.width)
    solver = ConditionSolver(replace(band, attribute=0).condition(), 1)
    index, begins, ends = solver.solve(
        models, np.repeat(bins.begins, points), np.repeat(bins.ends, points)
    )
    return index // points, begins, ends


@lru_cache(maxsize=32)
def _even(points: int, width: int) -> Floats:
    steps = np.arange(1, points + 1)[:, np.newaxis] * np.array(GOLDEN[:width])
    found: Floats = (0.5 + steps) % 1.0
    return found


def _closed(bins: CoefficientBins, band: ValueBand) -> Passed:
    """Lines and constants: they pass unless they stay below the band, or above it."""
    if band.outside:
        # A segment through the number is divided there.
        through = np.maximum(1 - sum(volumes(bins, band.low)), 0.0)
        return Passed(1 + through, 1 - through)
    below_low, above_low = volumes(bins, band.low)
    below_high, above_high = volumes(bins, band.high)
    inside = np.maximum(1 - below_low - above_high, 0.0)
    if band.instant:
        return Passed(inside, np.zeros(len(bins)))
    return Passed(inside, np.maximum(above_low + below_high - 1, 0.0))


def _asked(bins: CoefficientBins, band: ValueBand) -> Passed:
    """Curves: what even models of a box do, wherever its corners leave it open."""
    pieces, whole = np.zeros(len(bins)), np.zeros(len(bins))
    least, greatest = _range(bins)
    inside = (least > band.low) & (greatest < band.high)
    away = (greatest < band.low) | (least > band.high)
    sure = away if band.outside else inside
    pieces[sure] = whole[sure] = 1.0
    cut = np.flatnonzero(~(inside | away))
    index, begins, ends = asked_points(bins.take(cut), band, POINTS)
    pieces[cut] = np.bincount(index, minlength=len(cut)) / POINTS
    full = (begins == bins.begins[cut][index]) & (ends == bins.ends[cut][index])
    whole[cut] = np.bincount(index, full, len(cut)) / POINTS
    return Passed(pieces, whole)


def _range(bins: CoefficientBins) -> tuple[Floats, Floats]:
    """Give numbers between which all models of each box stay in all of its time."""
    powers = np.arange(bins.width)
    ends = bins.begins[:, np.newaxis] ** powers, bins.ends[:, np.newaxis] ** powers
    least = np.minimum(bins.low * ends[0], bins.low * ends[1]).sum(1)
    greatest = np.maximum(bins.high * ends[0], bins.high * ends[1]).sum(1)
    return least, greatest


def _literal(bins: CoefficientBins, band: ValueBand) -> Passed:
    """Give what the printed formulae give: one comparison after the other."""
    middle = replace(bins, low=bins.middle, high=bins.middle)
    pieces, whole = np.ones(len(bins)), np.ones(len(bins))
    for one in _sides(band):
        index, _, _ = asked_points(middle, one, 1)
        solved = np.bincount(index, minlength=len(bins))
        is_below = one.low == -inf
        number = one.high if is_below else one.low
        below, above = volumes(bins, number)
        point = np.zeros(bins.width)
        point[0] = number
        share = np.where(contains(bins, point), below if is_below else above, 0.0)
        share[holds_all(bins, number, "<" if is_below else ">")] = 1.0
        if band.low == band.high:
            share[:] = 0.0
        pieces *= share + solved * (1 - share)
        whole *= share
    return Passed(pieces, whole)


def _sides(band: ValueBand) -> list[ValueBand]:
    if band.low == band.high:
        return [band]
    found = [ValueBand(band.attribute, low=band.low)] if band.low > -inf else []
    return [*found, ValueBand(band.attribute, high=band.high)] if band.high < inf else found


def _derived_literal(bins: CoefficientBins, band: ValueBand, frequency: Floats) -> CoefficientBins:
    middle = replace(bins, low=bins.middle, high=bins.middle)
    index, begins, ends = asked_points(middle, band, 1)
    count = np.bincount(index, minlength=len(bins))
    none = np.flatnonzero((count == 0) & (frequency > 0))
    places = np.concatenate((index, none))
    starts = np.concatenate((begins, bins.begins[none]))
    stops = np.concatenate((ends, bins.begins[none]))
    made = replace(
        bins.take(places), frequency=(frequency / np.maximum(count, 1))[places],
        begins=starts, ends=stops,
    )  # fmt: skip
    old = np.where(np.isnan(bins.displacement), displacement(bins), bins.displacement)[places]
    new = displacement(made)
    factor = np.divide(new, old, out=np.ones(len(new)), where=old > 0)
    return replace(made, correction=made.correction * factor, displacement=new).take(
        made.frequency > 0
    )
