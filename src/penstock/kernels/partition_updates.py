"""Updates of a partition, one by one, whatever its maintenance."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.kernels.arrays import Ints, Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.partition_lazy import (
    lazy_add,
    lazy_adopt,
    lazy_find,
    lazy_rebuild,
    list_remove,
)
from penstock.kernels.partition_refined import (
    refined_add,
    refined_adopt,
    refined_rebuild,
    refined_remove,
)
from penstock.kernels.partition_trees import NONE, START, tree_first, tree_items, tree_last
from penstock.kernels.partitions import (
    APART,
    BY_INTERSECTION,
    HIGHEST,
    LAZY,
    LOST,
    LOWEST,
    MEMBERS,
    NO_HIGH,
    NO_LOW,
    REFINED,
    UPDATES,
    Partition,
    group_close,
    group_open,
    list_push,
    losses_count,
    member_count,
    rebuild_is_due,
    slot_tree,
)


@kernel
def partition_adopt(p: Partition, slots: Rows, labels: Rows, points: Ints) -> None:
    """Fill an empty partition with canonical groups: slots in order, labels ascending."""
    if p.kind == LAZY:
        lazy_adopt(p, slots, labels, points)
    else:
        refined_adopt(p, slots, labels, points)


@kernel
def partition_check(p: Partition) -> None:
    """Count an update, and rebuild if that is due."""
    p.counts[UPDATES] += 1
    if rebuild_is_due(p):
        if p.kind == LAZY:
            lazy_rebuild(p)
        else:
            refined_rebuild(p)


@kernel
def partition_add(p: Partition, slot: int) -> None:
    """Add a slot whose range is in place."""
    if p.kind == LAZY:
        lazy_add(p, slot)
    else:
        refined_add(p, slot)
    partition_check(p)


@kernel
def partition_remove(p: Partition, slot: int) -> None:
    """Remove a slot."""
    p.counts[LOST] += losses_count(p, slot)
    if p.kind == LAZY:
        list_remove(p, slot)
    else:
        refined_remove(p, slot)
    partition_check(p)


@kernel
def partition_insert(p: Partition, slots: Rows, lows: Ints, highs: Ints) -> None:
    """Add ranges, in the given order; the arrays of groups have room for one group each."""
    for i in range(len(slots)):
        slot = slots[i]
        p.slots[slot].low = lows[i]
        p.slots[slot].high = highs[i]
        p.slots[slot].mark = 0
        partition_add(p, slot)


@kernel
def partition_delete(p: Partition, slots: Rows) -> None:
    """Remove ranges, in the given order."""
    for slot in slots:
        partition_remove(p, slot)


@kernel
def group_members(p: Partition, group: int, out: Rows, at: int) -> int:
    """Write the members of a group from out[at]; give where the next would be written."""
    if p.kind == REFINED and p.table[group].canon >= 0:
        tree, root = slot_tree(p), p.table[group].head
        return tree_items(tree, root, tree_first(tree, root), tree_last(tree, root), out, at)
    slot = p.table[group].head
    while slot >= 0:
        out[at] = slot
        at += 1
        slot = p.slots[slot].right
    return at


@kernel
def groups_members(p: Partition, groups: Rows, out: Rows) -> None:
    """Write the members of groups, one group after the other."""
    at = START
    for group in groups:
        if p.sizes[group] > 0:
            at = group_members(p, group, out, at)


@kernel
def partition_take(p: Partition, group: int, out: Rows) -> None:
    """Remove a whole group as one update; write its members. The caller checks afterwards.

    The fewest possible groups become fewer by at most one, and so do the groups.
    """
    group_members(p, group, out, START)
    lost = np.int64(0)
    for slot in out:
        lost = max(lost, losses_count(p, slot))
        p.groups[slot] = NONE
    p.counts[LOST] += lost
    p.counts[MEMBERS] -= len(out)
    group_close(p, group)


@kernel
def partition_give(p: Partition, slots: Rows) -> None:
    """Add a whole group as one update. The caller checks afterwards."""
    floor: Any = np.int64(LOWEST)
    ceiling: Any = np.int64(HIGHEST)
    for slot in slots:
        floor = max(floor, p.slots[slot].low)
        ceiling = min(ceiling, p.slots[slot].high)
    point = ceiling
    if p.kind == REFINED or p.join == APART:
        floor, ceiling = NO_LOW, NO_HIGH
    else:
        # Its territory is what the territory before it leaves: nothing, if that holds the point.
        floor = floor if p.join == BY_INTERSECTION else point
        other = lazy_find(p, floor, ceiling)
        if other >= 0:
            if p.areas[other].high < ceiling:
                floor = p.areas[other].high + 1
            else:
                floor, ceiling = NO_LOW, NO_HIGH
    group = group_open(p, point, floor, ceiling)
    for k in range(len(slots) - 1, -1, -1):
        p.slots[slots[k]].mark = 0
        list_push(p.slots, p.table, group, slots[k])
        member_count(p, group, slots[k])
