"""An overlay: brokers in a grown network, the tree that spreads messages, and what each way costs.

The network grows by preference, each node with two edges, nodes uniform in a square, latencies
their distances. Brokers are drawn from the nodes with the fewest edges. The first holds the server,
and all join a tree, the nearest to it first, each to the broker over which it is reached soonest,
of those with fewer than eight. Subscriptions are at brokers drawn for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.lab.kernels.overlays import (
    graph_attach,
    messages_spread,
    tree_grow,
    ways_shortest,
)
from penstock.vocabulary.batches import Ints, Rows

EDGES = 2
CHILDREN_MAX = 8
HEADER, FIELD = 20, 8
SEMANTIC, TUPLE, UNICAST = HEADER + 5 * FIELD, HEADER + 3 * FIELD, HEADER + 2 * FIELD
"""Bytes of a message: a rectangle with a value; a tuple; a value for a subscription."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """A tree of brokers, the root being where the server is."""

    parents: Ints
    order: Ints
    """The brokers, each behind its parent."""

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def depths(self) -> Ints:
        """How many links every broker is from the root."""
        depths = np.zeros(len(self), np.int64)
        for broker in self.order[1:].tolist():
            depths[broker] = depths[self.parents[broker]] + 1
        return depths

    def spread(
        self, where: Ints, brokers: Ints | Rows, events: Ints, origins: Ints
    ) -> tuple[Ints, Ints]:
        """Give the links that messages take to the brokers they concern, and the busiest's sent.

        The latter is of an event, and stands at its last message.
        """
        links, stress = np.empty(len(events), np.int64), np.empty(len(events), np.int64)
        counts, sent = np.zeros(len(self), np.int64), np.zeros(len(self), np.int64)
        messages_spread(
            self.parents, self.order, where, brokers.astype(np.int32), events, origins, counts,
            sent, links, stress,
        )  # fmt: skip
        return links, stress


def drawn_overlay(random: np.random.Generator, nodes: int, brokers: int) -> Overlay:
    """Draw a network, and brokers in it.

    >>> from penstock.lab.draws import generator
    >>> overlay = drawn_overlay(generator(1), 400, 50)
    >>> len(overlay), int(overlay.depths.max()) < 6, int(np.bincount(overlay.parents[1:]).max())
    (50, True, 8)
    """
    draws = random.integers(0, 2**62, (nodes - EDGES) * EDGES)
    ends = np.zeros(2 * len(draws), np.int64)
    graph_attach(draws, ends, EDGES)
    near, far = np.concatenate([ends[::2], ends[1::2]]), np.concatenate([ends[1::2], ends[::2]])
    by_node = np.argsort(near, kind="stable")
    near, far = near[by_node], far[by_node]
    starts = np.searchsorted(near, np.arange(nodes + 1))
    places = random.random((nodes, 2))
    lengths = np.sqrt(((places[near] - places[far]) ** 2).sum(axis=1))
    degrees = np.diff(starts)
    fewest = np.argsort(degrees + random.random(nodes), kind="stable")[: max(brokers, nodes // 3)]
    chosen = random.choice(fewest, brokers, replace=False)
    ways = np.empty((brokers, brokers))
    way, heap, place = np.empty(nodes), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    for k, node in enumerate(chosen.tolist()):
        ways_shortest(starts, far, lengths, node, way, heap, place)
        ways[k] = way[chosen]
    parents, order, free = (np.zeros(brokers, np.int64) for _ in range(3))
    tree_grow(ways, CHILDREN_MAX, parents, order, np.empty(brokers), free)
    return Overlay(parents, order)
