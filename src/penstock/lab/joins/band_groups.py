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
LINEAR: dict[Size, tuple[int, int]] = {"tiny": (1, 500), "small": (30, 5_500), "full": (100, 5_500)}
"""Between these numbers of groups, cost must follow them: below, fixed costs weigh."""
SLOPES: dict[Size, tuple[float, float]] = {
    "tiny": (0.1, 1.3),
    "small": (0.4, 1.2),
    "full": (0.75, 1.15),
}
LEAD_MIN: dict[Size, float] = {"tiny": 1, "small": 1, "full": 1}
FLAT: dict[Size, float] = {"tiny": 2.0, "small": 1.4, "full": 1.25}
"""By how much the others' cost may differ over the groups."""


def run(size: Size) -> Report:
    """Run the experiment; speed is judged at every size, by ratios that hold there."""
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
    checks += _judge(found, size)
    return Report(
        experiment="band-join-groups",
        size=size,
        tables=(table,),
        checks=tuple(checks),
        figures=(figure,),
    )


def _judge(found: list[Measured], size: Size) -> list[Check]:
    low, high = LINEAR[size]
    line = [one for one in found if low <= one.groups <= high]
    groups, cost = [one.groups for one in line], [one.cost["ssi"] for one in line]
    slope = float(np.polyfit(np.log(groups), np.log(cost), 1)[0])
    near = min(found, key=lambda one: abs(one.groups - 5_000))
    lead = min(near.cost["merge"], near.cost["data"]) / near.cost["ssi"]
    spreads = {
        side: max(one.cost[side] for one in found) / min(one.cost[side] for one in found)
        for side in ("merge", "data")
    }
    return [
        at_least(
            "ssi: log-log slope of cost over groups, at least", slope, SLOPES[size][0], timed=True
        ),
        at_most(
            "ssi: log-log slope of cost over groups, at most", slope, SLOPES[size][1], timed=True
        ),
        at_least(
            f"ssi over the best other strategy at {near.groups:,} groups",
            lead,
            LEAD_MIN[size],
            timed=True,
        ),
        *(
            at_most(
                f"{side}: largest over smallest cost, over the groups",
                spread,
                FLAT[size],
                timed=True,
            )
            for side, spread in spreads.items()
        ),
    ]
