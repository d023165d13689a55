"""Plan search: dynamic programming against trying every tree, and how long it takes.

Queries are drawn: a chain, and every other pair of streams linked with a chance of one in five.
Rates and windows are 5 to 200, selectivities .005 to .3. What the planner does where none of the
plans keeps up is `plan_shedding`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from penstock.lab.draws import generator
from penstock.lab.planner.examples import drawn_chain
from penstock.lab.planner.plan_shedding import (
    ANSWERED,
    JUDGED,
    OVERLOADS,
    QUERIES,
    SEARCHED,
    WINDOWS,
    Gap,
    OverloadAnswer,
    answer,
    answers_table,
    checks_of,
    gaps_table,
    search_gap,
    thinning_gaps,
)
from penstock.lab.report import Findings, Size, Table, at_most, sized
from penstock.lab.timing import say
from penstock.planning.constants import BUILT_IN
from penstock.planning.costs import Constant, CostLibrary, Measured
from penstock.planning.model import JoinModel, PredicateModel
from penstock.planning.plan_costs import Costing, cost
from penstock.planning.search import search
from penstock.planning.tree_enumeration import Shape, trees

COMPARED = sized({3: 4, 4: 2}, {3: 20, 4: 10, 5: 4}, {3: 50, 4: 30, 5: 20, 6: 6})
"""Queries drawn, by their streams, for which every tree is tried."""
TIMED = sized((4, 5), (4, 6, 8, 10), (4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
ROUNDS = sized(1, 2, 3)
SAME = 1e-9


def drawn(streams: int, seed: int) -> JoinModel:
    """Draw a query: a chain with some more links."""
    rng = generator(streams, seed)
    model = drawn_chain(rng, streams)
    more = tuple(
        PredicateModel(
            mask=1 << one | 1 << other,
            selectivity=float(np.exp(rng.uniform(np.log(0.005), np.log(0.3)))),
        )
        for one in range(streams)
        for other in range(one + 2, streams)
        if rng.random() < 0.2
    )
    return replace(model, predicates=model.predicates + more)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCompared:
    """Queries of one size: how far the search is from the best of all trees, at most."""

    streams: int
    queries: int
    trees: int
    off: dict[str, float]
    deep_gain: float
    """By how much the best left-deep tree undercuts the best bushy one: never."""


def compare(streams: int, queries: int) -> SearchCompared:
    """Search, and try every tree: processing, memory, the dearest, and left-deep trees."""
    off = dict.fromkeys(("cpu", "memory", "worst", "left-deep"), 0.0)
    deep_gain = -np.inf
    libraries: tuple[CostLibrary, ...] = (Constant(0.001), Measured(BUILT_IN))
    for seed in range(queries):
        model, library = drawn(streams, seed), libraries[seed % 2]
        every = [cost(model, tree, library) for tree in trees(streams)]
        deep = [cost(model, tree, library) for tree in trees(streams, "left-deep")]
        least = min(_cpu(each) for each in every)
        pairs = {
            "cpu": (search(model, library).cpu, least),
            "memory": (
                search(model, library, objective="memory").memory_rows,
                min(each.memory_rows for each in every),
            ),
            "worst": (search(model, library, worst=True).cpu, max(_cpu(each) for each in every)),
            "left-deep": (
                search(model, library, shape="left-deep").cpu,
                min(_cpu(each) for each in deep),
            ),
        }
        for name, (found, expected) in pairs.items():
            off[name] = max(off[name], abs(found / expected - 1.0))
        deep_gain = max(deep_gain, 1.0 - pairs["left-deep"][0] / least)
    return SearchCompared(
        streams=streams,
        queries=queries,
        trees=sum(1 for _ in trees(streams)),
        off=off,
        deep_gain=float(deep_gain),
    )


def _cpu(costing: Costing) -> float:
    return costing.cpu


def searching_s(streams: int, shape: Shape, n_max: int, rounds: int) -> float:
    """Give the mean time of searching drawn queries."""
    times = []
    for seed in range(rounds + 1):
        model = drawn(streams, seed)
        started = perf_counter()
        search(model, Constant(0.001), shape=shape, n_max=n_max)
        times.append(perf_counter() - started)
    return float(np.mean(times[1:]))  # the first compiles


def overloaded(size: Size) -> tuple[list[OverloadAnswer], list[Gap]]:
    """Let the planner answer for overloaded queries; hold its heuristics against the best."""
    answer(drawn(4, 0), "rows", 2.0)  # the first compiles
    answers = []
    for streams in ANSWERED[size]:
        say(f"plan search: {streams} overloaded streams")
        for seed in range(QUERIES[size]):
            model = drawn(streams, seed)
            answers += [answer(model, each, over) for each in WINDOWS for over in OVERLOADS]
    gaps = []
    for streams, queries in JUDGED[size].items():
        say(f"plan search: every plan of {queries} queries of {streams} streams, thinned")
        gaps += thinning_gaps([drawn(streams, seed) for seed in range(queries)])
    for streams, queries in SEARCHED[size].items():
        say(f"plan search: improvement against the exact search, {streams} streams")
        gaps.append(search_gap([drawn(streams, seed) for seed in range(queries)]))
    return answers, gaps


def run(size: Size) -> Findings:
    """Compare, then measure; times of the processor are judged at every size."""
    compared = []
    for streams, queries in COMPARED[size].items():
        say(f"plan search: every tree of {queries} queries of {streams} streams")
        compared.append(compare(streams, queries))
    rounds, times = ROUNDS[size], []
    for streams in TIMED[size]:
        say(f"plan search: {streams} streams")
        times.append(
            (
                streams,
                1e3 * searching_s(streams, "bushy", max(TIMED["full"]), rounds),
                1e3 * searching_s(streams, "left-deep", max(TIMED["full"]), rounds),
                1e3 * searching_s(streams, "bushy", 12, rounds),
            )
        )
    answers, gaps = overloaded(size)
    yield Table(
        "search against every tree: relative differences, at most",
        ("streams", "queries", "trees", "cpu", "memory", "worst", "left-deep"),
        [(o.streams, o.queries, o.trees, *o.off.values()) for o in compared],
    )
    columns = ("streams", "bushy, exact", "left-deep, exact", "bushy, as by default")
    yield (searched := Table("time to find a plan (ms)", columns, times))
    yield searched.chart("Time to find a plan", "milliseconds", log="y")
    yield answers_table(answers)
    yield gaps_table(gaps)
    yield from _exact(compared)
    yield from checks_of(answers, gaps)


def _exact(compared: list[SearchCompared]) -> Findings:
    most = max(one.streams for one in compared)
    yield from (
        at_most(
            f"search against every tree up to {most} streams, {name}: off",
            max(one.off[name] for one in compared),
            SAME,
        )
        for name in compared[0].off
    )
    gain = max(one.deep_gain for one in compared)
    yield at_most("left-deep trees cheaper than bushy ones, by", gain, SAME)
