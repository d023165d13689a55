"""Range aggregates: the least, the greatest, the number, the sum or the average over a range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.algebra.catalog import Catalog
from penstock.algebra.range_aggregates import StandingRangeAggregate
from penstock.kinds.protocol import AnswerComparison, Kind
from penstock.kinds.range_aggregate.figures import (
    RangeFigures,
    range_figures,
    range_sentence,
    range_words,
)
from penstock.kinds.range_aggregate.message_verification import verify_messages
from penstock.kinds.range_aggregate.verification import verify_values
from penstock.language.queries import Query
from penstock.language.range_aggregates import bind_range_aggregate
from penstock.language.range_shapes import is_range_aggregate
from penstock.language.select_lists import SelectList, resolved_list
from penstock.vocabulary.figures import Tally


class RangeAggregates(Kind):
    """`SELECT MIN(y), … FROM relation WHERE x BETWEEN … AND …`, or AS MESSAGES."""

    name = "range_aggregate"
    operators = ("range_aggregate",)

    def claims(self, query: Query) -> bool:
        """Claim aggregates of one relation with a condition, and without groups."""
        return is_range_aggregate(query)

    def bind(self, query: Query) -> StandingRangeAggregate:
        """Say what a range aggregate asks."""
        return bind_range_aggregate(query)

    def with_snapshot(self, logical: Any, catalog: Catalog) -> StandingRangeAggregate:
        """Let a query be told the value that it finds: its group keeps what it needs for that."""
        del catalog
        begun: StandingRangeAggregate = replace(logical, snapshot=True)
        return begun

    def run_figures(self, told: Tally) -> RangeFigures | None:
        """Say what a group keeps, and what its changes told."""
        return range_figures(told)

    def board(self, told: Tally) -> Mapping[str, str]:
        """Say what changes told."""
        words = range_words(told)
        return {"ranges": words} if words else {}

    def summary(self, told: Tally, operators_ms: int) -> tuple[str, ...]:
        """Say at the end of a run what changes told."""
        del operators_ms
        return (range_sentence(told),) if range_words(told) else ()

    def select_list(self, sql: str, logical: Any, catalog: Catalog) -> SelectList:
        """Give the outputs in terms of measures: these were compared themselves."""
        del sql, catalog
        return resolved_list(logical.outputs, [name for name, _ in logical.shape.made])

    def verify(self, asked: AnswerComparison) -> None:
        """Compare what was told in every batch with what DuckDB computes from recorded rows."""
        if asked.logical.shape.form == "messages":
            verify_messages(asked)
        else:
            verify_values(asked)


KIND = RangeAggregates()
