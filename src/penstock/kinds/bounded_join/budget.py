"""The budget of bounded joins: what it holds, brings and misses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.algebra.memories import Memory
from penstock.kinds.budgets import Budget, BudgetFigures, common_figures
from penstock.kinds.run_figures import told_of
from penstock.operators.bounded_join.figures import (
    EVICTED,
    EXPIRED,
    RECALL_ALL,
    RECALL_MADE,
    REFUSED,
)
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import LATE_ROWS, NULL_EVENT_TIMES
from penstock.vocabulary.shared_figures import HELD, HURRIED_ROWS, PROBES, ROWS

SIDES = 2
"""A join has so many inputs, or more where several share a memory."""
SLICE_ROWS = 65_536
"""Rows that the estimate of the recall remembers, where the options do not say."""


class JoinBudget(Budget):
    """`MEMORY n ROWS` of a join."""

    def memory(self, described: Mapping[str, Any]) -> Memory:
        """Give what MEMORY says."""
        return Memory.from_json(described["memory"])

    def by_law(self, logical: Any) -> tuple[str, ...]:
        """Name all streams: what is kept of each depends on the others' keys."""
        return tuple(each.name for each in logical.inputs)

    def figures(self, told: Tally) -> BudgetFigures:
        """Say what a bounded join holds, finds and misses.

        The recall is an estimate: in a slice of the keys all rows are remembered, and all results
        that an unbounded join would have found there are counted.

        >>> told = Tally({(ROWS, 0): 3, RECALL_MADE: 30, RECALL_ALL: 40})
        >>> JoinBudget().figures(told).recall
        0.75
        """
        recall, everything = self.measured_share(told)
        return BudgetFigures(
            **common_figures(
                told, {**{str(n): 0 for n in range(SIDES)}, **told.by(ROWS)}, told[PROBES]
            ),
            recall=recall,
            results_lost=everything - told[RECALL_MADE],
            waiting=told[HELD],
            late_rows=told[LATE_ROWS],
            hurried_rows=told[HURRIED_ROWS],
            counted=told_of(told, NULL_EVENT_TIMES, REFUSED, EVICTED, EXPIRED),
        )

    def measured_share(self, told: Tally) -> tuple[float | None, int]:
        """Give the share of the full answer that was found, and how much that is, if known."""
        everything = told[RECALL_ALL]
        return told[RECALL_MADE] / everything if everything else None, everything

    def based_on(self, memory: Memory, live: Mapping[str, Any]) -> str:
        """Say what the recall of a group rests on."""
        weight = live.get("recall_weight")
        if weight == 1:
            return "a count of all results"
        most = memory.options.get("slice", SLICE_ROWS)
        keys = "some keys" if weight is None else f"one in {weight} keys"
        return f"a count of all results of {keys}, of which {most:,} rows at most are remembered"
