"""Range trees: B-trees in arrays whose entries know the least value below them.

An entry is (partition, x, y, low, link). Entries of a leaf stand for what is kept, `link` being how
often; those of an inner node for a child: its greatest key, inclusive, the least `low` in it, and
as `link` its number. The key is (partition, x, y), so that one tree holds the trees of all
partitions. Entry i of node n lies at n * FANOUT + i. Every node but the root is at least a quarter
full, and no number of a node is given twice before it came back.

All that is kept of tuples (partition, x, y), a bag, are two such trees, the two tiers. The upper
one has an entry per distinct (partition, x), with y = 0, `low` the least y there and `link` how
many tuples have it. The lower one has the tuples that are not least at their x.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.kernels.arrays import Ints
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.prefetch import line_fetch

FANOUT = 32
FILL_MIN, FILL_BUILD = FANOUT // 4, 3 * FANOUT // 4
"""Entries that a node has at least, and that it has when a tree is built at once."""
HEIGHT_MAX = 24
"""A tree of that height, nodes a quarter full, has more entries than there is memory."""
NONE = -1
LINE = 8
"""Numbers in a line of memory."""

ROOT, HEIGHT, USED, FREE, SPARE, ENTRIES, VISITED = range(7)
"""Places of `state`: the root, the levels, nodes ever used, the first of those that came back, how
many nodes have room, entries of leaves, and nodes that searches touched."""
STATE = 7


class RangeTree(NamedTuple):
    """A tree as its arrays."""

    partitions: Ints
    xs: Ints
    ys: Ints
    lows: Ints
    links: Ints
    sizes: Ints
    """Entries of every node; of one that came back, the next such."""
    nodes: Ints
    """The nodes on the way to the key that was sought last."""
    places: Ints
    """The indexes in them."""
    trail_nodes: Ints
    """The nodes on the way to where a search from there has come."""
    trail_places: Ints
    """The indexes in them."""
    state: Ints


@inlined
def node_seek(tree: RangeTree, node: int, partition: int, x: int, y: int) -> int:
    """Give the index of a node's first entry whose key is not below this one."""
    first = node * FANOUT
    low, high = first, first + tree.sizes[node]
    if low < high and tree.partitions[low] == partition == tree.partitions[high - 1]:
        # Mostly all entries are of one partition: its column need not be read.
        while low < high:
            middle = (low + high) >> 1
            at_x = tree.xs[middle]
            if at_x < x or (at_x == x and tree.ys[middle] < y):
                low = middle + 1
            else:
                high = middle
        return low - first
    while low < high:
        middle = (low + high) >> 1
        p, at_x = tree.partitions[middle], tree.xs[middle]
        if p < partition or (p == partition and (at_x < x or (at_x == x and tree.ys[middle] < y))):
            low = middle + 1
        else:
            high = middle
    return low - first


@tight
def tree_seek(tree: RangeTree, partition: int, x: int, y: int) -> int:
    """Find where a key is or would be; give its entry, or NONE if it is not there.

    The way is left in `nodes` and `places`.
    """
    node, last = tree.state[ROOT], tree.state[HEIGHT] - 1
    tree.state[VISITED] += last + 1
    for depth in range(last):
        i = min(node_seek(tree, node, partition, x, y), tree.sizes[node] - 1)
        tree.nodes[depth] = node
        tree.places[depth] = i
        node = tree.links[node * FANOUT + i]
    i = node_seek(tree, node, partition, x, y)
    tree.nodes[last] = node
    tree.places[last] = i
    at: int = node * FANOUT + i
    if i < tree.sizes[node] and tree.xs[at] == x and tree.ys[at] == y:
        return at if tree.partitions[at] == partition else NONE
    return NONE


@inlined
def node_seek_x(tree: RangeTree, node: int, partition: int, x: int) -> int:
    """Do the same in the upper tier, where x is there once and y says nothing."""
    first = node * FANOUT
    low, high = first, first + tree.sizes[node]
    if low < high and tree.partitions[low] == partition == tree.partitions[high - 1]:
        while low < high:
            middle = (low + high) >> 1
            if tree.xs[middle] < x:
                low = middle + 1
            else:
                high = middle
        return low - first
    return node_seek(tree, node, partition, x, 0)


