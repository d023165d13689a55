"""The watch over multi-way joins: it drives their plan cycle, and tells of their plans."""

from __future__ import annotations

from penstock.kinds.multi_join.cycle import MultiJoinCycle
from penstock.kinds.multi_join.explanation import explained
from penstock.kinds.multi_join.plans import StandingPlan
from penstock.kinds.plan_cycle import PlanWatch
from penstock.kinds.watch import Explained, House, Shedding
from penstock.planning.explanation import Explanation
from penstock.planning.plan_run import SeenPlan


class MultiJoinWatch(PlanWatch[StandingPlan]):
    """Watches over the multi-way joins of a home."""

    cycle: MultiJoinCycle

    def __init__(self, house: House) -> None:
        super().__init__(house, MultiJoinCycle(house))

    def verdict(self, group: str) -> str | None:
        """Give the verdict on a join, as of its plan."""
        plan = self.book.standing(group)
        return None if plan is None else plan.verdict

    def explain(self, asked: Explained) -> Explanation:
        """Tell the plan that is in force, or would be."""
        return explained(self.cycle.planner, asked)

    def plan_run(self, group: str) -> SeenPlan | None:
        """Say what a group was seen to do in this run, beside what is predicted."""
        return self.cycle.plan_run(group, self.book.standing(group))

    def shedding(self, group: str) -> Shedding | None:
        """Say what is let through, what was dropped, and what remains."""
        return self.cycle.shedding(group, self.book.standing(group))
