"""Figures of joins of two relations: which strategies were chosen, and what they took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.kinds.run_figures import GroupFigures, told_of
from penstock.operators.join.figures import ESTIMATED_COST, HOT_QUERIES, MOVES, PLAN, REBUILDS
from penstock.vocabulary.codec import OMITTED
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import LATE_ROWS, NULL_EVENT_TIMES, UNKNOWN_DELETES
from penstock.vocabulary.shared_figures import ACTUAL_COST, CANDIDATES, PAIRS, QUERIES

DIRECTIONS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedFigures(GroupFigures):
    """How a group of joins works.

    Shares are of the changes that a strategy was chosen for. `estimated_ms` is what the router
    expected its choices to cost, `actual_ms` what the group took in all, rows and results
    included. A query counts for the hotspot coverage of both directions.
    """

    hotspot_coverage: float | None = field(default=None, metadata=OMITTED)
    plan_shares: Mapping[str, float] = field(default_factory=dict, metadata=OMITTED)
    estimated_ms: float | None = field(default=None, metadata=OMITTED)
    actual_ms: float | None = field(default=None, metadata=OMITTED)


def join_figures(told: Tally) -> RoutedFigures | None:
    """Say how a group of joins works; None before it did anything.

    >>> told = Tally({(PLAN, "hot"): 3, (PLAN, "scan"): 1, (PLAN, "none"): 9, MOVES: 2})
    >>> told.add(Tally({QUERIES: 5, HOT_QUERIES: 9}))
    >>> join_figures(told).to_json()
    {'hotspot_coverage': 0.9, 'plan_shares': {'hot': 0.75, 'scan': 0.25}, 'moves': 2}
    """
    shown = (CANDIDATES, PAIRS, LATE_ROWS, NULL_EVENT_TIMES, UNKNOWN_DELETES, MOVES, REBUILDS)
    is_routed = ESTIMATED_COST in told
    hot = told[HOT_QUERIES] / (DIRECTIONS * told[QUERIES]) if told[QUERIES] else None
    found = RoutedFigures(
        counted=told_of(told, *shown),
        hotspot_coverage=hot or None,
        plan_shares=plan_shares(told),
        estimated_ms=told[ESTIMATED_COST] / 1e6 if is_routed else None,
        actual_ms=told[ACTUAL_COST] / 1e6 if is_routed else None,
    )
    return found if found.to_json() else None


def plan_shares(told: Tally) -> dict[str, float]:
    """Give the share of the changes that each strategy was chosen for, if one was."""
    plans = {name: n for name, n in told.by(PLAN).items() if n and name != "none"}
    return {name: count / sum(plans.values()) for name, count in plans.items()}


def plan_words(told: Tally) -> str:
    """Say which strategies were chosen how often, the most frequent first.

    >>> plan_words(Tally({(PLAN, "hot"): 3, (PLAN, "scan"): 1, (PLAN, "none"): 2}))
    'hot 75 %, scan 25 %'
    """
    listed = sorted(plan_shares(told).items(), key=lambda share: -share[1])
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in listed)


def plan_sentence(told: Tally, operators_ms: int) -> str:
    """Say at the end of a run what plans were taken, and what they were expected to cost."""
    return (
        f"Changes to joined relations took these plans: {plan_words(told)}; expected to cost "
        f"{told[ESTIMATED_COST] / 1e6:,.0f} ms of the operators' {operators_ms:,} ms. Moves of "
        f"queries between hotspots and the rest: {told[MOVES]:,}; partitions rebuilt: "
        f"{told[REBUILDS]:,}."
    )
