"""How the number of stabbing groups matters: shorter ranges, more groups, the same selection rate.

Groups cost by their number, selection by the queries that accept a tuple: the two cross.
"""

from __future__ import annotations

from penstock.kernels.group_probes import PROBES
from penstock.lab.joins.published import Published
from penstock.lab.joins.select_sides import (
    ONE_BY_ONE,
    Costs,
    TimedSide,
    batch_side,
    core_of,
    fit_quality,
    measure,
    published_side,
)
from penstock.lab.joins.workload import ROWS, Tuples, rows, tuples, uniform_queries
from penstock.lab.report import Findings, Size, Table, at_least, at_most, chart, sized
from penstock.lab.timing import say
from penstock.operators.join.runs import Runs
from penstock.operators.join.select.grouped import Grouped

LENGTHS = sized((400, 40), (4_000, 400, 40, 4), (4_000, 1_000, 400, 100, 40, 20, 10, 4, 2, 1))
QUERIES = sized(1_000, 10_000, 100_000)
ROUNDS = sized(9, 5, 7)
FLAT = sized(2.0, 1.5, 1.25)
"""By how much the cost of scan and selection may differ over the groups: published as flat."""
RATE = 250 / 100_000
"""The share of selections that accept a tuple."""
BATCH = 10_000
SLOW = 200
SIDES = ("scan", "selection", ONE_BY_ONE, "ssi, batch")


def sides_of(
    length: int, queries: int, runs: Runs, given: Tuples
) -> tuple[dict[str, TimedSide], int, float]:
    """Build all sides for one length of ranges; count the groups, and their probes per tuple."""
    made = uniform_queries(queries, length, length / 10, RATE)
    core = core_of("ssi", made)
    assert isinstance(core.strategy, Grouped)
    groups = len(core.strategy.groups)
    published = Published(core.strategy.groups, runs)
    published.find(given.a[:SLOW], given.codes[:SLOW])
    return (
        {
            "scan": batch_side(core_of("scan", made), runs, given, SLOW // 5),
            "selection": batch_side(core_of("selection", made), runs, given, SLOW),
            ONE_BY_ONE: published_side(core, runs, given, max(20, 20_000 // groups)),
            "ssi, batch": batch_side(core, runs, given, BATCH),
        },
        groups,
        float(published.work[PROBES]) / SLOW,
    )


def crossing(x: list[float], rising: list[float], level: list[float]) -> float | None:
    """Give where a rising curve passes another, between the points that bracket it.

    >>> crossing([1, 3], [0, 4], [2, 2])
    2.0
    """
    gaps = [up - flat for up, flat in zip(rising, level, strict=True)]
    for k in range(1, len(x)):
        if gaps[k - 1] <= 0 < gaps[k]:
            return x[k - 1] + (x[k] - x[k - 1]) * gaps[k - 1] / (gaps[k - 1] - gaps[k])
    return None


def _judge(
    x: list[float],
    curves: dict[str, list[float]],
    probes: dict[float, float],
    cross: float | None,
    size: Size,
) -> Findings:
    """Judge that groups alone decide what groups cost, and where selection overtakes them."""
    yield from (
        at_most(
            f"{side}: largest over smallest cost, over the groups",
            max(curves[side]) / min(curves[side]),
            FLAT[size],
            timed=True,
        )
        for side in ("scan", "selection")
    )
    if size == "tiny":  # two numbers of groups: a line always fits, and nothing crosses
        return
    yield at_least(
        "ssi, tuple at a time: R² of cost over groups and their probes",
        fit_quality(curves[ONE_BY_ONE], x, [probes[g] for g in x]),
        0.95,
        timed=True,
    )
    yield at_least(
        "groups where selection overtakes ssi, batches",
        cross or 0.0,
        RATE * QUERIES[size],
        timed=True,
    )


def _told(groups: float | None) -> str:
    return "no number of groups measured" if groups is None else f"{groups:,.0f} groups"


def run(size: Size) -> Findings:
    """Measure all lengths; the number of groups is what counts."""
    queries = QUERIES[size]
    given, runs = tuples(BATCH), rows(ROWS if size == "full" else ROWS // 20)
    say(f"select-join-groups: {queries:,} queries, {len(LENGTHS[size])} lengths")
    points: dict[float, dict[str, TimedSide]] = {}
    probes: dict[float, float] = {}
    for length in LENGTHS[size]:
        made, groups, probed = sides_of(length, queries, runs, given)
        points[groups], probes[groups] = made, probed
    costs = measure(points, ROUNDS[size])
    x = sorted(costs)
    curves = {s: [costs[g].find[s] for g in x] for s in SIDES}
    cross = crossing(x, curves["ssi, batch"], curves["selection"])
    wrong = at_most("answers that differ", sum(c.wrong for c in costs.values()), 0)
    yield wrong
    yield from _judge(x, curves, probes, cross, size)
    accepting = RATE * queries
    single = crossing(x, curves[ONE_BY_ONE], curves["selection"])
    yield _table(costs, probes, x)
    yield chart(
        "Identification without output, by number of groups",
        "stabbing groups",
        "microseconds per tuple",
        {s: (x, curves[s]) for s in SIDES},
        log="xy",
    )
    yield (
        f"Selection overtakes groups at {_told(cross)} (batches) and {_told(single)} (a tuple "
        f"at a time), with {accepting:g} queries accepting. Published: about 2,000 groups in "
        "one text and 250 in the other."
    )
    yield {
        "queries": queries,
        "selections that accept a tuple": RATE * queries,
        "groups where selection overtakes ssi, batches": cross,
        "the same, tuple at a time": crossing(x, curves[ONE_BY_ONE], curves["selection"]),
    }


def _table(costs: dict[float, Costs], probes: dict[float, float], x: list[float]) -> Table:
    return Table(
        "identification, pairs counted: microseconds per tuple",
        ("groups", "probes per tuple", "affected per tuple", *SIDES),
        [
            (int(g), probes[g], costs[g].found["ssi, batch"], *(costs[g].find[s] for s in SIDES))
            for g in x
        ],
    )
