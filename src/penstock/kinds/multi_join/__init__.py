"""Multi-way window joins: streams in windows, and tables, by a plan that the planner finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.algebra.multi_joins import MultiJoin
from penstock.kinds.multi_join.verification import verify_multi_join
from penstock.kinds.multi_join.watch import MultiJoinWatch
from penstock.kinds.protocol import AnswerComparison, Kind
from penstock.kinds.run_figures import GroupFigures, told_of
from penstock.kinds.watch import House
from penstock.language.multi_joins import bind_multi_way
from penstock.language.queries import Query
from penstock.planning.explanation import Explanation
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import LATE_ROWS, NULL_EVENT_TIMES, UNKNOWN_DELETES
from penstock.vocabulary.shared_figures import HURRIED_ROWS


class MultiJoins(Kind):
    """`SELECT … FROM a [ROWS 10], b [RANGE 5 SECONDS] WHERE …`."""

    name = "multi_join"
    operators = ("multi_join",)

    def claims(self, query: Query) -> bool:
        """Claim queries of windows in brackets, or of more than two relations."""
        return query.is_multi_way

    def bind(self, query: Query) -> MultiJoin:
        """Say what a join of windows asks."""
        return bind_multi_way(query)

    def watch(self, house: House) -> MultiJoinWatch:
        """Plan joins, and let plans follow what is measured."""
        return MultiJoinWatch(house)

    def waiting(self, described: Mapping[str, Any]) -> int:
        """Say how many rows may wait for a stream that is silent."""
        return int(described["waiting"])

    def drawing(self, explanation: Explanation) -> str | None:
        """Draw the plan."""
        return None if explanation.plan is None else explanation.plan.svg()

    def run_figures(self, told: Tally) -> GroupFigures | None:
        """Say what was left out or hurried."""
        counted = told_of(told, LATE_ROWS, NULL_EVENT_TIMES, HURRIED_ROWS, UNKNOWN_DELETES)
        return GroupFigures(counted=counted) if len(counted) else None

    def verify(self, asked: AnswerComparison) -> None:
        """Compare combinations of rows, in the order in which they were processed."""
        verify_multi_join(asked)


KIND = MultiJoins()
