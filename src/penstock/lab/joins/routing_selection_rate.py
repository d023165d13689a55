"""Routing as more and more queries accept a tuple's value (E11)."""

from __future__ import annotations

from itertools import pairwise

from penstock.lab.joins.contest import rates
from penstock.lab.joins.routing_data import RoutingRecipe, Workload
from penstock.lab.report import Findings, Size, at_least, at_most, sized, timed

CENTRES = (9300, 8500, 8000, 7500, 7000, 6000, 5000)
"""Where the tuples' values lie: the queries' ranges are around 5000, with deviation 1000."""
TUPLES = (10_000, 4_000, 1_000, 400, 200, 200, 200)
"""Fewer tuples where each costs more. Where one costs next to nothing there are many: a batch is
routed once, and beside a hundred microseconds of work that is a fifth."""
WIDTH = 600
THOUSANDS = sized(2, 60, 500)


def run(size: Size) -> Findings:
    """Run the experiment; speed is judged from `small` on."""
    count = 1000 * THOUSANDS[size]
    workload = Workload(RoutingRecipe(queries=count, rows=count))
    counts = TUPLES if size != "tiny" else [min(each, 500) for each in TUPLES]
    batches = [
        workload.tuples_near(each, a=centre, width=WIDTH)
        for centre, each in zip(CENTRES, counts, strict=True)
    ]
    outcomes = yield from rates("selection rate", workload, batches, size)
    shares = [outcome.shares["selection"] for outcome in outcomes]
    rises = max(later - earlier for earlier, later in pairwise(shares))
    if size != "tiny":
        yield from timed(
            at_most("share of selection, largest rise as more accept", rises, 0.02),
            at_least("share of selection at the lowest rate", shares[0], 0.5),
        )
