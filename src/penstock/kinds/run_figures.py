"""Figures of a run in the words of users: what kinds with the same figures say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.vocabulary.codec import Node, encode
from penstock.vocabulary.figures import Figure, Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFigures(Node):
    """What a group did in a run; a kind adds fields for what it derives from its figures.

    `counted` are figures as the operators told them.

    >>> rows = Figure("late_rows", "Rows that came late.", "rows")
    >>> GroupFigures(counted=Tally({rows: 3})).to_json()
    {'late_rows': 3}
    """

    counted: Tally = field(default_factory=Tally)

    def to_json(self) -> dict[str, Any]:
        """Give all of it by name."""
        own = encode(self)
        counted = own.pop("counted")
        return {**own, **{figure.name: value for figure, _, value in counted}}


def told_of(told: Tally, *figures: Figure) -> Tally:
    """Give those of some figures that were told."""
    return Tally({figure: told[figure] for figure in figures if figure in told})


def in_force(rows: Mapping[str, int]) -> str | None:
    """Name the policy in force; where shards go by several, each with the rows under it.

    >>> in_force({"LRU": 30}), in_force({"LRU": 30, "HEEB": 10})
    ('LRU', 'LRU for 30 rows, HEEB for 10')
    """
    if len(rows) <= 1:
        return next(iter(rows), None)
    (first, most), *rest = sorted(rows.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join([f"{first} for {most:,} rows", *(f"{name} for {n:,}" for name, n in rest)])
