"""Hotspots: groups that hold a large share of all ranges, kept apart from the scattered rest.

A group enters at a share of alpha and leaves below alpha / 2, so it moves rarely: all moves
together are at most five per insertion and two per deletion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.kernels.arrays import Bytes, Ints, Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.partition_trees import NONE, Nodes
from penstock.kernels.partition_updates import (
    partition_add,
    partition_check,
    partition_give,
    partition_remove,
    partition_take,
)
from penstock.kernels.partitions import (
    HIGHEST,
    LARGEST,
    LOWEST,
    REBUILDS,
    TOP,
    Partition,
    Table,
    list_push,
    list_unlink,
)

TOTAL, HOT_LIVE, HOT_TOP, HOT_SPARES, SMALLEST, MOVES, HOT_CHANGES, CROSSINGS, HOT_MEMBERS = range(
    9
)
"""Places in `Hot.counts`.

All ranges; hot groups; ids below which they live; ids to reuse; a bound below their sizes; moves;
whether a hot group changed; whether a slot entered or left the scattered; ranges in hot groups.
"""
HOT_COUNTS = 9


class Hot(NamedTuple):
    """The hot groups over a partition of the scattered ranges, whose lists hold members too."""

    alpha: float
    groups: Rows
    crossed: Bytes
    points: Ints
    sizes: Rows
    areas: Nodes
    table: Table
    changed: Bytes
    counts: Ints


@kernel
def hot_touch(h: Hot, group: int) -> None:
    """Note that a hot group changed."""
    h.changed[group] = 1
    h.counts[HOT_CHANGES] = 1


@kernel
def slot_cross(h: Hot, slot: int) -> None:
    """Note that a slot entered or left the scattered ranges."""
    h.crossed[slot] = 1
    h.counts[CROSSINGS] = 1


@kernel
def hot_find(h: Hot, low: int, high: int) -> Any:
    """Find a hot group whose common intersection meets a range; -1: none."""
    for group in range(h.counts[HOT_TOP]):
        if h.areas[group].low <= high and h.areas[group].high >= low and h.sizes[group] > 0:
            return np.int32(group)
    return NONE


@kernel
def hot_push(h: Hot, p: Partition, group: int, slot: int) -> None:
    """Put a slot into a hot group, whose intersection shrinks."""
    low, high = p.slots[slot].low, p.slots[slot].high
    h.areas[group].low = max(h.areas[group].low, low)
    h.areas[group].high = min(h.areas[group].high, high)
    h.points[group] = min(max(h.points[group], low), high)
    list_push(p.slots, h.table, group, slot)
    h.groups[slot] = group
    h.sizes[group] += 1
    h.counts[HOT_MEMBERS] += 1
    hot_touch(h, group)


@kernel
def group_promote(h: Hot, p: Partition, group: Any) -> None:
    """Move a scattered group to the hot ones."""
    slots = np.empty(p.sizes[group], dtype=np.int32)
    point = p.points[group]
    partition_take(p, group, slots)
    if h.counts[HOT_SPARES] > 0:
        h.counts[HOT_SPARES] -= 1
        hot = h.table[h.counts[HOT_SPARES]].spare
    else:
        hot = np.int32(h.counts[HOT_TOP])
        h.counts[HOT_TOP] += 1
    h.sizes[hot] = 0
    h.table[hot].head = NONE
    h.points[hot] = point
    h.areas[hot].low = LOWEST
    h.areas[hot].high = HIGHEST
    for k in range(len(slots) - 1, -1, -1):
        hot_push(h, p, hot, slots[k])
        slot_cross(h, slots[k])
    h.counts[HOT_LIVE] += 1
    h.counts[MOVES] += len(slots)
    h.counts[SMALLEST] = min(h.counts[SMALLEST], len(slots))
    partition_check(p)


@kernel
def hot_close(h: Hot, group: int) -> None:
    """Give up a hot group."""
    h.counts[HOT_MEMBERS] -= h.sizes[group]
    h.sizes[group] = 0
    h.table[group].head = NONE
    h.table[h.counts[HOT_SPARES]].spare = group
    h.counts[HOT_SPARES] += 1
    h.counts[HOT_LIVE] -= 1
    hot_touch(h, group)


@kernel
def group_demote(h: Hot, p: Partition, group: Any) -> None:
    """Move a hot group to the scattered ones."""
    slots = np.empty(h.sizes[group], dtype=np.int32)
    slot = h.table[group].head
    for k in range(len(slots)):
        slots[k] = slot
        h.groups[slot] = NONE
        slot_cross(h, slot)
        slot = p.slots[slot].right
    hot_close(h, group)
    if len(slots) > 0:
        partition_give(p, slots)
        h.counts[MOVES] += len(slots)
        partition_check(p)


@kernel
def groups_promote(h: Hot, p: Partition) -> None:
    """Move every scattered group that reached the share alpha."""
    bar = h.alpha * h.counts[TOTAL]
    if p.counts[LARGEST] < bar:
        return
    largest = 0
    group = 0
    while group < p.counts[TOP]:
        size = p.sizes[group]
        group += 1
        if size > 0 and size >= bar:
            rebuilds = p.counts[REBUILDS]
            group_promote(h, p, np.int32(group - 1))
            if p.counts[REBUILDS] != rebuilds:
                group, largest = 0, 0
        else:
            largest = max(largest, size)
    p.counts[LARGEST] = largest


@kernel
def groups_demote(h: Hot, p: Partition) -> None:
    """Move every hot group that fell below the share alpha / 2."""
    bar = 0.5 * h.alpha * h.counts[TOTAL]
    if h.counts[SMALLEST] >= bar:
        return
    smallest = np.int64(HIGHEST)
    for group in range(h.counts[HOT_TOP]):
        if h.sizes[group] > 0:
            if h.sizes[group] < bar:
                group_demote(h, p, np.int32(group))
            else:
                smallest = min(smallest, np.int64(h.sizes[group]))
    h.counts[SMALLEST] = smallest


@kernel
def hot_insert(h: Hot, p: Partition, slots: Rows, lows: Ints, highs: Ints) -> None:
    """Add ranges, in the given order."""
    for i in range(len(slots)):
        slot = slots[i]
        p.slots[slot].low = lows[i]
        p.slots[slot].high = highs[i]
        p.slots[slot].mark = 0
        h.counts[TOTAL] += 1
        group = hot_find(h, lows[i], highs[i])
        if group >= 0:
            hot_push(h, p, group, slot)
        else:
            partition_add(p, slot)
            slot_cross(h, slot)
            groups_promote(h, p)
        groups_demote(h, p)
        groups_promote(h, p)


@kernel
def hot_delete(h: Hot, p: Partition, slots: Rows) -> None:
    """Remove ranges, in the given order."""
    for slot in slots:
        h.counts[TOTAL] -= 1
        group = h.groups[slot]
        if group >= 0:
            list_unlink(p.slots, h.table, group, slot)
            h.groups[slot] = NONE
            h.sizes[group] -= 1
            h.counts[HOT_MEMBERS] -= 1
            hot_touch(h, group)
            size = h.sizes[group]
            if size == 0 or size < 0.5 * h.alpha * h.counts[TOTAL]:
                group_demote(h, p, group)
            else:
                h.counts[SMALLEST] = min(h.counts[SMALLEST], size)
        else:
            partition_remove(p, slot)
            slot_cross(h, slot)
        groups_promote(h, p)


@kernel
def hot_members(h: Hot, p: Partition, groups: Rows, out: Rows) -> None:
    """Write the members of hot groups, one group after the other."""
    at = 0
    for group in groups:
        slot = h.table[group].head
        while slot >= 0:
            out[at] = slot
            at += 1
            slot = p.slots[slot].right
