"""The budget of lookup joins: what a cache holds and brings, and whether the database answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.algebra.memories import Memory
from penstock.kinds.budgets import Budget, BudgetFigures, common_figures
from penstock.kinds.run_figures import told_of
from penstock.operators.lookup.figures import (
    ABSENT,
    BREAKER_OPEN,
    BROKEN,
    FAILURES,
    FETCHED,
    REFERENCES,
    ROWS_CACHED,
)
from penstock.operators.protocol import LiveFacts
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import HITS, ROWS_WAITING


class CacheBudget(Budget):
    """`CACHE n ROWS` of a table that is looked up."""

    word = "CACHE"

    def memory(self, described: Mapping[str, Any]) -> Memory:
        """Give what CACHE says."""
        return Memory.from_json(described["lookup"]["memory"])

    def by_law(self, logical: Any) -> tuple[str, ...]:
        """Name the stream that asks."""
        return (logical.inputs[1 - logical.looked_up].name,)

    def figures(self, told: Tally, joined: str | None = None) -> BudgetFigures:  # noqa: ARG002
        """Say what a cache holds and brings; every row is answered, sooner or later."""
        return BudgetFigures(
            **common_figures(told, {"0": told[ROWS_CACHED]}, told[REFERENCES]),
            recall=1.0,
            results_lost=0,
            waiting=told[ROWS_WAITING],
            breaker="open" if told[BREAKER_OPEN] else "closed",
            counted=told_of(told, FETCHED, ABSENT, BROKEN, FAILURES),
        )

    def measured_share(self, told: Tally) -> tuple[float | None, int]:
        """Give the hit rate, and of how many lookups."""
        asked = told[REFERENCES]
        return told[HITS] / asked if asked else None, asked

    def based_on(self, memory: Memory, live: LiveFacts) -> str:  # noqa: ARG002
        """Say what the recall rests on."""
        return "every row is answered, from the cache or from the source"
