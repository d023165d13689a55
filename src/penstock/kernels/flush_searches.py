"""Flush searches: the cheapest schedule of flushes, as a shortest path found by A*.

A node is a moment at which something must be flushed (or the last moment), and when each table was
flushed before it: `since`, the first of the moments until which as many of its changes had come. An
edge flushes a minimal set of tables. What remains to be paid is hoped table by table: `hopes` of a
table, from `hope_starts` on, has a row for every moment, `hope_row` entries apart, and in it an
entry for every moment since which it has not been flushed. If hopes depend on that alone,
`hope_row` is 0, and there is one row.

Nodes lie in arrays that double; a hash table finds them; the frontier is a binary heap of
(what a path through the node must cost at least, the later moment first). An entry that a cheaper
path has overtaken is passed over when it is taken out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import inlined, kernel, tight
from penstock.kernels.cost_curves import curve_cost, minimal_sets
from penstock.kernels.hash_tables import word_hash

FOUND, GAVE_UP = 0, 1
LOOKED_MAX = 100
"""Nodes of one moment that another is compared with, the newest first."""
FIRST_NODES = 1024
"""Room for nodes and for the frontier to begin with."""


@inlined
def pending_cost(
    sizes: Ints, costs: Floats, starts: Ints, slopes: Floats, come: Ints, since: Ints, moment: int
) -> float:
    """Give what all that waits at a moment would cost."""
    total = 0.0
    for table in range(len(since)):
        waiting = come[moment, table] - come[since[table], table]
        total += curve_cost(sizes, costs, starts, slopes, table, waiting)
    return total


@tight
def next_full(
    sizes: Ints, costs: Floats, starts: Ints, slopes: Floats, come: Ints, since: Ints,
    moment: int, limit: float,
) -> int:  # fmt: skip
    """Give the first moment after this one at which what waits exceeds the limit, or the last."""
    low, high = moment, len(come) - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if pending_cost(sizes, costs, starts, slopes, come, since, middle) > limit:
            high = middle
        else:
            low = middle
    return high


@inlined
def comes_first(keys: Ints, moments: Ints, one: int, other: int) -> bool:
    """Say whether an entry of the frontier is taken before another."""
    if keys[one] != keys[other]:
        return bool(keys[one] < keys[other])
    return bool(moments[one] > moments[other])


@inlined
def entries_swap(keys: Ints, moments: Ints, nodes: Ints, one: int, other: int) -> None:
    """Exchange two entries of the frontier."""
    keys[one], keys[other] = keys[other], keys[one]
    moments[one], moments[other] = moments[other], moments[one]
    nodes[one], nodes[other] = nodes[other], nodes[one]


@tight
def entry_rise(keys: Ints, moments: Ints, nodes: Ints, at: int) -> None:
    """Bring the entry at the end of the frontier to its place."""
    while at > 0 and comes_first(keys, moments, at, (at - 1) >> 1):
        entries_swap(keys, moments, nodes, at, (at - 1) >> 1)
        at = (at - 1) >> 1


@tight
def entry_sink(keys: Ints, moments: Ints, nodes: Ints, size: int) -> None:
    """Bring the entry at the head of a frontier of so many to its place."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and comes_first(keys, moments, child + 1, child):
            child += 1
        if not comes_first(keys, moments, child, at):
            return
        entries_swap(keys, moments, nodes, child, at)
        at = child


@inlined
def node_hash(moment: int, since: Ints) -> np.uint64:
    """Mix what identifies a node."""
    mixed = word_hash(np.uint64(moment))
    for table in range(len(since)):
        mixed = word_hash(mixed ^ np.uint64(since[table]))
    return mixed


@tight
def node_cell(cells: Ints, moments: Ints, since: Ints, moment: int, wanted: Ints) -> int:
    """Give the cell of a node, or the empty one where it belongs."""
    mask = np.uint64(len(cells) - 1)
    cell = node_hash(moment, wanted) & mask
    while cells[cell] >= 0:
        node = cells[cell]
        same = moments[node] == moment
        for table in range(len(wanted)):
            same = same and since[node, table] == wanted[table]
        if same:
            break
        cell = (cell + np.uint64(1)) & mask
    return int(cell)


