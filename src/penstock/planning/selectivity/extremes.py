"""Extremes: which segments are the least or the greatest of all keys, and of a window of time.

All is said of the greatest; the least is the greatest of the negated models.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penstock.algebra.models import Fidelity, ModelEnvelope, ModelWindow
from penstock.kernels.coefficient_comparisons import boxes_above, boxes_below
from penstock.models.coefficient_bins import CoefficientBins
from penstock.planning.selectivity.conditions import Filtered
from penstock.planning.selectivity.dual_space import values_at
from penstock.planning.selectivity.statistics import (
    GUESS,
    Estimation,
    SegmentStatistics,
    Selectivity,
    scaled,
)
from penstock.vocabulary.batches import Floats


def enveloped(stage: ModelEnvelope, given: SegmentStatistics, how: Estimation) -> Filtered:
    """Estimate which segments are part of the envelope over all keys of a group."""
    bins = given.attributes[stage.attribute]
    if bins is None or not bins.total:
        return GUESS, replace(given, attributes=(None,), count=given.count * GUESS.estimate)
    keys = given.keys if not stage.group else 1
    greatest = stage.function == "max"
    made = instantaneous(bins, greatest, keys, how.fidelity)
    share = made.total / bins.total
    if how.fidelity == "repaired":
        # Where the extreme at the end is another one than at the beginning, there is a piece more.
        throughout = instantaneous(bins, greatest, keys, throughout=True)
        share += max(share - throughout.total / bins.total, 0.0)
    selectivity = Selectivity.exactly(share)
    count = given.count * share
    return selectivity, replace(
        given, attributes=(scaled(made, count),), count=count,
        keys=given.keys if stage.group else 1,
    )  # fmt: skip


def instantaneous(
    bins: CoefficientBins, greatest: bool, keys: int = 1, fidelity: Fidelity = "repaired",
    *, throughout: bool = False,
) -> CoefficientBins:  # fmt: skip
    """Give the bins of segments that are the extreme of all keys.

    Keys are told apart by the bins; where these have one code only, by `keys`: so many keys whose
    segments come alike. Repaired, a bin counts with the chance that no other key is beyond its
    middle in the middle of its time, or, `throughout`, at both ends of it.
    """
    own = bins if greatest else _negated(bins)
    codes = np.unique(own.key)
    if len(codes) == 1 and keys == 1:
        return bins
    parts = [own.take(own.key == code) for code in codes]
    if len(codes) == 1:
        beyond = _beyond(own, own, fidelity, throughout)
        if fidelity == "literal":
            weight = 1.0 - beyond / own.total
        else:
            weight = (1.0 - beyond / own.total) ** (keys - 1)
        return replace(bins, frequency=bins.frequency * np.maximum(weight, 0.0))
    weight = np.ones(len(own))
    for code in codes:
        mine = own.key == code
        others = [part for part, other in zip(parts, codes, strict=True) if other != code]
        if fidelity == "literal":
            total = sum(each.total for each in others)
            share = sum(_beyond(own.take(mine), each, fidelity) for each in others) / total
            weight[mine] = 1.0 - share
        else:
            for each in others:
                beyond = _beyond(own.take(mine), each, fidelity, throughout)
                weight[mine] *= 1.0 - beyond / each.total
    return replace(bins, frequency=bins.frequency * np.maximum(weight, 0.0))


@dataclass(frozen=True, slots=True)
class WindowExtremes:
    """What a sliding window's extreme is made of."""

    moving: CoefficientBins
    """Segments that are the extreme while they enter or leave the window."""
    constant: CoefficientBins
    """Extremes that stay in the window for some time."""
    selectivity: float
    """Output segments per input segment, neighbours that are equal taken as one."""


