"""How band joins scale with the number of queries.

Lengths are normal with mean 280 and deviation 35, so that the groups grow from about 20 to about
60 over the sweep. Our merge gallops over the stored values: unlike the published one it is faster
where queries are few, and not flat.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import thread_time

from penstock.lab.joins.band_sides import OTHERS, SINGLY, BandsMeasured, bands, measure
from penstock.lab.report import Check, Findings, Size, Table, at_least, at_most, sized, timed
from penstock.lab.timing import alternate, say

COUNTS = sized((50, 500), (50, 500, 5_000, 50_000), (50, 500, 5_000, 50_000, 100_000, 500_000))
ROWS = sized(2_000, 100_000, 100_000)
ROUNDS = sized(1, 3, 7)
MEAN, DEVIATION = 280.0, 35.0
PAIRED = sized(20, 50, 100)
NAMED = sized(500, 50_000, 100_000)
"""The number of queries that the claims name; at `full` the publication's."""
FLAT_UP_TO = 50_000
"""Up to so many queries, half the rows, the published merge keeps its rate."""
KEPT_MIN = sized(0.2, 1 / 3, 1 / 3)
LEAD_MIN = sized(2, 20, 20)
ANYWHERE_MIN = sized(1, 10, 10)
BATCHED_MIN = sized(1.2, 3, 3)


def run(size: Size) -> Findings:
    """Run the experiment; speed is judged at every size, by ratios that hold there."""
    found: dict[int, BandsMeasured] = {}
    for count in COUNTS[size]:
        say(f"band joins: {count:,} queries")
        found[count] = measure(bands(count, MEAN, DEVIATION, ROWS[size]), ROUNDS[size])
    sides = ("ssi", SINGLY, *OTHERS)
    yield (
        table := Table(
            "band joins: tuples per second without output, one thread",
            ("standing queries", "groups", *sides, "ssi with output", "pairs_per_s with output"),
            [
                (count, one.groups, *map(one.rate, sides), one.tuples_out, one.pairs_out)
                for count, one in found.items()
            ],
        )
    )
    title = "Band joins: throughput by number of queries"
    yield table.chart(title, "tuples per second", *sides, log="xy")
    differing = sum(one.differing for one in found.values())
    merge = _merge_kept(found)
    yield at_most("pairs that a strategy finds differently", differing, 0)
    yield _keeping(min(found), max(found), size)
    yield at_most("merge: its rate at most queries over that at fewest", merge, 1.0, timed=True)
    yield from _judge(found, size)
    yield (
        "The publication's merge keeps its rate up to 50,000 queries and then falls. Ours is "
        f"not flat: it keeps {merge:.1%} of its rate at {min(found)}, because it gallops over "
        "the stored values and skips most of them where queries are few."
    )


def _merge_kept(found: dict[int, BandsMeasured]) -> float:
    """Say what the merge keeps of its rate, up to half as many queries as rows."""
    most = max(count for count in found if count <= FLAT_UP_TO)
    return found[most].rate("merge") / found[min(found)].rate("merge")


def _keeping(few: int, many: int, size: Size) -> Check:
    """Compare few queries with many, side by side: both are too fast for long pauses between."""
    runs: dict[str, Callable[[], int]] = {}
    for count in (few, many):
        data = bands(count, MEAN, DEVIATION, ROWS[size])
        runs[str(count)] = partial(data.core("ssi").find, data.given, data.stored)
    best = alternate(runs, PAIRED[size], thread_time)
    kept = best[str(few)] / best[str(many)]
    return at_least(
        f"ssi: throughput at {many:,} queries over that at {few}", kept, KEPT_MIN[size], timed=True
    )


def _judge(found: dict[int, BandsMeasured], size: Size) -> Findings:
    """Judge the lead over the others: published from 5,000 queries on, at `tiny` at the most."""
    lead = {
        count: min(one.cost[side] for side in OTHERS) / one.cost["ssi"]
        for count, one in found.items()
    }
    most = NAMED[size]
    named, first = found[most], min(5_000, most)
    yield from timed(
        at_least(f"ssi over the best other strategy at {most:,}", lead[most], LEAD_MIN[size]),
        at_least(
            f"ssi over the best other strategy from {first:,} on",
            min(value for count, value in lead.items() if count >= first),
            ANYWHERE_MIN[size],
        ),
        at_least(
            f"batch over tuple at a time at {most:,}",
            named.cost[SINGLY] / named.cost["ssi"],
            BATCHED_MIN[size],
        ),
    )
