"""Nodes of a shared plan: what takes segments at ports, and gives segments at ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from penstock.algebra.models import ModelCondition
from penstock.models.conditions import ConditionSolver
from penstock.models.joins import LEFT, RIGHT, JoinStage
from penstock.models.segments import Segments
from penstock.models.shapes import SegmentShape
from penstock.models.sharing.covering import ALWAYS
from penstock.models.sharing.envelopes import SharedEnvelope
from penstock.models.sharing.unions import united
from penstock.models.stages import Stage

Given = dict[int, Segments]
"""Segments by port; where nothing comes, there is no port."""


class NodeWork(Protocol):
    """What a node does."""

    def run(self, given: Given) -> Given:
        """Take what came at the ports in; give what goes by the ports out."""

    def stages(self) -> Mapping[str, Stage | JoinStage]:
        """Give the stages that keep state, by name."""


@dataclass(slots=True)
class PlanNode:
    """A node, what it is for, and where its segments go."""

    name: str
    """What the counts of the node are told by: role, expression and consumers."""
    work: NodeWork
    shape: SegmentShape
    targets: list[tuple[int, int, int]] = field(default_factory=list)
    """Port out, node and port in."""
    taken: int = 0
    """How many segments it took."""
    given: int = 0
    """How many segments it gave."""

    def run(self, given: Given) -> Given:
        """Work, and count."""
        self.taken += sum(map(len, given.values()))
        made = {port: each for port, each in self.work.run(given).items() if len(each)}
        self.given += sum(map(len, made.values()))
        return made


class StageWork:
    """A stage with one input."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def run(self, given: Given) -> Given:
        """Push what came."""
        return {0: self.stage.push(given[0])}

    def stages(self) -> dict[str, Stage | JoinStage]:
        """Give the stage."""
        return {"stage": self.stage}


class JoinWork:
    """A join: its left side comes at port 0, its right side at port 1."""

    def __init__(self, stage: JoinStage) -> None:
        self.stage = stage

    def run(self, given: Given) -> Given:
        """Push what came; one side at a time changes."""
        parts = [self.stage.push(side, given[side]) for side in (LEFT, RIGHT) if side in given]
        return {0: parts[0] if len(parts) == 1 else Segments.joined(parts)}

    def stages(self) -> dict[str, Stage | JoinStage]:
        """Give the join."""
        return {"join": self.stage}


class EnvelopeWork:
    """Envelopes of several consumers: at port i comes and goes what the one at place i has."""

    def __init__(self, envelope: SharedEnvelope) -> None:
        self.envelope = envelope

    def run(self, given: Given) -> Given:
        """Push what came."""
        return self.envelope.push(given)

    def stages(self) -> Mapping[str, Stage | JoinStage]:
        """Give the envelopes."""
        return self.envelope.stages()


class UnionWork:
    """Unites what consumers have, and gives to instances what concerns their consumers.

    At port i comes what the consumer at place i has. Out go, at port i, those segments of the
    consumer whose hull passes its instance's condition, and behind them, at a port for each
    instance, the hulls that pass.
    """

    def __init__(
        self,
        consumers: int,
        instances: Sequence[tuple[Sequence[int], ModelCondition]],
        shape: SegmentShape,
        wanted: Mapping[int, bool],
    ) -> None:
        self._none = Segments.none(shape.key, len(shape.degrees))
        self._consumers = consumers
        self._powers = max(shape.degrees, default=0) + 1
        self._wanted = wanted
        self._instances = [
            (
                places,
                None if condition == ALWAYS else ConditionSolver(condition, len(shape.degrees)),
            )
            for places, condition in instances
        ]
        self.distinct = 0
        """How many hulls there were."""

    def run(self, given: Given) -> Given:
        """Unite, and ask every instance's condition of the hulls."""
        found = united(
            [given.get(place, self._none) for place in range(self._consumers)], self._powers
        )
        self.distinct += len(found.hulls)
        made: Given = {}
        for number, (places, solver) in enumerate(self._instances):
            passed = found.of(places)
            if solver is not None:
                hulls = found.hulls if passed.all() else found.hulls.take(passed)
                index, _, _ = solver.solve(hulls.coefficients, hulls.low, hulls.high)
                if not len(index):
                    continue
                own = np.flatnonzero(passed)
                passed[:] = False
                passed[own[index]] = True
            if self._wanted.get(self._consumers + number):
                made[self._consumers + number] = found.hulls.take(passed)
            for place in places:
                if place in given and self._wanted.get(place):
                    made[place] = found.part(place, passed)
        return made

    def stages(self) -> dict[str, Stage | JoinStage]:
        """Give none: a union remembers nothing."""
        return {}
