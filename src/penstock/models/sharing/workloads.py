"""Workloads: standing model queries side by side, and the expressions that they have in common.

The *trunk* of a query is its way from the leftmost source up to the answer; what a join has on its
right is part of the join. Stages of different queries are one expression if they are compatible:
they read the same attributes of the same input, joins have the same right side, and what is neither
filter nor join is the same altogether. Filters do not change what the stages behind them read, so
the order of filters does not tell expressions apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from penstock.algebra.models import (
    ModelCondition,
    ModelFilter,
    ModelJoin,
    ModelSource,
    ModelStage,
)
from penstock.algebra.sharing import SharedExpression, SharingPlan, Way
from penstock.models.gains import compared
from penstock.models.ranges import used

ExpressionKind = Literal["filter", "join", "map", "envelope", "window"]
CONDITIONAL = ("filter", "join")
"""The kinds of expressions that have a condition of each query, so can be covered."""


@dataclass(frozen=True, slots=True)
class Expression:
    """Compatible stages of several queries; each stage stands with its query's own input."""

    number: int
    kind: ExpressionKind
    stages: Mapping[int, ModelStage]
    """By query."""
    asked: Mapping[int, int]
    """By query: a number that queries have in common which ask the same."""

    def condition(self, query: int) -> ModelCondition:
        """Give the condition of a query's filter or join."""
        stage = self.stages[query]
        assert isinstance(stage, ModelFilter | ModelJoin)
        return stage.condition

    @property
    def is_conditional(self) -> bool:
        """Whether it is a filter or a join."""
        return self.kind in CONDITIONAL

    @property
    def can_unite(self) -> bool:
        """Whether unions of what queries have can go on together: filters, joins, envelopes."""
        return self.is_conditional or self.kind == "envelope"

    @property
    def is_filter(self) -> bool:
        """Whether it is a filter: filters may change places."""
        return self.kind == "filter"

    def agree(self, queries: tuple[int, ...]) -> bool:
        """Say whether queries ask the same of the expression: then nothing is to compensate."""
        first = self.asked[queries[0]]
        return all(self.asked[query] == first for query in queries)


@dataclass(frozen=True, slots=True)
class SharedWorkload:
    """Queries that read one source, and their expressions."""

    source: ModelSource
    queries: Mapping[int, ModelStage]
    expressions: tuple[Expression, ...]
    ways: Mapping[int, tuple[int, ...]]
    """By query, the numbers of its expressions as the text of the query has them."""

    @classmethod
    def of(cls, queries: Mapping[int, ModelStage]) -> SharedWorkload:
        """Find the expressions of queries; all of them begin with the same source."""
        source: ModelSource | None = None
        numbers: dict[Hashable, int] = {}
        stages: list[dict[int, ModelStage]] = []
        ways: dict[int, tuple[int, ...]] = {}
        for query in sorted(queries):
            first, trunk = trunk_of(queries[query])
            assert source is None or source == first, "queries of a workload have one source"
            source = first
            own: list[int] = []
            for signature, stage in _signed(first, trunk):
                number = numbers.setdefault(signature, len(numbers))
                if number == len(stages):
                    stages.append({})
                stages[number][query] = stage
                own.append(number)
            ways[query] = tuple(own)
        assert source is not None, "a workload has a query"
        expressions = tuple(
            Expression(number, _kind(next(iter(own.values()))), own, _asked(own))
            for number, own in enumerate(stages)
        )
        return cls(source, dict(queries), expressions, ways)

    def unshared(self) -> SharingPlan:
        """Give the plan in which nothing is shared."""
        return SharingPlan(
            expressions=tuple(
                SharedExpression(alone=tuple(sorted(each.stages))) for each in self.expressions
            ),
            ways=tuple(Way(query=query, expressions=way) for query, way in self.ways.items()),
        )


def by_source(queries: Mapping[int, ModelStage]) -> list[SharedWorkload]:
    """Divide queries into workloads, one for each source that begins a trunk."""
    found: dict[ModelSource, dict[int, ModelStage]] = {}
    for query, plan in queries.items():
        found.setdefault(trunk_of(plan)[0], {})[query] = plan
    return [SharedWorkload.of(own) for own in found.values()]


def trunk_of(plan: ModelStage) -> tuple[ModelSource, tuple[ModelStage, ...]]:
    """Give the leftmost source of a plan, and the stages from it to the answer."""
    trunk: list[ModelStage] = []
    while not isinstance(plan, ModelSource):
        trunk.append(plan)
        plan = plan.left if isinstance(plan, ModelJoin) else plan.input
    return plan, tuple(reversed(trunk))


def attributes_of(condition: ModelCondition) -> frozenset[int]:
    """Give the attributes that a condition speaks of."""
    return frozenset(name for each in compared(condition) for name in used(each.polynomial))


def _signed(
    source: ModelSource, trunk: tuple[ModelStage, ...]
) -> list[tuple[Hashable, ModelStage]]:
    """Give each stage with what must be equal for another to be compatible with it."""
    found: list[tuple[Hashable, ModelStage]] = []
    path: tuple[Hashable, ...] = ()
    times: dict[Hashable, int] = {}
    for stage in trunk:
        own: Hashable
        if isinstance(stage, ModelFilter):
            own = ("filter", attributes_of(stage.condition))
        elif isinstance(stage, ModelJoin):
            own = (
                "join", attributes_of(stage.condition), stage.right, stage.equal, stage.unequal,
                stage.window_us,
            )  # fmt: skip
        else:
            assert not isinstance(stage, ModelSource)
            own = replace(stage, input=source)
        times[path, own] = times.get((path, own), -1) + 1
        found.append(((path, own, times[path, own]), stage))
        if not isinstance(stage, ModelFilter):
            path = (*path, own)
    return found


def _asked(stages: Mapping[int, ModelStage]) -> dict[int, int]:
    """Number what queries ask of an expression; of aggregates and maps all ask the same."""
    numbers: dict[Hashable, int] = {}
    found = {}
    for query, stage in stages.items():
        own = stage.condition if isinstance(stage, ModelFilter | ModelJoin) else None
        found[query] = numbers.setdefault(own, len(numbers))
    return found


def _kind(stage: ModelStage) -> ExpressionKind:
    assert not isinstance(stage, ModelSource)
    return stage.kind
