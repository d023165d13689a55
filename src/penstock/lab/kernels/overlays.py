"""Overlays: shortest ways through a graph, a tree of brokers, and what a message takes in it."""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Floats, Ints, Rows
from penstock.kernels.compilation import tight

NONE = -1


@tight
def graph_attach(targets: Ints, ends: Ints, each: int) -> None:
    """Grow a graph by preference: node v >= each gets edges to `each` ends drawn from all before.

    `targets` has the draws, numbers that are taken modulo the ends there are; `ends` has room for
    both ends of every edge, and holds them by edge.
    """
    written = 0
    for node in range(each, each + len(targets) // each):
        known = max(written, 1)
        for k in range(each):
            draw = (node - each) * each + k
            other = ends[targets[draw] % known] if written > 0 else k
            ends[2 * draw], ends[2 * draw + 1] = node, other
        written = 2 * (node - each + 1) * each


@tight
def ways_shortest(
    starts: Ints, others: Ints, lengths: Floats, source: int, ways: Floats, heap: Ints,
    places: Ints,
) -> None:  # fmt: skip
    """Write how far all nodes are from one, by Dijkstra; node v has others[starts[v]:starts[v+1]].

    `heap` holds nodes by their ways, `places` says where.
    """
    for node in range(len(ways)):
        ways[node], places[node] = np.inf, NONE
    ways[source], heap[0], places[source] = 0.0, source, 0
    size = 1
    while size > 0:
        node = heap[0]
        size -= 1
        moved = heap[size]
        at = 0
        while 2 * at + 1 < size:
            child = 2 * at + 1
            if child + 1 < size and ways[heap[child + 1]] < ways[heap[child]]:
                child += 1
            if ways[heap[child]] >= ways[moved]:
                break
            heap[at] = heap[child]
            places[heap[at]] = at
            at = child
        heap[at], places[moved] = moved, at
        for edge in range(starts[node], starts[node + 1]):
            other, way = others[edge], ways[node] + lengths[edge]
            if way >= ways[other]:
                continue
            ways[other] = way
            at = places[other]
            if at == NONE:
                at, size = size, size + 1
            while at > 0 and ways[heap[(at - 1) // 2]] > way:
                heap[at] = heap[(at - 1) // 2]
                places[heap[at]] = at
                at = (at - 1) // 2
            heap[at], places[other] = other, at


@tight
def tree_grow(ways: Floats, cap: int, parents: Ints, order: Ints, far: Floats, free: Ints) -> None:
    """Join brokers one by one, the nearest first, to whom they are reached through soonest.

    `ways` are those between brokers; broker 0 is the root; nobody has more than `cap` children.
    `order` gets the brokers as they join, `far` their ways from the root through the tree.
    """
    count = len(parents)
    best, over = np.inf, 0
    for broker in range(count):
        parents[broker], far[broker], free[broker] = NONE, np.inf, cap
    far[0], order[0] = 0.0, 0
    for joined in range(1, count):
        best, over, new = np.inf, 0, 0
        for broker in range(1, count):
            if far[broker] == np.inf and ways[0, broker] < best:
                best, new = ways[0, broker], broker
        best = np.inf
        for k in range(joined):
            host = order[k]
            if free[host] > 0 and far[host] + ways[host, new] < best:
                best, over = far[host] + ways[host, new], host
        parents[new], far[new], order[joined] = over, best, new
        free[over] -= 1


@tight
def messages_spread(
    parents: Ints, order: Ints, where: Ints, brokers: Rows, events: Ints, origins: Ints,
    counts: Ints, sent: Ints, links: Ints, stress: Ints,
) -> None:  # fmt: skip
    """Write over how many links of the tree each message goes, from its origin to all it concerns.

    Row k of `where` and `brokers`, sorted by message, says that a message concerns a broker. At the
    last message of an event, `stress` gets what the busiest broker sent on during it. `counts` and
    `sent` are zero, for every broker.
    """
    row = 0
    for m in range(len(events)):
        total = 0
        while row < len(where) and where[row] == m:
            counts[brokers[row]] += 1
            total += 1
            row += 1
        links[m] = stress[m] = 0
        if total > 0:
            links[m] = message_spread(parents, order, origins[m], total, counts, sent)
        if m + 1 == len(events) or events[m + 1] != events[m]:
            for broker in range(len(order)):
                stress[m] = max(stress[m], sent[broker])
                sent[broker] = 0


@tight
def message_spread(
    parents: Ints, order: Ints, origin: int, total: int, counts: Ints, sent: Ints
) -> int:
    """Give the links that a message takes, which concerns so many at every broker; clear those."""
    links = 0
    # Below every broker: how many it concerns.
    for k in range(len(order) - 1, 0, -1):
        counts[parents[order[k]]] += counts[order[k]]
    # Up from the origin as long as any is elsewhere, and down to where any is.
    at = origin
    while parents[at] != NONE:
        if counts[at] < total:
            links += 1
            sent[at] += 1
        counts[at] = 0
        at = parents[at]
    for k in range(1, len(order)):
        broker = order[k]
        if counts[broker] > 0:
            links += 1
            sent[parents[broker]] += 1
        counts[broker] = 0
    counts[order[0]] = 0
    return links
