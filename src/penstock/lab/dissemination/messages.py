"""Messages of a server of range minima: about two per update, however many subscriptions.

S-CN tells rectangles of subscriptions and holds none; S-UN tells every affected subscription for
itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from penstock.lab.dissemination.exactness import wrong_instances
from penstock.lab.dissemination.workload import (
    DOMAIN,
    UNIT,
    UpdateTrace,
    chunks,
    drawn_ranges,
    uniform_trace,
)
from penstock.lab.draws import generator
from penstock.lab.report import (
    Cell,
    Check,
    Findings,
    Size,
    Table,
    at_least,
    at_most,
    near,
    sized,
)
from penstock.lab.timing import say
from penstock.operators.shared.subscription_points import (
    SubscriptionPoints,
    rectangles,
)
from penstock.vocabulary.batches import Ints

PUBLISHED_BY_TUPLES = {20_000: 726, 40_000: 671, 60_000: 678, 80_000: 655, 100_000: 654}
PUBLISHED_BY_RANGES = {200_000: 303, 400_000: 616, 600_000: 909, 800_000: 1218, 1_000_000: 1441}
EVENTS = sized(4_000, 40_000, 200_000)
TUPLES = sized((1_000, 2_000), (20_000, 100_000), tuple(PUBLISHED_BY_TUPLES))
RANGES = sized((2_000, 4_000), (200_000, 1_000_000), tuple(PUBLISHED_BY_RANGES))
FEW_TUPLES = sized(1_000, 10_000, 10_000)
MANY_RANGES = sized(4_000, 500_000, 500_000)
INSTANCES = sized(300, 10_000, 100_000)
SLACK = 0.15
CHUNK = 2_000


@dataclass(frozen=True, slots=True)
class MessageCounts:
    """What a server tells of a trace."""

    semantic: int
    unicast: tuple[int, ...]
    """By the number of subscriptions."""
    hulls: Ints
    """Messages of every update."""


def told(trace: UpdateTrace, indexes: list[SubscriptionPoints]) -> MessageCounts:
    """Run a trace; count rectangles, and the subscriptions in them."""
    messages = trace.extremes().process(trace.updates())
    hulls = np.bincount(messages.ordinals, minlength=len(trace.who))
    counts = [0] * len(indexes)
    for part in chunks(messages, CHUNK):
        for k, points in enumerate(indexes):
            counts[k] += len(points.find(rectangles(part))[1])
    return MessageCounts(len(messages.values), tuple(counts), hulls)


def run(size: Size) -> Findings:
    """Count messages by tuples and by subscriptions; hold all of them to brute force."""
    events = EVENTS[size]
    ranges = drawn_ranges(generator(51), max(*RANGES[size], MANY_RANGES[size]))
    yield {"events": events}
    yield from _by_tuples(size, ranges.points(MANY_RANGES[size]))
    yield from _by_ranges(size, [ranges.points(count) for count in RANGES[size]])
    yield from _hull_law(size)
    for label, batches in (("updates", False), ("batches", True)):
        say(f"range-min-messages: {INSTANCES[size]:,} drawn {label}")
        wrong = wrong_instances(generator(58, batches), INSTANCES[size], batches=batches)
        yield at_most(f"Drawn {label} that tell anybody not once, or not the truth", wrong, 0)


def _by_tuples(size: Size, points: SubscriptionPoints) -> Findings:
    events, rows = EVENTS[size], list[dict[str, Cell]]()
    per_event, ratios = [], []
    for tuples in TUPLES[size]:
        say(f"range-min-messages: {tuples:,} tuples")
        found = told(uniform_trace(generator(52, tuples), tuples, events), [points])
        semantic, unicast = found.semantic / events, found.unicast[0] / events
        per_event.append(unicast)
        ratios.append(found.unicast[0] / found.semantic)
        published = PUBLISHED_BY_TUPLES.get(tuples)
        rows.append(
            {
                "tuples": tuples, "S-CN": semantic, "S-UN": unicast, "published S-UN": published,
                "S-UN over S-CN": ratios[-1],
            }
        )  # fmt: skip
        yield _two(f"S-CN messages per update, {tuples:,} tuples", semantic, size)
        if published:
            share = unicast / published
            yield near(f"S-UN over published, {tuples:,} tuples", share, 1, SLACK)
    table = Table.of(f"Messages per update, {len(points):,} subscriptions (Table 5.2)", rows)
    yield table
    yield table.chart("Messages per update", "messages", "S-CN", "S-UN", log="y")
    if size == "full":
        yield at_least("S-UN over S-CN, least", min(ratios), 250)
        yield at_most("S-UN: 20,000 over 100,000 tuples", per_event[0] / per_event[-1], 1.25)
        rising = max(b / a for a, b in pairwise(per_event))
        yield at_most("S-UN: most that more tuples add", rising, 1.1)


def _two(name: str, value: float, size: Size) -> Check:
    """Claim that a number is between 2.0 and 2.3, or, of few events, near it."""
    return near(name, value, 2.15, sized(0.3, 0.15, 0.15)[size])


def _by_ranges(size: Size, indexes: list[SubscriptionPoints]) -> Findings:
    events, tuples, rows = EVENTS[size], FEW_TUPLES[size], list[dict[str, Cell]]()
    found = told(uniform_trace(generator(53), tuples, events), indexes)
    counts = np.array([len(points) for points in indexes], np.float64)
    unicast = np.array(found.unicast) / events
    semantic = found.semantic / events
    title = f"S-CN messages per update, {tuples:,} tuples, whatever the subscriptions"
    yield _two(title, semantic, size)
    for count, each in zip(counts.astype(int).tolist(), unicast.tolist(), strict=True):
        published = PUBLISHED_BY_RANGES.get(count)
        rows.append({"subscriptions": count, "S-CN": semantic, "S-UN": each,
                     "published S-UN": published})  # fmt: skip
        if published:
            yield near(f"S-UN over published, {count:,} subscriptions", each / published, 1, SLACK)
    yield Table.of(f"Messages per update, {tuples:,} tuples (Table 5.3)", rows)
    slope = float(counts @ unicast / (counts @ counts))
    rest = unicast - slope * counts
    spread = unicast - unicast.mean()
    fit = 1 - float(rest @ rest) / float(spread @ spread)
    yield at_least("S-UN is linear in subscriptions: R²", fit, 0.99)
    if size == "full":
        yield near("S-UN: share of subscriptions per update, %", 100 * slope, 0.15, 0.03)


def _hull_law(size: Size) -> Findings:
    """Messages of rises against 1 + 2 ln(new / old), which uniform values obey."""
    tuples, events = sized(2_000, 50_000, 50_000)[size], 4 * EVENTS[size]
    trace = uniform_trace(generator(54), tuples, events, spikes=0.0)
    hulls = told(trace, []).hulls
    low = 20 / tuples * DOMAIN * UNIT
    fits = trace.rises & (trace.old > low)
    logs = np.log(trace.new[fits] / trace.old[fits])
    bins = np.floor(2 * logs).astype(np.int64)
    rows, worst = list[dict[str, Cell]](), 0.0
    for k in range(int(bins.max()) + 1):
        inside = bins == k
        count = int(inside.sum())
        if count < 500:
            continue
        mean, law = float(hulls[fits][inside].mean()), float(1 + 2 * logs[inside].mean())
        worst = max(worst, abs(mean / law - 1))
        rows.append({"ln(new/old)": float(logs[inside].mean()), "messages": mean, "law": law,
                     "updates": count})  # fmt: skip
    yield Table.of(f"Messages of a rise, {tuples:,} tuples", rows)
    yield at_most("Messages of a rise: furthest from 1 + 2 ln(new/old)", worst, 0.1)
