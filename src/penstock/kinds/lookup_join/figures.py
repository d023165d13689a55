"""Figures of lookup joins: what a cache holds and brings, and whether the database answers."""

from __future__ import annotations

from typing import Any

from penstock.kinds.run_figures import budget_figures
from penstock.operators.lookup.figures import BREAKER_OPEN, REFERENCES, ROWS_CACHED
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import ROWS_WAITING


def lookup_figures(told: Tally) -> dict[str, Any]:
    """Say what a cache holds and brings; every row is answered, sooner or later."""
    return {
        **budget_figures(told, {0: told[ROWS_CACHED]}, told[REFERENCES]),
        "recall": 1.0,
        "results_lost": 0,
        "waiting": told[ROWS_WAITING],
        "breaker": "open" if told[BREAKER_OPEN] else "closed",
    }
