"""Curves of what a budget brings: recall or hit rate against rows of memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penstock.operators.bounded.forecast_pictures import curve_lines

Measure = Literal["recall", "hit rate"]

FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Budgets around the one that is asked for."""
SHARES = (0.5, 0.8, 0.9, 0.95, 0.99)
"""Of which it is said how much memory they need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What one budget brings."""

    budget: int
    """Rows."""
    share: float
    """Of all results, those that are found; of all lookups, those that hit."""
    results: float
    """Results per tick, or hits per lookup."""
    held: tuple[float, ...] = ()
    """Rows held of each side, on average, as shares of the budget."""

    @property
    def recall(self) -> float:
        """The share of all results."""
        return self.share


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """What budgets bring, smallest first.

    Attributes
    ----------
    points
        By budget; empty if nothing can be said.
    measure
        What is told of them.
    asked
        The budget that is asked for.
    ticks, warm_up
        How long streams were drawn, and from which tick on results count.
    notes
        What else there is to know, in sentences.
    """

    points: tuple[Point, ...]
    measure: Measure = "recall"
    asked: int | None = None
    ticks: int = 0
    warm_up: int = 0
    notes: tuple[str, ...] = ()

    def at(self, rows: int) -> float:
        """Give the share for any budget: between points along the logarithm of rows.

        >>> curve = Curve(points=(Point(budget=8, share=0.4, results=1.0),))
        >>> curve.at(4), curve.at(8), curve.at(99)
        (0.2, 0.4, 0.4)
        """
        assert self.points
        first = self.points[0]
        if rows <= first.budget:
            return first.share * rows / first.budget
        budgets, shares = self._rising()
        return float(np.interp(math.log(rows), np.log(budgets), shares))

    def rows_for(self, share: float) -> int | None:
        """Give the least budget that brings a share, None if none of the curve's does.

        >>> points = [Point(budget=b, share=s, results=s) for b, s in ((8, 0.4), (32, 0.8))]
        >>> curve = Curve(points=tuple(points))
        >>> curve.rows_for(0.2), curve.rows_for(0.6), curve.rows_for(0.9)
        (4, 16, None)
        """
        budgets, shares = self._rising()
        if not budgets or share > shares[-1] + 1e-12:
            return None
        at = int(np.searchsorted(shares, share - 1e-12))
        if at == 0:
            return max(1, math.ceil(budgets[0] * share / shares[0] - 1e-9)) if shares[0] else None
        low, high = math.log(budgets[at - 1]), math.log(budgets[at])
        part = (share - shares[at - 1]) / (shares[at] - shares[at - 1])
        return min(budgets[at], math.ceil(math.exp(low + part * (high - low)) - 1e-6))

    def needs(self) -> dict[float, int | None]:
        """Give the least budgets for half, and for nearly all."""
        return {share: self.rows_for(share) for share in SHARES}

    def to_json(self) -> dict[str, Any]:
        """Describe the curve for EXPLAIN."""
        name = self.measure.replace(" ", "_")
        per = "results_per_tick" if self.measure == "recall" else "hits_per_lookup"
        expected = None
        if self.points and self.asked is not None:
            expected = round(self.at(self.asked), 4)
        return {
            "measure": self.measure,
            "asked_rows": self.asked,
            "expected": expected,
            "ticks": self.ticks,
            "warm_up": self.warm_up,
            "points": [
                {
                    "rows": point.budget,
                    name: round(point.share, 4),
                    per: round(point.results, 6),
                    "held": [round(share, 4) for share in point.held],
                }
                for point in self.points
            ],
            "needs": [{name: share, "rows": rows} for share, rows in self.needs().items()],
            "notes": list(self.notes),
        }

    def lines(self, width: int = 40) -> list[str]:
        """Draw the curve in letters."""
        return curve_lines(self.to_json(), width)

    def _rising(self) -> tuple[list[int], list[float]]:
        """Give budgets and shares without the dips that chance makes."""
        shares = np.maximum.accumulate([point.share for point in self.points])
        return [point.budget for point in self.points], [float(share) for share in shares]


def budgets_around(asked: int, need: int | None = None) -> tuple[int, ...]:
    """Give budgets from an eighth to eight times the asked one, never above what is needed.

    If much less is needed than asked for, they lie around that.

    >>> budgets_around(100), budgets_around(100, 300), budgets_around(100, 16)
    ((13, 25, 50, 100, 200, 400, 800), (13, 25, 50, 100, 200, 300), (2, 4, 8, 16))
    """
    centre = asked if need is None else min(asked, need)
    wanted: Iterable[int] = (math.ceil(factor * centre) for factor in FACTORS)
    if need is not None:
        wanted = [min(budget, need) for budget in wanted]
    return tuple(sorted(set(wanted)))
