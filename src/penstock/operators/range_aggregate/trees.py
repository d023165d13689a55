"""Trees of tuples: built, read and given room."""

from __future__ import annotations

import numpy as np

from penstock.kernels.range_messages import RangeMessages, RangeTuples, RangeUpdates
from penstock.kernels.range_tree_loads import tree_load, tree_read
from penstock.kernels.range_trees import (
    ENTRIES,
    FANOUT,
    FILL_BUILD,
    HEIGHT_MAX,
    NONE,
    SPARE,
    STATE,
    RangeTree,
)
from penstock.operators.shared.slots import grown
from penstock.vocabulary.batches import Flags, Ints

NODES_MIN = 64


def tree_of(partitions: Ints, xs: Ints, ys: Ints, lows: Ints, counts: Ints) -> RangeTree:
    """Give a tree of sorted entries, with room for as many again."""
    nodes = max(NODES_MIN, 3 * -(-len(xs) // FILL_BUILD))
    columns: list[Ints] = [np.zeros(nodes * FANOUT, np.int64) for _ in range(5)]
    columns.append(np.zeros(nodes, np.int64))
    columns += [np.zeros(HEIGHT_MAX, np.int64) for _ in range(4)]
    columns.append(np.full(STATE, NONE, np.int64))
    tree = RangeTree._make(columns)
    tree_load(tree, partitions, xs, ys, lows, counts)
    return tree


def tree_wider(tree: RangeTree) -> RangeTree:
    """Give a tree with room for twice as many nodes, unless it has many to spare."""
    nodes = len(tree.sizes)
    if 2 * tree.state[SPARE] > nodes:
        return tree
    arrays = {name: grown(getattr(tree, name), 2 * len(getattr(tree, name)))
              for name in ("partitions", "xs", "ys", "lows", "links", "sizes")}  # fmt: skip
    tree.state[SPARE] += nodes
    return tree._replace(**arrays)


def tree_entries(tree: RangeTree) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Give all entries of a tree, in the order of their keys: the key, the value, how many."""
    partitions, xs, ys, lows, links = (np.empty(tree.state[ENTRIES], np.int64) for _ in range(5))
    tree_read(tree, partitions, xs, ys, lows, links)
    return partitions, xs, ys, lows, links


def starts(*columns: Ints) -> Flags:
    """Say of each row whether it differs from the one before."""
    differs = np.ones(len(columns[0]), np.bool_)
    differs[1:] = False
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    return differs


def picked(tuples: RangeTuples, rows: Ints) -> RangeTuples:
    """Give some tuples, in this order."""
    return RangeTuples(*(column[rows] for column in tuples))


def counted(tuples: RangeTuples) -> tuple[RangeTuples, Ints]:
    """Give different tuples by partition, x and y, and how often there is each."""
    ordered = picked(tuples, np.lexsort((tuples.ys, tuples.xs, tuples.partitions)))
    first = np.flatnonzero(starts(*ordered))
    return picked(ordered, first), np.diff(np.append(first, len(ordered.xs)))


def batch_updates(deletions: RangeTuples, insertions: RangeTuples) -> RangeUpdates:
    """Give a batch as updates: all insertions in their order, then all deletions."""
    first, second = len(insertions.xs), len(deletions.xs)
    comes = np.zeros(first + second, np.bool_)
    comes[:first] = True
    pads = np.zeros(first, np.int64), np.zeros(second, np.int64)
    go = RangeTuples(*(np.concatenate([pads[0], column]) for column in deletions))
    come = RangeTuples(*(np.concatenate([column, pads[1]]) for column in insertions))
    return RangeUpdates(
        ~comes, go.partitions, go.xs, go.ys, comes, come.partitions, come.xs, come.ys
    )


def messages_room(count: int, begun: RangeMessages | None = None) -> RangeMessages:
    """Give room for messages, the first of them being those that are there."""
    room = RangeMessages._make(
        np.empty(count, np.bool_ if name == "empty" else np.int64) for name in RangeMessages._fields
    )
    for column, old in zip(room, begun or (), strict=False):
        column[: len(old)] = old
    return room
