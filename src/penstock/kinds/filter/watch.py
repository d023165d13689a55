"""Watching filters: whether a group keeps up with its stream, and what its drop box lets pass."""

from __future__ import annotations

from dataclasses import replace

from penstock.kinds.filter.loads import DropBox, FilterCycle
from penstock.kinds.filter.plans import planned_filter
from penstock.kinds.plan_cycle import PlanWatch
from penstock.kinds.watch import Explained, House
from penstock.kinds.what_if import words_of
from penstock.language.assumptions import check_filter_assumptions
from penstock.planning.explanation import Explanation


class FilterWatch(PlanWatch[DropBox]):
    """Follows what the rows of filters take."""

    def __init__(self, house: House) -> None:
        super().__init__(house, FilterCycle(house))

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
            box = self.book.standing(group)
            facts["share passing"] = 1.0 if box is None else box.share
        assumed = [words_of(each) for each in asked.what_if]
        return replace(explanation, facts={**explanation.facts, "what if": assumed, **facts})
