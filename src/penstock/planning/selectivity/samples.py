"""Samples: estimates from some of the segments, or from some of the bins.

*Baseline*: run the condition on a sample of segments, and count. *Segment sampling*: make bins of
a sample. *Bin sampling*: make bins of all segments and look at some of them, frequent ones more
likely.
"""

from __future__ import annotations

import numpy as np

from penstock.algebra.models import ModelCondition
from penstock.models.coefficient_bins import CoefficientBins
from penstock.models.conditions import ConditionSolver
from penstock.models.segments import Segments
from penstock.vocabulary.batches import Floats

COVERED = 0.96
"""The share of all segments that bins are drawn for where no number of bins is named."""


def segments_sampled(segments: Segments, rate: float, chance: np.random.Generator) -> Segments:
    """Give each segment with a chance of `rate`."""
    return segments.take(chance.random(len(segments)) < rate)


def baseline(condition: ModelCondition, sample: Segments) -> float:
    """Give how many segments a condition makes of each of a sample."""
    if not len(sample):
        return 0.0
    solver = ConditionSolver(condition, sample.coefficients.shape[1])
    index, _, _ = solver.solve(sample.coefficients, sample.low, sample.high)
    return len(index) / len(sample)


def bins_heaviest(bins: CoefficientBins, share: float | None = None) -> CoefficientBins:
    """Give the most frequent bins: a share of them, or, None, as many as hold nearly all segments.

    Nothing is left to chance, and what is left out is the margin.
    """
    order = np.argsort(-bins.frequency, kind="stable")
    return bins.take(np.sort(order[: _count(bins.frequency[order], share)]))


def bins_sampled(
    bins: CoefficientBins, chance: np.random.Generator, share: float | None = None
) -> CoefficientBins:
    """Draw bins without replacement, each as likely as it is frequent; they keep their frequencies.

    `share` of the bins are drawn, or, None, as many as hold nearly all segments. That pays where
    bins hold many segments each: what is left out is taken to be like what stays.
    """
    # Keys of exponential races: the first of them are a weighted draw without replacement.
    order = np.argsort(chance.exponential(size=len(bins)) / np.maximum(bins.frequency, 1e-300))
    return bins.take(np.sort(order[: _count(bins.frequency[order], share)]))


def _count(frequency: Floats, share: float | None) -> int:
    """Give how many of some bins, in their order, to look at."""
    if share is not None:
        return max(round(share * len(frequency)), 1)
    held = np.cumsum(frequency)
    return int(np.searchsorted(held, COVERED * held[-1])) + 1 if len(held) else 0
