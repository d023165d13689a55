"""Conditions: what passes any condition, by closed forms or by segments that are drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.algebra.models import ModelCondition
from penstock.models.coefficient_bins import CoefficientBins
from penstock.models.conditions import ConditionSolver
from penstock.planning.selectivity.conjunctions import conjunction, passing
from penstock.planning.selectivity.draws import Draws, drawn
from penstock.planning.selectivity.statistics import (
    GUESS,
    Estimation,
    SegmentStatistics,
    Selectivity,
)
from penstock.planning.selectivity.terms import ValueBand, bands
from penstock.vocabulary.batches import Floats, Ints

Filtered = tuple[Selectivity, SegmentStatistics]


def filtered(condition: ModelCondition, given: SegmentStatistics, how: Estimation) -> Filtered:
    """Estimate what passes a condition without parameters.

    Comparisons of single attributes with numbers have closed forms; for all others segments are
    drawn from the bins, and the condition is solved on them.
    """
    closed = _closed(condition, given)
    if closed is not None:
        found = conjunction(*closed, fidelity=how.fidelity, bounds=how.bounds)
        return found.selectivity, given.passed(found.selectivity, found.attributes)
    if any(each is None or not len(each) for each in given.attributes):
        return GUESS, given.passed(GUESS, {})
    return solved(condition, drawn(given.attributes, how.draws), given, 1.0)


def selectivity_of(
    condition: ModelCondition, given: SegmentStatistics, how: Estimation
) -> Selectivity:
    """Estimate how many segments pass a condition without parameters."""
    closed = _closed(condition, given)
    if closed is not None:
        return passing(*closed, fidelity=how.fidelity, bounds=how.bounds)
    return filtered(condition, given, how)[0]


def _closed(
    condition: ModelCondition, given: SegmentStatistics
) -> tuple[dict[int, CoefficientBins], tuple[ValueBand, ...]] | None:
    """Give the bins and the bands that a condition speaks of; None: it has no closed form."""
    terms = bands(condition)
    if terms is None:
        return None
    asked = {each.attribute: given.attributes[each.attribute] for each in terms}
    known = {k: each for k, each in asked.items() if each is not None}
    return (known, terms) if len(known) == len(asked) else None


def solved(
    condition: ModelCondition, draws: Draws, given: SegmentStatistics, each: float
) -> Filtered:
    """Solve a condition on drawn segments; a solution stands for `each` output segments."""
    solver = ConditionSolver(condition, len(given.attributes))
    index, begins, ends = solver.solve(draws.models, draws.begins, draws.ends)
    selectivity = Selectivity.exactly(each * len(index) / len(draws.begins))
    attributes = {
        place: _held(bins, draws.bins[place][index], begins, ends)
        for place, bins in enumerate(given.attributes)
        if bins is not None
    }
    return selectivity, given.passed(selectivity, attributes)


def _held(bins: CoefficientBins, index: Ints, begins: Floats, ends: Floats) -> CoefficientBins:
    """Give the bins of solutions: how many each has, and the mean of their times."""
    count = np.bincount(index, minlength=len(bins)).astype(np.float64)
    used = np.flatnonzero(count)
    return replace(
        bins.take(used), frequency=count[used],
        begins=(np.bincount(index, begins, len(bins))[used] / count[used]),
        ends=(np.bincount(index, ends, len(bins))[used] / count[used]),
    )  # fmt: skip
