"""Warmth: the planner's kernels, compiled before somebody asks for a plan."""

from __future__ import annotations

import numpy as np

from penstock.algebra.models import ModelComparison, Monomial, Polynomial
from penstock.models.coefficient_bins import CoefficientBins
from penstock.planning.costs import Constant
from penstock.planning.model import InputModel, JoinModel, PredicateModel
from penstock.planning.optimiser import optimise
from penstock.planning.search import best_plans, search
from penstock.planning.selectivity.chains import condition_estimate
from penstock.planning.selectivity.crossings import AttributeOrder, crossing
from penstock.planning.selectivity.extremes import instantaneous
from penstock.planning.selectivity.statistics import SegmentStatistics

INPUTS = 4
LIBRARY = Constant(0.0005)


def warm_up() -> None:
    """Plan a small join in every way, also as if it were too large to try every tree."""
    inputs = tuple(
        InputModel(name=f"i{number}", rate=10.0 * (number + 1), rows=10) for number in range(INPUTS)
    )
    predicates = tuple(
        PredicateModel(mask=3 << number, selectivity=0.2) for number in range(INPUTS - 1)
    )
    model = JoinModel(inputs=inputs, predicates=predicates)
    optimise(model, LIBRARY)
    best_plans(model, LIBRARY, 2)
    search(model, LIBRARY, worst=True)
    search(model, LIBRARY, objective="memory")
    search(model, LIBRARY, memory_max=1e6)
    search(model, LIBRARY, n_max=INPUTS - 1)
    _estimate()


def _estimate() -> None:
    """Estimate conditions, a join and extremes over a few bins of lines and of curves."""
    comparison = ModelComparison(
        polynomial=Polynomial(terms=(Monomial(factor=1.0, powers=(1,)),)), comparator="<"
    )
    for width in (2, 3):
        bins = CoefficientBins.of(-np.ones((2, width)), np.ones((2, width)), [1, 2], 1.0)
        condition_estimate(comparison, SegmentStatistics.of(bins))
        instantaneous(bins, True, 2)
        instantaneous(bins, True, 2, throughout=True)
        if width == 2:
            crossing(bins, bins, AttributeOrder(0, 0, True), 1.0)
