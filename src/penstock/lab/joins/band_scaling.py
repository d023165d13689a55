"""How band joins scale with the number of queries.

Lengths are normal with mean 280 and deviation 35, so that the groups grow from about 20 to about
60 over the sweep. Our merge gallops over the stored values: unlike the published one it is faster
where queries are few, and not flat.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from penstock.lab.joins.banding import OTHERS, SINGLY, Measured, bands, measure
from penstock.lab.report import Check, Curve, Figure, Report, Size, Table, at_least, at_most
from penstock.lab.timing import alternate, say

COUNTS: dict[Size, tuple[int, ...]] = {
    "tiny": (50, 500),
    "small": (50, 500, 5_000, 50_000),
    "full": (50, 500, 5_000, 50_000, 100_000, 500_000),
}
ROWS: dict[Size, int] = {"tiny": 2_000, "small": 100_000, "full": 100_000}
ROUNDS: dict[Size, int] = {"tiny": 1, "small": 3, "full": 7}
MEAN, DEVIATION = 280.0, 35.0
PAIRED = 100
NAMED = 100_000
"""The number of queries that the claims name."""


def run(size: Size) -> Report:
    """Run the experiment; only at `full` is speed judged."""
    found: dict[int, Measured] = {}
    for count in COUNTS[size]:
        say(f"band joins: {count:,} queries")
        found[count] = measure(bands(count, MEAN, DEVIATION, ROWS[size]), ROUNDS[size])
    sides = ("ssi", SINGLY, *OTHERS)
    table = Table(
        title="band joins: tuples per second without output, one thread",
        columns=("queries", "groups", *sides, "ssi with output", "pairs_per_s with output"),
        rows=[
            (count, one.groups, *map(one.rate, sides), one.tuples_out, one.pairs_out)
            for count, one in found.items()
        ],
    )
    figure = Figure(
        title="Band joins: throughput by number of queries",
        x_label="queries",
        y_label="tuples per second",
        curves=tuple(
            Curve(name=side, x=list(found), y=[one.rate(side) for one in found.values()])
            for side in sides
        ),
        x_log=True,
        y_log=True,
    )
    differing = sum(one.differing for one in found.values())
    checks = [at_most("pairs that a strategy finds differently", differing, 0)]
    if size == "full":
        checks += [_keeping(min(found), max(found), ROWS[size]), *_judge(found)]
    return Report(
        experiment="band-join-scaling",
        size=size,
        tables=(table,),
        checks=tuple(checks),
        figures=(figure,),
    )


def _keeping(few: int, many: int, rows: int) -> Check:
    """Compare few queries with many, side by side: both are too fast for long pauses between."""
    runs: dict[str, Callable[[], int]] = {}
    for count in (few, many):
        data = bands(count, MEAN, DEVIATION, rows)
        runs[str(count)] = partial(data.core("ssi").find, data.given, data.stored)
    best = alternate(runs, PAIRED)
    kept = best[str(few)] / best[str(many)]
    return at_least(f"ssi: throughput at {many:,} queries over that at {few}", kept, 1 / 3)


def _judge(found: dict[int, Measured]) -> list[Check]:
    lead = {
        count: min(one.cost[side] for side in OTHERS) / one.cost["ssi"]
        for count, one in found.items()
    }
    named = found[NAMED]
    return [
        at_least(f"ssi over the best other strategy at {NAMED:,}", lead[NAMED], 20),
        at_least(
            "ssi over the best other strategy from 5,000 on",
            min(value for count, value in lead.items() if count >= 5_000),
            10,
        ),
        at_least(
            f"batch over tuple at a time at {NAMED:,}", named.cost[SINGLY] / named.cost["ssi"], 3
        ),
    ]
