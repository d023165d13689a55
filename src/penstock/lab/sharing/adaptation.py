"""Streams that drift: the optimiser's plan beside fixed ones, period by period.

Every period all plans take the same segments, batch by batch in turn. The optimiser then sees what
its queries were told and a sample of the stream, and gives the plan of the next period. Bands lie
side by side over all prices; rare thresholds are seldom crossed until the stream drifts down to
them; frequent ones nearly always hold, so that nothing is to be shared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import thread_time

import numpy as np

from penstock.algebra.sharing import SharingPlan
from penstock.lab.draws import generator
from penstock.lab.report import (
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
from penstock.lab.sharing.measures import calibrated, differing
from penstock.lab.sharing.sampled import statistics
from penstock.lab.sharing.workload import band, compared, filters, stock_segments
from penstock.lab.timing import say
from penstock.models.segments import Segments
from penstock.models.sharing.fixed_plans import covered
from penstock.models.sharing.shared_plans import SharedPlan
from penstock.models.sharing.workloads import SharedWorkload
from penstock.planning.sharing.optimiser import optimise
from penstock.planning.sharing.statistics import SharingSettings, UnitCosts

QUERIES = sized(12, 50, 50)
MANY = sized(40, 1_000, 1_000)
PERIODS = sized(3, 16, 30)
BATCHES = sized(1, 6, 10)
MANY_BATCHES = sized(1, 2, 4)
SEGMENTS = sized(200, 5_000, 10_000)
SAMPLE = 300
SETTLED = 10
"""After so many periods plans are judged."""
PERIOD_S = 60.0
"""How often the engine looks, by default."""
DRIFT = 12.0
"""How far the mean price wanders up and down."""


def run(size: Size) -> Findings:
    """Let every workload drift; then many queries at once."""
    units = calibrated(generator(84), 4 * SEGMENTS[size], 3)
    rows: list[Row] = []
    for place, (name, make) in enumerate(WORKLOADS.items()):
        say(f"adaptation: {name}")
        drawn = make(generator(85, place), QUERIES[size])
        own = _Run(name, drawn, units, size, BATCHES[size])
        rows += own.rows(generator(86, place), PERIODS[size])
    say(f"adaptation: {MANY[size]} queries")
    crowd = bands(generator(87), MANY[size])
    periods = max(PERIODS[size] // 3, 2)
    many = _Run(f"{MANY[size]} bands", crowd, units, size, MANY_BATCHES[size]).rows(
        generator(88), periods
    )
    shown = [row.cells() for row in (*rows, *many)]
    yield Table("Processor time by workload and period", Row.COLUMNS, shown)
    yield _chart(rows)
    yield at_most("Answers that differ from those of queries alone",
                  sum(row.wrong for row in (*rows, *many)), 0)  # fmt: skip
    slowest = max((*rows, *many), key=lambda row: row.optimiser_s)
    yield {
        "optimiser, slowest period (ms)": round(slowest.optimiser_s * 1e3, 1),
        "optimiser, share of all processing": f"{_share([*rows, *many]):.1%}",
        "moves": sum(row.moves for row in (*rows, *many)),
    }
    if size == "tiny":
        return
    late = [row for row in rows if row.period >= SETTLED]
    worst = max(sum(_late(late, name, "adaptive")) / sum(_late(late, name, "unshared"))
                for name in WORKLOADS)  # fmt: skip
    yield at_most(
        "Adaptive over unshared after 10 periods, worst workload", worst, 1.05, timed=True
    )
    gain = sum(_late(late, "bands", "unshared")) / sum(_late(late, "bands", "adaptive"))
    yield at_least("Unshared over adaptive, bands", gain, 2.0, timed=True)
    gain = many[-1].unshared / many[-1].adaptive
    yield at_least(f"Unshared over adaptive, {MANY[size]} bands", gain, 5.0, timed=True)
    share = slowest.optimiser_s / PERIOD_S
    yield at_most("Optimiser's share of a period of a minute, slowest", share, 0.01, timed=True)


def _late(rows: list[Row], name: str, side: str) -> list[float]:
    return [float(getattr(row, side)) for row in rows if row.workload == name]


def _share(rows: list[Row]) -> float:
    spent = sum(row.optimiser_s for row in rows)
    return spent / (spent + sum(row.processing_s for row in rows))


def bands(chance: np.random.Generator, number: int) -> SharedWorkload:
    """Draw narrow bands over all prices that there may be."""
    lows = chance.uniform(77.7 - 3 * DRIFT, 77.7 + 3 * DRIFT, number)
    return filters({q: (band(0, float(low), float(low) + 0.5),) for q, low in enumerate(lows)})


def rare(chance: np.random.Generator, number: int) -> SharedWorkload:
    """Draw thresholds below nearly all prices."""
    numbers = chance.uniform(60.0, 70.0, number)
    return filters({q: (compared(0, "<", float(own)),) for q, own in enumerate(numbers)})


def frequent(chance: np.random.Generator, number: int) -> SharedWorkload:
    """Draw thresholds above nearly all prices."""
    numbers = chance.uniform(105.0, 115.0, number)
    return filters({q: (compared(0, "<", float(own)),) for q, own in enumerate(numbers)})


WORKLOADS: dict[str, Callable[[np.random.Generator, int], SharedWorkload]] = {
    "bands": bands,
    "rare": rare,
    "frequent": frequent,
}


@dataclass(frozen=True, slots=True)
class Row:
    """What one period of one workload took, in nanoseconds per segment."""

    COLUMNS = (
        "workload", "period", "told/segment", "adaptive (ns/segment)", "covered (ns/segment)",
        "unshared (ns/segment)", "instances", "moves", "optimiser (ms)",
    )  # fmt: skip
    workload: str
    period: int
    told: float
    adaptive: float
    covered: float
    unshared: float
    instances: int
    moves: int
    optimiser_s: float
    processing_s: float
    wrong: int

    def cells(self) -> tuple[str | int | float, ...]:
        """Give the cells of the table."""
        return (
            self.workload, self.period, self.told, self.adaptive, self.covered, self.unshared,
            self.instances, self.moves, self.optimiser_s * 1e3,
        )  # fmt: skip


@dataclass(slots=True)
class _Run:
    """One workload: the plan that adapts, and the fixed ones."""

    name: str
    workload: SharedWorkload
    units: UnitCosts
    size: Size
    batches: int
    plan: SharingPlan = field(init=False)

    def rows(self, chance: np.random.Generator, periods: int) -> list[Row]:
        """Let the stream drift for some periods."""
        self.plan = self.workload.unshared()
        fixed = {"covered": covered(self.workload), "unshared": self.workload.unshared()}
        return [self._period(chance, period, periods, fixed) for period in range(periods)]

    def _period(
        self,
        chance: np.random.Generator,
        period: int,
        periods: int,
        fixed: dict[str, SharingPlan],
    ) -> Row:
        mean = 77.7 + DRIFT * float(np.sin(2 * np.pi * period / max(periods, 8)))
        plans = {
            name: SharedPlan(self.workload, plan)
            for name, plan in {"adaptive": self.plan, **fixed}.items()
        }
        took = dict.fromkeys(plans, 0.0)
        told: dict[int, int] = {}
        size, taken = SEGMENTS[self.size], 0
        segments = stock_segments(chance, size, mean)
        for batch in range(self.batches):
            segments = stock_segments(chance, size, mean, batch * size)
            taken += size
            for name, plan in plans.items():
                started = thread_time()
                made = plan.push(0, segments)
                took[name] += thread_time() - started
                if name == "adaptive":
                    for query, own in made.items():
                        told[query] = told.get(query, 0) + len(own)
        wrong = differing(self.workload, self.plan, segments.take(np.arange(min(size, 50))))
        started = thread_time()
        moves = self._look(segments, told, taken)
        spent = thread_time() - started
        each = {name: seconds / taken * 1e9 for name, seconds in took.items()}
        shared = self.plan.expressions[0]
        return Row(
            self.name, period, sum(told.values()) / taken, each["adaptive"], each["covered"],
            each["unshared"], len(shared.cover), moves, spent, took["adaptive"], wrong,
        )  # fmt: skip

    def _look(self, segments: Segments, told: dict[int, int], taken: int) -> int:
        """Plan the next period; count the moves."""
        sample = segments.take(np.arange(min(SAMPLE, len(segments))))
        known = statistics(self.workload, sample, told, taken, self.units)
        found = optimise(self.workload, self.plan, known, SharingSettings())
        self.plan = found.plan
        return len(found.moves)


def _chart(rows: list[Row]) -> Chart:
    points = [
        (f"{row.workload}, {name}", row.period, spent / row.unshared)
        for row in rows
        for name, spent in (("adaptive", row.adaptive), ("covered", row.covered))
    ]
    what = "cost, of the unshared plan's"
    return chart("Plans while streams drift", "period", what, curves_of(points))
