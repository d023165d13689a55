"""Filters: rows of one relation, told as they come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.algebra.catalog import Catalog
from penstock.algebra.logical import StandingFilter
from penstock.kinds.filter.verification import verify_filter
from penstock.kinds.filter.watch import FilterWatch
from penstock.kinds.protocol import AnswerComparison, Kind
from penstock.kinds.watch import House
from penstock.language.filters import bind_filter
from penstock.language.queries import Query
from penstock.language.snapshots import nothing_to_show


class Filters(Kind):
    """`SELECT … FROM relation WHERE …`."""

    name = "filter"
    operators = ("filter",)

    def claims(self, query: Query) -> bool:
        """Claim queries of one relation."""
        return not query.joins

    def bind(self, query: Query) -> StandingFilter:
        """Say what a filter asks."""
        return bind_filter(query)

    def with_snapshot(self, logical: Any, catalog: Catalog) -> StandingFilter:
        """Let a filter of a table begin with the rows that the table holds."""
        relation = catalog[logical.relation.lower()]
        if not relation.keeps:
            raise nothing_to_show(f"{relation.name} is a stream, and what came of it is not kept")
        if logical.sees_broken:
            why = "the query asks for lines that do not parse, and those are not kept"
            raise nothing_to_show(why)
        kept = tuple((f.name, f.type) for f in relation.schema)
        begun: StandingFilter = replace(logical, kept=kept, change_column=relation.change_column)
        return begun

    def watch(self, house: House) -> FilterWatch:
        """Follow what the rows of filters take."""
        return FilterWatch(house)

    def verify(self, asked: AnswerComparison) -> None:
        """Compare pairs of queries and events."""
        verify_filter(asked)


KIND = Filters()
