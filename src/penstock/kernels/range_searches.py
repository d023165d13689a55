"""Searches in range trees: the nearest entry whose value is low enough, the least of a range.

A search touches at most two nodes per level: one on the way to its key, and, since an entry that is
low enough has an entry below it that is, one on the way from there. `state[VISITED]` counts them.
"""

from __future__ import annotations

from penstock.kernels.arrays import Flags, Ints
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.range_trees import (
    FANOUT,
    HEIGHT,
    NONE,
    ROOT,
    VISITED,
    RangeTree,
    node_seek,
    tree_seek,
)

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


@tight
def trail_begin(tree: RangeTree) -> None:
    """Begin a search where the key is that was sought last."""
    for depth in range(tree.state[HEIGHT]):
        tree.trail_nodes[depth] = tree.nodes[depth]
        tree.trail_places[depth] = tree.places[depth]


@tight
def trail_left(tree: RangeTree, partition: int, bound: int) -> int:
    """Go on to the last entry left of here whose value is at most `bound`.

    Returns
    -------
    int
        The entry, or NONE if the partition has no such one.
    """
    last = tree.state[HEIGHT] - 1
    depth = last
    while True:
        first = tree.trail_nodes[depth] * FANOUT
        at = first + tree.trail_places[depth] - 1
        while at >= first and tree.lows[at] > bound:
            at -= 1
        if at >= first:
            break
        if depth == 0:
            return NONE
        depth -= 1
    tree.trail_places[depth] = at - first
    while depth < last:
        tree.state[VISITED] += 1
        depth += 1
        node = tree.links[at]
        first = node * FANOUT
        at = first + tree.sizes[node] - 1
        while tree.lows[at] > bound:
            at -= 1
        tree.trail_nodes[depth], tree.trail_places[depth] = node, at - first
    return at if tree.partitions[at] == partition else NONE


@tight
def trail_right(tree: RangeTree, partition: int, bound: int) -> int:
    """Go on to the first entry right of here whose value is at most `bound`.

    Returns
    -------
    int
        The entry, or NONE if the partition has no such one.
    """
    last = tree.state[HEIGHT] - 1
    depth = last
    while True:
        node = tree.trail_nodes[depth]
        first = node * FANOUT
        at, end = first + tree.trail_places[depth] + 1, first + tree.sizes[node]
        while at < end and tree.lows[at] > bound:
            at += 1
        if at < end:
            break
        if depth == 0:
            return NONE
        depth -= 1
    tree.trail_places[depth] = at - first
    while depth < last:
        tree.state[VISITED] += 1
        depth += 1
        node = tree.links[at]
        first = node * FANOUT
        at = first
        while tree.lows[at] > bound:
            at += 1
        tree.trail_nodes[depth], tree.trail_places[depth] = node, at - first
    return at if tree.partitions[at] == partition else NONE


@tight
def tree_find_left(tree: RangeTree, partition: int, x: int, y: int, bound: int) -> int:
    """Find the last entry of the partition before a key with at most `bound`, or NONE."""
    tree_seek(tree, partition, x, y)
    trail_begin(tree)
    return trail_left(tree, partition, bound)


@tight
def tree_find_right(tree: RangeTree, partition: int, x: int, y: int, bound: int) -> int:
    """Find the first entry of the partition from a key on with at most `bound`, or NONE."""
    tree_seek(tree, partition, x, y)
    trail_begin(tree)
    tree.trail_places[tree.state[HEIGHT] - 1] -= 1
    return trail_right(tree, partition, bound)


@inlined
def entries_least(tree: RangeTree, least: int, start: int, end: int) -> int:
    """Give the entry with the least value: of those in [start, end), or the one that is known."""
    for at in range(start, end):
        if least == NONE or tree.lows[at] < tree.lows[least]:
            least = at
    return least


@tight
def tree_range_min(tree: RangeTree, partition: int, first: int, last: int) -> int:
    """Give an entry with the least value of the upper tier for `first` <= x <= `last`, or NONE."""
    node, depth = tree.state[ROOT], tree.state[HEIGHT] - 1
    start = node_seek(tree, node, partition, first, 0)
    end = node_seek(tree, node, partition, last, 1)
    while depth > 0 and start == end and start < tree.sizes[node]:
        node = tree.links[node * FANOUT + start]
        depth -= 1
        start = node_seek(tree, node, partition, first, 0)
        end = node_seek(tree, node, partition, last, 1)
    if depth == 0:
        return entries_least(tree, NONE, node * FANOUT + start, node * FANOUT + end)
    if start == tree.sizes[node]:
        return NONE
    least = entries_least(tree, NONE, node * FANOUT + start + 1, node * FANOUT + end)
    side = tree.links[node * FANOUT + start]
    for below in range(depth - 1, -1, -1):
        at = side * FANOUT + node_seek(tree, side, partition, first, 0)
        least = entries_least(tree, least, at + (below > 0), side * FANOUT + tree.sizes[side])
        side = tree.links[at]
    if end < tree.sizes[node]:
        side = tree.links[node * FANOUT + end]
        for below in range(depth - 1, -1, -1):
            at = side * FANOUT + node_seek(tree, side, partition, last, 1)
            least = entries_least(tree, least, side * FANOUT, at)
            if below == 0 or at == side * FANOUT + tree.sizes[side]:
                break
            side = tree.links[at]
    return least


@tight
def ranges_min(
    tree: RangeTree, partitions: Ints, firsts: Ints, lasts: Ints, values: Ints, empty: Flags
) -> None:
    """Write the least value of every range, and whether it is empty."""
    for k in range(len(partitions)):
        at = tree_range_min(tree, partitions[k], firsts[k], lasts[k])
        empty[k] = at == NONE
        values[k] = 0 if at == NONE else tree.lows[at]
