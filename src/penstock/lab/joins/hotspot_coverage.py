"""What hotspots are worth: groups for the hot queries, selection for the scattered ones.

With few hot queries, groups of everybody are too many and selection wins; with many, groups win.
Hotspots take the better of both, query by query.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from penstock.lab.draws import generator
from penstock.lab.joins.select_sides import (
    Costs,
    batch_side,
    core_of,
    fit_quality,
    measure,
    published_side,
)
from penstock.lab.joins.workload import (
    DOMAIN,
    ROWS,
    SelectQueries,
    around,
    lengths,
    rows,
    selections,
    tuples,
)
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized, timed
from penstock.lab.timing import say
from penstock.operators.join.options import Options
from penstock.operators.join.select.grouped import Grouped

QUERIES = sized(2_000, 50_000, 500_000)
SHARES = sized((0.2, 0.8), (0.1, 0.4, 0.7, 1.0), (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
RATE = 0.005
"""The share of selections that accept a tuple: 2,500 of 500,000."""
SCALE = 10
"""Keys of the probed side are tenths: the scattered ranges are about 1 long."""
ROUNDS = sized(9, 5, 7)
RISE = sized(1.5, 1.15, 1.05)
FIT_MIN: dict[Size, float] = {"small": 0.9, "full": 0.95}
WORST: dict[Size, float] = {"small": 1.5, "full": 1.15}
FLAT: dict[Size, float] = {"small": 1.4, "full": 1.1}
"""Bounds by size: costs of few queries are small, and what is fixed weighs more."""
ALPHA = sized(0.01, 0.001, 0.001)
BATCH = 10_000
SLOW = 100
SIDES = ("selection", "ssi", "hot")
BATCHES = ("selection", "ssi, batch", "hot, batch")


def queries_of(count: int, share: float, seed: int = 5) -> SelectQueries:
    """Draw queries of which a share lies around a few points, the rest in many small groups."""
    rng = generator(seed)
    hot = round(share * count)
    al, ah = selections(rng, count, RATE)
    middles = np.rint(
        SCALE
        * np.concatenate(
            [
                rng.normal(2_500, 500, hot),
                rng.uniform(5_000, 5_000 + 5_000 * (1 - share) / 0.9, count - hot),
            ]
        )
    ).astype(np.int64)
    length = np.concatenate(
        [lengths(rng, 200 * SCALE, 20 * SCALE, hot), lengths(rng, SCALE, SCALE / 10, count - hot)]
    )
    cl, ch = around(middles, length)
    return SelectQueries(al=al, ah=ah, cl=cl, ch=ch)


def run(size: Size) -> Findings:
    """Measure all shares; the actual coverage is what the tracker made hot."""
    count = QUERIES[size]
    given, runs = tuples(BATCH), rows(ROWS if size == "full" else ROWS // 20, top=SCALE * DOMAIN)
    costs: dict[float, Costs] = {}
    facts: dict[float, tuple[int, int]] = {}
    for share in SHARES[size]:
        say(f"hotspot-coverage: {count:,} queries, {share:.0%} around hot points")
        queries = queries_of(count, share)
        ssi, hot = (core_of(name, queries, Options(alpha=ALPHA[size])) for name in ("ssi", "hot"))
        assert isinstance(ssi.strategy, Grouped) and isinstance(hot.strategy, Grouped)
        coverage = 1 - len(hot.strategy.rest) / count
        facts[coverage] = len(hot.strategy.groups), len(ssi.strategy.groups)
        sides = {
            "selection": batch_side(core_of("selection", queries), runs, given, SLOW),
            "ssi": published_side(ssi, runs, given, SLOW),
            "hot": published_side(hot, runs, given, SLOW),
            "ssi, batch": batch_side(ssi, runs, given, BATCH // 10),
            "hot, batch": batch_side(hot, runs, given, BATCH // 10),
        }
        costs |= measure({coverage: sides}, ROUNDS[size])
    yield at_most("answers that differ", sum(c.wrong for c in costs.values()), 0)
    yield from _gates(costs, size)
    yield (table := _table(costs, facts))
    for form, some in (("tuple at a time", SIDES), ("batches", BATCHES)):
        title = f"Identification without output by hot coverage, {form}"
        x_label = "share of queries in hotspots"
        yield table.chart(title, "microseconds per tuple", *some, x_label=x_label, log="y")
    yield {"queries": count, "alpha": ALPHA[size]}


def _table(costs: dict[float, Costs], facts: dict[float, tuple[int, int]]) -> Table:
    sides = tuple(dict.fromkeys((*SIDES, *BATCHES)))
    return Table(
        "identification, pairs counted: microseconds per tuple",
        ("hot coverage", "hot groups", "all groups", "affected per tuple", *sides),
        [
            (x, *facts[x], cost.found["ssi, batch"], *(cost.find[s] for s in sides))
            for x, cost in costs.items()
        ],
    )


def _gates(costs: dict[float, Costs], size: Size) -> Findings:
    """Judge the published form: hot follows coverage, and loses to neither extreme."""
    times = {s: [cost.find[s] for cost in costs.values()] for s in (*SIDES, *BATCHES)}
    hot = times["hot"]
    steps = max(later / earlier for earlier, later in pairwise(hot))
    best = max(
        mine / min(others)
        for mine, *others in zip(hot, times["selection"], times["ssi"], strict=True)
    )
    worst = min(
        max(others) / mine
        for mine, *others in zip(
            times["hot, batch"], times["selection"], times["ssi, batch"], strict=True
        )
    )
    fit = fit_quality(hot, list(costs))
    name = "hot: largest rise in cost from one coverage to the next"
    yield at_most(name, steps, RISE[size], timed=True)
    # A line through two points always fits; of 2,000 queries calls cost more than queries.
    if size != "tiny":
        spread = max(times["selection"]) / min(times["selection"])
        yield from timed(
            at_least("hot: R² of cost over coverage", fit, FIT_MIN[size]),
            at_most("hot beside the better of selection and ssi, at worst", best, WORST[size]),
            at_most("selection: largest over smallest cost, over coverage", spread, FLAT[size]),
        )
    name = "hot in batches beside the worse of selection and ssi, at worst"
    yield at_least(name, worst, 0.9, timed=True)
