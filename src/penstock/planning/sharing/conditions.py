"""Conditions of the search in closed form: when an instance, a consumer, an order, a count pays."""

from __future__ import annotations

import math

from penstock.planning.sharing.statistics import UnitCosts


def instance_limit(costs: UnitCosts, consumers: int, *, union: bool = False) -> float:
    """Give the covering selectivity below which an instance pays (lazy-instance).

    >>> equal = UnitCosts(cover=1.0, compensation=1.0, union=0.0, duplicates=0.0, alone=1.0)
    >>> instance_limit(equal, 10)
    0.9
    """
    spent = costs.cover + (costs.union + costs.duplicates if union else 0.0)
    return (consumers * costs.alone - spent) / (consumers * costs.compensation)


def consumer_limit(costs: UnitCosts, consumers: int, *, union: bool = False) -> float:
    """Give the covering selectivity below which a consumer pays in its instance (lazy-consumer)."""
    spent = costs.cover + (costs.union + costs.duplicates if union else 0.0)
    return (costs.alone - spent / consumers) / costs.compensation


def rank(cost: float, selectivity: float) -> float:
    """Give the rank of a filter: of independent ones, the least comes first.

    >>> rank(2.0, 0.9), rank(1.0, 0.2), rank(1.0, 1.0)
    (20.000000000000004, 1.25, inf)
    """
    return cost / (1.0 - selectivity) if selectivity < 1.0 else math.inf


def pays_to_measure(
    cost: float, spread: float, spread_measured: float, collecting: float, risk: float | None = None
) -> bool:
    """Say whether counting pays: by the product of cost and spread, or, with `risk`, by their sum.

    >>> pays_to_measure(100.0, 40.0, 10.0, 20.0), pays_to_measure(100.0, 40.0, 10.0, 20.0, 0.3)
    (True, False)
    """
    saved = spread - spread_measured
    if risk is not None:
        return saved > 0.0 and collecting * (1.0 - risk) < risk * saved
    return saved > 0.0 and collecting * spread_measured < saved * cost
