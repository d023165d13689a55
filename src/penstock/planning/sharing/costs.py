"""Costs of sharing plans: what every expression costs, by the rates that reach it.

One pass along the ways of all queries. A query is behind covering stages, with compensations to
come, or has its own segments. What a covering stage costs follows what the stages before it let
through; compensations are paid where the query leaves the covering stages, each by what those
before it let through (`repaired`), or at every covering stage (`literal`, as published).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.algebra.models import Fidelity
from penstock.algebra.sharing import Consumers, SharedExpression, SharingPlan
from penstock.models.sharing.workloads import Expression, SharedWorkload
from penstock.planning.sharing.selectivities import READINGS, Reading, Selectivities
from penstock.planning.sharing.statistics import SharingSettings, SharingStatistics, UnitCosts


@dataclass(frozen=True, slots=True)
class PlanCost:
    """The cost of a plan: as estimated, and between which bounds."""

    estimate: float
    low: float
    high: float

    @property
    def spread(self) -> float:
        """What is at risk: the worst case less the best."""
        return self.high - self.low

    def objective(self, risk: float) -> float:
        """Weigh cost and risk.

        >>> PlanCost(10.0, 8.0, 16.0).objective(0.25)
        9.5
        """
        return (1.0 - risk) * self.estimate + risk * self.spread


@dataclass(slots=True)
class _QueryRates:
    """Where a query is: what reaches it, and the covering stages since its segments were its own.

    `chain` holds, of each, the unit cost of compensation (0: nothing to compensate), the
    selectivity of the query's own stage and that of the covering stage.
    """

    own: float = 1.0
    """Segments of the query per segment of the source, were all compensated."""
    shared: float = 1.0
    """Segments of the covering stage that it reads."""
    chain: list[tuple[float, float, float]] = field(default_factory=list)


class CostModel:
    """Costs of the plans of one workload under the statistics of one period."""

    def __init__(
        self,
        workload: SharedWorkload,
        statistics: SharingStatistics,
        settings: SharingSettings,
        fidelity: Fidelity = "repaired",
    ) -> None:
        self.workload = workload
        self.statistics = statistics
        self.settings = settings
        self.selectivities = Selectivities(workload, statistics)
        self._literal = fidelity == "literal"
        self._known: dict[SharingPlan, PlanCost] = {}
        self._is_flat = all(len(way) == 1 for way in workload.ways.values())
        self._instances: dict[tuple[int, Consumers, Reading], float] = {}

    def units(self, expression: int) -> UnitCosts:
        """Give the unit costs of an expression."""
        return self.statistics.costs[self.workload.expressions[expression].kind]

    def cost(self, plan: SharingPlan) -> PlanCost:
        """Give the cost of a plan, per second of the source."""
        known = self._known.get(plan)
        if known is None:
            known = self._known[plan] = PlanCost(
                *(sum(self.by_expression(plan, reading)) for reading in READINGS)
            )
        return known

    def objective(self, plan: SharingPlan) -> float:
        """Give the objective of a plan: cost and risk, weighed."""
        return self.cost(plan).objective(self.settings.risk)

    def by_expression(self, plan: SharingPlan, reading: Reading = "estimate") -> list[float]:
        """Give what every expression costs."""
        if self._is_flat and not any(own.union for own in plan.expressions):
            return [self._flat(number, own, reading) for number, own in enumerate(plan.expressions)]
        return _Pass(self, plan, reading, self._literal).costs()

    def _flat(self, number: int, shared: SharedExpression, reading: Reading) -> float:
        """Give what an expression costs that is the whole way of its queries, without unions."""
        cost = len(shared.alone) * self.units(number).alone
        cost += sum(self._instance(number, consumers, reading) for consumers in shared.cover)
        return cost * self.statistics.rate

    def _instance(self, number: int, consumers: Consumers, reading: Reading) -> float:
        """Give what a covering stage costs that reads the source, with its compensations."""
        place = number, consumers, reading
        if place not in self._instances:
            units = self.units(number)
            cost = units.alone
            if not self.workload.expressions[number].agree(consumers):
                passes: float = getattr(self.selectivities.cover(number, consumers), reading)
                cost = units.cover + len(consumers) * passes * units.compensation
            self._instances[place] = cost
        return self._instances[place]

    def reaching(self, plan: SharingPlan, reading: Reading = "estimate") -> dict[int, float]:
        """Give, by expression, the most segments that reach one of its covering stages."""
        walk = _Pass(self, plan, reading, self._literal)
        walk.costs()
        return walk.reaching


class _Pass:
    """One walk along all ways."""

    def __init__(
        self, model: CostModel, plan: SharingPlan, reading: Reading, literal: bool
    ) -> None:
        self._model = model
        self._plan = plan
        self._reading = reading
        self._literal = literal
        self._ways: Mapping[int, Sequence[int]] = {w.query: w.expressions for w in plan.ways}
        self._at = dict.fromkeys(self._ways, 0)
        self._flows = {query: _QueryRates() for query in self._ways}
        self._costs = [0.0] * len(plan.expressions)
        self.reaching: dict[int, float] = {}

    def costs(self) -> list[float]:
        """Walk; give the cost of every expression."""
        while self._round():
            pass
        assert all(at == len(self._ways[query]) for query, at in self._at.items()), "not contained"
        for query, way in self._ways.items():
            if way:
                self._costs[way[-1]] += self._leave(query)
        rate = self._model.statistics.rate
        return [cost * rate for cost in self._costs]

    def _round(self) -> bool:
        moved = False
        for expression in self._model.workload.expressions:
            shared = self._plan.expressions[expression.number]
            for consumers in shared.cover:
                if self._waiting(expression.number, consumers):
                    self._cover(expression, consumers)
                    moved = True
            union = [query for consumers in shared.union for query in consumers]
            if union and self._waiting(expression.number, union):
                self._union(expression, shared.union)
                moved = True
            for query in shared.alone:
                if self._waiting(expression.number, (query,)):
                    self._alone(expression.number, query)
                    moved = True
        return moved

    def _waiting(self, number: int, consumers: Sequence[int]) -> bool:
        at, ways = self._at, self._ways
        return all(at[q] < len(ways[q]) and ways[q][at[q]] == number for q in consumers)

    def _own(self, number: int, query: int) -> float:
        found: float = getattr(self._model.selectivities.own(number, query), self._reading)
        return found

    def _covers(self, number: int, consumers: Consumers) -> float:
        found: float = getattr(self._model.selectivities.cover(number, consumers), self._reading)
        return found

    def _alone(self, number: int, query: int) -> None:
        cost = self._leave(query)
        flow = self._flows[query]
        cost += flow.own * self._model.units(number).alone
        flow.own *= self._own(number, query)
        flow.shared = flow.own
        self._costs[number] += cost
        self._at[query] += 1

    def _cover(self, expression: Expression, consumers: Consumers) -> None:
        number = expression.number
        units = self._model.units(number)
        exact = expression.agree(consumers)
        passes = self._covers(number, consumers)
        reach = max(self._flows[query].shared for query in consumers)
        self.reaching[number] = max(reach, self.reaching.get(number, 0.0))
        self._costs[number] += reach * (units.alone if exact else units.cover)
        for query in consumers:
            flow = self._flows[query]
            own = passes if exact else self._own(number, query)
            flow.chain.append((0.0 if exact else units.compensation, own, passes))
            flow.shared = reach * passes
            if self._literal and not exact:
                self._costs[number] += flow.shared * units.compensation
            self._at[query] += 1

    def _union(self, expression: Expression, instances: Sequence[Consumers]) -> None:
        number = expression.number
        units = self._model.units(number)
        union = tuple(sorted(query for consumers in instances for query in consumers))
        for query in union:
            self._costs[number] += self._leave(query)
        total = sum(self._flows[query].own for query in union)
        distinct = min(total, self._distinct(union))
        self._costs[number] += total * (units.union + units.duplicates)
        for consumers in instances:
            passes = self._covers(number, consumers)
            reach = min(distinct, sum(self._flows[query].own for query in consumers))
            self._costs[number] += reach * units.cover
            self.reaching[number] = max(reach, self.reaching.get(number, 0.0))
            for query in consumers:
                flow = self._flows[query]
                has = reach if self._literal else flow.own
                self._costs[number] += has * passes * units.compensation
                flow.own *= self._own(number, query)
                flow.shared = reach * passes
                self._at[query] += 1

    def _distinct(self, union: Consumers) -> float:
        """Give how many different segments a union has: what would cover all that came before."""
        found = 1.0
        before: dict[int, list[int]] = {}
        for query in union:
            for each in self._ways[query][: self._at[query]]:
                before.setdefault(each, []).append(query)
        for each, queries in before.items():
            if len(queries) == len(union):
                found *= self._covers(each, tuple(queries))
        return max(found, *(self._flows[query].own for query in union))

    def _leave(self, query: int) -> float:
        """Compensate: give what that costs; the query's segments are its own then."""
        flow = self._flows[query]
        if not flow.chain:
            return 0.0
        cost = 0.0
        base = flow.own
        for place, (unit, _, _) in enumerate(flow.chain):
            if unit and not self._literal:
                rate = base
                for before, (_, own, covers) in enumerate(flow.chain):
                    rate *= own if before < place else covers
                cost += unit * rate
        for _, own, _ in flow.chain:
            flow.own *= own
        flow.shared = flow.own
        flow.chain = []
        return cost
