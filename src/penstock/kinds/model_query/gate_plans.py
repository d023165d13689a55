"""Gate plans: which groups that read a model stream share which gates, by what was measured.

The optimiser of sharing decides (`penstock.planning.sharing`). What it is told of a group is what
the group counted: how many of the stream's segments pass its first condition; of one that has
counted nothing yet, what the stream's histograms say. What a gate would let through is counted once
there is one; before, the histograms tell it, within bounds from what its readers let through.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.algebra.model_streams import StreamGate, StreamPlan
from penstock.algebra.models import (
    ModelCondition,
    ModelFilter,
    ModelSource,
    ModelStage,
)
from penstock.algebra.sharing import Consumers, SharingPlan
from penstock.models.sharing.covering import ALWAYS, CoverBook, parts_of
from penstock.models.sharing.workloads import SharedWorkload
from penstock.planning.selectivity.chains import condition_estimate
from penstock.planning.selectivity.shares import DrawnShares, can_estimate
from penstock.planning.selectivity.statistics import SegmentStatistics, Selectivity
from penstock.planning.sharing.moves import Optimised
from penstock.planning.sharing.optimiser import optimise
from penstock.planning.sharing.placements import placed
from penstock.planning.sharing.selectivities import Selectivities
from penstock.planning.sharing.statistics import SharingSettings, SharingStatistics
from penstock.planning.sharing.unit_costs import BUILT_IN

SETTINGS = SharingSettings()
GAINING = BUILT_IN["filter"].alone / BUILT_IN["filter"].compensation
"""Who lets through a greater share gains by no gate: what passes it is asked again."""
SAVED_MIN = 0.05
"""The share of the cost that another plan must save."""


@dataclass(frozen=True, slots=True)
class GatePlan:
    """The plan of a stream, with the number of its entry."""

    number: int
    plan: StreamPlan

    def to_json(self) -> dict[str, Any]:
        """Describe the plan."""
        found: dict[str, Any] = self.plan.to_json()
        return found

    @classmethod
    def from_json(cls, number: int, data: dict[str, Any]) -> GatePlan:
        """Give back the plan that `to_json` described."""
        return cls(number, StreamPlan.from_json(data))


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCounts:
    """What was counted of a stream: segments, and what passed, by reader and by gate."""

    segments: float
    """Segments, and what took them back, that the stream told per second, or in all."""
    passed: Mapping[str, float] = field(default_factory=dict)
    """By reader: the share that passes its first condition; of others nothing is known."""
    gates: Mapping[StreamGate, float] = field(default_factory=dict)
    """By gate: the share that passed."""
    known: SegmentStatistics | None = None
    """The histograms of the stream, as they were told last."""

    def expected(self, condition: ModelCondition) -> float | None:
        """Estimate how many parts of each segment pass a condition, by the stream's histograms."""
        if self.known is None or not can_estimate(condition, self.known):
            return None
        return condition_estimate(condition, self.known).estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedGates:
    """What planning came to: the plan, and what the optimiser said."""

    plan: StreamPlan
    readers: Collection[str]
    """The groups that gates might be of use to: those that were planned for."""
    optimised: Optimised | None = None


def plan_gates(
    readers: Mapping[str, ModelCondition],
    source: ModelSource,
    counts: GateCounts,
    before: StreamPlan,
    settings: SharingSettings = SETTINGS,
) -> PlannedGates:
    """Plan the gates of a stream: `readers` are the groups that ask something first, and what."""
    passed = {
        name: counts.passed[name] if name in counts.passed else counts.expected(own)
        for name, own in readers.items()
    }
    readers = {name: own for name, own in readers.items() if (passed[name] or 0.0) < GAINING}
    if len(readers) < 2:
        return PlannedGates(plan=StreamPlan(), readers=())
    names = sorted(readers)
    queries: dict[int, ModelStage] = {
        number: ModelFilter(input=source, condition=readers[name])
        for number, name in enumerate(names)
    }
    workload = SharedWorkload.of(queries)
    standing = _standing(workload, names, before)
    book = CoverBook({number: readers[name] for number, name in enumerate(names)})
    told = {name: share for name, share in passed.items() if share is not None}
    statistics = _statistics(book, workload, names, replace(counts, passed=told), before)
    found = optimise(workload, standing, statistics, settings)
    shares = Selectivities(workload, statistics)
    gates = tuple(
        StreamGate(
            condition=condition,
            readers=tuple(names[query] for query in consumers),
            expected=round(shares.cover(number, consumers).estimate, 6),
        )
        for number, consumers in _instances(found.plan)
        if (condition := book.covering(consumers)) != ALWAYS
    )
    plan = StreamPlan(
        gates=gates, cost=found.cost, runner_up_cost=found.runner_up_cost,
        unshared_cost=found.unshared_cost,
    )  # fmt: skip
    return PlannedGates(plan=plan, readers=names, optimised=found)


