"""Multi-way window joins: what they ask, and the step that all of one shape run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.algebra.crossings import CrossedQuery, CrossedShape
from penstock.algebra.inputs import WAITING_ROWS
from penstock.algebra.physical import Division

KIND = "multi_join"

DROPPING = ("shedding", "shed_at_once", "processors", "headroom", "strict", "minimum_", "weight_")
"""Options, or how their names begin, that decide whether rows are dropped, and which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiJoin(CrossedQuery):
    """`SELECT outputs FROM a [ROWS n], b [RANGE t], … WHERE …`.

    `options` are those of the planner: they decide how, and `dropping` what may be missing.
    `waiting` is how many rows may wait for a silent stream.
    """

    options: dict[str, Any] = field(default_factory=dict)
    waiting: int = WAITING_ROWS

    def __post_init__(self) -> None:
        assert self.waiting >= 1

    @property
    def dropping(self) -> dict[str, Any]:
        """The options that can change an answer, where rows must be dropped."""
        if self.options.get("shedding") == "off":
            return {"shedding": "off"}
        return {name: each for name, each in self.options.items() if name.startswith(DROPPING)}

    def step(self) -> MultiJoinStep:
        """Give the step that all joins of its shape share."""
        return MultiJoinStep.of(
            self, crossing=self.crossing, waiting=self.waiting, dropping=self.dropping
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiJoinStep(CrossedShape):
    """All multi-way joins of one shape. Its ports are `queries` and `plan`.

    Joins that may drop different rows give different answers: `dropping` belongs to the shape.
    """

    waiting: int = WAITING_ROWS
    dropping: dict[str, Any] = field(default_factory=dict)
    kind: str = KIND

    @property
    def division(self) -> Division:
        """Every shard sees all rows: windows count them, whatever their key."""
        return tuple((relation, ()) for relation in sorted(self.relations))
