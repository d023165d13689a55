"""Search trees over items in arrays: insert, delete, split and join in logarithmic time.

The trees are treaps: ordered by (low, item) across, by a hash of the item down. A hash instead of
chance makes two copies with the same items the same tree. A node may carry how many nodes its
subtree has and their least high.

A tree is named by its root, -1 when it is empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.kernels.arrays import Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.hash_tables import word_hash

Nodes = npt.NDArray[Any]

NODE = np.dtype(
    [
        ("low", np.int64), ("high", np.int64), ("least", np.int64),
        ("left", np.int32), ("right", np.int32), ("count", np.int32), ("mark", np.int32),
    ]
)  # fmt: skip
"""A range with its place in a tree or list; records keep what an update needs in one line."""

NONE: Any = np.int32(-1)
START: Any = np.int64(0)
"""Typed constants: a plain 0 would have every function compiled once more for it."""
AFTER_ALL: Any = np.int64(1 << 32)
"""Greater than every item."""
PATH = 512
"""Room for the nodes on a way down; a treap of 2^31 nodes is some 90 deep, never 512."""


class Tree(NamedTuple):
    """Nodes (records of NODE) by item; whether they carry counts and leasts; `path` is scratch."""

    nodes: Nodes
    carries: bool
    path: Rows


@kernel
def tree_rank(item: int) -> np.uint64:
    """Say how high an item stands in its tree."""
    return word_hash(np.uint64(item) + np.uint64(1))


@kernel
def tree_before(tree: Tree, a: int, b: int) -> bool:
    """Say whether an item stands left of another."""
    return tree.nodes[a].low < tree.nodes[b].low or (
        tree.nodes[a].low == tree.nodes[b].low and a < b
    )


@kernel
def tree_refresh(tree: Tree, node: int) -> None:
    """Compute anew what one node carries."""
    count = 1
    least = tree.nodes[node].high
    for child in (tree.nodes[node].left, tree.nodes[node].right):
        if child >= 0:
            count += tree.nodes[child].count
            least = min(least, tree.nodes[child].least)
    tree.nodes[node].count = count
    tree.nodes[node].least = least


@kernel
def tree_pull(tree: Tree, start: int, end: int) -> None:
    """Compute anew what the nodes path[start:end] carry, deepest first."""
    if tree.carries:
        for k in range(end - 1, start - 1, -1):
            tree_refresh(tree, tree.path[k])


@kernel
def tree_split(tree: Tree, root: int, low: int, item: Any, start: int) -> Any:
    """Cut a tree: nodes up to (low, item), and nodes after it; the path is used from `start`."""
    parts_left, parts_right = NONE, NONE
    hook_left, hook_right = NONE, NONE
    length = start
    node = root
    while node >= 0:
        tree.path[length] = node
        length += 1
        here = tree.nodes[node].low
        if here < low or (here == low and node <= item):
            if hook_left < 0:
                parts_left = np.int32(node)
            else:
                tree.nodes[hook_left].right = node
            hook_left = np.int32(node)
            node = tree.nodes[node].right
        else:
            if hook_right < 0:
                parts_right = np.int32(node)
            else:
                tree.nodes[hook_right].left = node
            hook_right = np.int32(node)
            node = tree.nodes[node].left
    if hook_left >= 0:
        tree.nodes[hook_left].right = NONE
    if hook_right >= 0:
        tree.nodes[hook_right].left = NONE
    return parts_left, parts_right, length


@kernel
def tree_cut(tree: Tree, root: int, low: int) -> Any:
    """Cut a tree into the nodes with lows up to `low` and the others."""
    left, right, length = tree_split(tree, root, low, AFTER_ALL, START)
    tree_pull(tree, START, length)
    return left, right


@kernel
def tree_join(tree: Tree, a: int, b: int, start: int) -> Any:
    """Make one tree of two, all nodes of the first before the second's; pulls from `start` on."""
    root = NONE
    hook = NONE
    to_right: Any = False
    length = start
    while a >= 0 or b >= 0:
        first = b < 0 or (a >= 0 and bool(tree_rank(a) > tree_rank(b)))
        node = np.int32(a) if first else np.int32(b)
        if hook < 0:
            root = node
        elif to_right:
            tree.nodes[hook].right = node
        else:
            tree.nodes[hook].left = node
        if a < 0 or b < 0:
            break
        tree.path[length] = node
        length += 1
        hook = node
        to_right = first
        if first:
            a = tree.nodes[node].right
        else:
            b = tree.nodes[node].left
    tree_pull(tree, start, length)
    return root


