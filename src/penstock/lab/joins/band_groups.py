"""What band joins cost as the same number of queries falls into more groups.

Lengths are normal, their deviation a tenth of the mean; the mean shrinks from 1,000 to 1. Scanning
all queries per tuple ("queries") is left out, as it is in the publication.
"""

from __future__ import annotations

import numpy as np

from penstock.lab.joins.band_sides import BandsMeasured, bands, measure
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized, timed
from penstock.lab.timing import say

MEANS = sized((400, 20), (400, 100, 20), (1_000, 400, 100, 40, 20, 10, 4, 2, 1))
COUNTS = sized(500, 20_000, 100_000)
ROUNDS = sized(1, 3, 5)
SIDES = ("ssi", "merge", "data")
LINEAR = sized((1, 500), (30, 5_500), (100, 5_500))
"""Between these numbers of groups, cost must follow them: below, fixed costs weigh."""
SLOPES = sized((0.1, 1.3), (0.4, 1.2), (0.75, 1.15))
LEAD_MIN = sized(1, 1, 1)
FLAT = sized(2.0, 1.4, 1.25)
"""By how much the others' cost may differ over the groups."""


def run(size: Size) -> Findings:
    """Run the experiment; speed is judged at every size, by ratios that hold there."""
    found: list[BandsMeasured] = []
    for mean in MEANS[size]:
        say(f"band joins: ranges of length {mean:g}")
        data = bands(COUNTS[size], mean, mean / 10, COUNTS[size])
        found.append(measure(data, ROUNDS[size], ("merge", "data")))
    yield (
        table := Table(
            "band joins: microseconds per tuple without output, one thread",
            ("groups", *SIDES),
            [(one.groups, *(1e6 * one.cost[side] for side in SIDES)) for one in found],
        )
    )
    yield table.chart("Band joins: cost by number of groups", "microseconds per tuple", log="xy")
    yield at_most("pairs that a strategy finds differently", sum(o.differing for o in found), 0)
    yield from _judge(found, size)


def _judge(found: list[BandsMeasured], size: Size) -> Findings:
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
    yield from timed(
        at_least("ssi: log-log slope of cost over groups, at least", slope, SLOPES[size][0]),
        at_most("ssi: log-log slope of cost over groups, at most", slope, SLOPES[size][1]),
        at_least(
            f"ssi over the best other strategy at {near.groups:,} groups", lead, LEAD_MIN[size]
        ),
        *(
            at_most(f"{side}: largest over smallest cost, over the groups", spread, FLAT[size])
            for side, spread in spreads.items()
        ),
    )
