"""The shedding experiment: planned drop boxes against dropping every source equally.

Two families. In the first the queries are the published ones and a row that enters a join costs a
constant time, as published; rows and results are real, service times are counted on the operator.
In the second the queries are random ones and all times are measured. In both the bound is set so
that the least-cost plan would need 1.5, 2 or 4 times as much.

Where times are measured, both sides plan as a running engine does: what the plan before took, over
what it should have taken, is the price of the next. Runs behind the planned boxes tell what rows
cost there, until the bound is kept; both sides are then judged at that price, in runs of their own.
A batch's time is its best of two runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.algebra.trees import Boxes, JoinPlan, shown
from penstock.lab.planner.queries import EXAMPLE_1, PUBLISHED, over_time, random_query, scaled
from penstock.lab.planner.running import Run, run_plan
from penstock.lab.planner.server import Backlog, entering, served
from penstock.lab.planner.workload import Batch, Query, Streams
from penstock.lab.report import (
    Cell,
    Check,
    Curve,
    Figure,
    Report,
    Size,
    Table,
    at_least,
    at_most,
    machine,
)
from penstock.lab.timing import say
from penstock.planning.constants import BUILT_IN, load_constants
from penstock.planning.costing import thinned
from penstock.planning.costs import Constant, CostLibrary, Measured
from penstock.planning.model import JoinModel
from penstock.planning.optimising import Choices, Planned, Resources, optimise
from penstock.planning.search import search

FACTORS = (1.5, 2.0, 4.0)
KAPPA_S = 0.005
HEADROOM = 0.1
"""Of the processor that the server has, this share is left free, by both sides alike."""
LEAST_SHARE = 0.02
"""No source is shut off: a shut window would hold the same few rows for ever."""
STEPS = 40
"""Halvings in the search for the equal share."""
ROUNDS = 2
"""Runs of one plan, where times are measured."""
LONG = 400
"""Batches over which a backlog is followed."""
ADAPTATIONS = 3
SLACK = 0.02
"""Plans are made anew so often, or until they take no more than this above the bound."""
GROWTH_MAX = 0.02
"""Seconds of work per second by which a bounded backlog may seem to grow in a finite run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Seeds and seconds of published queries, random queries, their seconds and their scale."""

    factors: tuple[float, ...]
    seeds: int
    seconds: int
    random: int
    random_seconds: int
    scale: float


EFFORTS: dict[Size, Effort] = {
    "tiny": Effort(factors=(2.0,), seeds=1, seconds=60, random=1, random_seconds=8, scale=0.3),
    "small": Effort(
        factors=(2.0, 4.0), seeds=1, seconds=300, random=2, random_seconds=4, scale=1.0
    ),
    "full": Effort(
        factors=FACTORS, seeds=4, seconds=600, random=8, random_seconds=16, scale=1.0
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One way to shed: its plan, the share of results it should keep, and what it did."""

    plan: JoinPlan
    expected: float
    kept: float
    cpu: float
    backlog: Backlog


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A query under an overload: planned shedding, and equal dropping at the same bound."""

    query: Query
    costs: str
    factor: float
    planned: Side
    equal: Side
    unshed: Backlog

    @property
    def gain(self) -> float:
        """Results kept over those that equal dropping keeps."""
        return self.planned.kept / max(self.equal.kept, 1e-12)

    @property
    def loss_error(self) -> float:
        """By how much the loss reported differs from the loss measured, of all results."""
        return abs(self.planned.expected - self.planned.kept)


def boxes_of(query: Query) -> Boxes:
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


Services = Callable[[Run], Sequence[float]]


class Contest:
    """All overloads of one query: the same rows for every side."""

    def __init__(
        self,
        query: Query,
        model: JoinModel,
        library: CostLibrary,
        services: Services,
        streams: Sequence[Sequence[Batch]],
        rounds: int = 1,
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
        self.boxes = boxes_of(query)
        self.whole = search(model, library)
        self.full, self.took = self._run(self.whole.plan)
        self.drift = float(np.mean(self.took)) / self.whole.cpu
        """What the least-cost plan takes, over what was predicted: measured costs feed plans."""

    def _run(self, plan: JoinPlan) -> tuple[int, list[float]]:
        """Run a plan that takes over from the least-cost one: its results, and batches' times."""
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
        return results, [min(batch) for batch in zip(*took, strict=True)]

    def case(self, factor: float, costs: str) -> Case:
        """Shed so that the least-cost plan would need `factor` times the bound."""
        bound = self.whole.cpu / factor
        speed = self.drift * bound / (1.0 - HEADROOM)
        if costs == "measured":
            bound = self._settled(bound, speed)
        planned = self._side(*self._best(bound), speed)
        equal = self._side(*self._equal(bound), speed)
        return Case(
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

    def _side(self, plan: JoinPlan, expected: float, speed: float) -> Side:
        results, took = self._run(plan)
        return Side(
            plan=plan,
            expected=expected,
            kept=results / self.full,
            cpu=float(np.mean(took)),
            # Some seconds cannot tell growth from chance: the same batches come again and again.
            backlog=served(took * max(LONG // len(took), 1), 1.0, speed),
        )


def published_cases(effort: Effort) -> list[Case]:
    """Shed the published queries at the published constant cost."""
    found = []
    for query in (*PUBLISHED, over_time(EXAMPLE_1), over_time(PUBLISHED[1])):
        say(f"shedding: {query.name} at a constant cost per row")
        streams = [Streams(query, effort.seconds, seed).batches() for seed in range(effort.seeds)]
        inputs = len(query.sources)

        def services(run: Run, inputs: int = inputs) -> Sequence[float]:
            return [KAPPA_S * int(each) for each in entering(run.counts, inputs)]

        contest = Contest(query, query.model(BUILT_IN), Constant(KAPPA_S), services, streams)
        found += [contest.case(factor, "constant") for factor in effort.factors]
    return found


def measured_cases(effort: Effort) -> list[Case]:
    """Shed random queries, at costs as measured."""
    constants, found = load_constants(), []
    for seed in range(effort.random):
        query = scaled(random_query(seed), effort.scale)
        say(f"shedding: random query {seed}, {query.name}, at costs as measured")
        streams = [Streams(query, effort.random_seconds, seed).batches()]
        contest = Contest(
            query, query.model(constants), Measured(constants), lambda run: run.services, streams,
            rounds=ROUNDS,
        )  # fmt: skip
        found += [contest.case(factor, "measured") for factor in effort.factors]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturation:
    """Example 1 at 5 ms per row: the output and backlog with boxes for 98 %, and without."""

    planned: Planned
    output_rate: float
    shed: Backlog
    unshed: Backlog


def saturation(seconds: int, seed: int = 1) -> Saturation:
    """Run the published example on a simulated server, with and without its boxes."""
    say("shedding: Example 1 at 5 ms per row on a simulated server")
    model, library = EXAMPLE_1.model(BUILT_IN), Constant(KAPPA_S)
    planned = optimise(model, library, Resources(headroom=0.02))
    batches = Streams(EXAMPLE_1, seconds, seed).batches()
    whole = search(model, library).plan
    runs = [
        run_plan(EXAMPLE_1, batches, plan, warm_up=20, before=whole, before_batches=20)
        for plan in (planned.plan, whole)
    ]
    shed, unshed = (
        served([KAPPA_S * int(each) for each in entering(run.counts, 3)], 1.0) for run in runs
    )
    return Saturation(planned=planned, output_rate=runs[0].output_rate, shed=shed, unshed=unshed)


def run(size: Size) -> Report:
    """Run all cases; at `tiny` only what no clock decides is judged."""
    effort = EFFORTS[size]
    server = saturation(20 + effort.seconds)
    published = published_cases(effort)
    measured = measured_cases(effort)
    cases = [*published, *measured]
    judged = [] if size == "tiny" else _case_checks(cases)
    return Report(
        experiment="shedding-recall",
        size=size,
        tables=(_cases_table(cases), _server_table(server)),
        checks=(*_server_checks(server, size), *judged),
        figures=(_figure(server),),
        facts={**machine(), "costs": load_constants().source},
    )


def _server_checks(server: Saturation, size: Size) -> list[Check]:
    off = 0.03 if size == "full" else 0.15
    return [
        at_most("Example 1: output off 910/s", abs(server.output_rate / 910 - 1), off),
        at_most(
            "Example 1: backlog without boxes off 0.25 s per s",
            abs(server.unshed.growth - 0.25),
            0.1,
        ),
        at_most("Example 1: growth of the backlog with boxes", server.shed.growth, GROWTH_MAX),
    ]


def _case_checks(cases: Sequence[Case]) -> list[Check]:
    high = sum(each.gain >= 1.3 for each in cases)
    return [
        at_least("share of cases that keep 1.3 times as much", high / len(cases), 0.5),
        at_least("least kept, over equal dropping", min(each.gain for each in cases), 1.0),
        at_most(
            "largest growth of a backlog",
            max(each.planned.backlog.growth for each in cases),
            GROWTH_MAX,
        ),
        at_most("largest error of a loss reported", max(each.loss_error for each in cases), 0.05),
    ]


CASES = (
    "query", "costs", "boxes", "overload", "plan", "passes", "reported", "kept", "equal_reported",
    "equal_kept", "gain", "cpu_over_equal", "backlog_s", "growth", "unshed_growth",
)  # fmt: skip


def _cases_table(cases: Sequence[Case]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for each in cases:
        planned, equal = each.planned, each.equal
        names = [source.name for source in each.query.sources]
        passes = ", ".join(f"{share:.2f}" for share in planned.plan.passes)
        rows.append(
            (
                each.query.name, each.costs, planned.plan.boxes, each.factor,
                shown(planned.plan.tree, names), passes, planned.expected, planned.kept,
                equal.expected, equal.kept, each.gain, planned.cpu / equal.cpu,
                planned.backlog.most, planned.backlog.growth, each.unshed.growth,
            )
        )  # fmt: skip
    return Table(
        title="kept share of results: planned shedding, and equal dropping at the same bound",
        columns=CASES,
        rows=rows,
    )


def _server_table(server: Saturation) -> Table:
    assert server.planned.shedding is not None
    shed = server.shed
    rows: list[tuple[Cell, ...]] = [
        ("with boxes for 98 %", server.output_rate, shed.last, shed.most, shed.growth),
        ("without", None, server.unshed.last, server.unshed.most, server.unshed.growth),
    ]
    return Table(
        title="Example 1 at 5 ms per row, simulated server",
        columns=("side", "output_per_s", "backlog_end_s", "backlog_most_s", "growth"),
        rows=rows,
    )


def _figure(server: Saturation) -> Figure:
    def curve(name: str, backlog: Backlog) -> Curve:
        return Curve(name=name, x=list(range(len(backlog.seconds))), y=backlog.seconds)

    return Figure(
        title="Example 1 at 5 ms per row: work that waits",
        x_label="seconds",
        y_label="seconds of work",
        curves=(curve("with boxes", server.shed), curve("without", server.unshed)),
    )
