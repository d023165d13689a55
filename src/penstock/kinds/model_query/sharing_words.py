"""Words of sharing: what EXPLAIN says of a stream that shapes share, and of its gates."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from penstock.algebra.model_streams import ModelStreamStep, StreamGate, StreamPlan
from penstock.algebra.models import ModelCondition
from penstock.kinds.model_query.gate_cycle import GateCycle, readers_of
from penstock.kinds.model_query.gate_plans import GateCounts
from penstock.kinds.what_if import words_of
from penstock.language.statements import Assumption
from penstock.operators.model_query.equations import condition_text
from penstock.registry.store import Registry
from penstock.vocabulary.counts import counted
from penstock.vocabulary.errors import PenstockError

SHOWN_MAX = 3
"""Subscriptions that are named, of those that share."""
NONE = GateCounts(segments=0.0)


class SharingWords:
    """Says what a group shares with others."""

    def __init__(self, registry: Registry, cycle: GateCycle, stream: str, group: str) -> None:
        self._registry, self._cycle = registry, cycle
        self._stream, self._group = stream, group

    def source(self) -> str:
        """Say with whom the source is shared."""
        others = {own for own in readers_of(self._registry, self._stream) if own != self._group}
        listed = self._listed(others)
        if not listed:
            return f"{self._stream}, which no other shape reads yet"
        return f"{self._stream}, with {listed}; rows are held against models once"

    def gate(self, asked: ModelCondition | None, what_if: Sequence[Assumption]) -> dict[str, str]:
        """Say which gate is shared, with whom and why; under assumptions, which would be."""
        book = self._cycle.book.standing(self._stream)
        before = StreamPlan() if book is None else book.plan
        seen = self._cycle.seen(self._stream)
        counts = replace(seen.counts or NONE, known=seen.known)
        # Whoever is not registered is planned for as if it were.
        is_new = asked is not None and self._group not in self._registry.steps
        others = {self._group: asked} if asked is not None and is_new else {}
        if what_if:
            return self._assumed(before, counts, what_if, others)
        if asked is None:
            return {}
        selectivity = self._selectivity(asked, counts)
        looked = before if before.gates or seen.found is None else seen.found.plan
        if others and selectivity:
            looked = self._cycle.planned(self._stream, counts, before, others).plan
        gate = _own(looked if others else before, self._group)
        return {"gate": f"{self._said(gate, counts)}{self._passes(counts)}", **selectivity,
                **_cost_words(looked)}  # fmt: skip

    def _said(self, gate: StreamGate | None, counts: GateCounts) -> str:
        """Say which gate it is, or why there is none."""
        if gate is not None:
            return self._gate_words(gate, counts)
        is_known = counts.segments > 0.0 and (self._group in counts.passed or counts.known)
        return f"none: {'it would not pay' if is_known else 'not measured yet'}"

    def _selectivity(self, asked: ModelCondition, counts: GateCounts) -> dict[str, str]:
        """Say what share of segments was estimated to pass the query's first conditions."""
        estimated, measured = counts.expected(asked), counts.passed.get(self._group)
        if estimated is None:
            return {}
        seen = "not measured yet" if measured is None else f"measured {_share(measured)}"
        return {"selectivity": f"estimated {_share(estimated)} by histograms, {seen}"}

    def _assumed(
        self,
        before: StreamPlan,
        counts: GateCounts,
        what_if: Sequence[Assumption],
        others: Mapping[str, ModelCondition],
    ) -> dict[str, str]:
        """Plan under assumptions: of the stream's rate, and of what the query lets through."""
        for each in what_if:
            if each.what == "rate":
                counts = replace(counts, segments=each.value)
            elif each.what == "selectivity" and len(each.of) == 1:
                gates = {g: own for g, own in counts.gates.items() if self._group not in g.readers}
                passed = {**counts.passed, self._group: each.value}
                counts = replace(counts, passed=passed, gates=gates)
            else:
                raise PenstockError(
                    "ENG-036",
                    f"The planner of model queries cannot assume {words_of(each)}.",
                    "Assume rate(stream) in segments, or selectivity(stream) of the query.",
                    each.place,
                )
        if counts.segments == 0.0:
            counts = replace(counts, segments=1.0)
        found = StreamPlan()
        if self._stream in self._registry.steps:
            found = self._cycle.planned(self._stream, counts, before, others).plan
        said = self._said(_own(found, self._group), counts)
        assumed = ", ".join(words_of(each) for each in what_if)
        per = "second" if any(each.what == "rate" for each in what_if) else "batch"
        return {"assumed": assumed, "gate": f"{said}{self._passes(counts)}",
                **_cost_words(found, per)}  # fmt: skip

    def _gate_words(self, gate: StreamGate, counts: GateCounts) -> str:
        step = ModelStreamStep.from_json(dict(self._registry.steps[self._stream]))
        names = [own.name for own in step.source.attributes]
        listed = self._listed({own for own in gate.readers if own != self._group})
        seen = counts.gates.get(gate)
        expected = "" if gate.expected is None else f", expected to pass {_share(gate.expected)}"
        measured = "" if seen is None else f", measured {_share(seen)}"
        condition = condition_text(gate.condition, names)
        return f"{condition}, asked once with {listed}{expected}{measured}"

    def _passes(self, counts: GateCounts) -> str:
        own = counts.passed.get(self._group)
        return "" if own is None else f"; of all segments {_share(own)} pass its own condition"

    def _listed(self, groups: Collection[str]) -> str:
        """Name the subscriptions of groups."""
        records = self._registry.subscriptions.items()
        names = [name for name, own in records if own.group in groups]
        if not names:
            return ""
        more = f" and {len(names) - SHOWN_MAX:,} more" if len(names) > SHOWN_MAX else ""
        shapes = counted(len(groups), "other shape")
        return f"{shapes}: {', '.join(names[:SHOWN_MAX])}{more}"


def _own(plan: StreamPlan, group: str) -> StreamGate | None:
    return next((gate for gate in plan.gates if group in gate.readers), None)


def _cost_words(plan: StreamPlan, per: str = "batch") -> dict[str, str]:
    """Say what the plan costs, and what others would."""
    if plan.cost is None or plan.runner_up_cost is None or plan.unshared_cost is None:
        return {}
    return {
        "cost": f"{1e6 * plan.cost:,.1f} µs a {per}; the next best plan "
        f"{1e6 * plan.runner_up_cost:,.1f} µs, without gates {1e6 * plan.unshared_cost:,.1f} µs"
    }


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"
