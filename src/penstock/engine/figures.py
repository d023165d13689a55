"""Figures of an engine as a whole."""

from __future__ import annotations

from collections.abc import Mapping

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