def is_worth(found: PlannedGates, before: StreamPlan) -> bool:
    """Say whether a plan is to take the place of the one before: to change it has a price.

    It is if the gates before cover groups that are gone, or that gain by no gate any more: these
    were not planned for, and what lets them through lets it through to all others behind it.
    """
    if any(name not in found.readers for gate in before.gates for name in gate.readers):
        return True
    return found.optimised is not None and found.optimised.saved >= SAVED_MIN


def _instances(plan: SharingPlan) -> Iterator[tuple[int, Consumers]]:
    """Give the covering stages that several read."""
    for number, shared in enumerate(plan.expressions):
        for consumers in shared.cover:
            if len(consumers) > 1:
                yield number, consumers


def _standing(workload: SharedWorkload, names: Sequence[str], before: StreamPlan) -> SharingPlan:
    """Give the plan that stands, for the readers that there are now."""
    plan = workload.unshared()
    for number, consumers in _placed(workload, names, before):
        plan = placed(plan, number, consumers, "cover")
    return plan


def _placed(
    workload: SharedWorkload, names: Sequence[str], before: StreamPlan
) -> Iterator[tuple[int, Consumers]]:
    """Give the gates of a plan as the workload numbers them; those are left out that lost all."""
    place = {name: number for number, name in enumerate(names)}
    for gate in before.gates:
        queries = sorted(place[name] for name in gate.readers if name in place)
        for number in {workload.ways[query][0] for query in queries}:
            own = tuple(query for query in queries if workload.ways[query][0] == number)
            if len(own) > 1:
                yield number, own


def _statistics(
    book: CoverBook,
    workload: SharedWorkload,
    names: Sequence[str],
    counts: GateCounts,
    before: StreamPlan,
) -> SharingStatistics:
    own = {
        (workload.ways[number][0], number): Selectivity.exactly(min(counts.passed[name], 1.0))
        for number, name in enumerate(names)
        if name in counts.passed
    }
    gates = dict(zip((gate.readers for gate in before.gates), before.gates, strict=True))
    measured: dict[tuple[int, Consumers], float] = {}
    for number, consumers in _placed(workload, names, before):
        gate = gates.get(tuple(names[query] for query in consumers))
        if gate is not None and gate in counts.gates:
            measured[number, consumers] = counts.gates[gate]

    drawn = None if counts.known is None else DrawnShares(counts.known)

    def covers(expression: int, consumers: Consumers) -> Selectivity:
        cover = book.covering(consumers)
        listed = {query: book.listed(query) for query in consumers}
        low, high = bounds(cover, listed, {q: own.get((expression, q)) for q in consumers})
        share = None if drawn is None else drawn.share(cover)
        estimate = high if share is None else min(max(share, low), high)
        return Selectivity(estimate=estimate, low=low, high=high)

    return SharingStatistics(
        own=own, covers=covers, measured_covers=measured, costs=BUILT_IN,
        rate=counts.segments,
    )  # fmt: skip


def bounds(
    cover: ModelCondition,
    listed: Mapping[int, frozenset[ModelCondition]],
    known: Mapping[int, Selectivity | None],
) -> tuple[float, float]:
    """Say between which shares a gate lies that covers some conditions.

    It lets through at least what the widest does. If it is an OR of parts that single conditions
    have, or one of them, it lets through at most what those do together.
    """
    least = max((0.0 if own is None else own.estimate) for own in known.values())
    gate = set(parts_of(cover))
    having = {query: gate & own for query, own in listed.items()}
    total, left = 0.0, set(gate)
    while left:
        query = max(having, key=lambda own: (len(having[own] & left), -_most(known[own])))
        if not having[query] & left:
            return least, 1.0
        left -= having[query]
        total += _most(known[query])
    return least, max(min(total, 1.0), least)


def _most(share: Selectivity | None) -> float:
    return 1.0 if share is None else share.estimate
