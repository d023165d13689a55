"""Refresh times: what policies pay as refreshes come ever later, beside the optimum.

Once with curves that were invented to meet the one figure that was printed (see `workload`), whose
ratios are known, and once with curves measured in real stores, whose ratios are told.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.lab.maintenance.bounds import EXPANSIONS_MAX, PUBLISHED, published_bounds
from penstock.lab.maintenance.measured import left_out, measured_curves, stores
from penstock.lab.maintenance.plans import BOUND, PERIOD, sure
from penstock.lab.maintenance.tpch import SCALE, generated
from penstock.lab.maintenance.workload import CALIBRATIONS, calibrated
from penstock.lab.report import (
    Cell,
    Chart,
    Findings,
    Size,
    Table,
    at_least,
    at_most,
    near,
    sized,
    timed,
)
from penstock.lab.timing import say
from penstock.views.maintenance.curves import CostCurve
from penstock.views.maintenance.optimum import OptimalSchedule, optimal
from penstock.views.maintenance.policies import (
    Immediate,
    Naive,
    Online,
    ReplayedSchedule,
    followed,
)
from penstock.views.maintenance.problems import Problem
from penstock.views.maintenance.rates import KnownRates
from penstock.views.maintenance.schedules import Schedule

HORIZONS = sized((100, 300, 500), (100, 300, 500, 700, 1000), tuple(range(100, 1001, 100)))
"""Moments of the refresh."""
MEASURED_HORIZONS = sized((20, 40), (100, 200, 300), tuple(range(100, 1001, 100)))
EACH = 2
"""Changes of each table at a moment, where curves are measured: one update."""


def run(size: Size) -> Findings:
    """Follow every policy to every refresh, with each pair of curves."""
    yield from _calibrations(size)
    with generated(size) as offers, stores(offers) as views:
        for view in views:
            say(f"refresh-time: {view.name}, scale {SCALE[size]:g}")
            curves = [each.curve for each in measured_curves(view, size)]
            yield from _measured(view.name, curves, size)
    note = left_out()
    if note:
        yield note


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What every policy pays for one problem."""

    immediate: Schedule
    naive: Schedule
    online: Schedule
    replayed: Schedule
    optimum: OptimalSchedule

    @classmethod
    def of(cls, problem: Problem, plan: Schedule) -> Compared | None:
        """Follow them all; `plan` is replayed. None if the optimum is too far to seek."""
        fresh = problem.freshness
        best = optimal(problem, expansions_max=EXPANSIONS_MAX)
        if best is None:
            return None
        return cls(
            immediate=followed(problem, Immediate()),
            naive=followed(problem, Naive(freshness=fresh)),
            online=followed(problem, Online(fresh, KnownRates(problem.arrivals[-1].tolist()))),
            replayed=followed(problem, ReplayedSchedule.of(plan)),
            optimum=best,
        )

    @property
    def ratios(self) -> dict[str, float]:
        """What each pays over the optimum."""
        made = {"naive": self.naive, "online": self.online, "simulate": self.replayed}
        return {name: schedule.cost / self.optimum.cost for name, schedule in made.items()}

    @property
    def broken(self) -> int:
        """Schedules under which a refresh at some moment would have broken the bound."""
        made = (self.naive, self.online, self.replayed, self.optimum.schedule)
        return sum(not schedule.is_valid for schedule in made)

    @property
    def cells(self) -> dict[str, Cell]:
        """What a table says of it."""
        return {
            "immediate_s": self.immediate.cost,
            "naive_s": self.naive.cost,
            "online_s": self.online.cost,
            "simulate_s": self.replayed.cost,
            "optimum_s": self.optimum.cost,
            **{f"{each}_over_optimum": ratio for each, ratio in self.ratios.items()},
            "nodes": self.optimum.expanded,
        }


def _calibrations(size: Size) -> Findings:
    """One change of each table per moment, refreshes after ever more of them."""
    rows: list[dict[str, Cell]] = []
    all_found: list[tuple[str, int, Compared]] = []
    for name in CALIBRATIONS:
        say(f"refresh-time: calibration {name}")
        fresh = calibrated(name, BOUND)
        plan = sure(optimal(Problem.uniform(fresh, PERIOD))).schedule
        for last in HORIZONS[size]:
            found = Compared.of(Problem.uniform(fresh, last), plan)
            assert found is not None, "the search gave up"
            all_found.append((name, last, found))
            rows.append({"calibration": name, "moments": last, **found.cells})
    yield Table.of("One change of each table per moment, bound 12 s", rows)
    yield _chart("calibration A", [row for row in rows if row["calibration"] == "A"])
    yield at_most("Refreshes that would break the bound", sum(f.broken for *_, f in all_found), 0)
    ratios = [(last, found.ratios) for name, last, found in all_found if name == "A"]
    yield at_least("A: NAIVE over OPT, least", min(each["naive"] for _, each in ratios), 2.3)
    yield at_most("A: NAIVE over OPT, most", max(each["naive"] for _, each in ratios), 2.62)
    yield at_most("A: ONLINE over OPT, most", max(each["online"] for _, each in ratios), 1.13)
    yield at_most("A: SIMULATE over OPT, most", max(each["simulate"] for _, each in ratios), 1.06)
    yield near("A: SIMULATE over OPT at its own period", dict(ratios)[PERIOD]["simulate"], 1, 1e-9)
    stress = max(found.ratios["online"] for name, _, found in all_found if name == "C")
    yield (
        "ONLINE is near the optimum where flushing the table that is flushed often costs little: "
        f"with calibration C it pays up to {stress:.2f} times as much. No theorem says otherwise."
    )


def _measured(store: str, curves: list[CostCurve], size: Size) -> Findings:
    """One update of each table per moment, with a store's own curves, at the narrower bound."""
    horizons = MEASURED_HORIZONS[size]
    fresh = published_bounds(curves, horizons[-1])[PUBLISHED[0]].freshness
    plan = sure(optimal(Problem.uniform(fresh, horizons[-1] // 2, EACH))).schedule
    found = [(last, Compared.of(Problem.uniform(fresh, last, EACH), plan)) for last in horizons]
    kept = [(last, each) for last, each in found if each is not None]
    rows: list[dict[str, Cell]] = [{"moments": last, **each.cells} for last, each in kept]
    bound = f"{1000 * fresh.bound:.1f} ms"
    yield Table.of(f"One update of each table per moment, {store}, bound {bound}", rows)
    yield _chart(f"{store}, bound {bound}", rows)
    yield at_most(f"{store}: refreshes beyond the bound", sum(f.broken for _, f in kept), 0)
    worst = max(each.online.cost / each.naive.cost for _, each in kept)
    yield from timed(at_most(f"{store}: ONLINE over NAIVE, most", worst, 1.1))


def _chart(title: str, rows: list[dict[str, Cell]]) -> Chart:
    drawn = ("moments", "naive_s", "online_s", "simulate_s", "optimum_s")
    table = Table.of(title, [{name: row[name] for name in drawn} for row in rows])
    return table.chart(f"Total cost of maintenance, {title}", "seconds")
