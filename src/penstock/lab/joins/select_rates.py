"""What the rates do: how many selections accept a tuple, how many rows join with it.

Selection first pays for every selection that accepts, join first for every row that joins; groups
pay for neither.
"""

from __future__ import annotations

import numpy as np

from penstock.lab.joins.select_sides import (
    ONE_BY_ONE,
    Costs,
    TimedSide,
    batch_side,
    core_of,
    measure,
    published_side,
    slope,
)
from penstock.lab.joins.workload import SelectQueries, Tuples, sparse_queries, stepped_rows, tuples
from penstock.lab.report import Chart, Findings, Size, Table, at_most, chart, near, sized, timed
from penstock.lab.timing import say
from penstock.operators.join.runs import Runs

QUERIES = sized(1_000, 10_000, 100_000)
RATES = sized((0.05, 0.1), (0.02, 0.05, 0.1), (0.05, 0.1, 0.2, 0.3))
ROUNDS = sized(9, 5, 15)
OFF = sized((0.4, 0.4), (0.4, 0.2), (0.15, 0.1))
"""How far growth may be from linear, and from none: of few queries, what is fixed weighs more."""
JOINING = (100, 250, 500, 1_000, 2_000)
USUAL = 3
"""Which number of joining rows the other sweep has."""
KEYS = sized(1, 5, 26)
"""Join keys per number of joining rows."""
BATCH, ALONE = 10_000, 2_000
SIDES = ("scan", "selection", "join", ONE_BY_ONE, "ssi, batch")


def sides_of(queries: SelectQueries, runs: Runs, given: Tuples) -> dict[str, TimedSide]:
    """Build all sides."""
    core = core_of("ssi", queries)
    return {
        "scan": batch_side(core_of("scan", queries), runs, given, 20),
        "selection": batch_side(core_of("selection", queries), runs, given, 60),
        "join": batch_side(core_of("join", queries), runs, given, 40),
        ONE_BY_ONE: published_side(core, runs, given, ALONE),
        "ssi, batch": batch_side(core, runs, given, BATCH),
    }


def run(size: Size) -> Findings:
    """Measure both rates, each with the other fixed."""
    count, keys, rounds = QUERIES[size], KEYS[size], ROUNDS[size]
    runs = stepped_rows(JOINING, keys)
    given = [_shifted(tuples(BATCH, keys), k * keys) for k in range(len(JOINING))]
    say(f"select-join-rates: {count:,} queries, selections that accept")
    accepted = measure(
        {
            rate * count: sides_of(sparse_queries(count, rate), runs, given[USUAL])
            for rate in RATES[size]
        },
        rounds,
    )
    say(f"select-join-rates: {count:,} queries, rows that join")
    queries = sparse_queries(count)
    joining = measure(
        {float(m): sides_of(queries, runs, given[k]) for k, m in enumerate(JOINING)}, rounds
    )
    wrong = sum(cost.wrong for cost in (*accepted.values(), *joining.values()))
    yield at_most("answers that differ", wrong, 0)
    yield _table("selections that accept", accepted)
    yield _table("rows that join", joining)
    yield from _gates(accepted, joining, size)
    yield _figure("selections that accept a tuple", accepted)
    yield _figure("rows that join with a tuple", joining)
    yield {"queries": count, "rows": len(runs)}


def _shifted(given: Tuples, first: int) -> Tuples:
    """Give the same tuples with other join keys."""
    return Tuples(a=given.a, codes=given.codes + np.int32(first))


def _gates(accepted: dict[float, Costs], joining: dict[float, Costs], size: Size) -> Findings:
    """Judge growth: 1 is linear, 0 is none. A longer run costs groups a little, for its memory."""
    off, flat = OFF[size]

    def growth(costs: dict[float, Costs], side: str) -> float:
        return slope(list(costs), [cost.find[side] for cost in costs.values()])

    # A hundred selections that accept cost less than finding them: no growth is to be seen.
    if size != "tiny":
        yield from timed(
            near("selection: growth with accepting", growth(accepted, "selection"), 1, off)
        )
    yield from timed(
        near("join: growth with joining rows", growth(joining, "join"), 1, off),
        near("ssi: growth with accepting", growth(accepted, ONE_BY_ONE), 0, flat),
        near("ssi: growth with joining rows", growth(joining, ONE_BY_ONE), 0, flat),
    )


def _table(rate: str, costs: dict[float, Costs]) -> Table:
    return Table(
        f"identification by {rate}, pairs counted: microseconds per tuple",
        (rate, "affected per tuple", *SIDES),
        [
            (x, cost.found["ssi, batch"], *(cost.find[s] for s in SIDES))
            for x, cost in costs.items()
        ],
    )


def _figure(rate: str, costs: dict[float, Costs]) -> Chart:
    x = list(costs)
    return chart(
        f"Identification without output, by {rate}",
        rate,
        "tuples per second",
        {s: (x, [1e6 / cost.find[s] for cost in costs.values()]) for s in SIDES},
        log="xy",
    )
