"""Watching filters: whether a group keeps up with its stream, and what its drop box lets pass."""

from __future__ import annotations

from dataclasses import replace

from penstock.algebra.logical import StandingFilter
from penstock.kinds.filter.loads import FilterLoads, passing
from penstock.kinds.filter.plans import planned_filter
from penstock.kinds.overload import LOOK_EVERY_BATCHES
from penstock.kinds.watch import Explained, House, Promise, Watch
from penstock.kinds.what_if import words_of
from penstock.language.assumptions import check_filter_assumptions
from penstock.planning.explanation import Explanation
from penstock.registry.records import Draft
from penstock.spark.hosts import BatchReport


class FilterWatch(Watch):
    """Follows what the rows of filters take."""

    def __init__(self, house: House) -> None:
        super().__init__(house)
        self._loads = FilterLoads(house.registry, house.statistics, house.tell)

    def plan(self, logical: StandingFilter, group: str, arriving: int, draft: Draft) -> Promise:  # noqa: ARG002
        """Judge filters that may drop rows; a drop box closes when a run is seen to need it."""
        if not logical.dropping:
            return Promise()
        relation = self.house.registry.catalog[logical.relation.lower()]
        planned, facts = planned_filter(relation, group, self.house.statistics, logical.options)
        return Promise(verdict=planned.verdict, notes=(facts["verdict"],))

    def explain(self, asked: Explained) -> Explanation:
        """Say whether the group keeps up, and what its drop box lets pass."""
        explanation, logical = asked.explanation, asked.logical
        if logical is None:
            return super().explain(asked)
        check_filter_assumptions(asked.what_if, logical)
        registry, statistics = self.house.registry, self.house.statistics
        relation = registry.catalog[logical.relation.lower()]
        group, options = explanation.group, logical.options
        _, facts = planned_filter(relation, group, statistics, options, asked.what_if)
        if not explanation.is_new and logical.dropping:
            facts["share passing"] = passing(registry, group)[1]
        assumed = [words_of(each) for each in asked.what_if]
        return replace(explanation, facts={**explanation.facts, "what if": assumed, **facts})

    def begin(self, once: bool, shards: int) -> None:  # noqa: ARG002
        """Begin a run with open boxes."""
        self._loads.begin(once)

    def take(self, report: BatchReport, now_s: float) -> None:
        """Take what a batch took."""
        self._loads.take(report, now_s, LOOK_EVERY_BATCHES)

    def finish(self) -> None:
        """Keep what was measured."""
        self._loads.finish()
