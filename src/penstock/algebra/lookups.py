"""Lookups: a stream enriched from a table of another database, through a cache of so many rows."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.algebra.memories import Lookup, is_numeric
from penstock.algebra.multi_joins import MultiJoinStep, OfJoin, multi_join_step
from penstock.algebra.physical import Division
from penstock.vocabulary.codec import Node

KIND = "lookup_join"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupJoin(OfJoin):
    """`SELECT … FROM s JOIN t ON s.k = t.key …`, t being looked up.

    `join` has two inputs without windows; `looked_up` is the number of the one that is looked up.
    One equality names its key.
    """

    lookup: Lookup
    looked_up: int

    def step(self) -> LookupJoinStep:
        """Give the step that all queries of its shape share."""
        return lookup_join_step(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupJoinStep(Node):
    """All lookup joins of one shape on one looked-up table. Its port is `queries`."""

    join: MultiJoinStep
    lookup: Lookup
    looked_up: int
    kind: str = KIND

    @property
    def stream_key(self) -> str:
        """The stream's column that is compared with the looked-up table's key."""
        for left, right in self.join.crossing.equalities:
            for mine, other in ((left, right), (right, left)):
                if other == (self.looked_up, self.lookup.key):
                    return mine[1]
        raise AssertionError("a lookup join names the key")

    @property
    def relations(self) -> tuple[str, ...]:
        """The stream: what is looked up comes from elsewhere."""
        return (self.join.inputs[1 - self.looked_up].relation,)

    @property
    def numeric(self) -> bool:
        """Whether laws may count with the keys."""
        stream, looked = self.join.inputs[1 - self.looked_up], self.join.inputs[self.looked_up]
        return is_numeric(stream.types[self.stream_key]) and is_numeric(
            looked.types[self.lookup.key]
        )

    @property
    def sees_all(self) -> bool:
        """Whether a law may follow the keys: that of the whole stream, in every shard."""
        return self.numeric and self.lookup.memory.policy == "HEEB"

    @property
    def division(self) -> Division:
        """Rows of one key go to one shard; where a law follows the keys, all go to every one.

        Whatever a shard sees, it looks up, caches and answers the rows of its own keys alone.
        """
        return ((self.relations[0], () if self.sees_all else (self.stream_key,)),)

    @property
    def makes(self) -> tuple[str, ...]:
        """The columns of both inputs."""
        return self.join.makes


def lookup_join_step(logical: LookupJoin) -> LookupJoinStep:
    """Give the step of a lookup join."""
    return LookupJoinStep(
        join=multi_join_step(logical.join), lookup=logical.lookup, looked_up=logical.looked_up
    )
