"""Stocks: least price-earnings ratios by what analysts recommend, over sixty days.

The trace of the publication is not to be had. Here are as many stocks, each with a recommendation
of two decimals, earnings and a first price that are log-normal, and a price that moves by some
1.5 % twice a day. Many stocks share a recommendation, so most updates are ignorable.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.lab.dissemination.overlay import drawn_overlay
from penstock.lab.dissemination.traffic import (
    BROKERS,
    NODES,
    STRESS_MAX,
    Network,
    Traffic,
    traffic,
)
from penstock.lab.dissemination.workload import UpdateTrace, chained, codes, drawn_ranges
from penstock.lab.draws import generator
from penstock.lab.report import (
    Cell,
    Findings,
    Size,
    Table,
    at_least,
    at_most,
    near,
    sized,
)
from penstock.lab.timing import say
from penstock.vocabulary.batches import Floats

STOCKS = sized(800, 3_053, 3_053)
EVENTS = sized(4_000, 60_000, 338_415)
RANGES = sized((2_000, 4_000, 8_000), (50_000, 150_000), (100_000, 300_000, 500_000))
MOVE = 0.015
PART = 20_000
"""Events that are run at once: what they stab fits into memory."""


def stock_trace(random: np.random.Generator, stocks: int, events: int) -> UpdateTrace:
    """Draw stocks, and moves of their prices, one after the other, round by round."""
    advice: Floats = np.clip(random.normal(2.5, 0.55, stocks), 1, 5).round(2)
    earnings, price = random.lognormal(0.5, 0.6, stocks), random.lognormal(3.0, 0.7, stocks)
    rounds = -(-events // stocks)
    who = np.concatenate([random.permutation(stocks) for _ in range(rounds)])[:events]
    moves = np.cumsum(random.normal(0, MOVE, (rounds, stocks)), axis=0)
    when = np.repeat(np.arange(rounds), stocks)[:events]
    ratios = price / earnings
    ys, new = codes(ratios), codes(ratios[who] * np.exp(moves[when, who]))
    return UpdateTrace(codes(advice), ys, who, chained(ys, who, new), new)


def run(size: Size) -> Findings:
    """Run the trace with more and more subscriptions."""
    overlay = drawn_overlay(generator(81), NODES[size], BROKERS[size])
    trace = stock_trace(generator(82), STOCKS[size], EVENTS[size])
    ranges = drawn_ranges(generator(83), RANGES[size][-1], midpoint=(3, 0.6), length=(2, 0.5))
    found, rows = list[Traffic](), list[dict[str, Cell]]()
    for count in RANGES[size]:
        say(f"stock-trace: {count:,} subscriptions")
        some = replace(ranges, x1s=ranges.x1s[:count], x2s=ranges.x2s[:count])
        network = Network.of(overlay, some, generator(84))
        found.append(_whole(network, trace))
        each = found[-1]
        rows.append(
            {
                "subscriptions": count, "S-CN": each.semantic, "S-UN direct": each.unicast,
                "S-UN hops": each.unicast_hops, "CN": each.tuples,
                "S-CN stress": each.semantic_stress,
            }
        )  # fmt: skip
    yield {"events": EVENTS[size], "distinct_x": len(np.unique(trace.xs)), "brokers": len(overlay)}
    table = Table.of("Bytes per event (Fig. 5.10)", rows)
    yield table
    yield table.chart("Bytes per event", "bytes", "S-CN", "S-UN direct", "CN", log="y")
    telling = 100 * found[0].telling
    if size == "tiny":
        yield at_most("Updates that are not ignorable, %", telling, 50)
    else:
        yield near("Updates that are not ignorable, %", telling, 11.5, 3.5)
        yield at_most("S-CN bytes per event, most", max(each.semantic for each in found), 200)
        yield at_least("CN over S-CN, least", min(e.tuples / e.semantic for e in found), 100)
        share = max(each.semantic_stressed for each in found)
        yield at_most(f"Share of events in which a broker sent on more than {STRESS_MAX}",
                      share, 0.001)  # fmt: skip
        yield (
            "The publication's busiest broker never sent on more than 10 in an event. Here it does "
            f"in {share * EVENTS[size]:,.0f} of {EVENTS[size]:,} events, in which several messages "
            f"go to everybody, {max(each.semantic_stress for each in found)} at most."
        )
    yield at_most("S-CN over the others, most", max(
        each.semantic / min(each.tuples, each.unicast) for each in found), 1)  # fmt: skip
    per = [each.affected / count for each, count in zip(found, RANGES[size], strict=True)]
    yield near("S-UN is linear in subscriptions: last share over first", per[-1] / per[0], 1, 0.1)


def _whole(network: Network, trace: UpdateTrace) -> Traffic:
    """Run a long trace in parts, each with the tuples as those before it leave them."""
    parts, ys = list[tuple[int, Traffic]](), trace.ys.copy()
    for start in range(0, len(trace.who), PART):
        rows = slice(start, start + PART)
        who, old, new = trace.who[rows], trace.old[rows], trace.new[rows]
        part = UpdateTrace(trace.xs, ys.copy(), who, old, new)
        parts.append((len(who), traffic(network, part, generator(85, start))))
        # Of several updates of one tuple, the last stays.
        ys[who] = new
    counts = np.array([count for count, _ in parts], np.float64)

    def mean(name: str) -> float:
        return float(np.average([getattr(each, name) for _, each in parts], weights=counts))

    return Traffic(
        affected=mean("affected"), semantic=mean("semantic"), unicast=mean("unicast"),
        gathered=mean("gathered"), unicast_hops=mean("unicast_hops"), tuples=mean("tuples"),
        telling=mean("telling"),
        semantic_stress=max(each.semantic_stress for _, each in parts),
        semantic_stressed=mean("semantic_stressed"),
        tuples_stress=max(each.tuples_stress for _, each in parts),
    )  # fmt: skip
