"""Maps: the bins of attributes that are polynomials over others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.algebra.models import MappedAttribute, ModelMap
from penstock.models.coefficient_bins import CoefficientBins
from penstock.models.coefficient_histograms import WIDTH_MAX, CoefficientHistogram
from penstock.models.conditions import PolynomialMap
from penstock.models.segments import WIDTH, Segments
from penstock.planning.selectivity.conditions import Filtered
from penstock.planning.selectivity.draws import Draws, drawn
from penstock.planning.selectivity.statistics import (
    Estimation,
    SegmentStatistics,
    Selectivity,
    scaled,
)
from penstock.vocabulary.batches import Floats


def mapped(stage: ModelMap, given: SegmentStatistics, how: Estimation) -> Filtered:
    """Give what a map makes: as many segments, of other attributes.

    A function that models only come near to cuts segments into as many as that takes: nothing is
    known of its attribute, and how many there are is a guess.
    """
    draws = drawn(given.attributes, how.draws)
    attributes = tuple(_attribute(each, given, draws) for each in stage.attributes)
    functions = any(each.function is not None for each in stage.attributes)
    found = replace(Selectivity.exactly(1.0), known=not functions)
    return found, replace(given, attributes=attributes)


def _attribute(
    own: MappedAttribute, given: SegmentStatistics, draws: Draws
) -> CoefficientBins | None:
    used = {k for term in own.polynomial.terms for k, power in enumerate(term.powers) if power}
    known = [given.attributes[k] for k in used]
    if own.function is not None or any(each is None or not len(each) for each in known):
        return None
    polynomial = PolynomialMap([own.polynomial], len(given.attributes))
    widths = [1 if each is None else each.width for each in given.attributes]
    width = polynomial.degree_of([each - 1 for each in widths]) + 1
    if width > WIDTH_MAX:
        return None
    models = polynomial.models(draws.models)[:, 0, :width]
    return scaled(counted(models, draws.begins, draws.ends), given.count)


def counted(models: Floats, begins: Floats, ends: Floats) -> CoefficientBins:
    """Give the bins of models (n, coefficients) that hold in some time ranges."""
    total, width = models.shape
    coefficients = np.zeros((total, 1, WIDTH))
    coefficients[:, 0, :width] = models
    histogram = CoefficientHistogram(width)
    zeros = np.zeros(total, np.int64)
    histogram.count(
        Segments(
            zeros[:, np.newaxis], zeros, begins, ends, coefficients, np.ones(total, np.int8), zeros
        ),
        0,
    )
    return histogram.bins()
