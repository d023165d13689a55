"""Routing as tuples join with more and more rows (E10)."""

from __future__ import annotations

from itertools import pairwise

from penstock.lab.joins.contest import rates
from penstock.lab.joins.routing_data import RoutingRecipe, Workload
from penstock.lab.report import Findings, Size, at_most, sized

CENTRES = (2000, 2800, 3400, 3900, 4400, 5000)
"""Where the tuples' join keys lie: the rows' keys are normal around 5000, with deviation 1000."""
TUPLES = (1_000, 500, 300, 200, 200, 200)
"""Fewer tuples where each costs more. Where one costs next to nothing there are many: a batch is
routed once, and beside a hundred microseconds of work that is a fifth."""
WIDTH = 300
THOUSANDS = sized(2, 60, 500)


def run(size: Size) -> Findings:
    """Run the experiment; speed is judged from `small` on."""
    count = 1000 * THOUSANDS[size]
    workload = Workload(RoutingRecipe(queries=count, rows=count, spread=1000.0))
    counts = TUPLES if size != "tiny" else [min(each, 500) for each in TUPLES]
    batches = [
        workload.tuples_near(each, key=centre, width=WIDTH)
        for centre, each in zip(CENTRES, counts, strict=True)
    ]
    outcomes = yield from rates("join rate", workload, batches, size)
    shares = [outcome.shares["join"] for outcome in outcomes]
    rises = max(later - earlier for earlier, later in pairwise(shares))
    if size != "tiny":
        yield at_most("share of join, largest rise as more rows join", rises, 0.02, timed=True)
