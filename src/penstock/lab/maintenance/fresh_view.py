"""A fresh view in real stores: every policy on the same streams, by turns, beside its peers.

Each policy decides turn by turn what is flushed. What is compared is the processor time of flushes,
of the server's process or of DuckDB's: a busy machine makes everything slower, and hardly dearer.
After a run its changes are taken back, so that every policy begins from the same rows. The bounds
are those of the publication, told by how often NAIVE flushes under them. PostgreSQL is measured
with all indexes that Penstock makes, and again without the one by which a change of an offer finds
its supplier: the published gain comes of a table whose changes must scan their partner.
"""

from __future__ import annotations

from collections.abc import Generator
from statistics import median

import numpy as np

from penstock.lab.draws import generator
from penstock.lab.maintenance.bounds import (
    CHANGES,
    PlannedBound,
    planned_bounds,
    published_bounds,
)
from penstock.lab.maintenance.measured import (
    MeasuredCurve,
    MeasuredView,
    PolicyRun,
    followed_for_real,
    left_out,
    measured_curves,
    stores,
)
from penstock.lab.maintenance.peers import duckdb_recomputed, postgresql_peers
from penstock.lab.maintenance.refreshes import Refreshes, refreshed_at_random
from penstock.lab.maintenance.tpch import PARTSUPP, SCALE, SUPPLIER, Offers, Updates, generated
from penstock.lab.report import (
    Cell,
    Finding,
    Findings,
    Size,
    Table,
    at_least,
    at_most,
    chart,
    sized,
    timed,
)
from penstock.lab.timing import say
from penstock.views.maintenance.policies import followed

LAST = sized(60, 300, 1000)
"""Moments of a run; at each, one update of each table."""
ROUNDS = sized(1, 2, 3)
AT_ONCE_SHARE = 5
"""Maintenance at once pays the same at every moment: a fifth of them are run."""
APART, AT_ONCE = 1.8, 5.0
LEVEL = 1.1
"""Times NAIVE that is not worse: noise."""
WITHIN = 0.15
PICTURED = sized(2, 5, 8)
"""Bounds under which policies are followed for the picture."""
LINES = {"naive": "NAIVE", "online": "ONLINE", "optimum": "OPT", "immediate": "at once"}


def run(size: Size) -> Findings:
    """Run every policy in every store."""
    with generated(size) as offers, stores(offers) as views:
        moments = offers.updates(generator(34), _arrivals(LAST[size]))
        for view in views:
            curves, taken = yield from _policies(view, moments, size)
            yield from _readers(view, offers, moments, (curves, taken), size)
            if view.name == "postgresql":
                yield from _policies(view.unindexed(), moments, size)
    note = left_out()
    if note:
        yield note