def over_window(
    bins: CoefficientBins, greatest: bool, size_s: float, fidelity: Fidelity = "repaired"
) -> WindowExtremes:
    """Estimate the greatest, or the least, of the last `size_s` seconds of one function of time.

    `bins` are the segments of that function; one follows the other, independently.
    """
    own = bins if greatest else _negated(bins)
    length = float(((own.ends - own.begins) * own.frequency).sum() / own.total)
    count = max(size_s / max(length, 1e-9), 1.0)
    # A window that slides continuously holds parts of one segment more.
    held = count + 1.0
    share = own.frequency / own.total
    lower = _lower(own)
    stay = 1.0 - lower ** (count - 1.0)
    peak = np.maximum(values_at(own.high, own.begins), values_at(own.high, own.ends))
    kept = own.frequency * stay * stay
    if fidelity == "literal":
        last = np.full(len(own), _literal_length(own, lower, count, length))
    else:
        ratio = np.minimum(lower, 1.0 - 1e-9)
        last = np.minimum(length * ratio * (1.0 - ratio**count) / (1.0 - ratio), size_s)
        runs = np.maximum(last / max(length, 1e-9), 1.0)
        kept = kept / runs
    value = peak if greatest else -peak
    boxes = np.zeros((len(own), own.width))
    boxes[:, 0] = value
    constant = replace(
        bins, low=boxes, high=boxes.copy(), frequency=kept, begins=np.zeros(len(own)), ends=last
    )
    changes = float((share * 2.0 * lower**held).sum())
    moving = replace(bins, frequency=bins.frequency * lower**held)
    # An extreme that rises moves while it enters, one that falls while it leaves: one time in two.
    pieces = changes * (1.0 if own.width == 1 or _flat(own) else 1.5)
    if fidelity == "literal":
        pieces = 1.0 + float(kept.sum()) / own.total
        moving = bins
    return WindowExtremes(moving, constant, pieces)


def windowed(stage: ModelWindow, given: SegmentStatistics, how: Estimation) -> Filtered:
    """Estimate a minimum or maximum over a sliding window."""
    bins = given.attributes[stage.attribute]
    if bins is None or not bins.total:
        return GUESS, replace(given, attributes=(None,), count=given.count * GUESS.estimate)
    greatest = stage.function == "max"
    keys = given.keys if not stage.group else 1
    envelope = instantaneous(bins, greatest, keys, how.fidelity)
    found = over_window(envelope, greatest, stage.size_us * 1e-6, how.fidelity)
    selectivity = Selectivity.exactly(envelope.total / bins.total * found.selectivity)
    made = CoefficientBins.joined([found.moving, found.constant])
    return selectivity, replace(
        given, attributes=(made,), count=given.count * selectivity.estimate,
        keys=given.keys if stage.group else 1,
    )  # fmt: skip


def _negated(bins: CoefficientBins) -> CoefficientBins:
    return replace(bins, low=-bins.high, high=-bins.low)


def _flat(bins: CoefficientBins) -> bool:
    return not (bins.low[:, 1:].any() or bins.high[:, 1:].any())


def _beyond(
    bins: CoefficientBins, others: CoefficientBins, fidelity: Fidelity, throughout: bool = False
) -> Floats:
    """Give how many of the others are higher than the middle of each bin.

    Literal, as it is printed: bins that lie wholly *below* it, in all coefficients.
    """
    if fidelity == "literal":
        below = (others.high[np.newaxis] <= bins.middle[:, np.newaxis]).all(2)
        found: Floats = (below * others.frequency).sum(1)
        return found
    above = np.empty(len(bins))
    if throughout:
        room = np.empty((5, bins.width))
        boxes_below(
            bins.middle, bins.begins, bins.ends, others.low, others.high, others.frequency, room,
            above,
        )  # fmt: skip
        return np.asarray(others.total - above)
    at = (bins.begins + bins.ends) / 2
    boxes_above(
        bins.middle, at, others.low, others.high, others.frequency, np.empty(bins.width), above
    )
    return above


def _lower(bins: CoefficientBins) -> Floats:
    """Give, for each bin, the share of segments that are lower."""
    return np.clip(1.0 - _beyond(bins, bins, "repaired") / bins.total, 0.0, 1.0)


def _literal_length(own: CoefficientBins, lower: Floats, count: float, length: float) -> float:
    """Give the printed mean length of a constant, whose unit is a time squared."""
    steps = np.arange(1, int(count) + 1)
    append = 1.0 - lower ** (count - 1.0)
    expected = lower * count + (1.0 - lower) * length
    terms = expected[:, np.newaxis] * (steps - 1) * length * append[:, np.newaxis] ** (steps - 1)
    terms = terms * (1.0 - append)[:, np.newaxis]
    return float((terms.sum(1) / max(count, 1.0) * own.frequency).sum() / own.total)
