"""Time of a server of range minima: by tuples, by subscriptions, beside scans and recomputation.

S-CN makes an update and writes its rectangles. S-UN goes on to find the subscriptions in them and
to write a message for each. The plain B-tree is the same tree, but that nodes know nothing of the
values below them: leaves, which are linked, are scanned from the tuple to both sides, and no
message is written. Times are the processor's, of one thread; those of DuckDB and Spark are the
lesser of the processors' and of what went by.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import thread_time

import numpy as np

from penstock.kernels.range_messages import RangeMessages
from penstock.lab.dissemination.peer import beside_peers
from penstock.lab.dissemination.workload import (
    DOMAIN,
    UpdateTrace,
    chunks,
    codes,
    drawn_ranges,
    uniform_trace,
)
from penstock.lab.draws import generator
from penstock.lab.kernels.range_scans import (
    ENTRIES,
    leaves_link,
    scans_mar,
    updates_scan,
    values_write,
)
from penstock.lab.report import (
    Cell,
    Findings,
    Size,
    Table,
    at_least,
    at_most,
    sized,
    timed,
)
from penstock.lab.timing import say
from penstock.operators.range_aggregate.trees import tree_of
from penstock.operators.shared.subscription_points import (
    SubscriptionPoints,
    rectangles,
)
from penstock.vocabulary.batches import Ints

BATCH = 10_000
BATCHES = sized(1, 6, 12)
TUPLES = sized((1_000, 2_000), (10_000, 50_000, 100_000), (10_000, 20_000, 50_000, 100_000))
RANGES = sized((1_000, 2_000), (100_000, 500_000, 1_000_000),
               (100_000, 250_000, 500_000, 750_000, 1_000_000))  # fmt: skip
MANY_RANGES = sized(2_000, 500_000, 500_000)
MOST_TUPLES = sized(2_000, 100_000, 100_000)
ROUNDS = 3
"""Traces are run so often in turn, where their times are compared."""
CHUNK, SCAN_RATIO = 500, 20
ASKED = sized(2_000, 20_000, 100_000)
"""Subscriptions that are recomputed one by one."""
PEER = sized((500, 500, 100, 1), (20_000, 10_000, 2_000, 3), (20_000, 100_000, 10_000, 3))
"""Tuples, subscriptions, updates of a batch, and how many of those databases make too."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Microseconds per update, the median of batches."""

    semantic: float
    unicast: float


def run(size: Size) -> Findings:
    """Time servers by tuples and subscriptions, then against scans and recomputation."""
    ranges = drawn_ranges(generator(61), max(*RANGES[size], MANY_RANGES[size]))
    # The first call compiles.
    _spent(uniform_trace(generator(62), 100, BATCH), [ranges.points(100)])
    yield from _by_tuples(size, ranges.points(MANY_RANGES[size]))
    yield from _by_ranges(size, [ranges.points(count) for count in RANGES[size]])
    yield from _rates(size)
    yield from _scans(size)
    points = ranges.points(ASKED[size])
    yield from _recomputed(size, points, ranges.x1s[: ASKED[size]], ranges.x2s[: ASKED[size]])
    yield from _peer(size)


def _unicast(messages: RangeMessages, points: SubscriptionPoints) -> int:
    """Write a message for every subscription that is affected; say how many bytes."""
    written = 0
    for part in chunks(messages, CHUNK):
        where, slots = points.find(rectangles(part))
        written += slots.nbytes + part.values[where].nbytes
    return written


def _semantic_us(trace: UpdateTrace) -> float:
    """Run a trace in batches, by S-CN alone: what S-UN reads is not in the caches that it needs."""
    extremes, spent = trace.extremes(), list[float]()
    for start in range(0, len(trace.who), BATCH):
        updates = trace.updates(start, start + BATCH)
        begun = thread_time()
        extremes.process(updates)
        spent.append(thread_time() - begun)
    return float(np.median(spent)) * 1e6 / BATCH


