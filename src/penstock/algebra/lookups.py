"""Lookups: a stream enriched from a table of another database, through a cache of so many rows."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.algebra.crossings import CrossedQuery, CrossedShape, Crossing
from penstock.algebra.inputs import InputShape
from penstock.algebra.memories import Lookup, is_numeric
from penstock.algebra.physical import Division

KIND = "lookup_join"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupJoin(CrossedQuery):
    """`SELECT … FROM s JOIN t ON s.k = t.key …`, t being looked up.

    It has two inputs without windows; `looked_up` is the number of the one that is looked up. One
    equality names its key.
    """

    lookup: Lookup
    looked_up: int

    @property
    def stream_key(self) -> str:
        """The stream's column that is compared with the looked-up table's key."""
        return _stream_key(self.crossing, (self.looked_up, self.lookup.key))

    def step(self) -> LookupJoinStep:
        """Give the step that all queries of its shape share."""
        return LookupJoinStep.of(
            self, crossing=self.crossing, lookup=self.lookup, looked_up=self.looked_up
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupJoinStep(CrossedShape):
    """All lookup joins of one shape on one looked-up table. Its port is `queries`."""

    lookup: Lookup
    looked_up: int
    kind: str = KIND

    @property
    def stream(self) -> InputShape:
        """The input whose rows ask."""
        return self.inputs[1 - self.looked_up]

    @property
    def table(self) -> InputShape:
        """The input that is looked up."""
        return self.inputs[self.looked_up]

    @property
    def stream_key(self) -> str:
        """The stream's column that is compared with the looked-up table's key."""
        return _stream_key(self.crossing, (self.looked_up, self.lookup.key))

    @property
    def relations(self) -> tuple[str, ...]:
        """The stream: what is looked up comes from elsewhere."""
        return (self.stream.relation,)

    @property
    def numeric(self) -> bool:
        """Whether laws may count with the keys."""
        columns = self.stream.types[self.stream_key], self.table.types[self.lookup.key]
        return all(is_numeric(type_) for type_ in columns)

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


def _stream_key(crossing: Crossing, key: tuple[int, str]) -> str:
    for left, right in crossing.equalities:
        for mine, other in ((left, right), (right, left)):
            if other == key:
                return mine[1]
    raise AssertionError("a lookup join names the key")
