"""Queries that the planner is judged on: drawn at random, and those of the published examples."""

from __future__ import annotations

import numpy as np

from penstock.algebra.inputs import WindowLength
from penstock.algebra.trees import inputs_of
from penstock.lab.draws import generator
from penstock.lab.planner.workload import SECOND_US, Key, PlannerQuery, Relating, StreamSource
from penstock.planning.constants import BUILT_IN
from penstock.planning.model import JoinModel

NAMES = "abcdefgh"
SHAPES = ("chain", "star", "cycle")
INPUTS = (3, 4, 3, 5, 4, 6)
"""How many streams the queries join, taken in turn."""
WINDOW_ROWS = (20, 400)
DISTINCT = (4, 200)
RATES = (1.0, 8.0)
"""The rates of a query's streams before they are scaled to the load wanted."""
TOTAL = (1_000.0, 400_000.0)
"""The least and the largest rate of all streams together."""
LOADS = (0.05, 0.4)
NANOSECONDS = 80.0
"""What a row that enters a join, or leaves the last one, costs about: enough to draw queries."""
WORK = (2.0, 120.0)
"""Rows that enter a join or leave the last one, per arrival: queries beyond are drawn anew."""
RESULTS = (0.1, 12.0)
"""Results per arrival: queries beyond are drawn anew."""


def random_query(seed: int) -> PlannerQuery:
    """Draw a query of 3 to 6 streams that loads a processor by 5 % to 40 %, or nearly so."""
    rng = generator(seed, 11)
    inputs = INPUTS[seed % len(INPUTS)]
    shape = SHAPES[(seed // 2) % len(SHAPES)]
    kind = ("rows", "range", "mixed")[seed % 3 if seed % 5 else 2]
    load = _log_uniform(rng, *LOADS)
    while True:
        drawn = _draw(rng, inputs, shape, kind)
        model = drawn.model(BUILT_IN)
        total = sum(each.rate for each in drawn.sources)
        results = rate_of(model, model.everything) / total
        work = least_work(model) / total + results
        rate = float(np.clip(load / (work * NANOSECONDS * 1e-9), *TOTAL))
        loaded = LOADS[0] <= rate * work * NANOSECONDS * 1e-9 <= LOADS[1]
        if WORK[0] <= work <= WORK[1] and RESULTS[0] <= results <= RESULTS[1] and loaded:
            return scaled(drawn, rate / total, f"{shape} of {inputs}, {kind}")


def scaled(query: PlannerQuery, factor: float, name: str = "") -> PlannerQuery:
    """Give the query at other rates, its windows holding the same number of rows."""
    return PlannerQuery(
        sources=tuple(
            StreamSource(
                name=each.name,
                rate=each.rate * factor,
                window=each.window
                if each.window.kind == "rows"
                else WindowLength("range", max(round(each.window.size / factor), 1)),
                accepted=each.accepted,
                part=each.part,
                width=each.width,
            )
            for each in query.sources
        ),
        keys=query.keys,
        relatings=query.relatings,
        name=name or query.name,
    )


def rate_of(model: JoinModel, mask: int) -> float:
    """Give the rate at which the join of a set makes rows, selections applied (D1)."""
    rows, turnover = model.selectivity(mask), 0.0
    for number in inputs_of(mask):
        rows *= model.inputs[number].window
        turnover += model.inputs[number].turnover
    for each in model.selections:
        if mask >> each.input & 1:
            rows *= each.selectivity
    return rows * turnover


def least_work(model: JoinModel) -> float:
    """Give how many rows per second enter joins, in the best order that is left-deep."""
    best: dict[int, float] = {0: 0.0}
    for mask in range(1, model.everything + 1):
        own = 0.0 if mask == model.everything else rate_of(model, mask)
        within = min(best[mask ^ 1 << number] for number in inputs_of(mask))
        best[mask] = within + own if mask.bit_count() > 1 else 0.0
    return best[model.everything] + sum(rate_of(model, 1 << k) for k in range(len(model.inputs)))


def _draw(rng: np.random.Generator, inputs: int, shape: str, kind: str) -> PlannerQuery:
    sources = []
    for number in range(inputs):
        rate = _log_uniform(rng, *RATES)
        rows = round(_log_uniform(rng, *WINDOW_ROWS))
        own = kind if kind != "mixed" else ("rows", "range")[int(rng.integers(2))]
        sources.append(
            StreamSource(
                name=NAMES[number],
                rate=rate,
                window=WindowLength("rows", rows)
                if own == "rows"
                else WindowLength("range", max(round(rows / rate * SECOND_US), 1)),
                accepted=round(float(rng.uniform(0.2, 0.8)), 2) if rng.random() < 0.3 else 1.0,
            )
        )
    keys = [
        Key(inputs=edge, distinct=round(_log_uniform(rng, *DISTINCT)))
        for edge in _edges(inputs, shape)
    ]
    if shape == "star" and rng.random() < 0.4:  # One column that all are equal in.
        keys = [Key(inputs=tuple(range(inputs)), distinct=keys[0].distinct)]
    relatings = []
    if rng.random() < 0.4:
        left, right = (int(each) for each in rng.choice(inputs, 2, replace=False))
        share = round(float(rng.uniform(0.1, 0.5)), 2)
        relatings = [
            Relating(left=left, right=right, share=share, op="<" if rng.random() < 0.6 else "near")
        ]
    return PlannerQuery(sources=tuple(sources), keys=tuple(keys), relatings=tuple(relatings))


def _edges(inputs: int, shape: str) -> list[tuple[int, int]]:
    if shape == "star":
        return [(0, other) for other in range(1, inputs)]
    chain = [(number, number + 1) for number in range(inputs - 1)]
    return chain if shape == "chain" else [*chain, (0, inputs - 1)]


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def chain_query(
    name: str, rates: tuple[float, ...], rows: tuple[int, ...], distinct: tuple[int, ...]
) -> PlannerQuery:
    """Give a chain of streams with windows of rows."""
    return PlannerQuery(
        name=name,
        sources=tuple(
            StreamSource(name=NAMES[k], rate=rate, window=WindowLength("rows", size))
            for k, (rate, size) in enumerate(zip(rates, rows, strict=True))
        ),
        keys=tuple(Key(inputs=(k, k + 1), distinct=each) for k, each in enumerate(distinct)),
    )


def over_time(query: PlannerQuery) -> PlannerQuery:
    """Give the query with time windows that hold as many rows as its windows of rows."""
    return PlannerQuery(
        name=f"{query.name}, time windows",
        sources=tuple(
            StreamSource(
                name=each.name,
                rate=each.rate,
                window=WindowLength("range", round(each.rows / each.rate * SECOND_US)),
                accepted=each.accepted,
            )
            for each in query.sources
        ),
        keys=query.keys,
        relatings=query.relatings,
    )


EXAMPLE_1 = chain_query("Example 1", (10, 20, 70), (10, 10, 10), (2, 5))
FOUR = chain_query("B4", (10, 20, 30, 40), (10, 20, 30, 40), (10, 20, 50))
INVERTED = chain_query("INV3", (100, 10, 20), (10, 100, 100), (10, 2))
PRODUCT = chain_query("CART", (5, 80, 5), (100, 5, 100), (10, 5))
PUBLISHED = (EXAMPLE_1, FOUR, INVERTED, PRODUCT)
