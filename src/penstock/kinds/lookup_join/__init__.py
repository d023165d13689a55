"""Lookup joins: rows of a stream, enriched from a table of another database through a cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from penstock.algebra.catalog import Catalog
from penstock.algebra.lookups import LookupJoin
from penstock.kinds.curves import drawn_curve, with_curve
from penstock.kinds.lookup_join.budget import CacheBudget
from penstock.kinds.lookup_join.verification import verify_lookup
from penstock.kinds.protocol import AnswerComparison, Kind
from penstock.language.lookup_joins import bind_lookup_join, looks_up
from penstock.language.queries import Query
from penstock.planning.explanation import Explanation


class LookupJoins(Kind):
    """`SELECT … FROM s JOIN t ON s.k = t.key`, t being looked up."""

    name = "lookup_join"
    operators = ("lookup_join",)
    budget = CacheBudget()

    def claims(self, query: Query) -> bool:
        """Claim queries that read a table which is looked up."""
        return looks_up(query.names)

    def bind(self, query: Query) -> LookupJoin:
        """Say what such a join asks."""
        return bind_lookup_join(query.select, query.tokens, query.names, query.options)

    def facts(self, step: Any, entries: Mapping[str, pa.Table], catalog: Catalog) -> dict[str, Any]:
        """Say how the group is processed, and what memory brings."""
        return with_curve(super().facts(step, entries, catalog))

    def drawing(self, explanation: Explanation) -> str | None:
        """Draw what memory brings."""
        return drawn_curve(explanation, "Hit rate")

    def verify(self, asked: AnswerComparison) -> None:
        """Compare the answer with the other database's table, as it is now."""
        verify_lookup(asked)


KIND = LookupJoins()