@tight
def tree_seek_x(tree: RangeTree, partition: int, x: int) -> int:
    """Find where an x is or would be in the upper tier, as `tree_seek` does."""
    node, last = tree.state[ROOT], tree.state[HEIGHT] - 1
    tree.state[VISITED] += last + 1
    for depth in range(last):
        i = min(node_seek_x(tree, node, partition, x), tree.sizes[node] - 1)
        tree.nodes[depth] = node
        tree.places[depth] = i
        node = tree.links[node * FANOUT + i]
    i = node_seek_x(tree, node, partition, x)
    tree.nodes[last] = node
    tree.places[last] = i
    at: int = node * FANOUT + i
    if i < tree.sizes[node] and tree.xs[at] == x and tree.partitions[at] == partition:
        return at
    return NONE


@tight
def way_lower(tree: RangeTree) -> None:
    """Let the nodes above the entry that was sought last know its value, if it is news."""
    for depth in range(tree.state[HEIGHT] - 1, 0, -1):
        node = tree.nodes[depth]
        first = node * FANOUT
        low = tree.lows[first]
        for k in range(first + 1, first + tree.sizes[node]):
            low = min(low, tree.lows[k])
        at = tree.nodes[depth - 1] * FANOUT + tree.places[depth - 1]
        if tree.lows[at] == low:
            return
        tree.lows[at] = low


@tight
def leaf_fetch(tree: RangeTree, partition: int, x: int) -> None:
    """Ask for the memory of the leaf where an x is or would be, which is soon to be sought."""
    node = tree.state[ROOT]
    for _ in range(tree.state[HEIGHT] - 1):
        i = min(node_seek_x(tree, node, partition, x), tree.sizes[node] - 1)
        node = tree.links[node * FANOUT + i]
    first = node * FANOUT
    for at in range(first, first + FANOUT, LINE):
        line_fetch(tree.xs, at)
        line_fetch(tree.lows, at)
        line_fetch(tree.links, at)
    line_fetch(tree.sizes, node)
    line_fetch(tree.partitions, first)
    line_fetch(tree.partitions, first + FILL_BUILD)


@tight
def node_take(tree: RangeTree) -> int:
    """Give an empty node; there is room for it."""
    node: int = tree.state[FREE]
    if node == NONE:
        node = tree.state[USED]
        tree.state[USED] += 1
    else:
        tree.state[FREE] = tree.sizes[node]
    tree.sizes[node] = 0
    tree.state[SPARE] -= 1
    return node


@tight
def node_give_back(tree: RangeTree, node: int) -> None:
    """Take a node back."""
    tree.sizes[node] = tree.state[FREE]
    tree.state[FREE] = node
    tree.state[SPARE] += 1


@inlined
def entry_copy(tree: RangeTree, at: int, to: int) -> None:
    """Write an entry over another one."""
    tree.partitions[to] = tree.partitions[at]
    tree.xs[to] = tree.xs[at]
    tree.ys[to] = tree.ys[at]
    tree.lows[to] = tree.lows[at]
    tree.links[to] = tree.links[at]


@tight
def entries_move(tree: RangeTree, at: int, to: int, count: int) -> None:
    """Move entries to where they may overlap."""
    if to <= at:
        for k in range(count):
            entry_copy(tree, at + k, to + k)
    else:
        for k in range(count - 1, -1, -1):
            entry_copy(tree, at + k, to + k)


@tight
def node_sum_up(tree: RangeTree, node: int, at: int) -> bool:
    """Write what a node holds into the entry that stands for it; say whether that is news."""
    first = node * FANOUT
    last = first + tree.sizes[node] - 1
    low = tree.lows[first]
    for k in range(first + 1, last + 1):
        low = min(low, tree.lows[k])
    changed = (
        tree.lows[at] != low
        or tree.xs[at] != tree.xs[last]
        or tree.ys[at] != tree.ys[last]
        or tree.partitions[at] != tree.partitions[last]
        or tree.links[at] != node
    )
    tree.partitions[at] = tree.partitions[last]
    tree.xs[at] = tree.xs[last]
    tree.ys[at] = tree.ys[last]
    tree.lows[at] = low
    tree.links[at] = node
    return bool(changed)


