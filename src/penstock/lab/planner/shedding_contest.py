"""The shedding contest: planned drop boxes and equal dropping, over the same rows and bound.

Two shares are told apart. `kept` counts rows: results that came out, over those of the full answer;
windows that count survivors reach further back, so not all of them are in it. `recall` is the
share of the full answer that was found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from penstock.algebra.trees import Boxes, JoinPlan
from penstock.lab.planner.plan_runs import PlanRun, run_plan
from penstock.lab.planner.server import Backlog, served
from penstock.lab.planner.workload import Batch, PlannerQuery
from penstock.planning.costs import CostLibrary
from penstock.planning.model import JoinModel
from penstock.planning.optimiser import Choices, Resources, optimise
from penstock.planning.plan_costs import thinned
from penstock.planning.search import search
from penstock.vocabulary.scatter import splitmix

HEADROOM = 0.1
"""Of the processor that the server has, this share is left free, by both sides alike."""
LEAST_SHARE = 0.02
"""No source is shut off: a shut window would hold the same few rows for ever."""
STEPS = 40
"""Halvings in the search for the equal share."""
LONG = 400
"""Batches over which a backlog is followed."""
ADAPTATIONS = 3
SLACK = 0.02
"""Plans are made anew so often, or until they take no more than this above the bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SheddingSide:
    """One way to shed: its plan, the share of results it should keep, and what it did."""

    plan: JoinPlan
    expected: float
    kept: float
    """Results that came out, over the full answer's: as the plan told, and as it was."""
    recall: float
    """The share of the full answer that came out."""
    cpu: float
    backlog: Backlog

    @property
    def expected_recall(self) -> float:
        """A result of the full answer is found if all its rows passed."""
        return prod(self.plan.passes) if self.plan.passes else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SheddingCase:
    """A query under an overload: planned shedding, and equal dropping at the same bound."""

    query: PlannerQuery
    costs: str
    factor: float
    planned: SheddingSide
    equal: SheddingSide
    unshed: Backlog

    @property
    def gain(self) -> float:
        """Results kept over those that equal dropping keeps."""
        return self.planned.kept / max(self.equal.kept, 1e-12)

    @property
    def recall_gain(self) -> float:
        """The recall over that of equal dropping."""
        return self.planned.recall / max(self.equal.recall, 1e-12)

    @property
    def recall_error(self) -> float:
        """By how much the recall told differs from the recall measured."""
        return max(abs(each.expected_recall - each.recall) for each in (self.planned, self.equal))

    @property
    def loss_error(self) -> float:
        """By how much the loss reported differs from the loss measured, of all results."""
        return abs(self.planned.expected - self.planned.kept)


def boxes_of(query: PlannerQuery) -> Boxes:
    """Choose the boxes: windows of time shrink whatever is counted, windows of rows need not."""
    is_timed = all(each.window.kind == "range" for each in query.sources)
    return "subset" if is_timed else "faithful"


def equal_share(
    model: JoinModel, library: CostLibrary, bound: float, boxes: Boxes
) -> tuple[float, JoinPlan, float]:
    """Give the largest share that every source may keep under the bound, and the plan for it.

    The plan is the cheapest for the rows that remain. The third figure is the share of results
    that should remain.
    """
    full = search(model, library).costing.output_rate
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        thin = thinned(model, [middle] * len(model.inputs), boxes)
        low, high = (middle, high) if search(thin, library).cpu <= bound else (low, middle)
    thin = thinned(model, [low] * len(model.inputs), boxes)
    found = search(thin, library)
    plan = replace(found.plan, passes=(low,) * len(model.inputs), boxes=boxes)
    return low, plan, found.costing.output_rate / full


Services = Callable[[PlanRun], Sequence[float]]
Names = npt.NDArray[np.uint64]


class SheddingContest:
    """All overloads of one query: the same rows for every side."""

    def __init__(
        self,
        query: PlannerQuery,
        model: JoinModel,
        library: CostLibrary,
        services: Services,
        streams: Sequence[Sequence[Batch]],
        rounds: int = 1,
        boxes: Boxes | None = None,
    ) -> None:
        self.query = query
        self.rounds = rounds
        self.model = replace(
            model, inputs=tuple(replace(each, minimum=LEAST_SHARE) for each in model.inputs)
        )
        self.library = library
        self.services = services
        self.streams = streams
        self.before = max(len(streams[0]) // 6, 1)
        self.warm_up = 2 * self.before
        self.boxes = boxes or boxes_of(query)
        self.whole = search(model, library)
        self.answer, self.full, self.took = self._run(self.whole.plan)
        self.drift = float(np.mean(self.took)) / self.whole.cpu
        """What the least-cost plan takes, over what was predicted: measured costs feed plans."""

    def _run(self, plan: JoinPlan) -> tuple[Names, int, list[float]]:
        """Run a plan that takes over from the least-cost one: results, and batches' times."""
        rounds = [
            [
                run_plan(
                    self.query, each, plan, warm_up=self.warm_up, before=self.whole.plan,
                    before_batches=self.before,
                )
                for each in self.streams
            ]
            for _ in range(self.rounds)
        ]  # fmt: skip
        took = [[each for run in found for each in self.services(run)] for found in rounds]
        results = sum(run.results for run in rounds[0])
        # Rows of other streams have the same numbers: a result's name holds its stream too.
        names = np.concatenate(
            [splitmix(run.found ^ np.uint64(place)) for place, run in enumerate(rounds[0])]
        )
        return names, results, [min(batch) for batch in zip(*took, strict=True)]

    def case(self, factor: float, costs: str) -> SheddingCase:
        """Shed so that the least-cost plan would need `factor` times the bound."""
        bound = self.whole.cpu / factor
        speed = self.drift * bound / (1.0 - HEADROOM)
        if costs == "measured":
            bound = self._settled(bound, speed)
        planned = self._side(*self._best(bound), speed)
        equal = self._side(*self._equal(bound), speed)
        return SheddingCase(
            query=self.query,
            costs=costs,
            factor=factor,
            planned=planned,
            equal=equal,
            unshed=served(self.took, 1.0, speed),
        )

    def _settled(self, bound: float, speed: float) -> float:
        """Give the bound under which plans keep a bound, at the prices of runs behind boxes."""
        target, least = self.drift * bound, self.whole.costing.fixed_cpu
        for _ in range(ADAPTATIONS):
            took = self._side(*self._best(bound), speed).cpu
            if took <= target * (1.0 + SLACK):
                break
            # What is spent whatever comes cannot be shed.
            bound = least + (bound - least) * min(target / took, 1.0)
        return bound

    def _best(self, bound: float) -> tuple[JoinPlan, float]:
        planned = optimise(
            self.model,
            self.library,
            Resources(processors=bound, headroom=0.0),
            Choices(shedding=self.boxes),
        )
        return planned.plan, 1.0 if planned.shedding is None else planned.shedding.kept

    def _equal(self, bound: float) -> tuple[JoinPlan, float]:
        return equal_share(self.model, self.library, bound, self.boxes)[1:]

    def _side(self, plan: JoinPlan, expected: float, speed: float) -> SheddingSide:
        names, results, took = self._run(plan)
        return SheddingSide(
            plan=plan,
            expected=expected,
            kept=results / self.full,
            recall=float(np.isin(self.answer, names).mean()),
            cpu=float(np.mean(took)),
            # Some seconds cannot tell growth from chance: the same batches come again and again.
            backlog=served(took * max(LONG // len(took), 1), 1.0, speed),
        )
