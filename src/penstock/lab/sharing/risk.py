"""Ten chains of two filters, covered, united and unshared, beside the published table."""

from __future__ import annotations

import numpy as np

from penstock.algebra.sharing import SharingPlan
from penstock.lab.draws import generator
from penstock.lab.report import Chart, Findings, Size, Table, at_least, at_most, chart, sized
from penstock.lab.sharing.measures import calibrated, differing, seconds
from penstock.lab.sharing.workload import compared, filters, stock_segments, threshold
from penstock.lab.timing import say
from penstock.models.segments import Segments
from penstock.models.sharing.fixed_plans import covered, united
from penstock.models.sharing.workloads import SharedWorkload
from penstock.planning.selectivity.statistics import Selectivity
from penstock.planning.sharing.costs import CostModel
from penstock.planning.sharing.statistics import (
    SharingSettings,
    SharingStatistics,
    UnitCosts,
)

SEGMENTS = sized(400, 20_000, 100_000)
ROUNDS = sized(1, 5, 7)
QUERIES = 10
LEVELS = {
    "High": np.linspace(0.99, 1.0, QUERIES),
    "Spread": np.linspace(0.05, 0.95, QUERIES),
    "Low": np.linspace(0.0, 1e-9, QUERIES),
}
"""What the filters of the queries let through."""
WAYS = ("cover", "union", "unshared")
PUBLISHED = {
    ("High", "High"): (34.27, 35.41, 30.73), ("High", "Spread"): (23.82, 24.67, 19.26),
    ("High", "Low"): (1.32, 15.07, 13.87), ("Spread", "High"): (34.72, 35.64, 29.24),
    ("Spread", "Spread"): (29.2, 30.94, 24.86), ("Spread", "Low"): (1.57, 14.46, 13.73),
    ("Low", "High"): (3.05, 20.14, 28.7), ("Low", "Spread"): (3.14, 19.08, 21.42),
    ("Low", "Low"): (1.45, 14.52, 14.37),
}  # fmt: skip
"""Seconds of cover, union and unshared, by what B and then what A lets through."""
SECONDS = UnitCosts(cover=1.47, compensation=1.58, union=0.22, duplicates=0.22, alone=1.47)
"""The published table in three numbers: a filter, a compensation and a union, per pass."""
NEAR = 1.1
"""A plan that costs so many times the cheapest is as good as it: the clock is not finer."""


def run(size: Size) -> Findings:
    """Time the three plans for every pair of levels; hold them beside table and model."""
    segments = stock_segments(generator(82), SEGMENTS[size])
    units = calibrated(generator(83), SEGMENTS[size], ROUNDS[size])
    rows, wrong, misled, published, winners, united_wins = [], 0, 0, 0, 0, []
    for (b, a), table in PUBLISHED.items():
        say(f"sharing-risk: A {a}, B {b}")
        workload = _chains(segments, a, b)
        plans = dict(zip(WAYS, _plans(workload), strict=True))
        wrong += sum(differing(workload, plans[way], segments) for way in WAYS)
        best = seconds(workload, plans, segments, ROUNDS[size])
        took = [best[way] / len(segments) * 1e9 for way in WAYS]
        known = _statistics(workload, a, b, units)
        ours = _costs(workload, known)
        theirs = _costs(workload, _statistics(workload, a, b, SECONDS))
        published += int(np.argmin(theirs) == np.argmin(table))
        winners += int(np.argmin(took) == np.argmin(table))
        misled += int(took[int(np.argmin(ours))] > NEAR * min(took))
        if b == "Low" and a != "Low":
            united_wins.append(took[2] / took[1])
        for place, way in enumerate(WAYS):
            rows.append((b, a, way, took[place], ours[place] * 1e9, table[place], theirs[place]))
    columns = ("B", "A", "plan", "measured (ns/segment)", "our model (ns/segment)",
               "published (s)", "published, by model (s)")  # fmt: skip
    yield Table(f"{QUERIES} chains A, B of two filters, {len(segments):,} segments", columns, rows)
    yield _chart(rows)
    yield {
        "unit costs (ns)": ", ".join(
            f"{name} {getattr(units, name) * 1e9:.0f}" for name in UnitCosts.__slots__
        )
    }
    yield at_least("Published winners that the cost model finds, of 9", published, 9)
    yield at_most("Answers that differ from those of queries alone", wrong, 0)
    if size != "tiny":
        yield at_least("Published winners that win here, of 9", winners, 9, timed=True)
        yield at_most("Cells where our model's choice is not the cheapest", misled, 0, timed=True)
        yield at_least("Unshared over union where B lets little through", min(united_wins), 1.0,
                       timed=True)  # fmt: skip


def _chart(rows: list[tuple[str, str, str, float, float, float, float]]) -> Chart:
    curves = {}
    for way in WAYS:
        own = [row for row in rows if row[2] == way]
        places = list(range(1, len(own) + 1))
        curves[f"{way}, measured"] = places, [row[3] for row in own]
        curves[f"{way}, our model"] = places, [row[4] for row in own]
    return chart(
        "Chains of two filters", "cell of the table, row by row", "ns per segment", curves, log="y"
    )


def _chains(segments: Segments, a: str, b: str) -> SharedWorkload:
    return filters(
        {
            query: (
                compared(0, "<", threshold(segments, 0, float(LEVELS[a][query]))),
                compared(1, "<", threshold(segments, 1, float(LEVELS[b][query]))),
            )
            for query in range(QUERIES)
        }
    )


def _plans(workload: SharedWorkload) -> tuple[SharingPlan, ...]:
    return covered(workload), united(workload), workload.unshared()


def _statistics(workload: SharedWorkload, a: str, b: str, units: UnitCosts) -> SharingStatistics:
    own = {
        (number, query): Selectivity.exactly(float(LEVELS[level][query]))
        for number, level in enumerate((a, b))
        for query in workload.queries
    }
    return SharingStatistics(own=own, costs={"filter": units})


def _costs(workload: SharedWorkload, statistics: SharingStatistics) -> list[float]:
    model = CostModel(workload, statistics, SharingSettings(risk=0.0))
    return [model.cost(plan).estimate for plan in _plans(workload)]
