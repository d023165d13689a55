"""Figures of bounded joins: what a budget holds, brings and misses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.algebra.memories import Memory
from penstock.kinds.run_figures import budget_figures
from penstock.operators.bounded_join.figures import RECALL_ALL, RECALL_MADE
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import LATE_ROWS
from penstock.vocabulary.shared_figures import HELD, HURRIED_ROWS, PROBES, ROWS

SIDES = 2
"""A join has so many inputs, or more where several share a memory."""
SLICE_ROWS = 65_536
"""Rows that the estimate of the recall remembers, where the options do not say."""


def bounded_figures(told: Tally) -> dict[str, Any]:
    """Say what a bounded join holds, finds and misses.

    The recall is an estimate: in a slice of the keys all rows are remembered, and all results
    that an unbounded join would have found there are counted.

    >>> bounded_figures(Tally({(ROWS, 0): 3, RECALL_MADE: 30, RECALL_ALL: 40}))["recall"]
    0.75
    """
    held = dict.fromkeys(range(SIDES), 0)
    held |= {int(number): rows for number, rows in told.by(ROWS).items()}
    return {
        **budget_figures(told, held, told[PROBES]),
        "recall": recall(told),
        "results_lost": told[RECALL_ALL] - told[RECALL_MADE],
        "waiting": told[HELD],
        "late_rows": told[LATE_ROWS],
        "hurried_rows": told[HURRIED_ROWS],
    }


def recall(told: Tally) -> float | None:
    """Give the share of the full answer that was found, as far as that is known."""
    return told[RECALL_MADE] / told[RECALL_ALL] if told[RECALL_ALL] else None


def based_on(memory: Memory, live: Mapping[str, Any]) -> str:
    """Say what the recall of a group rests on."""
    weight = live.get("recall_weight")
    if weight == 1:
        return "a count of all results"
    most = memory.options.get("slice", SLICE_ROWS)
    keys = "some keys" if weight is None else f"one in {weight} keys"
    return f"a count of all results of {keys}, of which {most:,} rows at most are remembered"
