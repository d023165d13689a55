"""Joins of two streams within a budget of rows: what they ask, and the step that all share.

Several joins may share one memory. Then all its streams are inputs of every join, in the memory's
order, of which each joins two; the memory is one step, and what its queries ask comes with them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

from penstock.algebra.memories import Memory
from penstock.algebra.multi_joins import Crossing, MultiJoinStep, OfJoin, multi_join_step
from penstock.algebra.physical import BranchShape, Division
from penstock.vocabulary.codec import OMITTED, Node

KIND = "bounded_join"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedJoin(OfJoin):
    """`SELECT … FROM r JOIN s ON r.k = s.k … MEMORY n ROWS …`: a join, and its budget.

    `join` has two inputs, both streams with an event time, windows or not, and at least one
    equality. Its answer is a part of the answer without the budget.
    """

    memory: Memory
    keys: tuple[str, ...] = ()
    """Of a memory that joins share: the column by which it holds the rows of each input."""

    @property
    def pair(self) -> tuple[int, int]:
        """The inputs that the query joins."""
        return joined_pair(self.join.crossing)

    def step(self) -> BoundedJoinStep:
        """Give the step that all queries of its shape share."""
        return bounded_join_step(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedJoinStep(Node):
    """All bounded joins of one shape and one budget. Its port is `queries`.

    Or, if it is `shared`, all bounded joins of one memory, whatever their shapes. Then `join` has
    its streams and their keys alone; every shape has a port of its own, and its entries name it.
    """

    join: MultiJoinStep
    memory: Memory
    shared: bool = field(default=False, metadata=OMITTED)
    kind: str = KIND

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that the step reads, each once."""
        return self.join.relations

    @property
    def division(self) -> Division:
        """Every shard sees all rows: ticks count them and laws learn from them."""
        return self.join.division

    @property
    def makes(self) -> tuple[str, ...]:
        """The columns of all inputs; of a shared memory, those of inputs not joined are NULL."""
        return self.join.makes


def bounded_join_step(logical: BoundedJoin) -> BoundedJoinStep:
    """Give the step of a bounded join: its own shape, or the memory that it shares."""
    shape = multi_join_step(logical.join)
    if not logical.keys:
        return BoundedJoinStep(join=shape, memory=logical.memory)
    places = list(enumerate(logical.keys))
    streams = MultiJoinStep(
        inputs=tuple(replace(each, branch=BranchShape()) for each in shape.inputs),
        crossing=Crossing(equalities=tuple(pairwise(places))),
        waiting=shape.waiting,
    )
    return BoundedJoinStep(join=streams, memory=logical.memory, shared=True)


def joined_pair(crossing: Crossing) -> tuple[int, int]:
    """Give the two inputs that a bounded join joins.

    >>> joined_pair(Crossing(equalities=(((2, "k"), (0, "k")), ((0, "k"), (0, "n")))))
    (0, 2)
    """
    first, second = sorted({number for each in crossing.equalities for number, _ in each})
    return first, second