def _spent(
    trace: UpdateTrace, indexes: list[SubscriptionPoints], semantic: float | None = None
) -> list[Spent]:
    """Run a trace in batches; give the times with every index, S-UN's being more than S-CN's."""
    semantic = _semantic_us(trace) if semantic is None else semantic
    extremes, unicast = trace.extremes(), [list[float]() for _ in indexes]
    for start in range(0, len(trace.who), BATCH):
        messages = extremes.process(trace.updates(start, start + BATCH))
        for more, points in zip(unicast, indexes, strict=True):
            begun = thread_time()
            _unicast(messages, points)
            more.append(thread_time() - begun)
    micro = 1e6 / BATCH
    return [Spent(semantic, semantic + float(np.median(more)) * micro) for more in unicast]


def _by_tuples(size: Size, points: SubscriptionPoints) -> Findings:
    rows, spent = list[dict[str, Cell]](), list[Spent]()
    traces = {
        tuples: uniform_trace(generator(63, tuples), tuples, BATCH * BATCHES[size])
        for tuples in TUPLES[size]
    }
    say("range-min-server-time: S-CN by tuples")
    rounds = [{n: _semantic_us(trace) for n, trace in traces.items()} for _ in range(ROUNDS)]
    for tuples, trace in traces.items():
        say(f"range-min-server-time: {tuples:,} tuples")
        spent += _spent(trace, [points], min(each[tuples] for each in rounds))
        rows.append(_row("tuples", tuples, spent[-1]))
    table = Table.of(f"Microseconds per update, {len(points):,} subscriptions (Fig. 5.6)", rows)
    yield table
    yield table.chart("Server time per update", "µs", "S-CN", "S-UN")
    if size != "tiny":
        grown = spent[-1].semantic / spent[0].semantic
        least = min(each.unicast / each.semantic for each in spent)
        yield from timed(
            at_most("S-CN: time with ten times the tuples", grown, 1.2),
            at_least("S-UN over S-CN, least by tuples", least, 2.5),
        )


def _by_ranges(size: Size, indexes: list[SubscriptionPoints]) -> Findings:
    tuples = TUPLES[size][0]
    say(f"range-min-server-time: {len(indexes)} numbers of subscriptions")
    trace = uniform_trace(generator(64), tuples, BATCH * BATCHES[size])
    spent = _spent(trace, indexes)
    counts = np.array([len(points) for points in indexes], np.float64)
    unicast = np.array([each.unicast for each in spent])
    rows = [
        _row("subscriptions", len(points), each)
        for points, each in zip(indexes, spent, strict=True)
    ]
    table = Table.of(f"Microseconds per update, {tuples:,} tuples (Fig. 5.7)", rows)
    yield table
    yield table.chart("Server time per update", "µs", "S-CN", "S-UN")
    yield "S-CN holds no subscription: one run of it serves every number of them."
    if size != "tiny":
        fit = np.corrcoef(counts, unicast)[0, 1] ** 2
        yield from timed(at_least("S-UN is linear in subscriptions: R²", float(fit), 0.95))


def _row(name: str, count: int, spent: Spent) -> dict[str, Cell]:
    ratio = spent.unicast / spent.semantic
    return {name: count, "S-CN": spent.semantic, "S-UN": spent.unicast, "ratio": ratio}