@kernel
def doubled(values: Any) -> Any:
    """Give an array of twice the length that begins with the values."""
    grown = np.empty((2 * len(values), *values.shape[1:]), dtype=values.dtype)
    grown[: len(values)] = values
    return grown


@kernel
def replaced_cells(count: int, moments: Ints, since: Ints) -> Ints:
    """Give a hash table of all nodes, at most a quarter full."""
    cells = np.full(4 * len(moments), -1, dtype=np.int64)
    for node in range(count):
        cells[node_cell(cells, moments, since, moments[node], since[node])] = node
    return cells


@kernel
def first_moments(come: Ints) -> Ints:
    """Give, for every moment and table, the first moment until which as many changes had come."""
    firsts = np.zeros_like(come)
    for moment in range(1, len(come)):
        for table in range(come.shape[1]):
            same = come[moment, table] == come[moment - 1, table]
            firsts[moment, table] = firsts[moment - 1, table] if same else moment
    return firsts


@tight
def is_dominated(
    newest: int, older: Ints, since: Ints, bare: Floats, node: int, quantum: float
) -> bool:
    """Say whether another node of the moment, from `newest` on, is as good in every way.

    It has paid no more in fixed costs, and has flushed every table no earlier. Whatever then keeps
    the bound from the one node keeps it from the other, flush by flush.
    """
    looked = 0
    while newest >= 0 and looked < LOOKED_MAX:
        looked += 1
        better = bare[newest] <= bare[node] + quantum
        for table in range(since.shape[1]):
            better = better and since[newest, table] >= since[node, table]
        if better:
            return True
        newest = older[newest]
    return False


@kernel
def path_back(before: Ints, moments: Ints, flushes: Ints, goal: int) -> Any:
    """Give the moments and sets of the flushes that lead to a node, the last first."""
    steps = 0
    at = goal
    while before[at] >= 0:
        steps += 1
        at = before[at]
    path = np.empty(steps, dtype=np.int64)
    sets = np.empty(steps, dtype=np.int64)
    at = goal
    for step in range(steps):
        path[step], sets[step] = moments[before[at]], flushes[at]
        at = before[at]
    return path, sets


