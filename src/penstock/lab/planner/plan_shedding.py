"""Plans under overload: what the planner keeps beside the best there is, and how long it takes.

The bound is what every order takes anyway (batches, rows that are read) and a share of what the
cheapest order takes beside it: a half, a quarter, a tenth. So every query must drop rows. Windows
count rows, whose survivors fill them (`faithful`), or are of time, and shrink.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from time import process_time

from penstock.lab.report import Findings, Table, at_least, at_most, sized
from penstock.planning.approximation import EXACT_MAX, PlanScope, Strategy, approximated
from penstock.planning.constants import BUILT_IN
from penstock.planning.costs import Measured
from penstock.planning.model import JoinModel
from penstock.planning.optimiser import Choices, Resources, optimise
from penstock.planning.search import INPUTS_MAX, search

OVERLOADS = (2.0, 4.0, 10.0)
WINDOWS = ("rows", "range")
ANSWERED = sized((4, 7, 16), (4, 6, 10, 13, 16), (4, 6, 8, 10, 12, 13, 14, 15, 16))
"""Streams of the queries that the whole planner answers for."""
JUDGED = sized({4: 1}, {4: 3}, {3: 10, 4: 10, 5: 2})
"""Queries, by their streams, of which every plan is thinned."""
QUERIES = sized(1, 2, 3)
SEARCHED = sized(
    {8: 3}, {8: 10, 12: 5, 13: 3}, {8: 40, 10: 40, 12: 40, 13: 20, 14: 10, 15: 4, 16: 4}
)
"""Queries, by their streams, of which the search by improvement is held against the exact one."""
SECONDS_MAX = 2.0
"""Processor seconds from a query to its verdict, plan, drop boxes and runner-ups."""
EXACTLY = 1e-6
GAPS_MAX = {"alternate, rows": 0.05, "alternate, range": 0.05, "improvement": 0.05}
"""How far the planner's heuristics may fall behind the best, in the mean over queries."""


def timed(model: JoinModel) -> JoinModel:
    """Give the query with windows of time that hold as many rows."""
    return replace(
        model,
        inputs=tuple(
            replace(each, rows=None, range_s=each.window / each.rate) for each in model.inputs
        ),
    )


def bound_of(model: JoinModel, library: Measured, overload: float) -> float:
    """Give the processors of a machine on which the cheapest order does so many times too much."""
    least = search(model, library).costing
    return least.fixed_cpu + (least.cpu - least.fixed_cpu) / overload


@dataclass(frozen=True, slots=True, kw_only=True)
class OverloadAnswer:
    """An overloaded query: what is kept of its results, and how long the planner took."""

    streams: int
    windows: str
    overload: float
    strategy: str
    dropped: float
    """The largest share of a stream that is dropped."""
    kept: float
    cheapest_kept: float
    seconds: float