def _rates(size: Size) -> Findings:
    """Updates per second, one after the other, and net: no tuple is there twice in a batch."""
    tuples, random = MOST_TUPLES[size], generator(65)
    trace = uniform_trace(generator(66), tuples, BATCH, spikes=0.0)
    extremes, ys = trace.extremes(), trace.ys.copy()
    batch, best = min(BATCH, tuples), [float("inf")] * 2
    for _ in range(4 * BATCHES[size]):
        for net in (False, True):
            who = random.permutation(tuples)[:batch]
            new = ys[random.permutation(tuples)[:batch]] + random.integers(1, 1000, batch)
            updates = UpdateTrace(trace.xs, ys, who, ys[who], new).updates()
            begun = thread_time()
            _ = extremes.net_updates(updates) if net else extremes.process(updates)
            best[net] = min(best[net], thread_time() - begun)
            ys[who] = new
    rates = [batch / each for each in best]
    names = ("one after the other", "net")
    rows = list(zip(names, rates, strict=True))
    yield Table(
        f"Updates per second, {tuples:,} tuples, {batch:,} a batch", ("batch", "rate"), rows
    )
    if size != "tiny":
        yield from timed(at_least("Updates per second", min(rates), 500_000))


def _scans(size: Size) -> Findings:
    """Affected ranges by scans and by searches: the same, of ordinary updates and of spikes."""
    tuples = MOST_TUPLES[size]
    trace = uniform_trace(generator(67), tuples, BATCH)
    order = np.argsort(trace.xs)
    places = np.empty_like(order)
    places[order] = np.arange(tuples)
    rows, entries = list[dict[str, Cell]](), list[float]()
    _scanned(UpdateTrace(trace.xs, trace.ys, trace.who[:0], trace.old[:0], trace.new[:0]))
    for name, lows in (("all", trace.new), ("spikes", -1 - np.arange(200))):
        found = trace
        if name == "spikes":
            # Each falls below all, and rises again before the next one falls.
            who = trace.who[: len(lows)]
            found = _bounced(UpdateTrace(trace.xs, trace.ys, who, trace.ys[who], lows))
        scan, read, write = _scanned(found)
        extremes, updates = found.extremes(), found.updates()
        begun = thread_time()
        extremes.process(updates)
        search = thread_time() - begun
        entries.append(read / len(found.who))
        rows.append(
            {
                "updates": name, "scan_us": 1e6 * scan / len(found.who),
                "search_us": 1e6 * search / len(found.who), "ratio": scan / search,
                "entries_scanned": entries[-1], "scan_ns_per_entry": 1e9 * scan / read,
                "write_us": 1e6 * write / len(found.who),
            }
        )  # fmt: skip
    yield Table.of(f"A scan to both sides beside searches, {tuples:,} tuples", rows)
    yield at_most("Affected ranges in which scans and searches differ", _differ(trace, places), 0)
    yield at_least("Entries that a scan reads for a spike", entries[1], tuples / 2)
    if size != "tiny":
        plain, ratio = (float(str(row["ratio"])) for row in rows)
        if plain < SCAN_RATIO:
            scan_us, write_us = (float(str(rows[0][name])) for name in ("scan_us", "write_us"))
            yield (
                f"Over all updates a scan takes {plain:.2f} times as long as searches, not "
                f"{SCAN_RATIO}: it reads {entries[0]:,.0f} entries for an update, nearly "
                "all for the spikes; most updates read half a dozen. The least that anybody does "
                "who finds tuples in a tree, to find one and write its value, with nothing "
                f"searched and nobody told, takes {1e3 * write_us:,.0f} ns: "
                f"{write_us / scan_us:.2f} of the scan."
            )
        yield from timed(
            at_least("Spikes: time of a scan over that of searches", ratio, SCAN_RATIO)
        )


def _scanned(trace: UpdateTrace) -> tuple[float, int, float]:
    """Make updates in a plain B-tree; give the seconds, how many entries were read, and seconds.

    The last are those of finding tuples and writing their values, and nothing else.
    """
    order = np.argsort(trace.xs)
    zeros, ones = np.zeros_like(order), np.ones_like(order)
    tree = tree_of(zeros, trace.xs[order], zeros, trace.ys[order], ones)
    before, after = np.empty_like(tree.sizes), np.empty_like(tree.sizes)
    leaves_link(tree, trace.xs[order], before, after)
    xs, counts = trace.xs[trace.who], np.zeros(2, np.int64)
    begun = thread_time()
    updates_scan(tree, before, after, xs, trace.old, trace.new, counts)
    scanned, begun = thread_time() - begun, thread_time()
    values_write(tree, xs, trace.new)
    return scanned, int(counts[ENTRIES]), thread_time() - begun


