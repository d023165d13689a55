"""Kernels beside their peers: all (event, query) pairs, materialised, on the same arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from ncls import NCLS
from superintervals import IntervalMap

from penstock.lab.filters.stabbing_index import StabbingIndex
from penstock.lab.filters.workload import DOMAIN, FilterSizes, Ranges, events, ranges
from penstock.lab.report import (
    Findings,
    Size,
    Table,
    at_least,
    at_most,
    chart,
    curves_of,
    sized,
)
from penstock.lab.timing import alternate, say
from penstock.vocabulary.batches import Ints

MATCHES_PER_EVENT = 10.0
WIDE = 100
SCALE_BATCH = 10_000
LIBRARIES_MIN: dict[Size, float] = {"small": 6, "full": 8}
DUCKDB_MIN = sized(5, 10, 12)
BUCKETS_MIN = sized(1.5, 2, 2)
MANY_MAX = sized(4, 2.5, 2)
WIDE_MAX = sized(6, 4, 1.2)
"""Bounds by size. What wide ranges add is a difference of times: of few events, mostly chance."""
BUCKETS_PER_RANGE = (0.5, 1.0, 2.0, 4.0)
"""Bucket widths tried for DuckDB's expert form, in mean range widths; the best one counts."""

Pairs = Callable[[], int]


def index_of(given: Ranges) -> StabbingIndex:
    """Build our side."""
    return StabbingIndex(given.low, given.high, np.arange(len(given), dtype=np.int64))


def _count(index: StabbingIndex, keys: Ints, threads: int) -> int:
    return len(index.pairs(keys, threads)[0])


def peer_ncls(given: Ranges, keys: Ints) -> Pairs:
    """Nested containment lists, their C loop over all events."""
    lists = NCLS(given.low, given.high + 1, np.arange(len(given), dtype=np.int64))
    numbers = np.arange(len(keys), dtype=np.int64)
    return lambda: len(lists.all_overlaps_both(keys, keys + 1, numbers)[0])


def peer_superintervals(given: Ranges, keys: Ints) -> Pairs:
    """Superset intervals, their batch search."""
    found: Any = IntervalMap.from_arrays(given.low.astype(np.int32), given.high.astype(np.int32))
    found.build()
    points = keys.astype(np.int32)

    def run() -> int:
        result: Any = found.search_idxs_batch(points, points)
        return sum(len(part) for part in result) if isinstance(result, list) else len(result[0])

    return run


class DuckPeer:
    """DuckDB on a table of ranges: the inequality join, and the expert's bucketed hash join."""

    def __init__(self, given: Ranges, threads: int) -> None:
        self._db = duckdb.connect(":memory:", config={"threads": threads})
        table = given.table()
        self._db.register("given", table)
        self._db.execute("CREATE TABLE r AS SELECT id AS query, low, high FROM given")
        self._width = max(int((given.high - given.low).mean()), 1)

    def load(self, keys: Ints) -> None:
        """Put the events into a table of DuckDB's own."""
        numbers = np.arange(len(keys), dtype=np.int32)
        self._db.register("events", pa.table({"x": keys, "event": numbers}))
        self._db.execute("CREATE OR REPLACE TABLE e AS SELECT * FROM events")

    def inequality(self) -> int:
        """Join as anybody would write it."""
        return self._pairs("SELECT event, query FROM e JOIN r ON x BETWEEN low AND high")

    def explode(self, share: float) -> str:
        """Prepare the expert's table: each range once per bucket that it touches."""
        name, width = f"b{int(share * 10)}", max(int(self._width * share), 1)
        self._db.execute(
            f"CREATE OR REPLACE TABLE {name} AS SELECT "
            f"unnest(range(low // {width}, high // {width} + 1)) AS bucket, low, high, query FROM r"
        )
        return f"{name} ON bucket = x // {width}"

    def bucketed(self, table: str) -> int:
        """Join on the bucket, then filter."""
        return self._pairs(f"SELECT event, query FROM e JOIN {table} WHERE x BETWEEN low AND high")

    def _pairs(self, sql: str) -> int:
        return int(self._db.sql(sql).to_arrow_table().num_rows)

    def close(self) -> None:
        """Give the memory back."""
        self._db.close()


def one_thread(sizes: FilterSizes, size: Size) -> Findings:
    """Compare with the interval libraries and DuckDB's inequality join, one thread each."""
    given, keys = ranges(sizes.queries, MATCHES_PER_EVENT), events(sizes.events)
    say(f"kernel: {len(given):,} ranges, {len(keys):,} events, one thread")
    index = index_of(given)
    duck = DuckPeer(given, threads=1)
    duck.load(keys)
    sides: dict[str, Pairs] = {
        "penstock": partial(_count, index, keys, 1),
        "ncls": peer_ncls(given, keys),
        "superintervals": peer_superintervals(given, keys),
        "duckdb inequality join": duck.inequality,
    }
    counts = {name: side() for name, side in sides.items()}
    best = alternate(sides, sizes.rounds)
    duck.close()
    rows = [
        (name, len(keys) / seconds, counts[name], seconds / best["penstock"])
        for name, seconds in best.items()
    ]
    yield Table("kernel, one thread", ("side", "events_per_s", "pairs", "time_over_penstock"), rows)
    differing = max(counts.values()) - min(counts.values())
    yield at_most("pairs that a peer counts differently", differing, 0)
    faster = min(best["ncls"], best["superintervals"])
    if size != "tiny":  # a thousand events are over before a call is
        name = "kernel over the faster of ncls and superintervals"
        yield at_least(name, faster / best["penstock"], LIBRARIES_MIN[size], timed=True)
    peer = best["duckdb inequality join"] / best["penstock"]
    yield at_least("kernel over DuckDB's inequality join", peer, DUCKDB_MIN[size], timed=True)


