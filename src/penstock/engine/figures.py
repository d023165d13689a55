"""Figures of an engine as a whole, and budgets of rows in a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.vocabulary.figures import Figure, Tally

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


def memory_words(facts: Mapping[str, Any]) -> str:
    """Say in a line how a budget of rows is used, from `engine.figures().memory`.

    >>> facts = {"budget": 8, "held": {"r": 3, "s": 5}, "hit_rate": 0.4, "recall": 0.75}
    >>> laws = {"r": "linear trend", "s": "auto"}
    >>> memory_words({**facts, "results_lost": 10, "laws": laws})
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
    parts += [f"{name} {family}" for name, family in facts["laws"].items() if family != "auto"]
    if facts.get("breaker") is not None and facts["waiting"]:
        parts.append(f"{facts['waiting']:,} rows wait for the database")
    parts += [
        f"{facts[name]:,} rows {word}"
        for name, word in (("late_rows", "came too late"), ("hurried_rows", "hurried"))
        if facts.get(name)
    ]
    return ", ".join(parts)
