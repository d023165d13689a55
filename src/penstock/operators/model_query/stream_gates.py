"""Gates of a model stream: what several readers ask first, asked once for all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from penstock.algebra.model_streams import StreamPlan
from penstock.algebra.physical import PLAN_PORT
from penstock.models.conditions import ConditionSolver
from penstock.models.segments import Segments
from penstock.vocabulary.batches import QueryChanges


class StreamGates:
    """The gates of the plan in force, and what passed each of them in the last batch.

    Nothing that a reader is told depends on them: they keep no state, and a plan comes into force
    with the first batch of its version.
    """

    def __init__(self, attributes: int) -> None:
        self._attributes = attributes
        self._number: int | None = None
        self._solvers: list[ConditionSolver] = []
        self.expected: dict[int, float] = {}
        """By gate: the share of segments that was expected to pass, where the plan says one."""
        self._gates: dict[str, int] = {}
        self._passed: dict[int, Segments] = {}
        self._taken: dict[int, int] = {}
        self.migrations = 0
        """Plans that came into force since this was last set."""

    def apply(self, changes: QueryChanges) -> None:
        """Take a plan in the place of the one that stood, or none."""
        if self._number in changes.drops.tolist():
            self._put(None, StreamPlan())
        table = changes.adds.get(PLAN_PORT)
        if table is not None and table.num_rows:
            newest = max(table.to_pylist(), key=lambda row: int(row["query"]))
            plan = StreamPlan.from_json(json.loads(newest["plan"]))
            self._put(int(newest["query"]), plan)
            self.migrations += 1

    def _put(self, number: int | None, plan: StreamPlan) -> None:
        self._number = number
        self._solvers = [ConditionSolver(own.condition, self._attributes) for own in plan.gates]
        self.expected = {
            place: own.expected for place, own in enumerate(plan.gates) if own.expected is not None
        }
        self._gates = {name: place for place, own in enumerate(plan.gates) for name in own.readers}
        self.renew()

    def renew(self) -> None:
        """Forget what passed: another batch comes."""
        self._passed, self._taken = {}, {}

    def passed(self, reader: str, segments: Segments) -> Segments:
        """Give those of the batch's segments that a reader has to look at."""
        place = self._gates.get(reader)
        if place is None or not len(segments):
            return segments
        if place not in self._passed:
            self._taken[place] = len(segments)
            self._passed[place] = self._solvers[place].gate(segments)
        return self._passed[place]

    def counted(self) -> Iterator[tuple[int, int, int]]:
        """Give the gates that were asked: the number, how many segments came, how many passed."""
        for place, passed in self._passed.items():
            yield place, self._taken[place], len(passed)

    def __len__(self) -> int:
        return len(self._solvers)
