"""Routing: every arriving tuple goes to the strategy that is cheapest for it.

Takes: the ranges of standing select-joins, strategies, a batch of tuples, the probed side's runs.
Gives: the strategy of each tuple, the affected queries, what each strategy would have cost.
Never: another answer than any one strategy gives; a look at a clock.
"""

from penstock.operators.join.routing.constants import (
    BUILT_IN,
    CHOICES,
    PAPER,
    Coefficients,
    CostConstants,
    load_constants,
    save_constants,
)
from penstock.operators.join.routing.costs import Sizes, costs
from penstock.operators.join.routing.dynamic import DynamicStrategy
from penstock.operators.join.routing.histogram import IntervalHistogram
from penstock.operators.join.routing.table import DecisionTable

__all__ = [
    "BUILT_IN",
    "CHOICES",
    "PAPER",
    "Coefficients",
    "CostConstants",
    "DecisionTable",
    "DynamicStrategy",
    "IntervalHistogram",
    "Sizes",
    "costs",
    "load_constants",
    "save_constants",
]
