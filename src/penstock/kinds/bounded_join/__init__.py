"""Bounded joins: two streams, joined within a budget of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from penstock.algebra.bounded_joins import BoundedJoin
from penstock.algebra.catalog import Catalog
from penstock.kinds.bounded_join.budget import JoinBudget
from penstock.kinds.bounded_join.verification import verify_bounded_join
from penstock.kinds.curves import drawn_curve, with_curve
from penstock.kinds.protocol import AnswerComparison, Kind
from penstock.language.bounded_joins import bind_bounded_join, check_two
from penstock.language.queries import Query
from penstock.operators.bounded_join.explanation import forecast
from penstock.planning.explanation import Explanation


class BoundedJoins(Kind):
    """`SELECT … FROM r JOIN s ON r.k = s.k MEMORY n ROWS`."""

    name = "bounded_join"
    operators = ("bounded_join",)
    budget = JoinBudget()

    def claims(self, query: Query) -> bool:
        """Claim queries with MEMORY."""
        return query.memory is not None

    def bind(self, query: Query) -> BoundedJoin:
        """Say what such a join asks."""
        assert query.memory is not None
        check_two(query.select, query.memory, query.source)
        return bind_bounded_join(
            query.select, query.tokens, query.names, query.memory, query.options, query.shared
        )

    def waiting(self, described: Mapping[str, Any]) -> int:
        """Say how many rows may wait for a stream that is silent."""
        return int(described["waiting"])

    def facts(self, step: Any, entries: Mapping[str, pa.Table], catalog: Catalog) -> dict[str, Any]:
        """Say how the group is processed, and what memory brings where rates are declared."""
        facts = super().facts(step, entries, catalog)
        declared = [catalog[each.relation.lower()].rate for each in step.inputs]
        if None not in declared:
            facts = {**facts, "curve": forecast(step, entries, declared)}
        return with_curve(facts)

    def drawing(self, explanation: Explanation) -> str | None:
        """Draw what memory brings."""
        return drawn_curve(explanation, "Recall")

    def verify(self, asked: AnswerComparison) -> None:
        """Compare the answer with the one that no budget cuts."""
        verify_bounded_join(asked)


KIND = BoundedJoins()
