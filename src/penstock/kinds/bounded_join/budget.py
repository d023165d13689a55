"""The budget of bounded joins: what it holds, brings and misses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.algebra.memories import Memory
from penstock.kinds.budgets import Budget, BudgetFigures, common_figures
from penstock.kinds.run_figures import told_of
from penstock.kinds.told import recalled
from penstock.operators.bounded_join.figures import (
    EVICTED,
    EXPIRED,
    REFUSED,
)
from penstock.operators.bounded_join.live_facts import BoundedJoinFacts
from penstock.operators.protocol import LiveFacts
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

    def joined(self, logical: Any) -> str | None:
        """Name the inputs that a query joins, if others share its memory."""
        found: str | None = logical.in_memory
        return found

    def figures(self, told: Tally, joined: str | None = None) -> BudgetFigures:
        """Say what a bounded join holds, finds and misses.

        The recall is an estimate: in a slice of the keys all rows are remembered, and all results
        that an unbounded join would have found there are counted.
        """
        recall, made, everything = recalled(told, joined)
        return BudgetFigures(
            **common_figures(
                told, {**{str(n): 0 for n in range(SIDES)}, **told.by(ROWS)}, told[PROBES]
            ),
            recall=recall,
            results_lost=everything - made,
            waiting=told[HELD],
            late_rows=told[LATE_ROWS],
            hurried_rows=told[HURRIED_ROWS],
            counted=told_of(told, NULL_EVENT_TIMES, REFUSED, EVICTED, EXPIRED),
        )

    def measured_share(self, told: Tally) -> tuple[float | None, int]:
        """Give the share of the full answer that was found, and how much that is, if known."""
        recall, _, everything = recalled(told)
        return recall, everything

    def based_on(self, memory: Memory, live: LiveFacts) -> str:
        """Say what the recall of a group rests on."""
        weight = live.recall_weight if isinstance(live, BoundedJoinFacts) else None
        if weight == 1:
            return "a count of all results"
        most = memory.options.get("slice", SLICE_ROWS)
        keys = "some keys" if weight is None else f"one in {weight} keys"
        return f"a count of all results of {keys}, of which {most:,} rows at most are remembered"
