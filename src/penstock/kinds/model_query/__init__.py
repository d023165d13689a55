"""Model queries: streams as functions of time, asked within a bound of error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.algebra.catalog import Catalog
from penstock.algebra.inputs import WAITING_ROWS
from penstock.algebra.models import ModelQueryStep, StandingModelQuery
from penstock.kinds.model_query.figures import (
    ModelFigures,
    model_figures,
    model_sentence,
    model_words,
)
from penstock.kinds.model_query.picture import model_picture
from penstock.kinds.model_query.stored_segments import damaged_segments
from penstock.kinds.model_query.streams import ModelWatch, with_stream
from penstock.kinds.model_query.sweep import sweep_models
from penstock.kinds.model_query.verification import verify_models
from penstock.kinds.pictures import Picture, Shown
from penstock.kinds.protocol import AnswerComparison, Kind
from penstock.kinds.sweeps import SEGMENTS, Sweep, SweepOutcome
from penstock.kinds.watch import House
from penstock.language.model_queries import bind_model_query, is_model_query
from penstock.language.queries import Query
from penstock.language.select_lists import SelectList, resolved_list
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.findings import Finding


class ModelQueries(Kind):
    """`SELECT … FROM stream MODEL … WHERE … ERROR WITHIN …`."""

    name = "model_query"
    operators = ("model_query",)
    feeders = ("model_stream",)

    def claims(self, query: Query) -> bool:
        """Claim queries with MODEL."""
        return is_model_query(query)

    def bind(self, query: Query) -> StandingModelQuery:
        """Say what a model query asks, and which stream makes its segments."""
        return with_stream(bind_model_query(query))

    def watch(self, house: House) -> ModelWatch:
        """Begin to watch over the streams that model queries share."""
        return ModelWatch(house)

    def waiting(self, described: Mapping[str, Any]) -> int:
        """Say how many rows may wait for a stream that is silent."""
        del described
        return WAITING_ROWS

    def inspect(self, home: Path) -> Iterator[tuple[Finding, str]]:
        """Read the segments that sweeps keep."""
        yield from damaged_segments(home / SEGMENTS)

    def facts(self, step: Any, entries: Mapping[str, pa.Table], catalog: Catalog) -> dict[str, Any]:
        """Say how the group is processed, and how long models may hold where rates are known."""
        facts = super().facts(step, entries, catalog)
        expected = [text for each in _expected(step, catalog) for text in each]
        return {**facts, "rows_per_segment": expected} if expected else facts

    def run_figures(self, told: Tally) -> ModelFigures | None:
        """Say how long models held, and how many rows were dropped unseen."""
        return model_figures(told)

    def board(self, told: Tally) -> Mapping[str, str]:
        """Say how long models hold."""
        words = model_words(told)
        return {"models": words} if words else {}

    def summary(self, told: Tally, operators_ms: int) -> tuple[str, ...]:
        """Say at the end of a run what became of rows."""
        del operators_ms
        return (model_sentence(told),) if model_words(told) else ()

    def select_list(self, sql: str, logical: Any, catalog: Catalog) -> SelectList:
        """Give the outputs in terms of what segments say: that was compared itself."""
        del sql, catalog
        return resolved_list(logical.outputs, [name for name, _ in logical.shape.made])

    def verify(self, asked: AnswerComparison) -> None:
        """Compare what was told with what DuckDB makes of recorded rows, within the bound."""
        verify_models(asked)

    def picture(self, asked: AnswerComparison, shown: Shown) -> Picture:
        """Show rows, segments, bands and expected answers of one key."""
        return model_picture(asked, shown)

    def sweep(self, asked: Sweep) -> SweepOutcome:
        """Ask stored segments of past rows in many combinations."""
        return sweep_models(asked)


def _expected(step: ModelQueryStep, catalog: Catalog) -> list[list[str]]:
    """Say how many rows a model may stand for at most, where rates and keys are declared."""
    found: list[list[str]] = []
    for source in step.sources:
        relation = catalog[source.relation.lower()]
        keys = 1
        for name, _ in source.key:
            keys *= relation.distinct.get(name, 0)
        if relation.rate is not None and keys:
            most = relation.rate / keys * source.horizon_us / 1_000_000
            found.append([f"{relation.name} at most {max(most, 1.0):,.1f}, by its declared rate"])
    return found


KIND = ModelQueries()
