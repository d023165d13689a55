"""The gate cycle: when the gates of model streams are planned, and by what was seen of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.algebra.model_streams import ModelStreamStep, StreamPlan
from penstock.algebra.models import ModelCondition, ModelQueryStep, ModelSource
from penstock.kinds.model_query.gate_plans import (
    GateCounts,
    GatePlan,
    PlannedGates,
    is_worth,
    plan_gates,
)
from penstock.kinds.plan_cycle import (
    Outlook,
    PlanBook,
    PlanCycle,
    Revision,
    WatchedBatch,
)
from penstock.kinds.watch import House
from penstock.models.streams import first_condition
from penstock.operators.model_query.figures import (
    GATE_PASSED,
    GATE_TAKEN,
    PASSED_FIRST,
    SPARED,
    STREAM_CHANGES,
    TAKEN,
)
from penstock.operators.model_query.stream_boxes import boxes_by_attribute
from penstock.planning.selectivity.shares import DrawnShares
from penstock.planning.selectivity.statistics import SegmentStatistics
from penstock.planning.sharing.conditions import instance_limit
from penstock.planning.sharing.unit_costs import BUILT_IN
from penstock.registry.store import Registry
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.forgetting import keep_named

MEASURED = 4
"""Batches of a period in which segments are counted; it ends with the last of them."""
FIRST_PERIOD, PERIOD_MAX = 8, 1_024
"""How many batches the first period has, and how many one may have; one that changes nothing is
followed by one twice as long."""
NOBODY: Mapping[str, ModelCondition] = {}
SEGMENTS_MIN = 200
"""Without so many segments a period goes on."""
ALARMING = 30
"""A gate that was asked about fewer segments in a batch says nothing of what it costs."""
CALM = 2
"""An early look that changes nothing is followed by one at the end of a period."""


def readers_of(registry: Registry, stream: str) -> list[str]:
    """List the groups that read a stream."""
    steps = list(registry.steps.items())
    return [group for group, own in steps if stream in own.get("reads", ())]


@dataclass(slots=True)
class StreamSeen:
    """What was seen of one stream in this period, and of planning in this run."""

    attributes: int = 1
    """How many attributes the stream's segments have."""
    period: int = field(default_factory=lambda: FIRST_PERIOD)
    batches: int = 0
    measured: int = 0
    segments: int = 0
    passed: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By reader: of how many segments how many parts passed. One that came lately, or rested, has
    counted fewer than the stream."""
    gates: dict[int, tuple[int, int]] = field(default_factory=dict)
    readers: tuple[str, ...] = ()
    """Those that the last look planned for."""
    looks: int = 0
    tried: int = 0
    """Plans that were looked at."""
    counts: GateCounts | None = None
    """What the last look went by."""
    found: PlannedGates | None = None
    """What it came to, whether it was published or not."""
    told: Tally = field(default_factory=Tally)
    """What the stream told last, its histograms among it."""
    calm: int = 0
    """So many looks are to come before another gate that pays no more brings one early."""
    shares: dict[str, float | None] | None = None
    """By reader: what its first condition lets through, by the histograms of the last look; None:
    nobody has asked yet."""

    def note(self, told: Tally, readers: Mapping[str, Tally]) -> None:
        """Count a batch."""
        self.measured += 1
        self.segments += told[STREAM_CHANGES]
        for name, own in readers.items():
            before = self.passed.get(name, (0, 0))
            taken = own[TAKEN] + own[SPARED]
            self.passed[name] = before[0] + taken, before[1] + own[PASSED_FIRST]
        passed = told.by(GATE_PASSED)
        for gate, taken in told.by(GATE_TAKEN).items():
            before = self.gates.get(int(gate), (0, 0))
            self.gates[int(gate)] = before[0] + taken, before[1] + passed.get(gate, 0)

    @property
    def known(self) -> SegmentStatistics | None:
        """The histograms of the stream, as it told them last."""
        bins = boxes_by_attribute(self.told, self.attributes)
        return SegmentStatistics.of(*bins) if any(each is not None for each in bins) else None

    def begin(self) -> None:
        """Begin another period."""
        self.batches = self.measured = self.segments = 0
        self.passed, self.gates = {}, {}

    def counted(self, plan: StreamPlan) -> GateCounts:
        """Give what was counted as shares, and segments per batch.

        Where nothing was counted in this period, what was in the last one stands.
        """
        if not self.segments and self.counts is not None:
            return replace(self.counts, known=self.known)
        return GateCounts(
            segments=self.segments / max(self.measured, 1),
            passed={name: found / taken for name, (taken, found) in self.passed.items() if taken},
            known=self.known,
            gates={
                plan.gates[gate]: passed / taken
                for gate, (taken, passed) in self.gates.items()
                if taken and gate < len(plan.gates)
            },
        )


class GateCycle(PlanCycle[GatePlan]):
    """Plans the gates of every model stream by itself."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._seen: dict[str, StreamSeen] = {}
        self._asked: dict[str, ModelCondition | None] = {}
        self.book = PlanBook(house.registry, GatePlan.from_json)

    def propose(
        self, logical: Any, group: str, arriving: int, plan: GatePlan | None
    ) -> Outlook[GatePlan]:
        """Say nothing: gates are planned by what is measured."""
        del logical, group, arriving, plan
        return Outlook()

    def watches(self, described: Mapping[str, Any]) -> bool:
        """Watch every model stream."""
        return bool(described["kind"] == "model_stream")

    def watch(self, batch: WatchedBatch[GatePlan]) -> bool:
        """Count the last batches of a period; look at its end, or soon when readers have come."""
        seen, figures = self.seen(batch.group), batch.report.figures
        seen.batches += 1
        seen.told = figures[batch.group]
        if seen.batches == 1 and seen.readers != self._askers(batch.group):
            seen.period = min(seen.period, FIRST_PERIOD)
        if seen.batches <= seen.period - MEASURED:
            if batch.plan is not None and batch.settled and not seen.calm:
                self._take_alarm(seen, batch.plan.plan)
            return batch.settled and self._is_early(batch.group, seen)
        readers = {name: figures[name] for name in self.conditions(batch.group)}
        seen.note(figures[batch.group], readers)
        return batch.settled and seen.batches >= seen.period and seen.segments >= SEGMENTS_MIN

    def review(self, batch: WatchedBatch[GatePlan]) -> Revision[GatePlan] | None:
        """Plan by what was counted; publish what costs less by enough."""
        seen = self.seen(batch.group)
        before = StreamPlan() if batch.plan is None else batch.plan.plan
        seen.counts = seen.counted(before)
        found = seen.found = self.planned(batch.group, seen.counts, before)
        seen.looks, seen.calm = seen.looks + 1, max(seen.calm - 1, 0)
        seen.tried += 0 if found.optimised is None else found.optimised.tried
        seen.readers, seen.shares = self._askers(batch.group), None
        seen.begin()
        if not is_worth(found, before):
            seen.period = min(2 * seen.period, PERIOD_MAX)
            return None
        seen.period, seen.calm = FIRST_PERIOD, 0
        return Revision(lambda number: GatePlan(number, found.plan))

    def _take_alarm(self, seen: StreamSeen, plan: StreamPlan) -> None:
        """Let a period end soon in which a gate passes so much that it costs more than it saves."""
        taken, passed = seen.told.by(GATE_TAKEN), seen.told.by(GATE_PASSED)
        for place, gate in enumerate(plan.gates):
            came = taken.get(str(place), 0)
            limit = instance_limit(BUILT_IN["filter"], len(gate.readers))
            if came >= ALARMING and passed.get(str(place), 0) > limit * came:
                seen.period, seen.calm = seen.batches + MEASURED, CALM
                return

    def _is_early(self, stream: str, seen: StreamSeen) -> bool:
        """Say whether to look within a long period: others read, of whom histograms tell."""
        if seen.counts is None or seen.batches % FIRST_PERIOD:
            return False
        if seen.readers == self._askers(stream) or seen.known is None:
            return False
        seen.period = FIRST_PERIOD
        return True

    def planned(
        self,
        stream: str,
        counts: GateCounts,
        before: StreamPlan,
        others: Mapping[str, ModelCondition] = NOBODY,
    ) -> PlannedGates:
        """Plan the gates of a stream; `others` are taken to read it, too."""
        asked = {**self.conditions(stream), **others}
        return plan_gates(asked, self._source(stream), counts, before)

    def expected(self, stream: str, group: str) -> float | None:
        """Give the share that passes a group's first conditions, by the last look's histograms."""
        seen = self.seen(stream)
        known = None if seen.counts is None else seen.counts.known
        if known is None:
            return None
        shares = seen.shares
        if shares is None:
            drawn, asked = DrawnShares(known), self.conditions(stream)
            shares = seen.shares = {name: drawn.share(own) for name, own in asked.items()}
        return shares.get(group)

    def _source(self, stream: str) -> ModelSource:
        return ModelStreamStep.from_json(dict(self._house.registry.steps[stream])).source

    def conditions(self, stream: str) -> dict[str, ModelCondition]:
        """Give the groups that ask something of the stream's segments first, and what."""
        found: dict[str, ModelCondition] = {}
        for group in readers_of(self._house.registry, stream):
            if group not in self._asked:
                described = dict(self._house.registry.steps[group])
                self._asked[group] = first_condition(ModelQueryStep.from_json(described))
            condition = self._asked[group]
            if condition is not None:
                found[group] = condition
        return found

    def _askers(self, stream: str) -> tuple[str, ...]:
        return tuple(sorted(self.conditions(stream)))

    def seen(self, stream: str) -> StreamSeen:
        """Give what was seen of a stream in this run."""
        if stream not in self._house.registry.steps:
            return StreamSeen()
        if stream not in self._seen:
            self._seen[stream] = StreamSeen(attributes=len(self._source(stream).attributes))
        return self._seen[stream]

    def begin_anew(self, stream: str) -> None:
        """Forget what was seen and planned of a stream that is about to be registered again."""
        self._seen.pop(stream, None)
        self.book.forget(stream)

    def forget_others(self, groups: Collection[str]) -> None:
        """Forget streams and readers that stand no more."""
        keep_named(self._seen, groups)
        keep_named(self._asked, groups)
