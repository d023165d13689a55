"""What band joins cost as the same number of queries falls into more groups.

Lengths are normal, their deviation a tenth of the mean; the mean shrinks from 1,000 to 1. Scanning
all queries per tuple ("queries") is left out, as it is in the publication.
"""

from __future__ import annotations

import numpy as np

from penstock.lab.joins.banding import Measured, bands, measure
from penstock.lab.report import Check, Curve, Figure, Report, Size, Table, at_least, at_most
from penstock.lab.timing import say

MEANS: dict[Size, tuple[float, ...]] = {
    "tiny": (400, 20),
    "small": (400, 100, 20),
    "full": (1_000, 400, 100, 40, 20, 10, 4, 2, 1),
}
COUNTS: dict[Size, int] = {"tiny": 500, "small": 20_000, "full": 100_000}
ROUNDS: dict[Size, int] = {"tiny": 1, "small": 3, "full": 5}
SIDES = ("ssi", "merge", "data")
LINEAR = (100, 5_500)
"""Between these numbers of groups, cost must follow them: below, fixed costs weigh."""


def run(size: Size) -> Report:
    """Run the experiment; only at `full` is speed judged."""
    found: list[Measured] = []
    for mean in MEANS[size]:
        say(f"band joins: ranges of length {mean:g}")
        data = bands(COUNTS[size], mean, mean / 10, COUNTS[size])
        found.append(measure(data, ROUNDS[size], ("merge", "data")))
    table = Table(
        title="band joins: microseconds per tuple without output, one thread",
        columns=("groups", *SIDES),
        rows=[(one.groups, *(1e6 * one.cost[side] for side in SIDES)) for one in found],
    )
    figure = Figure(
        title="Band joins: cost by number of groups",
        x_label="groups",
        y_label="microseconds per tuple",
        curves=tuple(
            Curve(
                name=side,
                x=[one.groups for one in found],
                y=[1e6 * one.cost[side] for one in found],
            )
            for side in SIDES
        ),
        x_log=True,
        y_log=True,
    )
    checks = [
        at_most("pairs that a strategy finds differently", sum(o.differing for o in found), 0)
    ]
    if size == "full":
        checks += _judge(found)
    return Report(
        experiment="band-join-groups",
        size=size,
        tables=(table,),
        checks=tuple(checks),
        figures=(figure,),
    )


def _judge(found: list[Measured]) -> list[Check]:
    line = [one for one in found if LINEAR[0] <= one.groups <= LINEAR[1]]
    groups, cost = [one.groups for one in line], [one.cost["ssi"] for one in line]
    slope = float(np.polyfit(np.log(groups), np.log(cost), 1)[0])
    near = min(found, key=lambda one: abs(one.groups - 5_000))
    lead = min(near.cost["merge"], near.cost["data"]) / near.cost["ssi"]
    return [
        at_least("ssi: log-log slope of cost over groups", slope, 0.75),
        at_most("ssi: log-log slope of cost over groups", slope, 1.15),
        at_least(f"ssi over the best other strategy at {near.groups:,} groups", lead, 1),
    ]