@kernel
def tree_insert(tree: Tree, root: Any, item: int) -> Any:
    """Add an item whose low and high are in place; give the root."""
    nodes = tree.nodes
    rank = tree_rank(item)
    high = nodes[item].high
    hook = NONE
    node: Any = np.int32(root)
    to_right = False
    while node >= 0 and tree_rank(node) > rank:
        nodes[node].count += 1
        nodes[node].least = min(nodes[node].least, high)
        hook = node
        to_right = tree_before(tree, node, item)
        node = nodes[node].right if to_right else nodes[node].left
    tree.path[0] = item
    left, right, end = tree_split(tree, node, nodes[item].low, np.int64(item), START + 1)
    nodes[item].left = left
    nodes[item].right = right
    tree_pull(tree, START, end)
    if hook < 0:
        return np.int32(item)
    if to_right:
        nodes[hook].right = item
    else:
        nodes[hook].left = item
    return np.int32(root)


@kernel
def tree_delete(tree: Tree, root: Any, item: int) -> Any:
    """Remove an item that is in the tree; give the root."""
    nodes = tree.nodes
    high = nodes[item].high
    length = START
    node: Any = np.int32(root)
    while node != item:
        tree.path[length] = node
        length += 1
        nodes[node].count -= 1
        node = nodes[node].right if tree_before(tree, node, item) else nodes[node].left
    merged = tree_join(tree, nodes[item].left, nodes[item].right, length)
    if length == 0:
        return merged
    hook = tree.path[length - 1]
    if nodes[hook].left == item:
        nodes[hook].left = merged
    else:
        nodes[hook].right = merged
    # Where the item was not the least, nothing above it changes either: most stop at once.
    while tree.carries and length > 0 and nodes[tree.path[length - 1]].least == high:
        length -= 1
        tree_refresh(tree, tree.path[length])
    return np.int32(root)


@kernel
def tree_build(tree: Tree, items: Rows, start: int, end: int) -> Any:
    """Make a tree of items[start:end], which are in order; linear."""
    depth = START
    for k in range(start, end):
        item = items[k]
        rank = tree_rank(item)
        last = NONE
        while depth > 0 and tree_rank(tree.path[depth - 1]) < rank:
            depth -= 1
            last = tree.path[depth]
            if tree.carries:
                tree_refresh(tree, last)
        tree.nodes[item].left = last
        tree.nodes[item].right = NONE
        if depth > 0:
            tree.nodes[tree.path[depth - 1]].right = item
        tree.path[depth] = item
        depth += 1
    root = tree.path[0] if depth > 0 else NONE
    tree_pull(tree, START, depth)
    return root


@kernel
def tree_floor(tree: Tree, root: int, low: int) -> Any:
    """Find the last node whose low is at most `low`; -1: none."""
    found = NONE
    node: Any = np.int32(root)
    while node >= 0:
        if tree.nodes[node].low <= low:
            found = node
            node = tree.nodes[node].right
        else:
            node = tree.nodes[node].left
    return found


@kernel
def tree_last(tree: Tree, root: int) -> Any:
    """Give the last node of a tree that is not empty."""
    node: Any = np.int32(root)
    while tree.nodes[node].right >= 0:
        node = tree.nodes[node].right
    return node


@kernel
def tree_first(tree: Tree, root: int) -> Any:
    """Give the first node of a tree that is not empty."""
    node: Any = np.int32(root)
    while tree.nodes[node].left >= 0:
        node = tree.nodes[node].left
    return node


@kernel
def tree_least(tree: Tree, root: int) -> Any:
    """Find a node with the least high of a tree that is not empty: the first one."""
    node: Any = np.int32(root)
    least = tree.nodes[root].least
    while True:
        left = tree.nodes[node].left
        if left >= 0 and tree.nodes[left].least == least:
            node = left
        elif tree.nodes[node].high == least:
            return node
        else:
            node = tree.nodes[node].right


@kernel
def tree_items(tree: Tree, root: int, first: int, last: int, out: Rows, at: int) -> int:
    """Write the nodes from `first` to `last` (both nodes of the tree), in order, from out[at].

    Returns
    -------
    int
        Where the next node would be written.
    """
    depth = 0
    node: Any = np.int32(root)
    while node >= 0 or depth > 0:
        while node >= 0:
            if tree_before(tree, node, first):
                node = tree.nodes[node].right
                continue
            tree.path[depth] = node
            depth += 1
            node = tree.nodes[node].left
        if depth == 0:
            break
        depth -= 1
        node = tree.path[depth]
        if tree_before(tree, last, node):
            break
        out[at] = node
        at += 1
        node = tree.nodes[node].right
    return at
