"""Figures of joins: what the counts of micro-batches say about each group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.algebra.lookups import KIND as LOOKUP

PLAN = "plan_"
"""Counts of this form say how many changes a strategy was chosen for."""
UNDER = "rows_under_"
"""Sizes of this form say for how many rows of a budget a policy is in force."""
DIRECTIONS = 2
SIDES = 2
SHOWN = ("candidates", "pairs", "late_rows", "null_event_times", "hurried_rows", "unknown_deletes",
         "moves", "rebuilds", "refused", "evicted", "expired", "fetched", "absent", "broken",
         "failures")  # fmt: skip


def bounded_figures(own: Mapping[str, int], looks_up: bool = False) -> dict[str, Any]:
    """Say what a group with a budget of rows holds and finds.

    The recall is an estimate: in a slice of the keys all rows are remembered, and all results
    that an unbounded join would have found there are counted. Shares of nothing are None.

    >>> own = {"rows_0": 3, "rows_1": 5, "rows_budget": 8, "probes": 10, "hits": 4, "results": 6}
    >>> bounded_figures({**own, "recall_made": 30, "recall_all": 40})["recall"]
    0.75
    """
    asked = own.get("references" if looks_up else "probes", 0)
    made, everything = own.get("recall_made", 0), own.get("recall_all", 0)
    held = {number: own.get(f"rows_{number}", 0) for number in range(SIDES)}
    if looks_up:
        held = {0: own.get("rows_cached", 0)}
    found: dict[str, Any] = {
        "held": held,
        "share_used": sum(held.values()) / own["rows_budget"] if own.get("rows_budget") else None,
        "hit_rate": own.get("hits", 0) / asked if asked else None,
        "results": own.get("results", 0),
        "in_force": in_force(own),
    }
    if looks_up:
        found |= {"recall": 1.0, "results_lost": 0, "waiting": own.get("rows_waiting", 0)}
        found["breaker"] = "open" if own.get("breaker_open") else "closed"
        return found
    found["recall"] = made / everything if everything else None
    found["results_lost"] = everything - made
    found["waiting"] = own.get("held", 0)
    found |= {name: own.get(name, 0) for name in ("late_rows", "hurried_rows")}
    return found


def in_force(own: Mapping[str, int]) -> str | None:
    """Name the policy in force; where shards go by several, each with the rows under it.

    >>> in_force({"rows_under_LRU": 30}), in_force({"rows_under_LRU": 30, "rows_under_HEEB": 10})
    ('LRU', 'LRU for 30 rows, HEEB for 10')
    """
    rows = {name.removeprefix(UNDER): n for name, n in own.items() if name.startswith(UNDER)}
    if len(rows) <= 1:
        return next(iter(rows), None)
    (first, most), *rest = sorted(rows.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join([f"{first} for {most:,} rows", *(f"{name} for {n:,}" for name, n in rest)])


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
    figures = {group: _figures(own, is_lookup(group)) for group, own in groups.items()}
    return {group: own for group, own in figures.items() if own}


def is_lookup(group: str) -> bool:
    """Say whether a group looks rows up, by its name."""
    return group.startswith(f"{LOOKUP}-")


def _figures(own: Mapping[str, int], looks_up: bool = False) -> dict[str, Any]:
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
    if "rows_budget" in own:
        found |= bounded_figures(own, looks_up)
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


def memory_words(facts: Mapping[str, Any]) -> str:
    """Say in a line how a budget of rows is used, from what `Engine.memory` gives.

    >>> facts = {"budget": 8, "held": {"r": 3, "s": 5}, "hit_rate": 0.4, "recall": 0.75}
    >>> models = {"r": "linear trend", "s": "auto"}
    >>> memory_words({**facts, "results_lost": 10, "models": models})
    '8 of 8 rows (r 3, s 5), hits 40 %, recall about 75.0 % (10 results lost), r linear trend'
    """
    held = facts["held"]
    sides = f" ({', '.join(f'{name} {rows:,}' for name, rows in held.items())})"
    parts = [f"{sum(held.values()):,} of {facts['budget']:,} rows{sides if len(held) > 1 else ''}"]
    if facts["hit_rate"] is not None:
        parts.append(f"hits {100 * facts['hit_rate']:.0f} %")
    if facts.get("breaker") is None and facts["recall"] is not None:
        lost = f" ({facts['results_lost']:,} results lost)" if facts["results_lost"] else ""
        parts.append(f"recall about {100 * facts['recall']:.1f} %{lost}")
    parts += [f"{name} {family}" for name, family in facts["models"].items() if family != "auto"]
    if facts.get("breaker") is not None and facts["waiting"]:
        parts.append(f"{facts['waiting']:,} rows wait for the database")
    parts += [
        f"{facts[name]:,} rows {word}"
        for name, word in (("late_rows", "came too late"), ("hurried_rows", "hurried"))
        if facts.get(name)
    ]
    return ", ".join(parts)
