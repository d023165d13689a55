"""Standing joins of two relations: select-joins, band joins and window joins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.algebra.catalog import Catalog
from penstock.algebra.joins import StandingJoin, kind_of_join
from penstock.algebra.logical import Logical
from penstock.kinds.join.figures import RoutedFigures, join_figures, plan_sentence, plan_words
from penstock.kinds.join.verification import verify_join
from penstock.kinds.protocol import AnswerComparison, Kind
from penstock.kinds.recorded import began
from penstock.kinds.watch import Explained, House, Watch
from penstock.language.joins import bind_join
from penstock.language.queries import Query
from penstock.language.select_lists import SelectList, resolved_list, select_list, with_columns
from penstock.language.snapshots import nothing_to_show
from penstock.planning.explanation import Explanation
from penstock.vocabulary.figures import Tally


class Joins(Kind):
    """`SELECT … FROM one JOIN other ON … WHERE …`."""

    name = "join"
    operators = ("select_join", "band_join", "window_join")

    def claims(self, query: Query) -> bool:
        """Claim queries of two relations."""
        return len(query.joins) == 1

    def bind(self, query: Query) -> StandingJoin:
        """Say what a join asks."""
        return bind_join(query)

    def with_snapshot(self, logical: Any, catalog: Catalog) -> StandingJoin:  # noqa: ARG002
        """Let a join of tables begin with the rows that these hold."""
        if kind_of_join(logical) == "window_join":
            raise nothing_to_show("a window join reads streams, and what came of them is not kept")
        if logical.mode != "full":
            raise nothing_to_show(
                "in mode 'identify' a query is told of changes alone, not of rows"
            )
        begun: StandingJoin = replace(logical, snapshot=True)
        return begun

    def run_figures(self, told: Tally) -> RoutedFigures | None:
        """Say which strategies were chosen, and what they took."""
        return join_figures(told)

    def board(self, told: Tally) -> Mapping[str, str]:
        """Say which strategies were chosen how often."""
        words = plan_words(told)
        return {"join plans": words} if words else {}

    def summary(self, told: Tally, operators_ms: int) -> tuple[str, ...]:
        """Say which plans were taken, and what they were expected to cost."""
        return (plan_sentence(told, operators_ms),) if plan_words(told) else ()

    def verify(self, asked: AnswerComparison) -> None:
        """Compare what changes of both relations did to every answer."""
        first = np.searchsorted(asked.versions, began(asked.registry, asked.group))
        verify_join(
            asked.answer,
            asked.registry.catalog,
            asked.group,
            int(first),
            asked.logical,
            asked.parameters,
            asked.batches,
            asked.progress,
        )

    def select_list(self, sql: str, logical: Logical, catalog: Catalog) -> SelectList:
        """Give the SELECT list; where USING would merge rows of one side alone, as readers do."""
        listed = select_list(sql, catalog)
        assert isinstance(logical, StandingJoin)
        if logical.mode == "identify" and listed.merges:
            columns = [made for each in listed.inputs for _, made in each.columns]
            return resolved_list(logical.outputs, columns)
        return with_columns(listed, [each.made for each in logical.opened])

    def watch(self, house: House) -> Watch:
        """Watch over a home's joins."""
        return JoinWatch(house)


class JoinWatch(Watch):
    """What EXPLAIN says of a join AS MESSAGES."""

    def explain(self, asked: Explained) -> Explanation:
        """Say what subscribers' own selections are."""
        found = super().explain(asked)
        if asked.logical is None or not asked.logical.opened:
            return found
        facts = {
            "tells": "joined rows that come and go, whoever asks",
            "filters": [each.name for each in asked.logical.opened],
        }
        return replace(found, facts={**facts, **found.facts})


KIND = Joins()
