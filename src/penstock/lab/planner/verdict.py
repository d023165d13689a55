"""The verdict experiment: what the planner says of random queries, and what running them says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from statistics import median

import numpy as np

from penstock.algebra.trees import JoinPlan, shown
from penstock.lab.draws import generator
from penstock.lab.planner.plan_runs import PlanRun, alternately, run_plan
from penstock.lab.planner.queries import random_query, scaled
from penstock.lab.planner.workload import DrawnStreams, PlannerQuery
from penstock.lab.report import (
    Cell,
    Chart,
    Findings,
    Size,
    Table,
    at_least,
    at_most,
    chart,
    curves_of,
    sized,
)
from penstock.lab.timing import say
from penstock.operators.multi_join.figures import COMPOSITES
from penstock.planning.constants import BUILT_IN, load_constants
from penstock.planning.costs import Measured
from penstock.planning.model import JoinModel
from penstock.planning.optimiser import Planned, Resources, optimise
from penstock.planning.plan_costs import Costing, cost
from penstock.planning.search import placed
from penstock.planning.tree_enumeration import trees
from penstock.vocabulary.shared_figures import ROWS, of_inputs

ALL_TREES_UP_TO = 4
"""Of queries with more streams, a sample of the trees is run."""
SAMPLE = 12
DEAR = 4.0
"""Plans that should cost so many times the chosen one are run for their results only."""
SHORT_CPU_S = 6.0
"""All plans of a query together may take so long for that."""
LOOK_S = 0.1
"""The chosen plan is run once more in batches so short, to look at its windows often."""
COMPOSITES_MIN = 20.0
"""Smaller windows are not judged: they are too few rows to have a mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictEffort:
    """Queries, what their rates are multiplied with, seconds to warm up and to measure, rounds."""

    queries: int
    scale: float
    warm_up: int
    seconds: int
    rounds: int


