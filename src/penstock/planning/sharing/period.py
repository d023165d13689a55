"""A period of the optimiser: the plan as it stands, and what else was looked at."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.algebra.sharing import Consumers, Sharing, SharingPlan
from penstock.models.sharing.containment import fault
from penstock.models.sharing.covering import position
from penstock.models.sharing.workloads import SharedWorkload
from penstock.planning.sharing.costs import CostModel
from penstock.planning.sharing.moves import Move, MoveKind
from penstock.planning.sharing.statistics import SharingSettings, SharingStatistics, UnitCosts

LEAST = 1e-9
"""The share of the objective that a move must save: less is rounding."""


class Period:
    """One period: moves are tried on the plan, and made if they lower the objective."""

    def __init__(
        self,
        workload: SharedWorkload,
        plan: SharingPlan,
        statistics: SharingStatistics,
        settings: SharingSettings,
    ) -> None:
        self.workload = workload
        self.settings = settings
        self.model = CostModel(workload, statistics, settings)
        self.plan = plan
        self.ways = {way.query: way.expressions for way in plan.ways}
        self.objective = self.model.objective(plan)
        self.moves: list[Move] = []
        self._orders: dict[int, dict[int, int]] = {}
        self._seen: dict[SharingPlan, float] = {plan: self.objective}

    @property
    def looked_at(self) -> int:
        """How many plans were looked at: their costs are known."""
        return len(self._seen)

    def units(self, number: int) -> UnitCosts:
        """Give the unit costs of an expression."""
        return self.model.units(number)

    def tried(self, plan: SharingPlan) -> float | None:
        """Give the objective of another plan; None: it cannot be run, or is dearer for sure."""
        known = self._seen.get(plan)
        if known is not None:
            return known
        if fault(self.workload, plan) is not None:
            return None
        found = self._seen[plan] = self.model.objective(plan)
        return found

    def lowers(self, plan: SharingPlan, share: float = LEAST) -> bool:
        """Say whether a plan lowers the objective by more than a share of it."""
        found = self.tried(plan)
        return found is not None and found < self.objective * (1.0 - share)

    def fire(
        self,
        kind: MoveKind,
        number: int,
        consumers: Consumers,
        plan: SharingPlan,
        text: str,
        to: Sharing | None = None,
    ) -> None:
        """Make a move: the plan stands from now on."""
        before, self.objective = self.objective, self.model.objective(plan)
        self.plan = plan
        self.ways = {way.query: way.expressions for way in plan.ways}
        self._seen[plan] = self.objective
        self.moves.append(
            Move(
                kind=kind, expression=number, consumers=consumers, to=to, before=before,
                after=self.objective, text=text,
            )
        )  # fmt: skip

    def runner_up(self) -> tuple[SharingPlan, float]:
        """Give the best plan of those that were looked at and do not stand; else the plan."""
        own = (self.plan.expressions, self.plan.ways)
        others = [
            (cost, place, plan)
            for place, (plan, cost) in enumerate(self._seen.items())
            if (plan.expressions, plan.ways) != own
        ]
        if not others:
            return self.plan, self.objective
        cost, _, plan = min(others, key=lambda each: each[:2])
        return plan, cost

    def neighbours(self, number: int, queries: Consumers) -> list[int]:
        """Give queries in the order in which what they ask of an expression lies side by side."""
        order = self._order(number)
        return sorted(queries, key=lambda query: order[query])

    def by_position(self, number: int, instances: Sequence[Consumers]) -> list[Consumers]:
        """Give instances in the order in which what their consumers ask lies side by side."""
        order = self._order(number)
        return sorted(instances, key=lambda own: sum(order[query] for query in own) / len(own))

    def _order(self, number: int) -> dict[int, int]:
        order = self._orders.get(number)
        if order is None:
            expression = self.workload.expressions[number]
            own = sorted(expression.stages)
            if expression.is_conditional:
                own.sort(key=lambda query: position(expression.condition(query)))
            order = self._orders[number] = {query: place for place, query in enumerate(own)}
        return order

    def instance_cost(self, number: int, consumers: Consumers, *, union: bool = False) -> float:
        """Give the objective of one instance, per segment that reaches it."""
        if not consumers:
            return 0.0
        units = self.units(number)
        covers = self.model.selectivities.cover(number, consumers)
        if self.workload.expressions[number].agree(consumers):
            return (1.0 - self.settings.risk) * units.alone
        each = len(consumers) * units.compensation
        fixed = units.cover + (units.union + units.duplicates if union else 0.0)
        cost = fixed + covers.estimate * each
        spread = (covers.high - covers.low) * each
        return (1.0 - self.settings.risk) * cost + self.settings.risk * spread


def named(consumers: Consumers) -> str:
    """Write queries so that who knows their names can put them in.

    >>> named((3, 4, 5, 6)), named((7,))
    ('{3}, {4}, {5} and 1 other', '{7}')
    """
    shown = [f"{{{query}}}" for query in consumers[:3]]
    if len(consumers) > 3:
        more = len(consumers) - 3
        return f"{', '.join(shown)} and {more} other{'s' if more > 1 else ''}"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
