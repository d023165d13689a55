"""Lookup joins: rows of a stream, enriched from a table of another database through a cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from penstock.algebra.catalog import Catalog
from penstock.algebra.lookups import LookupJoin
from penstock.algebra.memories import Memory
from penstock.kinds.curves import drawn_curve, with_curve
from penstock.kinds.lookup_join.figures import lookup_figures
from penstock.kinds.lookup_join.verification import verify_lookup
from penstock.kinds.multi_join import KIND as MULTI_JOINS
from penstock.kinds.protocol import COOLDOWN_S, AnswerComparison, Kind
from penstock.kinds.run_figures import named
from penstock.language.lookup_joins import bind_lookup_join, looks_up
from penstock.language.queries import Query
from penstock.operators.lookup.figures import ABSENT, BROKEN, FAILURES, FETCHED, REFERENCES
from penstock.planning.explanation import Explanation
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import ROWS_BUDGET


class LookupJoins(Kind):
    """`SELECT … FROM s JOIN t ON s.k = t.key`, t being looked up."""

    name = "lookup_join"
    operators = ("lookup_join",)

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

    def run_figures(self, told: Tally) -> dict[str, Any]:
        """Say what the cache holds, and what the database was asked."""
        if ROWS_BUDGET not in told:
            return {}
        return {**lookup_figures(told), **named(told, FETCHED, ABSENT, BROKEN, FAILURES)}

    budget_word = "CACHE"

    def memory(self, described: Mapping[str, Any]) -> Memory:
        """Give what CACHE says."""
        return Memory.from_json(described["lookup"]["memory"])

    def by_law(self, logical: Any) -> tuple[str, ...]:
        """Name the stream that asks."""
        return (logical.join.inputs[1 - logical.looked_up].name,)

    def cooldown_s(self, described: Mapping[str, Any]) -> float:
        """Say how long the database is left alone after it did not answer."""
        return float(described["lookup"]["options"].get("cooldown", COOLDOWN_S))

    def budget_figures(self, told: Tally) -> dict[str, Any]:
        """Say what the cache holds and brings."""
        return lookup_figures(told)

    def measured_share(self, told: Tally) -> tuple[float | None, int]:
        """Give the hit rate, and of how many lookups."""
        return lookup_figures(told)["hit_rate"], told[REFERENCES]

    def based_on(self, memory: Memory, live: Mapping[str, Any]) -> str:  # noqa: ARG002
        """Say what the recall rests on."""
        return "every row is answered, from the cache or from the source"

    def verify(self, asked: AnswerComparison) -> None:
        """Compare the answer with the other database's table, as it is now."""
        verify_lookup(asked)

    def trying(self, logical: Any) -> Any:
        """Let the condition of the join be neither true nor false where it fails."""
        return replace(logical, join=MULTI_JOINS.trying(logical.join))


KIND = LookupJoins()
