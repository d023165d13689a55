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
from penstock.lab.maintenance.judgements import AT_ONCE_SHARE, Taken, by_turns, judged
from penstock.lab.maintenance.measured import (
    MeasuredCurve,
    MeasuredView,
    followed_for_real,
    left_out,
    measured_curves,
    stores,
)
from penstock.lab.maintenance.peers import duckdb_recomputed, postgresql_peers
from penstock.lab.maintenance.refreshes import Refreshes, refreshed_at_random
from penstock.lab.maintenance.tpch import SCALE, Offers, Updates, generated
from penstock.lab.report import (
    Cell,
    Finding,
    Findings,
    Size,
    Table,
    at_most,
    chart,
    sized,
)
from penstock.lab.timing import say
from penstock.views.maintenance.policies import followed

LAST = sized(60, 300, 1000)
"""Moments of a run; at each, one update of each table."""
ROUNDS = sized(1, 2, 2)
APART = 1.8
LEVEL = 1.1
"""Times NAIVE that is not worse: noise."""
SCANNED = "base1_c0_idx"
"""The index by which a change of an offer finds its supplier."""
PICTURED = sized(2, 5, 5)
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
                scanned = view.unindexed(SCANNED, "postgresql, suppliers not indexed")
                yield from _policies(scanned, moments, size)
    note = left_out()
    if note:
        yield note


def _arrivals(last: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    arrivals = np.full((last + 1, 2), CHANGES, np.int64)
    arrivals[0] = 0
    return arrivals


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
        taken = by_turns(view, plan, moments, ROUNDS[size])
        least = APART if name.startswith("postgresql") else 1 / LEVEL
        own = f"{name}, NAIVE every {moments_kept}"
        yield from judged(own, ("offers", "suppliers"), plan, taken, least)
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
        each = times.triggers / len(moments)
        rows.append(_peer("triggers, nobody reads", each, times.triggers, online))
        rows.append(_peer("triggers", each, each * found.moments, ours))
        state = offers.state()
        for changes in moments:
            state.follow(changes)
        wrong = int(times.value != state.least())
        yield at_most(f"{view.name}: triggers' view that is wrong", wrong, 0)
    yield Table.of(f"{view.name}: peers at equal freshness", rows)
    yield (
        f"{view.name}: recomputation is paid per read ({reads} reads while {found.moments} "
        "updates of each table came), triggers per statement. Beside each stands the fresh view's "
        "own work, its refreshes for the same readers included where there are any."
    )


def _peer(name: str, each: float, total: float, ours: float) -> dict[str, Cell]:
    return {
        "peer": name,
        "each_ms": 1000 * each,
        "total_s": total,
        "fresh_view_s": ours,
        "peer_over_fresh_view": total / ours,
    }
