"""Building: the nodes of a shared plan, from the source on, as far as every query has come.

The flow of a query is where its segments are at present: behind a covering stage, with conditions
that are still to be asked of them, or its own. A covering stage is built when all its consumers
have come to it in one flow; a union when all its consumers have come to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.algebra.models import (
    ModelCondition,
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelSource,
    ModelStage,
)
from penstock.algebra.sharing import Consumers, SharingPlan
from penstock.models.joins import JoinStage
from penstock.models.plans import SegmentPlan, single_stages
from penstock.models.shapes import SegmentShape, source_shape
from penstock.models.sharing.covering import ALWAYS, covering
from penstock.models.sharing.envelopes import SharedEnvelope
from penstock.models.sharing.nodes import (
    EnvelopeWork,
    JoinWork,
    NodeWork,
    PlanNode,
    StageWork,
    UnionWork,
)
from penstock.models.sharing.stages import CompensationStage, GateStage, Pending
from penstock.models.sharing.workloads import Expression, SharedWorkload
from penstock.models.stages import FilterStage

SOURCE = -1
"""The node that is none: the source itself."""
Outlet = tuple[int, int]
"""A node and its port out."""


@dataclass(frozen=True, slots=True)
class QueryFlow:
    """Where the segments of a query are, and what is still to be asked of them.

    `wider` is where what covers it goes on, and what would then be to ask; of what comes from
    unions there are both.
    """

    outlet: Outlet
    shape: SegmentShape
    pending: tuple[Pending, ...] = ()
    wider: tuple[Outlet, tuple[Pending, ...]] | None = None


@dataclass(slots=True)
class Built:
    """The nodes of a shared plan."""

    nodes: list[PlanNode] = field(default_factory=list)
    first: list[tuple[int, int]] = field(default_factory=list)
    """Who reads the source: nodes and their ports."""
    told: dict[int, Outlet] = field(default_factory=dict)
    """By query: where its answer comes out."""
    sides: list[ModelStage] = field(default_factory=list)
    readers: dict[ModelStage, list[int]] = field(default_factory=dict)
    """By right side: the joins that read it."""


class PlanBuilder:
    """Makes the nodes of one plan."""

    def __init__(self, workload: SharedWorkload, plan: SharingPlan) -> None:
        self._workload = workload
        self._plan = plan
        self._built = Built()
        self._ways = {way.query: way.expressions for way in plan.ways}
        self._at = dict.fromkeys(self._ways, 0)
        begin = QueryFlow((SOURCE, 0), source_shape(workload.source))
        self._flows = dict.fromkeys(self._ways, begin)

    def build(self) -> Built:
        """Go on while something can be built; then every query must have come to its end."""
        while any([*self._round()]):
            pass
        late = [query for query, way in self._ways.items() if self._at[query] < len(way)]
        assert not late, f"queries {late} cannot go on: their instances are not contained"
        for query in self._ways:
            self._built.told[query] = self._own(query, None).outlet
        return self._built

    def _round(self) -> Iterator[bool]:
        for expression, shared in zip(
            self._workload.expressions, self._plan.expressions, strict=True
        ):
            for consumers in shared.cover:
                if self._waiting(expression, consumers) and self._cover(expression, consumers):
                    yield True
            union = tuple(sorted(query for consumers in shared.union for query in consumers))
            if union and self._waiting(expression, union):
                self._union(expression, union, shared.union)
                yield True
            for query in shared.alone:
                if self._waiting(expression, (query,)):
                    self._alone(expression, query)
                    yield True

    def _waiting(self, expression: Expression, consumers: Consumers) -> bool:
        """Say whether all consumers have come to an expression."""
        return all(
            self._at[query] < len(self._ways[query])
            and self._ways[query][self._at[query]] == expression.number
            for query in consumers
        )

    def _alone(self, expression: Expression, query: int) -> None:
        flow = self._own(query, expression)
        name = f"alone{expression.number}:{query}"
        self._pass(expression, (query,), flow, name, exact=True)
        self._at[query] += 1

    def _cover(self, expression: Expression, consumers: Consumers) -> bool:
        """Build a covering stage if all consumers come in one flow."""
        flows = [self._flows[query] for query in consumers]
        if len(consumers) > 1 and len({flow.outlet for flow in flows}) > 1:
            wider = {flow.wider[0] if flow.wider else None for flow in flows}
            if len(wider) > 1 or None in wider:
                return False
            for query, flow in zip(consumers, flows, strict=True):
                assert flow.wider is not None
                self._flows[query] = replace(
                    flow, outlet=flow.wider[0], pending=flow.wider[1], wider=None
                )
        if not expression.is_conditional:
            if len(consumers) == 1:
                self._flows[consumers[0]] = self._own(consumers[0], expression)
            assert not any(self._flows[query].pending for query in consumers), (
                "what is still to be asked cannot pass an aggregate or a map"
            )
        exact = expression.agree(consumers)
        name = f"cover{expression.number}:{','.join(map(str, consumers))}"
        self._pass(expression, consumers, self._flows[consumers[0]], name, exact=exact)
        for query in consumers:
            self._at[query] += 1
        return True

    def _pass(
        self,
        expression: Expression,
        consumers: Consumers,
        flow: QueryFlow,
        name: str,
        *,
        exact: bool,
    ) -> None:
        """Build a stage that consumers read together, and move their flows behind it."""
        stage = expression.stages[consumers[0]]
        outlet, shape = flow.outlet, flow.shape
        if isinstance(stage, ModelJoin):
            if not exact:
                stage = replace(stage, condition=self._covering(expression, consumers))
            join = self._join(stage, shape, whole=not exact)
            shape = join.shape
            outlet = self._node(name, JoinWork(join), shape, [outlet]), 0
            self._built.readers[stage.right].append(outlet[0])
        elif isinstance(stage, ModelFilter):
            work = (
                FilterStage(stage, shape)
                if exact
                else GateStage(self._covering(expression, consumers), shape)
            )
            outlet = self._node(name, StageWork(work), shape, [outlet]), 0
        else:
            assert not isinstance(stage, ModelSource)
            for number, own in enumerate(single_stages(stage, shape)):
                shape = own.shape
                outlet = self._node(f"{name}.{number}", StageWork(own), shape, [outlet]), 0
        for query in consumers:
            pending = _behind(self._flows[query].pending, stage)
            if not exact:
                pending = (*pending, Pending(expression.condition(query)))
            self._flows[query] = QueryFlow(outlet, shape, pending)

    def _union(
        self, expression: Expression, union: Consumers, instances: Sequence[Consumers]
    ) -> None:
        """Build a union; behind it a filter of every consumer, or a join of every instance."""
        assert expression.can_unite, "windows and maps are not united"
        flows = {query: self._own(query, expression) for query in union}
        shape = flows[union[0]].shape
        stage = expression.stages[union[0]]
        if isinstance(stage, ModelEnvelope):
            self._envelopes(stage, expression, union, flows)
            return
        joins = expression.kind == "join"
        place = {query: number for number, query in enumerate(union)}
        asked = [
            (
                [place[query] for query in consumers],
                ALWAYS if joins else self._covering(expression, consumers),
            )
            for consumers in instances
        ]
        wanted = {len(union) + number: True for number in range(len(instances))}
        if not joins:
            wanted |= dict.fromkeys(range(len(union)), True)
            self._unwanted(expression, instances, len(union), wanted)
        work = UnionWork(len(union), asked, shape, wanted)
        outlets = [flows[query].outlet for query in union]
        node = self._node(f"union{expression.number}", work, shape, outlets)
        for number, consumers in enumerate(instances):
            wider = node, len(union) + number
            name = f"covered{expression.number}:{','.join(map(str, consumers))}"
            if joins:
                for query in consumers:
                    self._flows[query] = QueryFlow(wider, shape, self._asked_before(query))
                exact = expression.agree(consumers)
                self._pass(expression, consumers, self._flows[consumers[0]], name, exact=exact)
            for query in consumers if not joins else ():
                self._flows[query] = QueryFlow((node, place[query]), shape)
                before = self._asked_before(query)
                own = f"compensated{expression.number}:{query}"
                self._pass(expression, (query,), self._flows[query], own, exact=True)
                pending = (*before, Pending(expression.condition(query)))
                self._flows[query] = replace(self._flows[query], wider=(wider, pending))
        for query in union:
            self._at[query] += 1

    def _envelopes(
        self,
        stage: ModelEnvelope,
        expression: Expression,
        union: Consumers,
        flows: Mapping[int, QueryFlow],
    ) -> None:
        """Build the envelopes of several queries, of which each has its own."""
        envelope = SharedEnvelope(stage, len(union), flows[union[0]].shape)
        outlets = [flows[query].outlet for query in union]
        name = f"union{expression.number}"
        node = self._node(name, EnvelopeWork(envelope), envelope.shape, outlets)
        for place, query in enumerate(union):
            self._flows[query] = QueryFlow((node, place), envelope.shape)
            self._at[query] += 1

    def _unwanted(
        self,
        expression: Expression,
        instances: Sequence[Consumers],
        first: int,
        wanted: dict[int, bool],
    ) -> None:
        """Leave out hulls of instances behind which nobody goes on together."""
        for number, consumers in enumerate(instances):
            nexts = {
                way[way.index(expression.number) + 1]
                for way in (self._ways[query] for query in consumers)
                if way[-1] != expression.number
            }
            wanted[first + number] = any(
                len(set(own) & set(consumers)) > 1
                for following in nexts
                for own in self._plan.expressions[following].cover
            )

    def _own(self, query: int, expression: Expression | None) -> QueryFlow:
        """Ask what is still to be asked of a query's segments; give its own flow."""
        flow = self._flows[query]
        if flow.pending:
            stage = CompensationStage(flow.pending, flow.shape)
            place = "answer" if expression is None else f"{expression.number}"
            name = f"compensation{place}:{query}"
            node = self._node(name, StageWork(stage), flow.shape, [flow.outlet])
            flow = self._flows[query] = QueryFlow((node, 0), flow.shape)
        return flow

    def _asked_before(self, query: int) -> tuple[Pending, ...]:
        """Give all conditions that a query has asked so far: filters and joins alone."""
        found: tuple[Pending, ...] = ()
        for number in self._ways[query][: self._at[query]]:
            expression = self._workload.expressions[number]
            assert expression.is_conditional, "aggregates and maps are not asked again"
            found = _behind(found, expression.stages[query])
            found = (*found, Pending(expression.condition(query)))
        return found

    def _covering(self, expression: Expression, consumers: Consumers) -> ModelCondition:
        return covering([expression.condition(query) for query in consumers])

    def _join(self, stage: ModelJoin, shape: SegmentShape, *, whole: bool) -> JoinStage:
        if stage.right not in self._built.readers:
            self._built.readers[stage.right] = []
            self._built.sides.append(stage.right)
        return JoinStage(stage, shape, SegmentPlan(stage.right).shape, whole=whole)

    def _node(
        self, name: str, work: NodeWork, shape: SegmentShape, outlets: Sequence[Outlet]
    ) -> int:
        place = len(self._built.nodes)
        self._built.nodes.append(PlanNode(name, work, shape))
        for port, (node, out) in enumerate(outlets):
            if node == SOURCE:
                self._built.first.append((place, port))
            else:
                self._built.nodes[node].targets.append((out, place, port))
        return place


def _behind(pending: tuple[Pending, ...], stage: ModelStage) -> tuple[Pending, ...]:
    """Give what is still to be asked behind a stage: a join would have been given it before."""
    if not isinstance(stage, ModelJoin):
        return pending
    return tuple(replace(each, joined=True) for each in pending)
