"""Lazy maintenance: join a group that is there, else open one; rebuild when it may pay."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.kernels.arrays import Ints, Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.partition_trees import NONE, tree_floor
from penstock.kernels.partitions import (
    APART,
    BY_INTERSECTION,
    BY_POINT,
    CHANGES,
    FIRST_SIZE,
    LARGEST,
    LIVE,
    LOST,
    MEMBERS,
    NO_HIGH,
    NO_LOW,
    ORIGINAL,
    REBUILDS,
    ROOT,
    SPARES,
    TOP,
    UPDATES,
    WITNESSING,
    Partition,
    canonical_partition,
    group_open,
    list_push,
    list_unlink,
    member_count,
    member_leave,
    territory_tree,
)


@kernel
def lazy_find(p: Partition, low: int, high: int) -> Any:
    """Find the last group whose territory meets a range; -1: none."""
    if p.join == APART:
        return NONE
    group = tree_floor(territory_tree(p), p.counts[ROOT], high)
    if group >= 0 and p.areas[group].high < low:
        return NONE
    return group


@kernel
def lazy_add(p: Partition, slot: int) -> None:
    """Put a slot into a group."""
    low, high = p.slots[slot].low, p.slots[slot].high
    group = lazy_find(p, low, high)
    if group < 0:
        if p.join == APART:
            group = group_open(p, high, NO_LOW, NO_HIGH)
        elif p.join == BY_POINT:
            group = group_open(p, high, high, high)
        else:
            group = group_open(p, high, low, high)
    elif p.join == BY_INTERSECTION:
        p.areas[group].low = max(p.areas[group].low, low)
        p.areas[group].high = min(p.areas[group].high, high)
        p.points[group] = min(max(p.points[group], low), high)
    list_push(p.slots, p.table, group, slot)
    member_count(p, group, slot)


@kernel
def list_remove(p: Partition, slot: int) -> None:
    """Take a slot out of the list of its group; an empty group goes."""
    group = p.groups[slot]
    list_unlink(p.slots, p.table, group, slot)
    member_leave(p, group, slot)


@kernel
def lazy_reset(p: Partition) -> None:
    """Give up all groups; slots keep their ids until they are adopted."""
    for group in range(p.counts[TOP]):
        if p.sizes[group] > 0:
            p.sizes[group] = 0
            p.changed[group] = 1
        p.table[group].head = NONE
    p.counts[CHANGES] = 1
    p.counts[LIVE] = 0
    p.counts[TOP] = 0
    p.counts[SPARES] = 0
    p.counts[ROOT] = -1
    p.counts[MEMBERS] = 0
    p.counts[LARGEST] = 0


@kernel
def lazy_adopt(p: Partition, slots: Rows, labels: Rows, points: Ints) -> None:
    """Fill an empty partition with canonical groups: slots in order, labels ascending."""
    start = 0
    for label in range(len(points)):
        end = start
        while end < len(slots) and labels[end] == label:
            end += 1
        floor, ceiling = points[label], points[label]
        if p.join == APART:
            floor, ceiling = NO_LOW, NO_HIGH
        elif p.join == BY_INTERSECTION:
            floor = p.slots[slots[end - 1]].low
        group = group_open(p, points[label], floor, ceiling)
        witness = NONE
        for k in range(end - 1, start - 1, -1):
            slot = slots[k]
            p.slots[slot].mark = ORIGINAL
            if p.slots[slot].high == points[label]:
                witness = slot
            list_push(p.slots, p.table, group, slot)
            member_count(p, group, slot)
        p.slots[witness].mark |= WITNESSING
        start = end
    p.counts[FIRST_SIZE] = len(points)
    p.counts[UPDATES] = 0
    p.counts[LOST] = 0


@kernel
def lazy_rebuild(p: Partition) -> None:
    """Replace the partition by the canonical one."""
    slots = np.empty(p.counts[MEMBERS], dtype=np.int32)
    count = 0
    for slot in range(len(p.groups)):
        if p.groups[slot] >= 0:
            slots[count] = slot
            count += 1
    lows = np.empty(count, dtype=np.int64)
    highs = np.empty(count, dtype=np.int64)
    for k in range(count):
        lows[k] = p.slots[slots[k]].low
        highs[k] = p.slots[slots[k]].high
    order, labels, points = canonical_partition(lows, highs)
    lazy_reset(p)
    lazy_adopt(p, slots[order], labels, points)
    p.counts[REBUILDS] += 1
