"""Stabbing partitions: ranges in groups, all ranges of a group around one point.

A partition lives in arrays by slot (a range) and by group. Members of a group hang in a linked
list; under refined maintenance the members of a canonical group form a tree instead, in the same
two arrays. Keys are compared, never subtracted: open ends are the ends of int64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.kernels.arrays import Bytes, Ints, Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.partition_trees import NONE, Nodes, Tree, tree_delete, tree_insert
from penstock.kernels.radix_sorts import entries_order

Table = npt.NDArray[Any]

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
NO_LOW: Any = np.int64(HIGHEST)
NO_HIGH: Any = np.int64(LOWEST)
"""The ends of a territory that nothing meets."""

LAZY, REFINED = 0, 1
COUNT, RELAXED, WITNESS = 0, 1, 2
APART, BY_POINT, BY_INTERSECTION = 0, 1, 2
"""How a new range finds a group: never, by its point, by the common intersection."""

MEMBERS, LIVE, TOP, SPARES, FIRST_SIZE, UPDATES, LOST = range(7)
REBUILDS, ROOT, LARGEST, CHANGES, SPLITS, FIXED = range(7, 13)
COUNTS = 13
"""Places in `Partition.counts`, and how many.

Ranges; groups; the id above all groups; ids to reuse; groups at the last rebuild; updates, and
lost members or witnesses, since; rebuilds; the tree of territories; a bound on the sizes of groups;
whether any group changed; cuts of the last refined rebuild; canonical points.
"""

ORIGINAL, WITNESSING = 1, 2
"""Marks of a slot: here since the last rebuild; the range that ends its canonical group."""


GROUP = np.dtype(
    [
        ("fixed_point", np.int64), ("fixed_group", np.int32), ("witness", np.int32),
        ("head", np.int32), ("canon", np.int32), ("spare", np.int32), ("unused", np.int32),
    ]
)  # fmt: skip
"""What is known of a group beside its point and size, and three lists in the same records.

By id: the head of its list or the root of its tree, its place among the canonical groups (-1:
none). Lists: ids to reuse; canonical points, the groups that have them (-1: gone) and witnesses.
"""


class Partition(NamedTuple):
    """The state of a partition: `slots` and `groups` by slot, the other arrays by group.

    The low and high of an area bound a group's territory: ranges that meet it may join.
    Territories never meet each other, so a tree finds the one that a range meets. A group with low
    above high has none.
    """

    kind: int
    trigger: int
    join: int
    epsilon: float
    slots: Nodes
    groups: Rows
    points: Ints
    sizes: Rows
    areas: Nodes
    table: Table
    changed: Bytes
    path: Rows
    counts: Ints


@kernel
def canonical_partition(lows: Ints, highs: Ints) -> Any:
    """Give the smallest stabbing partition: (order, groups of the ordered ranges, points).

    A greedy sweep over the ranges by their left ends; a group's point is the right end of its
    common intersection. Groups count from 0, by ascending point.
    """
    n = len(lows)
    order = entries_order(np.zeros(n, dtype=np.int32), lows)
    labels = np.empty(n, dtype=np.int32)
    count = 0
    reach = np.int64(0)
    for k in range(n):
        i = order[k]
        if k == 0 or lows[i] > reach:
            count += 1
            reach = highs[i]
        else:
            reach = min(reach, highs[i])
        labels[k] = count - 1
    points = np.full(count, HIGHEST, dtype=np.int64)
    for k in range(n):
        points[labels[k]] = min(points[labels[k]], highs[order[k]])
    return order, labels, points


@kernel
def slot_tree(p: Partition) -> Tree:
    """Give the trees of slots."""
    return Tree(p.slots, True, p.path)


@kernel
def territory_tree(p: Partition) -> Tree:
    """Give the tree of territories."""
    return Tree(p.areas, False, p.path)


@kernel
def list_push(slots: Nodes, table: Table, group: int, slot: int) -> None:
    """Hang a slot at the head of a group's list."""
    head = table[group].head
    slots[slot].left = NONE
    slots[slot].right = head
    if head >= 0:
        slots[head].left = slot
    table[group].head = slot


@kernel
def list_unlink(slots: Nodes, table: Table, group: int, slot: int) -> None:
    """Take a slot out of a group's list."""
    before, after = slots[slot].left, slots[slot].right
    if before >= 0:
        slots[before].right = after
    else:
        table[group].head = after
    if after >= 0:
        slots[after].left = before


@kernel
def group_touch(p: Partition, group: int) -> None:
    """Note that a group changed."""
    p.changed[group] = 1
    p.counts[CHANGES] = 1


@kernel
def group_open(p: Partition, point: int, floor: int, ceiling: int) -> Any:
    """Make an empty group with a point and a territory; give its id."""
    if p.counts[SPARES] > 0:
        p.counts[SPARES] -= 1
        group = p.table[p.counts[SPARES]].spare
    else:
        group = np.int32(p.counts[TOP])
        p.counts[TOP] += 1
    p.counts[LIVE] += 1
    p.points[group] = point
    p.sizes[group] = 0
    p.table[group].head = NONE
    p.table[group].canon = NONE
    p.areas[group].low = floor
    p.areas[group].high = ceiling
    if floor <= ceiling:
        p.counts[ROOT] = tree_insert(territory_tree(p), np.int32(p.counts[ROOT]), group)
    group_touch(p, group)
    return group


@kernel
def group_close(p: Partition, group: int) -> None:
    """Give up a group without members."""
    if p.areas[group].low <= p.areas[group].high:
        p.counts[ROOT] = tree_delete(territory_tree(p), np.int32(p.counts[ROOT]), group)
    if p.table[group].canon >= 0:
        p.table[p.table[group].canon].fixed_group = NONE
    p.sizes[group] = 0
    p.table[group].head = NONE
    p.table[p.counts[SPARES]].spare = group
    p.counts[SPARES] += 1
    p.counts[LIVE] -= 1
    group_touch(p, group)


@kernel
def member_leave(p: Partition, group: int, slot: int) -> None:
    """Count a slot that is no longer in its group; an empty group goes."""
    p.groups[slot] = NONE
    p.sizes[group] -= 1
    p.counts[MEMBERS] -= 1
    group_touch(p, group)
    if p.sizes[group] == 0:
        group_close(p, group)


@kernel
def member_count(p: Partition, group: int, slot: int) -> None:
    """Count a slot that came to a group."""
    p.groups[slot] = group
    p.sizes[group] += 1
    p.counts[MEMBERS] += 1
    p.counts[LARGEST] = max(p.counts[LARGEST], p.sizes[group])
    group_touch(p, group)


@kernel
def rebuild_is_due(p: Partition) -> Any:
    """Say whether the groups might be more than (1 + epsilon) times the fewest possible.

    Count: after epsilon * first / (epsilon + 2) updates. Relaxed: ranges of the last rebuild that
    went may each have saved one group. Witness: ranges that ended canonical groups are pairwise
    disjoint, so every partition has at least as many groups as there are witnesses left.
    """
    first = p.counts[FIRST_SIZE]
    if p.trigger == COUNT:
        return p.counts[UPDATES] >= p.epsilon * first / (p.epsilon + 2.0)
    return p.counts[LIVE] >= (1.0 + p.epsilon) * (first - p.counts[LOST])


@kernel
def losses_count(p: Partition, slot: int) -> Any:
    """Say what the removal of a slot takes from the bound on the fewest groups."""
    marks = p.slots[slot].mark
    p.slots[slot].mark = 0
    if p.trigger == RELAXED:
        return np.int64(marks & ORIGINAL)
    return np.int64((marks & WITNESSING) >> 1)