def answer(model: JoinModel, windows: str, overload: float) -> OverloadAnswer:
    """Let the whole planner answer for a query that is overloaded."""
    given, library = timed(model) if windows == "range" else model, Measured(BUILT_IN)
    resources = Resources(processors=bound_of(given, library, overload), headroom=0.0)
    started = process_time()
    planned = optimise(given, library, resources, Choices())
    seconds = process_time() - started
    shed = planned.shedding
    assert shed is not None, "what every order takes anyway fits"
    return OverloadAnswer(
        streams=len(given.inputs),
        windows=windows,
        overload=overload,
        strategy=shed.strategy,
        dropped=1.0 - min(shed.passes),
        kept=shed.kept,
        cheapest_kept=shed.mincost.output / shed.full_output,
        seconds=seconds,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Queries of one size: how far a heuristic falls behind the best, relatively."""

    what: str
    streams: int
    queries: int
    mean: float
    worst: float
    met: float
    """The share of the queries of which it finds the best."""


def gap_of(what: str, streams: int, gaps: list[float]) -> Gap:
    """Sum up the gaps of queries of one size."""
    return Gap(
        what=what,
        streams=streams,
        queries=len(gaps),
        mean=sum(gaps) / len(gaps),
        worst=max(gaps),
        met=sum(gap <= EXACTLY for gap in gaps) / len(gaps),
    )


def thinning_gaps(models: list[JoinModel]) -> list[Gap]:
    """Thin every plan of small queries; hold the planner's own choice, and `alternate`, against it.

    The planner tries every plan itself where windows shrink and inputs are few, and takes the exact
    search where windows stay full: there its gap must be nothing.
    """
    library = Measured(BUILT_IN)
    found: dict[str, list[float]] = {}
    for model in models:
        for windows in WINDOWS:
            given = timed(model) if windows == "range" else model
            scope = PlanScope(model=given, library=library)
            for overload in OVERLOADS:
                bound = bound_of(given, library, overload)
                asked: tuple[Strategy | None, ...] = ("exhaustive", None, "alternate")
                worths = {
                    strategy: approximated(scope, bound, strategy=strategy).best.shed.worth
                    for strategy in asked
                }
                # Trying every tree leaves the indexes as they are best with nothing dropped.
                best = max(worths.values())
                for strategy in asked[1:]:
                    name = f"{strategy or 'as by default'}, {windows}"
                    found.setdefault(name, []).append(1.0 - worths[strategy] / best)
    streams = len(models[0].inputs)
    return [gap_of(name, streams, gaps) for name, gaps in found.items()]


def search_gap(models: list[JoinModel]) -> Gap:
    """Hold the search by improvement, that of many inputs, against the exact one."""
    library = Measured(BUILT_IN)
    gaps = []
    for model in models:
        exact = search(model, library, n_max=INPUTS_MAX).costing
        found = search(model, library, n_max=2).costing
        gaps.append((found.cpu - exact.cpu) / (exact.cpu - exact.fixed_cpu))
    return gap_of("improvement", len(models[0].inputs), gaps)


def answers_table(answers: list[OverloadAnswer]) -> Table:
    """Show what the planner keeps under overload."""
    columns = (
        "streams", "windows", "overload", "strategy", "dropped_most", "kept",
        "cheapest_order_kept", "processor_s",
    )  # fmt: skip
    title = "overloaded streams: verdict, plan, drop boxes, runner-ups"
    return Table(title, columns, [astuple(each) for each in answers])


def gaps_table(gaps: list[Gap]) -> Table:
    """Show how far heuristics are from the best."""
    return Table(
        "behind the best of all plans, relatively",
        ("search", "streams", "queries", "mean", "worst", "share_met"),
        [astuple(each) for each in gaps],
    )


def checks_of(answers: list[OverloadAnswer], gaps: list[Gap]) -> Findings:
    """Judge that rows are really dropped, how much is kept, and the time."""
    most = max(each.streams for each in answers)
    exact = [
        each.worst
        for each in gaps
        if each.what == "as by default, rows"
        or (each.what == "as by default, range" and each.streams <= 4)
    ]
    least = min(each.dropped for each in answers)
    yield at_least("least share dropped, of the stream that is thinned most", least, 0.05)
    least = min(each.kept / each.cheapest_kept for each in answers)
    name = "kept over what thinning the cheapest order keeps, at worst"
    yield at_least(name, least, 1.0 - EXACTLY)
    name = f"up to {EXACT_MAX} streams: behind the best of all plans where the planner is exact"
    yield at_most(name, max(exact), EXACTLY)
    slowest = max(each.seconds for each in answers)
    name = f"up to {most} overloaded streams: processor seconds to answer"
    yield at_most(name, slowest, SECONDS_MAX, timed=True)
    for what, bound in GAPS_MAX.items():
        mine = [each for each in gaps if each.what == what]
        mean = sum(each.mean * each.queries for each in mine) / sum(each.queries for each in mine)
        yield at_most(f"{what}: behind the best, in the mean", mean, bound)