@kernel
def cheapest_path(
    sizes: Ints, costs: Floats, starts: Ints, slopes: Floats, come: Ints, limit: float,
    hopes: Floats, hope_starts: Ints, hope_row: int, quantum: float, expansions_max: int,
    fixed: Floats,
) -> Any:  # fmt: skip
    """Find the cheapest schedule of flushes.

    `come[t, i]` counts the changes of table i until moment t. Costs that differ by less than the
    `quantum` are taken for equal, so that of equal paths the one that got further goes on. If all
    costs are fixed plus linear, `fixed` has the fixed ones, and nodes that others dominate are
    passed over: a schedule's cost is then what its flushes cost once each, and what all changes do.

    Returns
    -------
    tuple
        Whether it was found, its cost, nodes expanded, nodes expanded more than once, how often the
        frontier's least fell, and the path: moments and sets, the last first.
    """
    last, tables = len(come) - 1, come.shape[1]
    moments = np.empty(FIRST_NODES, dtype=np.int64)
    since = np.zeros((FIRST_NODES, tables), dtype=np.int64)
    firsts = first_moments(come)
    newest = np.full(last + 1, -1, dtype=np.int64)
    older = np.full(FIRST_NODES, -1, dtype=np.int64)
    bare = np.zeros(FIRST_NODES, dtype=np.float64)
    paid = np.empty(FIRST_NODES, dtype=np.float64)
    before = np.empty(FIRST_NODES, dtype=np.int64)
    flushes = np.zeros(FIRST_NODES, dtype=np.int64)
    taken = np.zeros(FIRST_NODES, dtype=np.int64)
    heap_keys = np.empty(FIRST_NODES, dtype=np.int64)
    heap_moments = np.empty(FIRST_NODES, dtype=np.int64)
    heap_nodes = np.empty(FIRST_NODES, dtype=np.int64)
    kept = np.empty(tables, dtype=np.float64)
    wanted = np.zeros(tables, dtype=np.int64)
    moments[0] = next_full(sizes, costs, starts, slopes, come, wanted, 0, limit) if last else 0
    paid[0], before[0] = 0.0, -1
    count, waiting = 1, 1
    heap_keys[0], heap_moments[0], heap_nodes[0] = 0, moments[0], 0
    cells = replaced_cells(count, moments, since)
    goal, goal_paid = -1, np.inf
    expanded, again, fell, highest = 0, 0, 0, np.int64(-1)
    while waiting > 0:
        node, key = heap_nodes[0], heap_keys[0]
        waiting -= 1
        entries_swap(heap_keys, heap_moments, heap_nodes, 0, waiting)
        entry_sink(heap_keys, heap_moments, heap_nodes, waiting)
        if node < 0:
            break
        if taken[node] == 2:
            continue
        if expanded >= expansions_max:
            return GAVE_UP, np.inf, expanded, again, fell, wanted, wanted
        moment, expanded, again = moments[node], expanded + 1, again + (taken[node] == 1)
        if len(fixed) and moment < last and taken[node] == 0:
            if is_dominated(newest[moment], older, since, bare, node, quantum):
                taken[node] = 2
                continue
            older[node] = newest[moment]
            newest[moment] = node
        taken[node] = 2
        fell += key < highest - 1
        highest = max(highest, key)
        for table in range(tables):
            kept[table] = curve_cost(
                sizes,
                costs,
                starts,
                slopes,
                table,
                come[moment, table] - come[since[node, table], table],
            )
        if moment == last:
            ended = paid[node] + kept.sum()
            if ended < goal_paid:
                goal, goal_paid = node, ended
                if waiting == len(heap_keys):
                    heap_keys = doubled(heap_keys)
                    heap_moments = doubled(heap_moments)
                    heap_nodes = doubled(heap_nodes)
                heap_keys[waiting] = np.int64(np.round(ended / quantum))
                heap_moments[waiting] = last + 1
                heap_nodes[waiting] = -1
                entry_rise(heap_keys, heap_moments, heap_nodes, waiting)
                waiting += 1
            continue
        for members in minimal_sets(kept, limit):
            cost, once = paid[node], bare[node]
            for table in range(tables):
                wanted[table] = since[node, table]
                if members >> table & 1:
                    cost += kept[table]
                    if len(fixed):
                        once += fixed[table]
                    wanted[table] = firsts[moment, table]
            then = next_full(sizes, costs, starts, slopes, come, wanted, moment, limit)
            hoped = 0.0
            for table in range(tables):
                hoped += hopes[hope_starts[table] + then * hope_row + wanted[table]]
            cell = node_cell(cells, moments, since, then, wanted)
            head = cells[cell]
            if head < 0:
                if count == len(moments):
                    moments, since, paid = doubled(moments), doubled(since), doubled(paid)
                    older, bare = doubled(older), doubled(bare)
                    before, flushes, taken = doubled(before), doubled(flushes), doubled(taken)
                    cells = replaced_cells(count, moments, since)
                    cell = node_cell(cells, moments, since, then, wanted)
                head, count = count, count + 1
                cells[cell] = head
                moments[head] = then
                since[head] = wanted
                paid[head] = np.inf
                taken[head] = 0
            if cost < paid[head] - quantum:
                paid[head] = cost
                bare[head] = once
                before[head] = node
                flushes[head] = members
                if taken[head] == 2:
                    taken[head] = 1
                if waiting == len(heap_keys):
                    heap_keys = doubled(heap_keys)
                    heap_moments = doubled(heap_moments)
                    heap_nodes = doubled(heap_nodes)
                heap_keys[waiting] = np.int64(np.round((cost + hoped) / quantum))
                heap_moments[waiting] = then
                heap_nodes[waiting] = head
                entry_rise(heap_keys, heap_moments, heap_nodes, waiting)
                waiting += 1
    path, sets = path_back(before, moments, flushes, goal)
    return FOUND, goal_paid, expanded, again, fell, path, sets
