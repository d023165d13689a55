"""Curves: what a budget of rows brings, drawn for EXPLAIN of joins and lookups that have one."""

from __future__ import annotations

from typing import Any

from penstock.operators.bounded.forecast_pictures import curve_lines, curve_svg
from penstock.planning.explanation import CHART, Explanation


def with_curve(facts: dict[str, Any]) -> dict[str, Any]:
    """Add a drawing in letters of what memory brings, if that is among the facts."""
    curve = facts.get("curve")
    return {**facts, CHART: curve_lines(curve)} if curve else facts


def drawn_curve(explanation: Explanation, what: str) -> str | None:
    """Draw what memory brings, if it is known."""
    curve = explanation.facts.get("curve")
    if not curve or not curve.get("points"):
        return None
    return curve_svg(curve, f"{what} against memory: {explanation.relation}")
