"""Bounded joins: two streams, joined within a budget of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.algebra.bounded_joins import BoundedJoin
from penstock.kinds.bounded_join.verification import verify_bounded_join
from penstock.kinds.multi_join import MULTI_JOINS
from penstock.kinds.protocol import Comparison, Kind
from penstock.language.bounded_joining import bind_bounded_join, check_two
from penstock.language.queries import Query


class BoundedJoins(Kind):
    """`SELECT … FROM r JOIN s ON r.k = s.k MEMORY n ROWS`."""

    name = "bounded_join"
    operators = ("bounded_join",)

    def claims(self, query: Query) -> bool:
        """Claim queries with MEMORY."""
        return query.memory is not None

    def bind(self, query: Query) -> BoundedJoin:
        """Say what such a join asks."""
        assert query.memory is not None
        check_two(query.select, query.memory, query.source)
        return bind_bounded_join(
            query.select, query.tokens, query.names, query.memory, query.options
        )

    def verify(self, asked: Comparison) -> None:
        """Compare the answer with the one that no budget cuts."""
        verify_bounded_join(asked)

    def trying(self, logical: Any) -> Any:
        """Let the condition of the join be neither true nor false where it fails."""
        return replace(logical, join=MULTI_JOINS.trying(logical.join))


BOUNDED_JOINS = BoundedJoins()
