"""Joins of two streams within a budget of rows: what they ask, and the step that all share."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.algebra.memories import Memory
from penstock.algebra.multi_joins import MultiJoinStep, OfJoin, multi_join_step
from penstock.algebra.physical import Division
from penstock.vocabulary.codec import Node

KIND = "bounded_join"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedJoin(OfJoin):
    """`SELECT … FROM r JOIN s ON r.k = s.k … MEMORY n ROWS …`: a join, and its budget.

    `join` has two inputs, both streams with an event time, windows or not, and at least one
    equality. Its answer is a part of the answer without the budget.
    """

    memory: Memory

    def step(self) -> BoundedJoinStep:
        """Give the step that all queries of its shape share."""
        return bounded_join_step(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedJoinStep(Node):
    """All bounded joins of one shape and one budget. Its port is `queries`."""

    join: MultiJoinStep
    memory: Memory
    kind: str = KIND

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that the step reads, each once."""
        return self.join.relations

    @property
    def division(self) -> Division:
        """Every shard sees all rows: ticks count them and models learn from them."""
        return self.join.division

    @property
    def makes(self) -> tuple[str, ...]:
        """The columns of both inputs."""
        return self.join.makes


def bounded_join_step(logical: BoundedJoin) -> BoundedJoinStep:
    """Give the step of a bounded join."""
    return BoundedJoinStep(join=multi_join_step(logical.join), memory=logical.memory)
