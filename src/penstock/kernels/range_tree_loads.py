"""Range trees as sorted columns: built of them at once, and written to them."""

from __future__ import annotations

from penstock.kernels.arrays import Ints
from penstock.kernels.compilation import tight
from penstock.kernels.range_trees import (
    ENTRIES,
    FANOUT,
    FILL_BUILD,
    FREE,
    HEIGHT,
    NONE,
    ROOT,
    SPARE,
    USED,
    RangeTree,
    node_sum_up,
)


@tight
def tree_build(tree: RangeTree, entries: int) -> None:
    """Build the inner nodes of a tree without any, over leaves whose entries are sorted.

    The leaves are the first nodes, and are filled as evenly as they can be: entry k of all is in
    leaf k * leaves // entries.
    """
    below, first, height = max(1, -(-entries // FILL_BUILD)), 0, 1
    while below > 1:
        here = -(-below // FILL_BUILD)
        for k in range(here):
            node = first + below + k
            start, end = first + k * below // here, first + (k + 1) * below // here
            tree.sizes[node] = end - start
            for child in range(start, end):
                node_sum_up(tree, child, node * FANOUT + child - start)
        first, below, height = first + below, here, height + 1
    tree.state[ROOT], tree.state[HEIGHT] = first, height
    tree.state[USED], tree.state[FREE] = first + 1, NONE
    tree.state[SPARE] = len(tree.sizes) - first - 1
    tree.state[ENTRIES] = entries


@tight
def tree_load(
    tree: RangeTree, partitions: Ints, xs: Ints, ys: Ints, lows: Ints, links: Ints
) -> None:
    """Fill a tree that has room with entries in the order of their keys, all different."""
    entries = len(partitions)
    leaves = max(1, -(-entries // FILL_BUILD))
    for leaf in range(leaves):
        start, end = leaf * entries // leaves, (leaf + 1) * entries // leaves
        tree.sizes[leaf] = end - start
        for k in range(start, end):
            at = leaf * FANOUT + k - start
            tree.partitions[at], tree.xs[at], tree.ys[at] = partitions[k], xs[k], ys[k]
            tree.lows[at], tree.links[at] = lows[k], links[k]
    tree_build(tree, entries)


@tight
def tree_read(
    tree: RangeTree, partitions: Ints, xs: Ints, ys: Ints, lows: Ints, links: Ints
) -> None:
    """Write all entries in the order of their keys."""
    last, written, depth = tree.state[HEIGHT] - 1, 0, 0
    tree.nodes[0], tree.places[0] = tree.state[ROOT], 0
    while depth >= 0:
        node, i = tree.nodes[depth], tree.places[depth]
        if depth == last:
            for at in range(node * FANOUT, node * FANOUT + tree.sizes[node]):
                partitions[written], xs[written], ys[written] = (
                    tree.partitions[at], tree.xs[at], tree.ys[at],
                )  # fmt: skip
                lows[written], links[written] = tree.lows[at], tree.links[at]
                written += 1
            depth -= 1
        elif i == tree.sizes[node]:
            depth -= 1
        else:
            tree.places[depth] = i + 1
            depth += 1
            tree.nodes[depth], tree.places[depth] = tree.links[node * FANOUT + i], 0
