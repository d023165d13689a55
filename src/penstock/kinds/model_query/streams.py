"""Streams of model queries: equal sources of different shapes are one group, which feeds them.

Whether a query reads a stream, and which, is said by its text alone: so its answer does not depend
on who else reads it. A stream is registered with the first group that reads it, and goes with the
last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.algebra.model_streams import ModelStreamStep
from penstock.algebra.models import ModelQueryStep, StandingModelQuery
from penstock.algebra.physical import signature
from penstock.kinds.model_query.gate_cycle import GateCycle
from penstock.kinds.model_query.gate_plans import GatePlan
from penstock.kinds.model_query.sharing_words import SharingWords
from penstock.kinds.plan_cycle import PlanWatch
from penstock.kinds.watch import Explained, House, Promise
from penstock.language.keyless_models import keyless_note
from penstock.models.streams import first_condition, streams_of
from penstock.operators.model_query.figures import EXPECTED_FIRST, PLANNED, PLANS_TRIED
from penstock.planning.explanation import Explanation
from penstock.registry.records import Draft
from penstock.vocabulary.figures import Tally


def stream_of(step: ModelQueryStep) -> ModelStreamStep | None:
    """Give the stream that a step can read; None: it reads rows itself.

    Rows of several streams stand in one order, and sources with different bounds number keys by
    themselves. Slack as it was published is of one shape.
    """
    found = set(streams_of(step)) if step.fidelity == "repaired" else set()
    return found.pop() if len(found) == 1 else None


def with_stream(logical: StandingModelQuery) -> StandingModelQuery:
    """Let a query read the stream that its text allows."""
    stream = stream_of(logical.shape)
    if stream is None:
        return logical
    return replace(logical, shape=replace(logical.shape, reads=(signature(stream),)))


def why_alone(shape: ModelQueryStep | None) -> str:
    """Say why a query reads rows itself."""
    if shape is not None and len(shape.relations) > 1:
        return "no: rows of several streams stand in one order, which is the query's own"
    if shape is not None and shape.fidelity != "repaired":
        return "no: slack is taken as it was published, by the conditions of one shape"
    if shape is not None and stream_of(shape) is None:
        return "no: its sources are not alike, in their models or in what their bounds allow"
    return "no: it was registered before sources were shared; register it anew to share"


def registered_step(logical: StandingModelQuery, group: str) -> ModelQueryStep:
    """Give the step of a group, which may be of before streams were shared."""
    alone = replace(logical.shape, reads=())
    return alone if signature(alone) == group else logical.shape


class ModelWatch(PlanWatch[GatePlan]):
    """Registers the streams that groups read, plans their gates, and says what is shared."""

    cycle: GateCycle

    def __init__(self, house: House) -> None:
        super().__init__(house, GateCycle(house))

    def plan(self, logical: Any, group: str, arriving: int, draft: Draft) -> Promise:
        """Add the stream of a group to the draft, if it does not stand; it comes first."""
        del group, arriving
        stream = stream_of(logical.shape)
        if stream is not None and logical.shape.reads:
            name = signature(stream)
            if name not in self.house.registry.steps:
                self.cycle.begin_anew(name)
                draft.steps = {name: stream.to_json(), **draft.steps}
        return Promise(notes=self._notes(logical))

    def _notes(self, logical: StandingModelQuery) -> tuple[str, ...]:
        """Say of which sources one model is of all rows."""
        catalog = self.house.registry.catalog
        said = (
            keyless_note(each, catalog[each.relation.lower()]) for each in logical.shape.sources
        )
        return tuple(dict.fromkeys(note for note in said if note is not None))

    def figures(self, group: str) -> Tally:
        """Give how often a stream's gates were planned, and what a reader is to let through."""
        described = self.house.registry.steps.get(group)
        if described is None:
            return Tally()
        if self.cycle.watches(described):
            seen = self.cycle.seen(group)
            return Tally({PLANNED: seen.looks, PLANS_TRIED: seen.tried})
        found = Tally()
        for stream in described.get("reads", ()):
            expected = self.cycle.expected(stream, group)
            if expected is not None:
                found[EXPECTED_FIRST] = round(1e6 * expected)
        return found

    def explain(self, asked: Explained) -> Explanation:
        """Say with whom the source is shared and which gate is, or why neither is."""
        found = asked.explanation
        if asked.logical is not None:
            found = replace(found, notes=(*found.notes, *self._notes(asked.logical)))
        described = self.house.registry.steps.get(found.group)
        shape = None if asked.logical is None else asked.logical.shape
        if described is not None:
            reads = tuple(described.get("reads", ()))
        else:
            reads = () if shape is None else shape.reads
        if not reads:
            super().explain(asked)  # What-if is refused.
            return replace(found, facts={**found.facts, "source_shared": why_alone(shape)})
        words = SharingWords(self.house.registry, self.cycle, reads[0], found.group)
        own = None if shape is None else first_condition(shape)
        facts = {"source_shared": words.source(), **words.gate(own, asked.what_if)}
        return replace(found, facts={**found.facts, **facts})
