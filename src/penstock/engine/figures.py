"""Figures of joins: what the counts of micro-batches say about each group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PLAN = "plan_"
"""Counts of this form say how many changes a strategy was chosen for."""
DIRECTIONS = 2
SHOWN = ("candidates", "pairs", "late_rows", "unknown_deletes", "moves", "rebuilds")


def join_figures(counts: Mapping[str, int], sizes: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """Sort counts and sizes of the form `<group>/<name>` by group.

    Shares are of the changes that a strategy was chosen for. `estimated_ms` is what the router
    expected its choices to cost, `actual_ms` what the group took in all, rows and results
    included. A query counts for the hotspot coverage of both directions.

    >>> counts = {"g/plan_hot": 3, "g/plan_scan": 1, "g/plan_none": 9, "g/moves": 2, "events": 7}
    >>> join_figures(counts, {"g/queries": 5, "g/hot_queries": 9})
    {'g': {'hotspot_coverage': 0.9, 'plan_shares': {'hot': 0.75, 'scan': 0.25}, 'moves': 2}}
    """
    groups: dict[str, dict[str, int]] = {}
    for name, figure in (*sizes.items(), *counts.items()):
        group, slash, rest = name.rpartition("/")
        if slash:
            groups.setdefault(group, {})[rest] = figure
    return {group: _figures(own) for group, own in groups.items()}


def _figures(own: Mapping[str, int]) -> dict[str, Any]:
    plans = {
        name.removeprefix(PLAN): count
        for name, count in own.items()
        if name.startswith(PLAN) and name != f"{PLAN}none"
    }
    routed = sum(plans.values())
    found: dict[str, Any] = {}
    if own.get("hot_queries") and own.get("queries"):
        found["hotspot_coverage"] = own["hot_queries"] / (DIRECTIONS * own["queries"])
    if routed:
        found["plan_shares"] = {name: count / routed for name, count in plans.items() if count}
    if "estimated_cost" in own:
        found["estimated_ms"] = own["estimated_cost"] / 1e6
        found["actual_ms"] = own.get("actual_cost", 0) / 1e6
    found |= {name: own[name] for name in SHOWN if name in own}
    return found


def plan_words(counts: Mapping[str, int]) -> str:
    """Say which strategies were chosen how often, the most frequent first.

    >>> plan_words({"plan_hot": 3, "plan_scan": 1, "plan_none": 2})
    'hot 75 %, scan 25 %'
    """
    plans = {name: count for name, count in counts.items() if name.startswith(PLAN)}
    shares = _figures(plans).get("plan_shares", {})
    listed = sorted(shares.items(), key=lambda share: -share[1])
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in listed)
