"""Figures of joins: what the figures of micro-batches say about each group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.algebra.lookups import KIND as LOOKUP
from penstock.operators.bounded_join.figures import (
    EVICTED,
    EXPIRED,
    RECALL_ALL,
    RECALL_MADE,
    REFUSED,
)
from penstock.operators.join.figures import ESTIMATED_COST, HOT_QUERIES, MOVES, PLAN, REBUILDS
from penstock.operators.lookup.figures import (
    ABSENT,
    BREAKER_OPEN,
    BROKEN,
    FAILURES,
    FETCHED,
    REFERENCES,
    ROWS_CACHED,
)
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.figures import Figure, Tally
from penstock.vocabulary.losses import LATE_ROWS, NULL_EVENT_TIMES, UNKNOWN_DELETES
from penstock.vocabulary.shared_figures import (
    ACTUAL_COST,
    CANDIDATES,
    HELD,
    HITS,
    HURRIED_ROWS,
    PAIRS,
    PROBES,
    QUERIES,
    RESULTS,
    ROWS,
    ROWS_BUDGET,
    ROWS_UNDER,
    ROWS_WAITING,
)

DIRECTIONS = 2
SIDES = 2
"""A join has so many inputs, or more where several share a memory."""
SHOWN = (CANDIDATES, PAIRS, LATE_ROWS, NULL_EVENT_TIMES, HURRIED_ROWS, UNKNOWN_DELETES, MOVES,
         REBUILDS, REFUSED, EVICTED, EXPIRED, FETCHED, ABSENT, BROKEN, FAILURES)  # fmt: skip


EVENTS = Figure("events", "Rows that came in.", "rows")
MATCHES = Figure("matches", "Results that were told.", "results")
BATCHES = Figure("batches", "Micro-batches.", "batches")
OPERATORS_MS = Figure("operators_ms", "Time that operators and files took.", "milliseconds")
SUBSCRIPTIONS = Figure("subscriptions", "Subscriptions that stand.", "subscriptions", "gauge")
GROUPS = Figure("groups", "Groups that stand.", "groups", "gauge")
QUERIES_NEVER_MATCHING = Figure(
    "queries_never_matching", "Standing queries that are silent.", "queries", "gauge"
)
ENGINE_FIGURES = (
    EVENTS, MATCHES, BATCHES, OPERATORS_MS, SUBSCRIPTIONS, GROUPS, QUERIES_NEVER_MATCHING,
)  # fmt: skip
"""What an engine tells of itself."""


def engine_figures(totals: Mapping[str, int], spent_s: float, stands: Mapping[str, int]) -> Tally:
    """Give the figures of an engine as a whole, from what it and its registry count."""
    counted = {**stands, **totals, OPERATORS_MS.name: round(spent_s * 1e3)}
    return Tally({figure: counted[figure.name] for figure in ENGINE_FIGURES})


def bounded_figures(own: Tally, looks_up: bool = False) -> dict[str, Any]:
    """Say what a group with a budget of rows holds and finds.

    The recall is an estimate: in a slice of the keys all rows are remembered, and all results
    that an unbounded join would have found there are counted. Shares of nothing are None.

    >>> own = {(ROWS, 0): 3, (ROWS, 1): 5, ROWS_BUDGET: 8, PROBES: 10, HITS: 4, RESULTS: 6}
    >>> bounded_figures(Tally({**own, RECALL_MADE: 30, RECALL_ALL: 40}))["recall"]
    0.75
    """
    asked = own[REFERENCES if looks_up else PROBES]
    held = {number: 0 for number in range(SIDES)}
    held |= {int(number): rows for number, rows in own.by(ROWS).items()}
    if looks_up:
        held = {0: own[ROWS_CACHED]}
    found: dict[str, Any] = {
        "held": held,
        "share_used": sum(held.values()) / own[ROWS_BUDGET] if own[ROWS_BUDGET] else None,
        "hit_rate": own[HITS] / asked if asked else None,
        "results": own[RESULTS],
        "in_force": in_force(own.by(ROWS_UNDER)),
    }
    if looks_up:
        found |= {"recall": 1.0, "results_lost": 0, "waiting": own[ROWS_WAITING]}
        found["breaker"] = "open" if own[BREAKER_OPEN] else "closed"
        return found
    found["recall"] = own[RECALL_MADE] / own[RECALL_ALL] if own[RECALL_ALL] else None
    found["results_lost"] = own[RECALL_ALL] - own[RECALL_MADE]
    found["waiting"] = own[HELD]
    found |= {figure.name: own[figure] for figure in (LATE_ROWS, HURRIED_ROWS)}
    return found


def in_force(rows: Mapping[str, int]) -> str | None:
    """Name the policy in force; where shards go by several, each with the rows under it.

    >>> in_force({"LRU": 30}), in_force({"LRU": 30, "HEEB": 10})
    ('LRU', 'LRU for 30 rows, HEEB for 10')
    """
    if len(rows) <= 1:
        return next(iter(rows), None)
    (first, most), *rest = sorted(rows.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join([f"{first} for {most:,} rows", *(f"{name} for {n:,}" for name, n in rest)])


def join_figures(table: FigureTable) -> dict[str, dict[str, Any]]:
    """Say of every group of joins how it works.

    Shares are of the changes that a strategy was chosen for. `estimated_ms` is what the router
    expected its choices to cost, `actual_ms` what the group took in all, rows and results
    included. A query counts for the hotspot coverage of both directions.

    >>> told = Tally({(PLAN, "hot"): 3, (PLAN, "scan"): 1, (PLAN, "none"): 9, MOVES: 2})
    >>> told.add(Tally({QUERIES: 5, HOT_QUERIES: 9}))
    >>> join_figures(FigureTable({"g": told}))
    {'g': {'hotspot_coverage': 0.9, 'plan_shares': {'hot': 0.75, 'scan': 0.25}, 'moves': 2}}
    """
    figures = {group: _figures(own, is_lookup(group)) for group, own in table.items()}
    return {group: own for group, own in figures.items() if own}


def is_lookup(group: str) -> bool:
    """Say whether a group looks rows up, by its name."""
    return group.startswith(f"{LOOKUP}-")


def plan_shares(own: Tally) -> dict[str, float]:
    """Give the share of the changes that each strategy was chosen for, if one was."""
    plans = {name: n for name, n in own.by(PLAN).items() if n and name != "none"}
    return {name: count / sum(plans.values()) for name, count in plans.items()}


def _figures(own: Tally, looks_up: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if own[HOT_QUERIES] and own[QUERIES]:
        found["hotspot_coverage"] = own[HOT_QUERIES] / (DIRECTIONS * own[QUERIES])
    if shares := plan_shares(own):
        found["plan_shares"] = shares
    if ESTIMATED_COST in own:
        found["estimated_ms"] = own[ESTIMATED_COST] / 1e6
        found["actual_ms"] = own[ACTUAL_COST] / 1e6
    if ROWS_BUDGET in own:
        found |= bounded_figures(own, looks_up)
    found |= {figure.name: own[figure] for figure in SHOWN if figure in own}
    return found


def plan_words(own: Tally) -> str:
    """Say which strategies were chosen how often, the most frequent first.

    >>> plan_words(Tally({(PLAN, "hot"): 3, (PLAN, "scan"): 1, (PLAN, "none"): 2}))
    'hot 75 %, scan 25 %'
    """
    listed = sorted(plan_shares(own).items(), key=lambda share: -share[1])
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in listed)


def memory_words(facts: Mapping[str, Any]) -> str:
    """Say in a line how a budget of rows is used, from `engine.figures().memory`.

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