def _arrivals(last: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    arrivals = np.full((last + 1, 2), CHANGES, np.int64)
    arrivals[0] = 0
    return arrivals


Taken = dict[str, list[PolicyRun]]
"""By policy, every time that it was followed."""


def _policies(
    view: MeasuredView, moments: list[Updates], size: Size
) -> Generator[Finding, None, tuple[list[MeasuredCurve], Taken]]:
    """Measure curves, and follow every policy under the published bounds."""
    name, last = view.name, LAST[size]
    say(f"fresh-view: {name}, scale {SCALE[size]:g}: curves")
    curves = measured_curves(view, size)
    told = [each.curve for each in curves]
    first: Taken = {}
    for moments_kept, plan in published_bounds(told, last).items():
        taken = _by_turns(view, plan, moments, size)
        yield from _judged(f"{name}, NAIVE every {moments_kept}", plan, taken)
        first = first or taken
    yield from _pictured(view, planned_bounds(told, last, PICTURED[size]), moments, first)
    return curves, first


def _readers(
    view: MeasuredView, offers: Offers, moments: list[Updates],
    measured: tuple[list[MeasuredCurve], Taken], size: Size,
) -> Findings:  # fmt: skip
    """Refresh at random, and let peers do the same work."""
    curves, taken = measured
    say(f"fresh-view: {view.name}: refreshes")
    ratios = np.concatenate([each.over_curve for each in curves])
    plans = published_bounds([each.curve for each in curves], LAST[size])
    headroom = float(np.quantile(ratios, 0.99))
    found = refreshed_at_random(view, plans[max(plans)], offers, headroom, size)
    yield from found.findings(view.name)
    say(f"fresh-view: {view.name}: peers")
    yield from _peers(view, offers, moments, taken, found)


def _pictured(
    view: MeasuredView, plans: list[PlannedBound], moments: list[Updates], taken: Taken
) -> Findings:
    """Follow policies under several bounds, and draw what each took per update."""
    bounds = [1000 * each.freshness.bound for each in plans]
    names = ("naive", "online", "optimum")
    at_once = median(run.seconds for run in taken["immediate"]) * AT_ONCE_SHARE
    costs: dict[str, list[float]] = {name: [] for name in names}
    rows: list[dict[str, Cell]] = []
    for plan, bound in zip(plans, bounds, strict=True):
        policies = plan.policies()
        for name in names:
            planned = followed(plan.problem, policies[name]).cost
            took = followed_for_real(view, moments, plan.policies()[name]).seconds
            costs[name].append(1000 * took / (2 * len(moments)))
            rows.append(
                {"bound_ms": bound, "policy": name, "planned_s": planned, "measured_s": took}
            )
    costs["immediate"] = [1000 * at_once / (2 * len(moments))] * len(bounds)
    yield Table.of(f"{view.name}: cost by bound, measured", rows)
    yield chart(
        f"How fresh, at what price: {view.name}",
        "bound in milliseconds of processor time",
        "milliseconds per update",
        {LINES[name]: (bounds, own) for name, own in costs.items()},
        log="xy",
    )


def _by_turns(view: MeasuredView, plan: PlannedBound, moments: list[Updates], size: Size) -> Taken:
    """Follow every policy once per round."""
    taken: Taken = {}
    for number in range(ROUNDS[size]):
        bound = 1000 * plan.freshness.bound
        say(f"fresh-view: {view.name}: bound {bound:.1f} ms, round {number + 1}")
        for name, policy in plan.policies().items():
            own = moments[: len(moments) // AT_ONCE_SHARE] if name == "immediate" else moments
            taken.setdefault(name, []).append(followed_for_real(view, own, policy))
    return taken


def _judged(name: str, plan: PlannedBound, taken: Taken) -> Findings:
    """Say what each policy took, and hold it to what was planned and to the others."""
    planned = {own: followed(plan.problem, each) for own, each in plan.policies().items()}
    shares = {own: AT_ONCE_SHARE if own == "immediate" else 1 for own in taken}
    took = {own: median(run.seconds for run in runs) * shares[own] for own, runs in taken.items()}
    yield Table.of(
        f"{name}: {plan.problem.last} updates of each table, bound "
        f"{1000 * plan.freshness.bound:.1f} ms",
        [
            {
                "policy": own,
                "offers": shares[own] * runs[0].count(PARTSUPP),
                "suppliers": shares[own] * runs[0].count(SUPPLIER),
                "planned_s": planned[own].cost,
                "flushes_s": took[own],
                "turns_s": shares[own] * median(run.turns for run in runs),
                "over_plan": took[own] / planned[own].cost,
                "naive_over": took["naive"] / took[own],
                "at_once_over": took["immediate"] / took[own],
                "regret": took[own] / took["optimum"] - 1,
            }
            for own, runs in taken.items()
        ],
    )
    differ = sum(
        run.count(table) != int((planned[own].flushed[:, table] > 0).sum())
        for own, runs in taken.items()
        for run in runs
        for table in (PARTSUPP, SUPPLIER)
        if own != "immediate"
    )
    yield at_most(f"{name}: runs that flushed otherwise than planned", differ, 0)
    apart = took["naive"] / took["online"]
    off = {own: took[own] / each.cost - 1 for own, each in planned.items()}
    worst = max(("naive", "online", "simulate", "optimum"), key=lambda own: abs(off[own]))
    yield from timed(
        at_least(f"{name}: NAIVE over ONLINE", apart, APART)
        if name.startswith("postgresql")
        else at_least(f"{name}: NAIVE over ONLINE", apart, 1 / LEVEL),
        at_least(f"{name}: at once over ONLINE", took["immediate"] / took["online"], AT_ONCE),
        at_most(f"{name}: measured off the plan, at most ({worst})", abs(off[worst]), WITHIN),
    )
    yield _explained(name, plan, apart)


def _explained(name: str, plan: PlannedBound, apart: float) -> str:
    """Say what the curves have to do with it."""
    offers, suppliers = (curve.fit for curve in plan.freshness.curves.each)
    return (
        f"{name}: a flush of offers costs {1000 * offers.fixed:.1f} ms and "
        f"{1000 * offers.each:.3f} ms per change, one of suppliers {1000 * suppliers.fixed:.1f} ms "
        f"and {1000 * suppliers.each:.3f} ms. What flushing apart saves are fixed costs of the "
        f"table that waits: by these curves NAIVE costs {plan.naive.cost / plan.floor:.2f} times "
        "what no lazy, greedy, minimal schedule is below. Planned NAIVE over OPT is "
        f"{plan.gain:.2f}, measured NAIVE over ONLINE {apart:.2f}."
    )


def _peers(
    view: MeasuredView, offers: Offers, moments: list[Updates], taken: Taken,
    found: Refreshes,
) -> Findings:  # fmt: skip
    """Say what others take for the same changes, or for the same reads."""
    online = median(run.seconds for run in taken["online"])
    reads, ours = len(found.seconds), found.total
    rows: list[dict[str, Cell]] = []
    if view.name == "duckdb":
        again = duckdb_recomputed(offers)
        rows.append(_peer("recomputation per read", again, reads * again, ours))
    else:
        times = postgresql_peers(view.address, offers, moments)
        rows.append(_peer("REFRESH MATERIALIZED VIEW per read", times.refresh,
                          reads * times.refresh, ours))  # fmt: skip
        rows.append(_peer("triggers", times.triggers / len(moments), times.triggers, online))
        state = offers.state()
        for changes in moments:
            state.follow(changes)
        wrong = int(times.value != state.least())
        yield at_most(f"{view.name}: triggers' view that is wrong", wrong, 0)
    yield Table.of(f"{view.name}: peers at equal freshness", rows)
    yield (
        f"{view.name}: recomputation is paid per read ({reads} reads while {found.moments} "
        "updates of each table came), triggers per statement; the fresh view's own work stands "
        "beside each."
    )


def _peer(name: str, each: float, total: float, ours: float) -> dict[str, Cell]:
    return {
        "peer": name,
        "each_ms": 1000 * each,
        "total_s": total,
        "fresh_view_s": ours,
        "peer_over_fresh_view": total / ours,
    }
