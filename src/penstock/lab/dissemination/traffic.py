"""Traffic of an overlay: bytes per event, and the busiest broker, under three ways to notify.

S-UN sends a message to every subscription that is affected, CN every update to all whose range
holds its x, S-CN the rectangles of a server. A message goes over a link of the tree if it concerns
anybody behind it. What goes between a broker and its clients is counted in none of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.lab.dissemination.agreement import disagreeing_events
from penstock.lab.dissemination.overlay import (
    FIELD,
    HEADER,
    SEMANTIC,
    TUPLE,
    UNICAST,
    Overlay,
    drawn_overlay,
)
from penstock.lab.dissemination.unicasts import unicasts
from penstock.lab.dissemination.workload import (
    AskedRanges,
    UpdateTrace,
    chunks,
    drawn_ranges,
    grid_trace,
    uniform_trace,
)
from penstock.lab.draws import generator
from penstock.lab.report import (
    Cell,
    Findings,
    Size,
    Table,
    at_least,
    at_most,
    sized,
)
from penstock.lab.timing import say
from penstock.operators.shared.subscription_points import (
    SubscriptionPoints,
    rectangles,
)
from penstock.vocabulary.batches import Flags, Ints, Rows

NODES, BROKERS = sized(400, 4_000, 20_000), sized(60, 300, 1_000)
TUPLES, RANGES = sized(2_000, 20_000, 50_000), sized(20_000, 150_000, 500_000)
EVENTS = sized(1_500, 4_000, 12_000)
SPIKES = sized((0.0, 0.01, 0.05), (0.0, 0.001, 0.005, 0.02),
               (0.0, 0.001, 0.0025, 0.005, 0.01, 0.02))  # fmt: skip
GRID, STACKED = sized(100, 1_000, 1_000), sized(200, 2_000, 2_000)
"""Places on a grid, and tuples at them: two at each, as with more of them unicast costs less than a
content-based network even if nothing is ignorable. The publication does not say how many."""
IGNORABLE = (0.0, 0.3, 0.6, 0.9)
AGREE = sized(400, 4_000, 12_000)
CHUNK = 500
STRESS_MAX = 15


@dataclass(frozen=True, slots=True)
class Network:
    """An overlay, and the subscriptions at its brokers."""

    overlay: Overlay
    ranges: AskedRanges
    hosts: Rows
    points: SubscriptionPoints

    @classmethod
    def of(cls, overlay: Overlay, ranges: AskedRanges, random: np.random.Generator) -> Network:
        """Draw the broker of every subscription."""
        hosts = random.integers(0, len(overlay), len(ranges.x1s)).astype(np.int32)
        return cls(overlay, ranges, hosts, ranges.points())

    def stabbed(self, xs: Ints) -> Flags:
        """Say for every broker and x whether a subscription there holds it."""
        found = np.zeros((len(self.overlay), len(xs)), np.bool_)
        by_host = np.lexsort((self.ranges.x1s, self.hosts))
        cuts = np.searchsorted(self.hosts[by_host], np.arange(len(self.overlay) + 1))
        for host in range(len(self.overlay)):
            own = by_host[cuts[host] : cuts[host + 1]]
            if len(own):
                ends = np.maximum.accumulate(self.ranges.x2s[own])
                place = np.searchsorted(self.ranges.x1s[own], xs, side="right") - 1
                found[host] = (place >= 0) & (xs <= ends[place])
        return found


@dataclass(frozen=True, slots=True)
class Traffic:
    """Per event, on average; and the most that a broker sent on during one."""

    affected: float
    semantic: float
    unicast: float
    """Each message sent at once from the server to its broker."""
    gathered: float
    """One message for all of an event at a broker, sent at once."""
    unicast_hops: float
    """Each message over all links between."""
    tuples: float
    semantic_stress: int
    semantic_stressed: float
    """The share of events in which a broker sent on more than STRESS_MAX."""
    tuples_stress: int
    telling: float
    """The share of events that are not ignorable."""


def traffic(network: Network, trace: UpdateTrace, random: np.random.Generator) -> Traffic:
    """Run a trace under all three."""
    events, depths = len(trace.who), network.overlay.depths
    messages = trace.extremes().process(trace.updates())
    affected = links = hops = stress = gathered = stressed = 0
    for part in chunks(messages, CHUNK):
        where, slots = network.points.find(rectangles(part))
        hosts = network.hosts[slots]
        affected += len(slots)
        sent = unicasts(part, where, slots, hosts)
        gathered += HEADER * len(sent.nodes) + FIELD * (len(sent.values) + len(sent.slots))
        hops += int(depths[hosts].sum())
        origins = np.full(len(part.values), network.overlay.order[0])
        taken, busiest = network.overlay.spread(where, hosts, part.ordinals, origins)
        links += int(taken.sum())
        stress = max(stress, int(busiest.max(initial=0)))
        stressed += int((busiest > STRESS_MAX).sum())
    stabs = network.stabbed(trace.xs[trace.who])
    where, brokers = np.nonzero(stabs.T)
    origins = random.integers(0, len(network.overlay), events)
    taken, busiest = network.overlay.spread(where, brokers, np.arange(events), origins)
    return Traffic(
        affected=affected / events,
        semantic=SEMANTIC * links / events,
        unicast=UNICAST * affected / events,
        gathered=gathered / events,
        unicast_hops=UNICAST * hops / events,
        tuples=TUPLE * int(taken.sum()) / events,
        semantic_stress=stress,
        semantic_stressed=stressed / events,
        tuples_stress=int(busiest.max(initial=0)),
        telling=len(np.unique(messages.ordinals)) / events,
    )


def run(size: Size) -> Findings:
    """Draw an overlay; vary spikes, then the share of ignorable updates."""
    say(f"network-traffic: {BROKERS[size]:,} brokers of {NODES[size]:,} nodes")
    overlay = drawn_overlay(generator(71), NODES[size], BROKERS[size])
    yield {
        "brokers": len(overlay), "mean_depth": float(overlay.depths.mean()),
        "subscriptions": RANGES[size], "events": EVENTS[size],
    }  # fmt: skip
    yield from _by_spikes(size, overlay)
    yield from _by_ignorable(size, overlay)
    wrong = disagreeing_events(generator(79), AGREE[size])
    yield at_most("Events after which S-UN, S-CN, CN and recomputation differ", wrong, 0)


def _by_spikes(size: Size, overlay: Overlay) -> Findings:
    network = Network.of(overlay, drawn_ranges(generator(72), RANGES[size]), generator(73))
    found, rows = list[Traffic](), list[dict[str, Cell]]()
    for spikes in SPIKES[size]:
        say(f"network-traffic: {100 * spikes:g} % spikes")
        trace = uniform_trace(
            generator(74, round(1e4 * spikes)), TUPLES[size], EVENTS[size], spikes
        )
        found.append(traffic(network, trace, generator(75)))
        rows.append({"spikes_%": 100 * spikes, **_row(found[-1])})
    table = Table.of(f"Bytes per event, {TUPLES[size]:,} tuples, by spikes (Fig. 5.9)", rows)
    yield table
    yield table.chart("Bytes per event", "bytes", "S-CN", "S-UN direct", "CN", log="y")
    yield from _summaries(network, _spiked(size, SPIKES[size][-1]))
    affected, unicast = np.array([(each.affected, each.unicast_hops) for each in found]).T
    yield at_least("S-UN is linear in the affected: R²",
                   float(np.corrcoef(affected, unicast)[0, 1] ** 2), 0.99)  # fmt: skip
    flat = max(each.tuples for each in found) / min(each.tuples for each in found)
    yield at_most("CN: most over least bytes", flat, sized(1.06, 1.04, 1.02)[size])
    below = max(each.semantic / each.unicast for each in found if each.affected >= 50)
    yield at_most("S-CN over S-UN where 50 and more are affected, most", below, 1)
    if size != "tiny":
        usual = found[SPIKES[size].index(0.005)]
        yield at_most("S-CN over CN at 0.5 % spikes", usual.semantic / usual.tuples, 0.2)


def _spiked(size: Size, spikes: float) -> UpdateTrace:
    random = generator(74, round(1e4 * spikes))
    return uniform_trace(random, TUPLES[size], EVENTS[size], spikes)


def _row(found: Traffic) -> dict[str, Cell]:
    return {
        "affected": found.affected, "S-CN": found.semantic, "S-UN direct": found.unicast,
        "S-UN gathered": found.gathered, "S-UN hops": found.unicast_hops, "CN": found.tuples,
        "S-CN stress": found.semantic_stress, "CN stress": found.tuples_stress,
    }  # fmt: skip


def _summaries(network: Network, trace: UpdateTrace) -> Findings:
    """Boxes around what is behind a link instead of what is there: more bytes, nobody missed."""
    messages = next(chunks(trace.extremes().process(trace.updates()), CHUNK))
    where, slots = network.points.find(rectangles(messages))
    overlay, hosts = network.overlay, network.hosts
    lows = np.full((2, len(overlay)), np.iinfo(np.int64).max)
    highs = np.full((2, len(overlay)), np.iinfo(np.int64).min)
    for k, ends in enumerate((network.ranges.x1s, network.ranges.x2s)):
        np.minimum.at(lows[k], hosts, ends)
        np.maximum.at(highs[k], hosts, ends)
    for broker in overlay.order[:0:-1].tolist():
        above = overlay.parents[broker]
        lows[:, above] = np.minimum(lows[:, above], lows[:, broker])
        highs[:, above] = np.maximum(highs[:, above], highs[:, broker])
    reached = np.ones((len(overlay), len(messages.values)), np.bool_)
    for broker in overlay.order[1:].tolist():
        reached[broker] = (
            reached[overlay.parents[broker]]
            & (messages.outer_l <= highs[0, broker]) & (lows[0, broker] <= messages.inner_l)
            & (messages.inner_r <= highs[1, broker]) & (lows[1, broker] <= messages.outer_r)
        )  # fmt: skip
    missed = int((~reached[hosts[slots], where]).sum())
    origins = np.full(len(messages.values), overlay.order[0])
    exact = overlay.spread(where, hosts[slots], messages.ordinals, origins)[0].sum()
    boxes = int(reached[overlay.order[1:]].sum())
    yield {"links_by_exact_summaries": int(exact), "links_by_boxes": boxes}
    yield at_most("Notifications that boxes instead of exact summaries miss", missed, 0)
    yield at_least("Links by boxes over links by exact summaries", boxes / max(int(exact), 1), 1)


def _by_ignorable(size: Size, overlay: Overlay) -> Findings:
    ranges = drawn_ranges(generator(76), RANGES[size], midpoint=(5000, 10000), length=(50, 10))
    network = Network.of(overlay, ranges, generator(77))
    found, rows = list[Traffic](), list[dict[str, Cell]]()
    for share in IGNORABLE:
        say(f"network-traffic: {100 * share:g} % ignorable")
        random = generator(78, round(100 * share))
        trace = grid_trace(random, GRID[size], STACKED[size], EVENTS[size], share)
        found.append(traffic(network, trace, random))
        rows.append({"ignorable_%": 100 * share, **_row(found[-1])})
    table = Table.of(f"Bytes per event, {GRID[size]:,} places, by ignorable (Fig. 5.8)", rows)
    yield table
    yield table.chart("Bytes per event", "bytes", "S-CN", "S-UN hops", "CN")
    flat = max(each.tuples for each in found) / min(each.tuples for each in found)
    yield at_most("CN by ignorable: most over least", flat, sized(1.25, 1.06, 1.02)[size])
    least = max(each.semantic / min(each.tuples, each.unicast_hops) for each in found)
    first, last = found[0], found[-1]
    if size == "full":
        yield at_most("S-CN over the lesser of the others, most", least, 1)
        yield at_least("S-UN over CN, none ignorable", first.unicast_hops / first.tuples, 1)
    yield at_most("S-UN over CN, 90 % ignorable", last.unicast_hops / last.tuples, 1)
    yield at_most("S-CN over CN, 90 % ignorable", last.semantic / last.tuples, 1)