@tight
def way_sum_up(tree: RangeTree, depth: int) -> None:
    """Let the nodes above the one at this depth of the way know, as far up as it is news."""
    while depth > 0:
        at = tree.nodes[depth - 1] * FANOUT + tree.places[depth - 1]
        if not node_sum_up(tree, tree.nodes[depth], at):
            return
        depth -= 1


@tight
def tree_insert(tree: RangeTree, partition: int, x: int, y: int, low: int, link: int) -> None:
    """Add an entry where `tree_seek` did not find it; there are nodes enough for a split per level.

    A node that is full is split into halves, and an entry for its second half is added above.
    """
    tree.state[ENTRIES] += 1
    depth = tree.state[HEIGHT] - 1
    i, child = tree.places[depth], NONE
    while True:
        node, sibling = tree.nodes[depth], NONE
        into = node
        if tree.sizes[node] == FANOUT:
            half = FANOUT // 2
            sibling = node_take(tree)
            entries_move(tree, node * FANOUT + half, sibling * FANOUT, FANOUT - half)
            tree.sizes[sibling], tree.sizes[node] = FANOUT - half, half
            if i > half:
                into, i = sibling, i - half
        at = into * FANOUT + i
        entries_move(tree, at, at + 1, tree.sizes[into] - i)
        tree.sizes[into] += 1
        if child == NONE:
            tree.partitions[at], tree.xs[at], tree.ys[at] = partition, x, y
            tree.lows[at], tree.links[at] = low, link
        else:
            node_sum_up(tree, child, at)
        if sibling == NONE:
            way_sum_up(tree, depth)
            return
        if depth == 0:
            root = node_take(tree)
            tree.sizes[root] = 2
            node_sum_up(tree, node, root * FANOUT)
            node_sum_up(tree, sibling, root * FANOUT + 1)
            tree.state[ROOT] = root
            tree.state[HEIGHT] += 1
            return
        depth -= 1
        i = tree.places[depth]
        node_sum_up(tree, node, tree.nodes[depth] * FANOUT + i)
        i, child = i + 1, sibling


@tight
def tree_delete(tree: RangeTree) -> None:
    """Take out the entry that `tree_seek` found last.

    A node that is less than a quarter full is joined with a neighbour, or shares its entries.
    """
    tree.state[ENTRIES] -= 1
    depth = tree.state[HEIGHT] - 1
    i = tree.places[depth]
    while True:
        node = tree.nodes[depth]
        at = node * FANOUT + i
        tree.sizes[node] -= 1
        entries_move(tree, at + 1, at, tree.sizes[node] - i)
        if depth == 0 or tree.sizes[node] >= FILL_MIN:
            break
        parent = tree.nodes[depth - 1] * FANOUT
        i = max(tree.places[depth - 1], 1)
        left, right = tree.links[parent + i - 1], tree.links[parent + i]
        both = tree.sizes[left] + tree.sizes[right]
        if both > FANOUT:
            nodes_share(tree, left, right, both // 2)
            node_sum_up(tree, left, parent + i - 1)
            node_sum_up(tree, right, parent + i)
            depth -= 1
            break
        nodes_share(tree, left, right, both)
        node_give_back(tree, right)
        node_sum_up(tree, left, parent + i - 1)
        depth -= 1
    way_sum_up(tree, depth)
    root = tree.state[ROOT]
    while tree.state[HEIGHT] > 1 and tree.sizes[root] == 1:
        tree.state[ROOT] = tree.links[root * FANOUT]
        tree.state[HEIGHT] -= 1
        node_give_back(tree, root)
        root = tree.state[ROOT]


@tight
def nodes_share(tree: RangeTree, left: int, right: int, count: int) -> None:
    """Move entries between neighbours until the left one has so many."""
    start, begin = left * FANOUT, right * FANOUT
    moved = count - tree.sizes[left]
    if moved > 0:
        entries_move(tree, begin, start + tree.sizes[left], moved)
        entries_move(tree, begin + moved, begin, tree.sizes[right] - moved)
    else:
        entries_move(tree, begin, begin - moved, tree.sizes[right])
        entries_move(tree, start + count, begin, -moved)
    tree.sizes[left] += moved
    tree.sizes[right] -= moved
