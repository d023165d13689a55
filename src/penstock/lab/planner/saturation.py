"""Saturation: the three plans of Example 1 on one simulated server, with room and without.

Rows and composites are real, a row that enters a join costs a constant time. At half a millisecond
all plans keep up. At five none does: without drop boxes work piles up, with boxes for 98 % of the
server it does not. The publication has no such figures; those beside ours are a simulation's of
150 seconds. Response times are of rows that are served one by one (`responses`), as in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.algebra.trees import JoinPlan
from penstock.lab.planner.examples import EXAMPLE_1_PLANS
from penstock.lab.planner.plan_runs import run_plan
from penstock.lab.planner.queries import EXAMPLE_1
from penstock.lab.planner.responses import response_s, served_rows
from penstock.lab.planner.server import Backlog, entering, served
from penstock.lab.planner.workload import DrawnStreams
from penstock.lab.report import Chart, Findings, Size, Table, at_most, chart, sized
from penstock.lab.timing import say
from penstock.planning.constants import BUILT_IN
from penstock.planning.costs import Constant
from penstock.planning.optimiser import Choices, Resources, optimise
from penstock.planning.plan_costs import cost

QUICK_S, SLOW_S = 0.0005, 0.005
BUDGET = 0.98
BEFORE = 20
"""Seconds before anything is judged; then boxes take over full windows."""
SECONDS = sized(60, 150, 600)
KNOWN = {
    "a": (0.126, 1.5, 40.0, 916.0),
    "b": (0.141, 1.9, 61.0, 733.0),
    "c": (0.449, 6.7, 520.0, 362.0),
}
"""Of the simulation: busy and mean response in ms, at half a millisecond; backlog after 150 s,
output with boxes."""
GROWTH_MAX = 0.02
"""Seconds of work per second by which a bounded backlog may seem to grow in a finite run."""
OFF_MAX = sized(0.15, 0.1, 0.03)
"""How far results may be from the model: the fewer seconds, the more chance decides."""
RESPONSE_OFF_MIN = 0.05
"""How far response times may be from known ones, which are told by two digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturated:
    """One plan on the server."""

    plan: str
    busy: float
    response_ms: float
    """Both at half a millisecond; of the response, the mean over results."""
    needs: float
    """Processors, at five milliseconds, by the model."""
    unshed: Backlog
    shed: Backlog
    output: float
    expected: float
    """Results per second with boxes: as they came, and by the model."""


def saturated(letter: str, size: Size) -> Saturated:
    """Run one plan of Example 1 with nothing dropped, and behind boxes for 98 % of the server."""
    say(f"shedding: plan {letter} of Example 1 on a simulated server")
    tree = EXAMPLE_1_PLANS[letter]
    model, library = EXAMPLE_1.model(BUILT_IN), Constant(SLOW_S)
    whole = JoinPlan(tree=cost(model, tree, library).plan.tree)
    planned = optimise(model, library, Resources(headroom=1.0 - BUDGET), Choices(tree=tree))
    assert planned.shedding is not None
    streams = DrawnStreams(EXAMPLE_1, BEFORE + SECONDS[size], 1)
    batches = streams.batches()
    runs = [
        run_plan(EXAMPLE_1, batches, plan, warm_up=BEFORE, before=whole, before_batches=BEFORE)
        for plan in (whole, planned.plan)
    ]
    rows = [entering(run.counts, len(EXAMPLE_1.sources)) for run in runs]
    unshed, shed = (served([SLOW_S * int(each) for each in found], 1.0) for found in rows)
    return Saturated(
        plan=letter,
        busy=QUICK_S * float(rows[0].mean()),
        response_ms=1000 * response_s(served_rows(streams, tree), QUICK_S, BEFORE),
        needs=cost(model, tree, library).cpu,
        unshed=unshed,
        shed=shed,
        output=runs[1].output_rate,
        expected=planned.shedding.output,
    )


def saturation_table(found: list[Saturated]) -> Table:
    """Show the plans beside the simulation's figures."""
    title = "Example 1 on a simulated server: 0.5 ms per row; 5 ms; 5 ms with boxes for 98 %"
    return Table.of(
        title,
        [
            {
                "plan": each.plan,
                "busy": each.busy,
                "busy_known": busy,
                "response_ms": each.response_ms,
                "response_known_ms": response,
                "growth_unshed": each.unshed.growth,
                "backlog_unshed_s": each.unshed.last,
                "backlog_unshed_150_s": 150 * each.unshed.growth,
                "backlog_known_s": backlog,
                "output_shed": each.output,
                "output_model": each.expected,
                "output_known": output,
                "backlog_shed_s": each.shed.last,
                "growth_shed": each.shed.growth,
            }
            for each in found
            for busy, response, backlog, output in [KNOWN[each.plan]]
        ],
    )


def saturation_checks(found: list[Saturated], size: Size) -> Findings:
    """Judge what no clock decides: counts of rows, priced."""
    off = OFF_MAX[size]
    for each in found:
        name = f"Example 1, plan {each.plan}"
        model_busy = each.needs * QUICK_S / SLOW_S
        growth = each.needs - 1.0
        yield at_most(f"{name}: busy at 0.5 ms off the model", abs(each.busy / model_busy - 1), off)
        yield at_most(
            f"{name}: mean response at 0.5 ms off the known one",
            abs(each.response_ms / KNOWN[each.plan][1] - 1),
            max(off, RESPONSE_OFF_MIN),
        )
        yield at_most(
            f"{name}: growth of the backlog at 5 ms off the model",
            abs(each.unshed.growth - growth) / growth,
            max(4 * off, 0.15) if each.plan != "c" else off,
        )
        yield at_most(
            f"{name}: output with boxes off the model", abs(each.output / each.expected - 1), off
        )
        yield at_most(f"{name}: growth of the backlog with boxes", each.shed.growth, GROWTH_MAX)


def saturation_figure(found: list[Saturated]) -> Chart:
    """Draw what waits."""
    return chart(
        "Example 1 at 5 ms per row: work that waits",
        "seconds",
        "seconds of work",
        {
            f"plan {each.plan}, {name}": (range(len(backlog.seconds)), backlog.seconds)
            for each in found
            for name, backlog in (("with boxes", each.shed), ("without", each.unshed))
        },
    )
