"""Range minima by scans: of the leaves of a plain B-tree, of a sorted column, and brute force."""

from __future__ import annotations

from penstock.kernels.arrays import Ints
from penstock.kernels.compilation import tight
from penstock.kernels.range_messages import AHEAD, RangeMessages
from penstock.kernels.range_trees import (
    FANOUT,
    HEIGHT,
    NONE,
    RangeTree,
    leaf_fetch,
    tree_seek_x,
)

ENTRIES, RECORDS = 0, 1
"""Places of `counts`: entries that scans read, and points of hulls that they met."""


@tight
def leaves_link(tree: RangeTree, xs: Ints, before: Ints, after: Ints) -> None:
    """Write which leaf is next to each on either side, by all x in order; NONE at the ends."""
    last = NONE
    for k in range(len(xs)):
        tree_seek_x(tree, 0, xs[k])
        leaf = tree.nodes[tree.state[HEIGHT] - 1]
        if leaf != last:
            before[leaf], after[leaf] = last, NONE
            if last != NONE:
                after[last] = leaf
            last = leaf


@tight
def updates_scan(
    tree: RangeTree, before: Ints, after: Ints, xs: Ints, old: Ints, new: Ints, counts: Ints
) -> None:
    """Do for each update what a server must, by scanning leaves from the tuple to both sides.

    The tree is a plain one: what entries above leaves know of values is neither read nor kept, and
    leaves are linked. A scan ends at the first value up to the lower one of the update, the
    affected range; on its way it meets the points of the hull, if the value rises.
    """
    for k in range(len(xs)):
        place = tree_seek_x(tree, 0, xs[k])
        bound, top = min(old[k], new[k]), new[k]
        tree.lows[place] = new[k]
        leaf = tree.nodes[tree.state[HEIGHT] - 1]
        at, first = place - 1, leaf * FANOUT
        while True:
            start = at
            while at >= first and tree.lows[at] > bound:
                if tree.lows[at] < top:
                    top = tree.lows[at]
                    counts[RECORDS] += 1
                at -= 1
            counts[ENTRIES] += start - at + (at >= first)
            if at >= first or before[leaf] == NONE:
                break
            leaf = before[leaf]
            first = leaf * FANOUT
            at = first + tree.sizes[leaf] - 1
        leaf, top = tree.nodes[tree.state[HEIGHT] - 1], new[k]
        at, end = place + 1, leaf * FANOUT + tree.sizes[leaf]
        while True:
            start = at
            while at < end and tree.lows[at] > bound:
                if tree.lows[at] < top:
                    top = tree.lows[at]
                    counts[RECORDS] += 1
                at += 1
            counts[ENTRIES] += at - start + (at < end)
            if at < end or after[leaf] == NONE:
                break
            leaf = after[leaf]
            at, end = leaf * FANOUT, leaf * FANOUT + tree.sizes[leaf]


@tight
def values_write(tree: RangeTree, xs: Ints, new: Ints) -> None:
    """Find the tuple of each update and write its value: what any server does at least."""
    for k in range(len(xs)):
        if k + AHEAD < len(xs):
            leaf_fetch(tree, 0, xs[k + AHEAD])
        tree.lows[tree_seek_x(tree, 0, xs[k])] = new[k]


@tight
def scans_mar(xs: Ints, ys: Ints, places: Ints, bounds: Ints, lefts: Ints, rights: Ints) -> int:
    """Write the first x on both sides with a value up to the bound, or the ends of the integers.

    Returns
    -------
    int
        How many entries were read.
    """
    read = 0
    for k in range(len(places)):
        at = places[k] - 1
        while at >= 0 and ys[at] > bounds[k]:
            at -= 1
        read += places[k] - at
        lefts[k] = -(1 << 63) if at < 0 else xs[at] + 1
        at = places[k] + 1
        while at < len(xs) and ys[at] > bounds[k]:
            at += 1
        read += at - places[k]
        rights[k] = (1 << 63) - 1 if at == len(xs) else xs[at] - 1
    return read


@tight
def table_least(table: Ints, tuples: int, partition: int, x1: int, x2: int) -> tuple[bool, int]:
    """Say whether any of the first rows (partition, x, y) is in a range; give the least y."""
    found, least = False, 0
    for k in range(tuples):
        inside = table[k, 0] == partition and x1 <= table[k, 1] <= x2
        if inside and (not found or table[k, 2] < least):
            found, least = True, table[k, 2]
    return found, least


@tight
def messages_judge(
    before: Ints, tuples_before: int, after: Ints, tuples_after: int, messages: RangeMessages,
    partitions: int, low: int, high: int,
) -> int:  # fmt: skip
    """Count subscriptions, of all with ends in [low, high], that are told anything but the truth.

    One whose minimum changed must be in one rectangle, with the new minimum; others in none.
    """
    wrong = 0
    for p in range(partitions):
        for x1 in range(low, high + 1):
            for x2 in range(x1, high + 1):
                had, was = table_least(before, tuples_before, p, x1, x2)
                has, now = table_least(after, tuples_after, p, x1, x2)
                changed = had != has or (has and was != now)
                times, right = 0, True
                for m in range(len(messages.values)):
                    inside = messages.partitions[m] == p
                    inside = inside and messages.outer_l[m] <= x1 <= messages.inner_l[m]
                    if inside and messages.inner_r[m] <= x2 <= messages.outer_r[m]:
                        times += 1
                        right = messages.empty[m] != has
                        right = right and (not has or messages.values[m] == now)
                wrong += times != changed or not right
    return wrong
