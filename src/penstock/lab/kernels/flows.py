"""Flows of least cost through a graph without cycles: shortest paths, one unit after another.

Every arc has a twin that leads back; arc 2a is the a-th arc, 2a + 1 its twin. Nodes are numbered so
that arcs lead to higher numbers, which gives the first potentials in one pass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Floats, Ints, Rows
from penstock.kernels.compilation import kernel


class Graph(NamedTuple):
    """Arcs by the node that they leave: `arcs[starts[n] : starts[n + 1]]`; `heads` by arc."""

    starts: Ints
    arcs: Rows
    heads: Rows


@kernel
def potentials_start(graph: Graph, room: Ints, costs: Floats, potentials: Floats) -> None:
    """Give every node its distance from node 0, in the order of nodes."""
    potentials[:] = np.inf
    potentials[0] = 0.0
    for node in range(len(potentials)):
        if potentials[node] == np.inf:
            continue
        for place in range(graph.starts[node], graph.starts[node + 1]):
            arc = graph.arcs[place]
            if room[arc] > 0:
                reached = potentials[node] + costs[arc]
                head = graph.heads[arc]
                potentials[head] = min(potentials[head], reached)


@kernel
def queue_push(queue: Floats, nodes: Rows, size: int, distance: float, node: int) -> None:
    """Add a node to a queue of `size` nodes ordered by distance."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if queue[parent] <= distance:
            break
        queue[at] = queue[parent]
        nodes[at] = nodes[parent]
        at = parent
    queue[at] = distance
    nodes[at] = node


@kernel
def queue_pop(queue: Floats, nodes: Rows, size: int) -> None:
    """Drop the nearest of a queue of `size` nodes."""
    distance, node = queue[size - 1], nodes[size - 1]
    at, last = 0, size - 1
    while True:
        child = 2 * at + 1
        if child >= last:
            break
        if child + 1 < last and queue[child + 1] < queue[child]:
            child += 1
        if distance <= queue[child]:
            break
        queue[at] = queue[child]
        nodes[at] = nodes[child]
        at = child
    queue[at] = distance
    nodes[at] = node


@kernel
def path_find(
    graph: Graph, room: Ints, costs: Floats, potentials: Floats, distances: Floats, through: Rows,
    queue: Floats, nodes: Rows,
) -> bool:  # fmt: skip
    """Find the cheapest path from the first node to the last; `through` is the arc into a node."""
    sink = len(potentials) - 1
    distances[:] = np.inf
    distances[0] = 0.0
    queue_push(queue, nodes, 0, 0.0, 0)
    size = 1
    while size > 0:
        distance, node = queue[0], nodes[0]
        queue_pop(queue, nodes, size)
        size -= 1
        if distance > distances[node]:
            continue
        if node == sink:
            return True
        for place in range(graph.starts[node], graph.starts[node + 1]):
            arc = graph.arcs[place]
            if room[arc] == 0:
                continue
            head = graph.heads[arc]
            # Below zero only by rounding: potentials are shortest distances.
            step = max(costs[arc] + potentials[node] - potentials[head], 0.0)
            if distance + step < distances[head]:
                distances[head] = distance + step
                through[head] = arc
                queue_push(queue, nodes, size, distances[head], head)
                size += 1
    return False


@kernel
def flow_push(graph: Graph, room: Ints, costs: Floats, amount: int) -> float:
    """Push units from the first node to the last at least cost; give the cost.

    `room` is what an arc can still take; what its twin can take is what flows. No more is pushed
    than fits.
    """
    count = len(graph.starts) - 1
    potentials, distances = np.empty(count), np.empty(count)
    through = np.zeros(count, dtype=np.int32)
    queue = np.empty(len(graph.arcs) + 1)
    nodes = np.empty(len(graph.arcs) + 1, dtype=np.int32)
    potentials_start(graph, room, costs, potentials)
    total = 0.0
    for _ in range(amount):
        if not path_find(graph, room, costs, potentials, distances, through, queue, nodes):
            break
        reached = distances[count - 1]
        for node in range(count):
            potentials[node] += min(distances[node], reached)
        node = count - 1
        while node != 0:
            arc = through[node]
            room[arc] -= 1
            room[arc ^ 1] += 1
            total += costs[arc]
            node = graph.heads[arc ^ 1]
    return total
