"""Corrections: a forecast curve, moved through what a run has measured at its own budget."""

from __future__ import annotations

from typing import Any

from penstock.operators.bounded.forecast_curves import Curve, Point

SURE = 1e-4
"""Shares nearer to nothing or to all have no odds to be moved."""
LEAST = 200
"""Results, or lookups, from which a run's own figure is trusted."""


def corrected(facts: dict[str, Any], measured: float | None, seen: int) -> dict[str, Any]:
    """Let a curve that was forecast pass through the share that was measured.

    Every share's odds are moved alike, so that nothing stays nothing and all stays all; a forecast
    of all, which has no odds, is scaled. A note tells both figures.

    Parameters
    ----------
    facts
        As `Curve.to_json` gives them.
    measured
        The share at the budget that is asked for; None if nothing was.
    seen
        Of how many results, or lookups: few correct nothing.

    >>> points = tuple(Point(budget=b, share=s, results=s) for b, s in ((10, 0.5), (20, 0.8)))
    >>> told = corrected(Curve(points=points, asked=10).to_json(), 0.4, 1000)
    >>> [point["recall"] for point in told["points"]], told["expected"]
    ([0.4, 0.7273], 0.4)
    >>> told["notes"]
    ['Corrected by this run: forecast 50.0 %, measured 40.0 %.']
    """
    expected = facts.get("expected")
    if measured is None or expected is None or seen < LEAST or expected <= SURE:
        return facts
    name = facts["measure"].replace(" ", "_")
    points = tuple(
        Point(
            budget=point["rows"],
            share=_moved(point[name], expected, measured),
            results=point.get("results_per_tick", point.get("hits_per_lookup", 0.0)),
            held=tuple(point["held"]),
        )
        for point in facts["points"]
    )
    note = (
        f"Corrected by this run: forecast {100 * expected:.1f} %, measured {100 * measured:.1f} %."
    )
    curve = Curve(
        points=points,
        measure=facts["measure"],
        asked=facts["asked_rows"],
        ticks=facts["ticks"],
        warm_up=facts["warm_up"],
        notes=(*facts["notes"], note),
    )
    both = {"forecast": expected, "measured": round(measured, 4)}
    return {**curve.to_json(), "corrected": both}


def _moved(share: float, expected: float, measured: float) -> float:
    """Move a share as far as the expected one must be, to be the measured one."""
    if expected >= 1.0 - SURE or measured >= 1.0 or measured <= 0.0:
        return min(1.0, share * measured / expected)
    if share >= 1.0:
        return 1.0
    odds = share / (1.0 - share) * (measured / (1.0 - measured)) / (expected / (1.0 - expected))
    return odds / (1.0 + odds)