EFFORTS = sized(
    VerdictEffort(queries=3, scale=0.02, warm_up=3, seconds=2, rounds=1),
    VerdictEffort(queries=8, scale=1.0, warm_up=2, seconds=3, rounds=2),
    VerdictEffort(queries=20, scale=1.0, warm_up=1, seconds=4, rounds=3),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A plan with what the model says of it, and what running it says, if it was run in full."""

    costing: Costing
    run: PlanRun | None = None

    @property
    def plan(self) -> JoinPlan:
        """The plan, with its indexes."""
        return self.costing.plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A query: what was planned, the plans that were measured, and how many gave what results."""

    query: PlannerQuery
    planned: Planned
    chosen: Candidate
    sized: Candidate
    """The chosen plan in small batches: many looks at what it keeps."""
    measured: tuple[Candidate, ...]
    plans: int
    differing: int

    @property
    def cpu_ratio(self) -> float:
        """Processor time, predicted over measured."""
        assert self.chosen.run is not None
        return self.chosen.costing.cpu / self.chosen.run.cpu

    @property
    def output_ratio(self) -> float:
        """Results per second, predicted over measured."""
        assert self.chosen.run is not None
        return self.chosen.costing.output_rate / max(self.chosen.run.output_rate, 1e-9)

    @property
    def window_error(self) -> float:
        """By how much windows differ from what was predicted, weighted by size."""
        return window_error(self.sized)

    @property
    def over_best(self) -> float:
        """The chosen plan's measured cost over the least measured."""
        assert self.chosen.run is not None
        return self.chosen.run.cpu / min(each.run.cpu for each in self.measured if each.run)

    @property
    def saturated(self) -> int:
        """Plans called feasible that need more than a processor."""
        bound = self.planned.bound
        return sum(
            each.costing.cpu <= bound and each.run.cpu >= self.planned.resources.processors
            for each in self.measured
            if each.run
        )


def window_error(candidate: Candidate) -> float:
    """Give the weighted mean deviation of the windows' sizes from the model's."""
    assert candidate.run is not None
    run, expected, met = candidate.run, [], []
    for leaf in candidate.costing.leaves:
        expected.append(leaf.window)
        met.append(run.mean((ROWS, leaf.input)))
    for join in candidate.costing.joins[:-1]:
        if join.window >= COMPOSITES_MIN:
            expected.append(join.window)
            met.append(run.mean((COMPOSITES, of_inputs(join.mask))))
    off = np.abs(np.array(expected) - np.array(met))
    return float(off.sum() / np.sum(expected))


def joins_made(costing: Costing) -> frozenset[int]:
    """Give the sets that a plan joins: sides may be exchanged, the plan is the same."""
    return frozenset(join.mask for join in costing.joins)


def candidates(model: JoinModel, library: Measured, chosen: JoinPlan, seed: int) -> list[Costing]:
    """Give the plans to run: all trees, or a sample of them; the chosen plan first."""
    first = cost(model, chosen, library)
    others = [placed(model, tree, library).costing for tree in trees(len(model.inputs))]
    others.sort(key=lambda each: each.cpu)
    others = [each for each in others if joins_made(each) != joins_made(first)]
    if len(model.inputs) > ALL_TREES_UP_TO:
        half = SAMPLE // 2
        rng = generator(seed, 13)
        drawn = sorted(rng.choice(len(others) - half, SAMPLE - half, replace=False))
        others = [*others[:half], *(others[half + i] for i in drawn)]
    return [first, *others]


def judge(seed: int, effort: VerdictEffort) -> Judged:
    """Plan a random query, run its plans, and compare."""
    query = random_query(seed)
    if effort.scale != 1.0:
        query = scaled(query, effort.scale)
    constants = load_constants()
    library = Measured(constants)
    model = query.model(constants)
    planned = optimise(model, library, Resources())
    found = candidates(
        model, library, JoinPlan(tree=planned.plan.tree, pulled=planned.plan.pulled), seed
    )
    affordable = [each for each in found if each.cpu <= DEAR * found[0].cpu]
    say(
        f"verdict: query {seed}, {query.name}: {len(found)} plans, {len(affordable)} measured, "
        f"predicted {100 * found[0].cpu:.1f} %"
    )
    streams = DrawnStreams(query, effort.warm_up + effort.seconds, seed)
    runs = alternately(
        query,
        streams.batches(),
        {str(i): each.plan for i, each in enumerate(affordable)},
        warm_up=effort.warm_up,
        rounds=effort.rounds,
    )
    measured = tuple(Candidate(costing=each, run=runs[str(i)]) for i, each in enumerate(affordable))
    digests = [short.digest for short in _short_runs(query, streams, found)]
    assert measured[0].run is not None
    sized = run_plan(
        query, streams.batches(LOOK_S), found[0].plan, warm_up=round(effort.warm_up / LOOK_S),
        batch_s=LOOK_S,
    )  # fmt: skip
    differing = sum(digest != digests[0] for digest in digests)
    differing += sized.digest != measured[0].run.digest
    differing += sum(each.run.digest != measured[0].run.digest for each in measured if each.run)
    return Judged(
        query=query,
        planned=planned,
        chosen=measured[0],
        sized=Candidate(costing=found[0], run=sized),
        measured=measured,
        plans=len(found),
        differing=differing,
    )


def _short_runs(
    query: PlannerQuery, streams: DrawnStreams, found: Sequence[Costing]
) -> list[PlanRun]:
    """Run all plans, the dear ones too, on a stretch that the budget allows."""
    stretch = min(SHORT_CPU_S / sum(each.cpu for each in found), streams.seconds)
    batches = streams.batches(stretch / 3)[:3]
    return [run_plan(query, batches, each.plan, warm_up=0) for each in found]


def run(size: Size) -> Findings:
    """Judge the queries; at `tiny` no time is judged."""
    effort = EFFORTS[size]
    found = [judge(seed, effort) for seed in range(effort.queries)]
    yield _queries_table(found)
    yield _plans_table(found)
    yield from _checks(found, size)
    yield _figure(found)
    yield {"costs": load_constants().source}


def _checks(found: Sequence[Judged], size: Size) -> Findings:
    yield at_most("plans whose results differ", sum(each.differing for each in found), 0)
    yield at_least("results of the query with the fewest", min(_results(each) for each in found), 1)
    if size == "tiny":
        return
    # Nine of ten; of fewer than ten queries, one may be off.
    most = floor(0.9 * len(found))
    pace = 1.0
    if load_constants() == BUILT_IN:
        pace = median(each.cpu_ratio for each in found)
        yield (
            "The costs are built in, and were measured on another machine; this one takes "
            f"{1 / pace:.2f} times as long. Predictions are judged beside that; `penstock lab "
            "calibrate` measures the costs here."
        )
    cpu = sum(abs(each.cpu_ratio / pace - 1) <= 0.2 for each in found)
    best = sum(each.over_best <= 1.05 for each in found)
    yield at_least("queries with processor time predicted within 20 %", cpu, most, timed=True)
    yield at_most(
        "largest error of an output rate", max(abs(each.output_ratio - 1) for each in found), 0.1
    )
    yield at_most("largest error of window sizes", max(each.window_error for each in found), 0.1)
    saturated = sum(each.saturated for each in found)
    yield at_most("plans called feasible that saturate", saturated, 0, timed=True)
    yield at_least(
        "queries whose chosen plan is within 5 % of the least measured", best, most, timed=True
    )


def _results(judged: Judged) -> int:
    assert judged.chosen.run is not None
    return judged.chosen.run.results


def _plan_cells(judged: Judged, each: Candidate) -> dict[str, Cell]:
    """Give the cells that a plan has in every table."""
    assert each.run is not None
    return {
        "plan": shown(each.plan.tree, [source.name for source in judged.query.sources]),
        "predicted_%": 100 * each.costing.cpu,
        "measured_%": 100 * each.run.cpu,
    }


def _queries_table(found: Sequence[Judged]) -> Table:
    return Table.of(
        "random queries: predicted and measured, for the chosen plan",
        [
            {
                "query": number,
                "shape": each.query.name,
                "rows_per_s": sum(source.rate for source in each.query.sources),
                "verdict": each.planned.verdict,
                **_plan_cells(each, each.chosen),
                "cpu_ratio": each.cpu_ratio,
                "output_ratio": each.output_ratio,
                "window_error": each.window_error,
                "plans": each.plans,
                "timed": len(each.measured),
                "over_best": each.over_best,
                "same_results": not each.differing,
            }
            for number, each in enumerate(found)
        ],
    )


def _plans_table(found: Sequence[Judged]) -> Table:
    return Table.of(
        "all plans measured",
        [
            {
                "query": number,
                **_plan_cells(judged, each),
                "ratio": each.costing.cpu / each.run.cpu if each.run else None,
            }
            for number, judged in enumerate(found)
            for each in judged.measured
        ],
    )


def _figure(found: Sequence[Judged]) -> Chart:
    every = [each for judged in found for each in judged.measured]
    drawn = {"chosen plans": [each.chosen for each in found], "all plans": every}
    points = sorted(
        (name, 100 * each.costing.cpu, 100 * each.run.cpu)
        for name, plans in drawn.items()
        for each in plans
        if each.run
    )
    predicted = sorted(100 * each.costing.cpu for each in every)
    curves = {"as predicted": (predicted, predicted), **curves_of(points)}
    order = {name: curves[name] for name in ("as predicted", *drawn)}
    return chart("processor time of plans", "predicted (%)", "measured (%)", order, log="xy")
