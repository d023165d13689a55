"""How identification scales with the number of select-joins.

The case that groups are for: many rows join with a tuple (about 1,000), many selections accept it
(one in ten), and almost no query is affected, because the rows lie in the gaps between the ranges.
"""

from __future__ import annotations

from penstock.lab.joins.selecting import (
    ONE_BY_ONE,
    Costs,
    Side,
    batch_side,
    core_of,
    measure,
    published_side,
    slope,
    within,
)
from penstock.lab.joins.workload import (
    ROWS,
    Queries,
    Tuples,
    rows,
    sparse_queries,
    tuples,
    uniform_queries,
)
from penstock.lab.report import (
    Check,
    Curve,
    Figure,
    Report,
    Size,
    Table,
    at_least,
    at_most,
    machine,
)
from penstock.lab.timing import say
from penstock.operators.join.runs import Runs
from penstock.operators.join.select.grouped import Grouped

COUNTS = {
    "tiny": (100, 1_000),
    "small": (100, 1_000, 10_000),
    "full": (100, 1_000, 10_000, 100_000),
}
BATCH = 10_000
ALONE = 2_000
"""Tuples per measurement of the published form."""
SIDES = ("scan", "selection", "join", ONE_BY_ONE, "ssi, batch")


def sides_of(queries: Queries, runs: Runs, given: Tuples) -> tuple[dict[str, Side], int]:
    """Build all sides, and say how many groups there are."""
    slow = 200 if len(queries) >= 10_000 else 2_000
    made = {
        name: batch_side(core_of(name, queries), runs, given, tuples)
        for name, tuples in (("scan", slow), ("selection", slow), ("join", slow // 4))
    }
    core = core_of("ssi", queries)
    assert isinstance(core.strategy, Grouped)
    made[ONE_BY_ONE] = published_side(core, runs, given, ALONE)
    made["ssi, batch"] = batch_side(core, runs, given, BATCH)
    return made, len(core.strategy.groups)


def run(size: Size) -> Report:
    """Measure the sparse recipe over the number of queries, and the dense one beside it."""
    gates = size == "full"
    count = ROWS if gates else ROWS // 20
    given, runs = tuples(BATCH), rows(count, sparse=True)
    say(f"select-join-scaling: up to {COUNTS[size][-1]:,} queries")
    built = {n: sides_of(sparse_queries(n), runs, given) for n in COUNTS[size]}
    groups: dict[float, int] = {n: made[1] for n, made in built.items()}
    costs = measure({n: made[0] for n, made in built.items()}, 15 if gates else 2)
    say("select-join-scaling: the dense recipe")
    dense_queries = uniform_queries(COUNTS[size][-1], 400, 30)
    sides, dense_groups = sides_of(dense_queries, rows(count), tuples(200))
    dense = measure({0: sides}, 2)[0]
    checks = [at_most("answers that differ", sum(c.wrong for c in (*costs.values(), dense)), 0)]
    return Report(
        experiment="select-join-scaling",
        size=size,
        tables=(
            _table("identification, pairs counted: tuples per second", costs, groups, "find"),
            _table("identification, pairs written: tuples per second", costs, groups, "identify"),
            _dense_table(dense, len(dense_queries), dense_groups),
        ),
        checks=tuple(checks + (_gates(costs) if gates else [])),
        figures=(_figure(costs),),
        facts=machine() | {"rows": count, "batch": BATCH},
    )


def _table(title: str, costs: dict[float, Costs], groups: dict[float, int], kind: str) -> Table:
    return Table(
        title=title,
        columns=("queries", "groups", "affected per tuple", *SIDES),
        rows=[
            (n, groups[n], cost.found["ssi, batch"], *(1e6 / getattr(cost, kind)[s] for s in SIDES))
            for n, cost in costs.items()
        ],
    )


def _dense_table(cost: Costs, queries: int, groups: int) -> Table:
    return Table(
        title=f"dense recipe, {queries:,} queries in {groups} groups: output dominates",
        columns=("side", "affected per tuple", "counted, tuples/s", "written, tuples/s"),
        rows=[(s, cost.found[s], 1e6 / cost.find[s], 1e6 / cost.identify[s]) for s in SIDES],
    )


def _gates(costs: dict[float, Costs]) -> list[Check]:
    """Judge speed, pairs counted: the published measurements leave output out."""
    few, most = costs[100].find, costs[100_000].find
    grown = (10_000, 100_000)
    slopes = {s: slope(grown, [costs[n].find[s] for n in grown]) for s in ("scan", "selection")}
    return [
        at_least(
            "ssi, tuple at a time: throughput kept from 100 to 100,000 queries",
            few[ONE_BY_ONE] / most[ONE_BY_ONE], 0.8,
        ),
        at_most("join beside ssi at 100,000 queries", most[ONE_BY_ONE] / most["join"], 0.05),
        *(within(f"{s}: growth from 10,000 to 100,000", v, 1.0, 0.15) for s, v in slopes.items()),
        at_least(
            "ssi at 100,000 queries: a batch of 10,000 beside a tuple at a time",
            most[ONE_BY_ONE] / most["ssi, batch"], 3,
        ),
    ]  # fmt: skip


def _figure(costs: dict[float, Costs]) -> Figure:
    counts = [float(n) for n in costs]
    return Figure(
        title="Identification without output, sparse recipe",
        x_label="standing select-joins",
        y_label="tuples per second",
        curves=tuple(
            Curve(name=s, x=counts, y=[1e6 / cost.find[s] for cost in costs.values()])
            for s in SIDES
        ),
        x_log=True,
        y_log=True,
    )