def _bounced(trace: UpdateTrace) -> UpdateTrace:
    """Let every update be followed by its reverse."""
    who = np.repeat(trace.who, 2)
    old, new = (np.column_stack(pair).ravel() for pair in (
        (trace.ys[trace.who], trace.new), (trace.new, trace.ys[trace.who])))  # fmt: skip
    return UpdateTrace(trace.xs, trace.ys, who, old, new)


def _differ(trace: UpdateTrace, places: Ints) -> int:
    """Count insertions beside tuples of which a scan finds another affected range."""
    order = np.argsort(trace.xs)
    xs, ys = trace.xs[order], trace.ys[order]
    who = trace.who[:200]
    lows = np.minimum(trace.ys[who] - 1, trace.new[:200])
    lefts, rights = np.empty(len(who), np.int64), np.empty(len(who), np.int64)
    scans_mar(xs, ys, places[who], lows, lefts, rights)
    extremes, differ = trace.extremes(), 0
    for k, each in enumerate(who.tolist()):
        one = UpdateTrace(
            trace.xs, trace.ys, who[k : k + 1], trace.ys[each : each + 1], lows[k : k + 1]
        )
        told = extremes.process(one.updates())
        found = (int(told.outer_l[0]), int(told.outer_r[0]))
        differ += found != (int(lefts[k]), int(rights[k]))
        extremes.process(UpdateTrace(trace.xs, trace.ys, one.who, one.new, one.old).updates())
    return differ


def _recomputed(size: Size, points: SubscriptionPoints, x1s: Ints, x2s: Ints) -> Findings:
    """All subscriptions anew after every update, by searches: what none may wait for."""
    trace = uniform_trace(generator(68), MOST_TUPLES[size], BATCH)
    extremes = trace.extremes()
    zeros = np.zeros_like(x1s)
    extremes.answers(zeros, x1s, x2s)
    begun = thread_time()
    extremes.answers(zeros, x1s, x2s)
    naive = 1e6 * (thread_time() - begun)
    told = _spent(trace, [points])[0]
    yield {"recomputation_us_per_update": naive, "subscriptions_recomputed": len(x1s)}
    if size != "tiny":
        ratio = naive / told.unicast
        yield from timed(at_least("Recomputing all over telling the affected", ratio, 100))


def _peer(size: Size) -> Findings:
    """Batches beside databases that join them to the subscriptions and recompute those."""
    tuples, asked, batch, batches = PEER[size]
    say(f"range-min-server-time: DuckDB and Spark, {asked:,} subscriptions")
    random = generator(69)
    trace = uniform_trace(random, tuples, 1, spikes=0.0)
    ranges = drawn_ranges(random, asked)
    changes = [
        (random.permutation(tuples)[:batch], codes(random.uniform(0, DOMAIN, batch)))
        for _ in range(batches)
    ]
    found = beside_peers(trace, ranges, changes)
    rows = [("S-UN, net", found.server, found.server, 1.0)]
    rows += [
        (name, spent.wall, spent.processor, spent.least / found.server)
        for name, spent in found.peers.items()
    ]
    yield Table(
        f"Seconds of a batch of {batch:,}, {tuples:,} tuples, {asked:,} subscriptions",
        ("server", "seconds", "processor_seconds", "ratio_of_the_lesser"), rows,
    )  # fmt: skip
    for name, differ in found.differing.items():
        yield at_most(f"Subscriptions for which {name} has another minimum", differ, 0)
    if size != "tiny":
        for name, spent in found.peers.items():
            yield from timed(at_least(f"{name} over S-UN", spent.least / found.server, 100))
