"""Joins of two streams within a budget of rows: what they ask, and the step that all share.

Several joins may share one memory. Then all its streams are inputs of every join, in the memory's
order, of which each joins two; the memory is one step, and what its queries ask comes with them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

from penstock.algebra.crossings import CrossedQuery, CrossedShape, Crossing
from penstock.algebra.inputs import WAITING_ROWS
from penstock.algebra.memories import Memory
from penstock.algebra.physical import BranchShape, Division
from penstock.vocabulary.codec import OMITTED

KIND = "bounded_join"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedJoin(CrossedQuery):
    """`SELECT … FROM r JOIN s ON r.k = s.k … MEMORY n ROWS …`: a join, and its budget.

    It joins two inputs, both streams with an event time, windows or not, and has at least one
    equality. Its answer is a part of the answer without the budget. `waiting` is how many rows may
    wait for a silent stream.
    """

    memory: Memory
    keys: tuple[str, ...] = ()
    """Of a memory that joins share: the column by which it holds the rows of each input."""
    waiting: int = WAITING_ROWS

    @property
    def pair(self) -> tuple[int, int]:
        """The inputs that the query joins."""
        return joined_pair(self.crossing)

    @property
    def in_memory(self) -> str | None:
        """The inputs that the query joins, as figures name them, if others share its memory."""
        return ",".join(map(str, self.pair)) if self.keys else None

    @property
    def shape(self) -> CrossedShape:
        """What the query asks of the streams of its memory."""
        return CrossedShape.of(self, crossing=self.crossing)

    def step(self) -> BoundedJoinStep:
        """Give the step that all queries of its shape share: their own, or their memory's."""
        step = BoundedJoinStep.of(
            self, crossing=self.crossing, memory=self.memory, waiting=self.waiting
        )
        if not self.keys:
            return step
        return BoundedJoinStep(
            inputs=tuple(replace(each, branch=BranchShape()) for each in step.inputs),
            crossing=Crossing(equalities=tuple(pairwise(enumerate(self.keys)))),
            memory=self.memory,
            waiting=self.waiting,
            shared=True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedJoinStep(CrossedShape):
    """All bounded joins of one shape and one budget. Its port is `queries`.

    Or, if it is `shared`, all bounded joins of one memory, whatever their shapes. Then it has its
    streams and their keys alone; every shape has a port of its own, and its entries name it.
    """

    memory: Memory
    waiting: int = WAITING_ROWS
    shared: bool = field(default=False, metadata=OMITTED)
    kind: str = KIND

    @property
    def division(self) -> Division:
        """Every shard sees all rows: ticks count them and laws learn from them."""
        return tuple((relation, ()) for relation in sorted(self.relations))


def joined_pair(crossing: Crossing) -> tuple[int, int]:
    """Give the two inputs that a bounded join joins.

    >>> joined_pair(Crossing(equalities=(((2, "k"), (0, "k")), ((0, "k"), (0, "n")))))
    (0, 2)
    """
    first, second = sorted({number for each in crossing.equalities for number, _ in each})
    return first, second
