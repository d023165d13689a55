"""The shedding experiment: planned drop boxes against dropping every source equally.

Two families. In the first the queries are the published ones and a row that enters a join costs a
constant time, as published; rows and results are real, service times are counted on the operator.
In the second the queries are random ones and all times are measured. In both the bound is set so
that the least-cost plan would need 1.5, 2 or 4 times as much. Rows that came out are counted, and
so is recall, the share of the full answer that is among them. Windows that count survivors reach
further back: boxes set for the most rows bring more of them than equal dropping, and often less of
the full answer.

Where times are measured, both sides plan as a running engine does: what the plan before took, over
what it should have taken, is the price of the next. Runs behind the planned boxes tell what rows
cost there, until the bound is kept; both sides are then judged at that price, in runs of their own.
A batch's time is its best of two runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.algebra.trees import shown
from penstock.lab.planner.plan_runs import PlanRun
from penstock.lab.planner.queries import EXAMPLE_1, PUBLISHED, over_time, random_query, scaled
from penstock.lab.planner.saturation import (
    GROWTH_MAX,
    saturated,
    saturation_checks,
    saturation_figure,
    saturation_table,
)
from penstock.lab.planner.server import entering
from penstock.lab.planner.shedding_contest import SheddingCase, SheddingContest, boxes_of
from penstock.lab.planner.workload import DrawnStreams
from penstock.lab.report import Cell, Findings, Size, Table, at_least, at_most, sized
from penstock.lab.timing import say
from penstock.planning.constants import BUILT_IN, load_constants
from penstock.planning.costs import Constant, Measured

FACTORS = (1.5, 2.0, 4.0)
KAPPA_S = 0.005
ROUNDS = 2
"""Runs of one plan, where times are measured."""
OFF_MAX = sized(0.2, 0.1, 0.05)
"""How far shares may be off what they should be: the fewer seconds, the more chance decides."""


@dataclass(frozen=True, slots=True)
class SheddingEffort:
    """Seeds and seconds of published queries, random queries, their seconds and their scale."""

    factors: tuple[float, ...]
    seeds: int
    seconds: int
    random: int
    random_seconds: int
    scale: float


EFFORTS = sized(
    SheddingEffort((2.0,), seeds=1, seconds=60, random=1, random_seconds=8, scale=0.3),
    SheddingEffort((2.0, 4.0), seeds=1, seconds=300, random=2, random_seconds=4, scale=1.0),
    SheddingEffort(FACTORS, seeds=4, seconds=600, random=8, random_seconds=16, scale=1.0),
)


def published_cases(effort: SheddingEffort) -> list[SheddingCase]:
    """Shed the published queries at the published constant cost."""
    found = []
    for query in (*PUBLISHED, over_time(EXAMPLE_1), over_time(PUBLISHED[1])):
        say(f"shedding: {query.name} at a constant cost per row")
        streams = [
            DrawnStreams(query, effort.seconds, seed).batches() for seed in range(effort.seeds)
        ]
        inputs = len(query.sources)

        def services(run: PlanRun, inputs: int = inputs) -> Sequence[float]:
            return [KAPPA_S * int(each) for each in entering(run.counts, inputs)]

        # Where windows count rows, drops may count too: then all that is kept is in the answer.
        for boxes in dict.fromkeys((boxes_of(query), "subset")):
            contest = SheddingContest(
                query, query.model(BUILT_IN), Constant(KAPPA_S), services, streams, boxes=boxes
            )
            found += [contest.case(factor, "constant") for factor in effort.factors]
    return found


def measured_cases(effort: SheddingEffort) -> list[SheddingCase]:
    """Shed random queries, at costs as measured."""
    constants, found = load_constants(), []
    for seed in range(effort.random):
        query = scaled(random_query(seed), effort.scale)
        say(f"shedding: random query {seed}, {query.name}, at costs as measured")
        streams = [DrawnStreams(query, effort.random_seconds, seed).batches()]
        contest = SheddingContest(
            query, query.model(constants), Measured(constants), lambda run: run.services, streams,
            rounds=ROUNDS,
        )  # fmt: skip
        found += [contest.case(factor, "measured") for factor in effort.factors]
    return found


def run(size: Size) -> Findings:
    """Run all cases; what a clock decides is judged from `small` on."""
    effort = EFFORTS[size]
    server = [saturated(letter, size) for letter in "abc"]
    published = published_cases(effort)
    measured = measured_cases(effort)
    cases = [*published, *measured]
    judged = published if size == "tiny" else cases
    yield _cases_table(cases)
    yield saturation_table(server)
    yield from saturation_checks(server, size)
    yield from _case_checks(judged, size)
    yield saturation_figure(server)
    yield {"costs": load_constants().source}


def _case_checks(cases: Sequence[SheddingCase], size: Size) -> Findings:
    """Judge what is kept, and how much of the full answer that is.

    Boxes that are `faithful` are set for the most rows, not for the most of the full answer: equal
    dropping may find more of it, and the table shows where. `subset` boxes are set for recall.
    """
    off = OFF_MAX[size]
    high = sum(each.gain >= 1.3 for each in cases)
    subset = [each for each in cases if each.planned.plan.boxes == "subset"]
    more = sum(each.recall_gain >= 1.0 for each in cases)
    yield at_least("share of cases that keep 1.3 times as many rows", high / len(cases), 0.5)
    yield at_least(
        "fewest rows kept, over equal dropping", min(each.gain for each in cases), 1 - off
    )
    yield at_least(
        "subset boxes: least recall, over equal dropping",
        min(each.recall_gain for each in subset),
        1 - off,
    )
    yield at_most(
        "subset boxes: rows kept that are not in the full answer, of all results",
        max(abs(each.planned.kept - each.planned.recall) for each in subset),
        off,
    )
    yield at_least(
        "share of cases with at least the recall of equal dropping", more / len(cases), 0.5
    )
    yield at_most("largest error of a recall told", max(each.recall_error for each in cases), off)
    yield at_most(
        "largest growth of a backlog",
        max(each.planned.backlog.growth for each in cases),
        GROWTH_MAX,
    )
    yield at_most("largest error of a count told", max(each.loss_error for each in cases), off)


CASES = (
    "query", "costs", "boxes", "overload", "plan", "passes", "reported", "kept", "equal_reported",
    "equal_kept", "gain", "recall_told", "recall", "equal_recall", "recall_gain",
    "cpu_over_equal", "backlog_s", "growth", "unshed_growth",
)  # fmt: skip


def _cases_table(cases: Sequence[SheddingCase]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for each in cases:
        planned, equal = each.planned, each.equal
        names = [source.name for source in each.query.sources]
        passes = ", ".join(f"{share:.2f}" for share in planned.plan.passes)
        rows.append(
            (
                each.query.name, each.costs, planned.plan.boxes, each.factor,
                shown(planned.plan.tree, names), passes, planned.expected, planned.kept,
                equal.expected, equal.kept, each.gain, planned.expected_recall, planned.recall,
                equal.recall, each.recall_gain, planned.cpu / equal.cpu,
                planned.backlog.most, planned.backlog.growth, each.unshed.growth,
            )
        )  # fmt: skip
    return Table(
        "rows kept over all results, and recall: planned shedding, and equal dropping", CASES, rows
    )
