"""Figures of a run in the words of users: what kinds with the same figures say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.vocabulary.figures import Figure, Tally
from penstock.vocabulary.shared_figures import HITS, RESULTS, ROWS_BUDGET, ROWS_UNDER


def named(told: Tally, *figures: Figure) -> dict[str, Any]:
    """Give those of some figures that were told, by name."""
    return {figure.name: told[figure] for figure in figures if figure in told}


def budget_figures(told: Tally, held: Mapping[int, int], asked: int) -> dict[str, Any]:
    """Say what a group with a budget of rows holds and finds; shares of nothing are None."""
    budget = told[ROWS_BUDGET]
    return {
        "held": dict(held),
        "share_used": sum(held.values()) / budget if budget else None,
        "hit_rate": told[HITS] / asked if asked else None,
        "results": told[RESULTS],
        "in_force": in_force(told.by(ROWS_UNDER)),
    }


def in_force(rows: Mapping[str, int]) -> str | None:
    """Name the policy in force; where shards go by several, each with the rows under it.

    >>> in_force({"LRU": 30}), in_force({"LRU": 30, "HEEB": 10})
    ('LRU', 'LRU for 30 rows, HEEB for 10')
    """
    if len(rows) <= 1:
        return next(iter(rows), None)
    (first, most), *rest = sorted(rows.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join([f"{first} for {most:,} rows", *(f"{name} for {n:,}" for name, n in rest)])