def two_threads(sizes: FilterSizes, size: Size) -> Findings:
    """Compare with DuckDB's expert form, two threads each, at growing batches."""
    given = ranges(sizes.queries, MATCHES_PER_EVENT)
    index = index_of(given)
    duck = DuckPeer(given, threads=2)
    tables = {share: duck.explode(share) for share in BUCKETS_PER_RANGE}
    rows = []
    for batch in sizes.batches:
        say(f"kernel: batches of {batch:,} events beside DuckDB's buckets, two threads")
        keys = events(batch, seed=batch)
        duck.load(keys)
        sides: dict[str, Pairs] = {"penstock": partial(_count, index, keys, 2)}
        for share, table in tables.items():
            sides[f"duckdb {share:g}"] = partial(duck.bucketed, table)
        assert len({side() for side in sides.values()}) == 1
        best = alternate(sides, sizes.rounds)
        peer = min(seconds for name, seconds in best.items() if name != "penstock")
        rows.append((batch, batch / best["penstock"], batch / peer, peer / best["penstock"]))
        name = f"kernel over DuckDB's buckets at batches of {batch}"
        yield at_least(name, peer / best["penstock"], BUCKETS_MIN[size], timed=True)
    duck.close()
    columns = ("batch", "penstock_events_per_s", "duckdb_events_per_s", "ratio")
    title = "kernel, two threads, beside DuckDB's buckets"
    yield Table(title, columns, rows)


def _in_batches(first: StabbingIndex, keys: Ints, then: StabbingIndex | None = None) -> None:
    """Match micro-batches: at 2 * 10^7 pairs at once, one would measure the page faults."""
    for start in range(0, len(keys), SCALE_BATCH):
        first.pairs(keys[start : start + SCALE_BATCH])
        if then is not None:
            then.pairs(keys[start : start + SCALE_BATCH])


def scale(sizes: FilterSizes, size: Size) -> Findings:
    """Cost per event at few and many queries; and with ranges that cover everything."""
    say(f"scale: {sizes.queries_few:,} against {sizes.queries:,} queries; {WIDE} wide ranges")
    keys = events(sizes.events)
    few, many = (index_of(ranges(n, MATCHES_PER_EVENT)) for n in (sizes.queries_few, sizes.queries))
    given = ranges(sizes.queries, MATCHES_PER_EVENT)
    wide = Ranges(
        np.concatenate([given.low, np.zeros(WIDE, np.int64)]),
        np.concatenate([given.high, np.full(WIDE, DOMAIN, np.int64)]),
    )
    both = index_of(wide)
    # What reporting the wide ones costs: an index that holds only them, probed batch by batch in
    # turn with the other, since the pairs written drive the other's entries out of the cache.
    alone = index_of(Ranges(wide.low[-WIDE:], wide.high[-WIDE:]))
    best = alternate(
        {
            "few": lambda: few.pairs(keys),
            "many": lambda: many.pairs(keys),
            "few, in small batches": lambda: _in_batches(few, keys),
            "many, in small batches": lambda: _in_batches(many, keys),
            "many and wide, in small batches": lambda: _in_batches(both, keys),
            "many, then wide alone, in small batches": lambda: _in_batches(many, keys, alone),
        },
        2 * sizes.rounds,
    )
    rows = [(name, 1e9 * seconds / len(keys)) for name, seconds in best.items()]
    yield Table("cost per event", ("queries", "ns_per_event"), rows)
    plain = best["many, in small batches"]
    reporting = best["many, then wide alone, in small batches"] - plain
    burdened = (best["many and wide, in small batches"] - reporting) / plain
    yield at_most(
        "cost per event, many over few queries",
        best["many"] / best["few"],
        MANY_MAX[size],
        timed=True,
    )
    yield at_most(
        "cost per event with 100 wide ranges, beyond reporting them",
        burdened,
        WIDE_MAX[size],
        timed=True,
    )


def curve(sizes: FilterSizes) -> Findings:
    """Throughput against the number of queries, for all contenders."""
    keys = events(min(sizes.events, 50_000))
    rows: list[tuple[str, int, float]] = []
    for count in sizes.curve:
        say(f"curve: {count:,} queries")
        given = ranges(count, MATCHES_PER_EVENT)
        index, duck = index_of(given), DuckPeer(given, threads=1)
        duck.load(keys)
        table = duck.explode(1.0)
        sides: dict[str, Pairs] = {
            "penstock": partial(_count, index, keys, 1),
            "ncls": peer_ncls(given, keys),
            "superintervals": peer_superintervals(given, keys),
            "duckdb inequality join": duck.inequality,
            "duckdb buckets": partial(duck.bucketed, table),
        }
        best = alternate(sides, 2)
        duck.close()
        rows += [(name, count, len(keys) / seconds) for name, seconds in best.items()]
    columns = ("side", "queries", "events_per_s")
    yield Table("throughput against queries, one thread", columns, rows)
    title = "Matching events with standing ranges, one thread"
    yield chart(title, "standing queries", "events per second", curves_of(rows), log="xy")
