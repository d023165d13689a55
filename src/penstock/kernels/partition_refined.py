"""Refined maintenance: canonical groups are trees, and a rebuild cuts and joins whole trees.

Every left end of a canonical group is smaller than every left end of the next one. Between
rebuilds a range may join only the group of the leftmost canonical point that it contains, or be a
group of its own; both keep that order. Then a rebuild needs one cut per group, not one look per
range, and gives exactly the canonical partition.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.kernels.arrays import Ints, Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.partition_lazy import list_remove
from penstock.kernels.partition_trees import (
    NONE,
    START,
    tree_build,
    tree_cut,
    tree_delete,
    tree_first,
    tree_insert,
    tree_items,
    tree_join,
    tree_last,
    tree_least,
)
from penstock.kernels.partitions import (
    APART,
    FIRST_SIZE,
    FIXED,
    HIGHEST,
    LARGEST,
    LIVE,
    LOST,
    NO_HIGH,
    NO_LOW,
    ORIGINAL,
    REBUILDS,
    SPARES,
    SPLITS,
    TOP,
    UPDATES,
    WITNESSING,
    Partition,
    group_open,
    group_touch,
    list_push,
    member_count,
    member_leave,
    slot_tree,
)
from penstock.kernels.radix_sorts import entries_order


class Pieces(NamedTuple):
    """What a rebuild makes: new groups (roots, ends), of pieces of old groups.

    Piece k goes from old group `olds[k]` to new group `news[k]`: the nodes from `firsts[k]` to
    `lasts[k]`, `sizes[k]` of them. `counts` is (pieces, new groups, splits).
    """

    olds: Rows
    news: Rows
    firsts: Rows
    lasts: Rows
    sizes: Rows
    roots: Rows
    ends: Ints
    counts: Ints


@kernel
def canon_find(p: Partition, low: int) -> int:
    """Find the first canonical point that is not below a key."""
    start, end = 0, p.counts[FIXED]
    while start < end:
        middle = (start + end) >> 1
        if p.table[middle].fixed_point < low:
            start = middle + 1
        else:
            end = middle
    return start


@kernel
def refined_add(p: Partition, slot: int) -> None:
    """Put a slot into the group of the leftmost canonical point in its range, else on its own."""
    low, high = p.slots[slot].low, p.slots[slot].high
    if p.join != APART:
        k = canon_find(p, low)
        if k < p.counts[FIXED] and p.table[k].fixed_point <= high:
            group = p.table[k].fixed_group
            if group < 0:
                group = group_open(p, p.table[k].fixed_point, NO_LOW, NO_HIGH)
                p.table[k].fixed_group = group
                p.table[group].canon = k
            p.table[group].head = tree_insert(slot_tree(p), p.table[group].head, slot)
            p.slots[
                slot
            ].mark = ORIGINAL  # the next rebuild need not look at it, so it counts as old now
            member_count(p, group, slot)
            return
    group = group_open(p, high, NO_LOW, NO_HIGH)
    list_push(p.slots, p.table, group, slot)
    member_count(p, group, slot)


@kernel
def refined_remove(p: Partition, slot: int) -> None:
    """Take a slot out of its group; an empty group goes."""
    group = p.groups[slot]
    if p.table[group].canon < 0:
        list_remove(p, slot)
        return
    p.table[group].head = tree_delete(slot_tree(p), p.table[group].head, slot)
    member_leave(p, group, slot)


@kernel
def refined_adopt(p: Partition, slots: Rows, labels: Rows, points: Ints) -> None:
    """Fill an empty partition with canonical groups: slots in order, labels ascending."""
    start = 0
    tree = slot_tree(p)
    for label in range(len(points)):
        end = start
        group = group_open(p, points[label], NO_LOW, NO_HIGH)
        while end < len(slots) and labels[end] == label:
            p.slots[slots[end]].mark = ORIGINAL
            member_count(p, group, slots[end])
            end += 1
        p.table[group].head = tree_build(tree, slots, start, end)
        canon_set(p, label, group)
        start = end
    rebuild_note(p, len(points))


@kernel
def canon_set(p: Partition, k: int, group: int) -> None:
    """Make a group the k-th canonical one."""
    p.table[group].canon = k
    p.table[k].fixed_group = group
    p.table[k].fixed_point = p.points[group]
    witness = tree_least(slot_tree(p), p.table[group].head)
    p.table[k].witness = witness
    p.slots[witness].mark |= WITNESSING


@kernel
def rebuild_note(p: Partition, groups: int) -> None:
    """Start counting anew from a canonical partition."""
    p.counts[FIXED] = groups
    p.counts[FIRST_SIZE] = groups
    p.counts[UPDATES] = 0
    p.counts[LOST] = 0


@kernel
def piece_add(p: Partition, out: Pieces, group: int, root: int, first: int, last: int) -> None:
    """Note that the new group in the making got a piece of an old group."""
    k = out.counts[0]
    out.olds[k] = group
    out.news[k] = out.counts[1]
    out.firsts[k] = first
    out.lasts[k] = last
    out.sizes[k] = p.slots[root].count if root >= 0 else 1
    out.counts[0] += 1


@kernel
def group_emit(p: Partition, out: Pieces, root: int, fresh: Rows, end: int) -> None:
    """Finish a new group: put the new ranges into its tree."""
    tree = slot_tree(p)
    for slot in fresh:
        piece_add(p, out, p.groups[slot], NONE, slot, slot)
        root = tree_insert(tree, root, slot)
    out.roots[out.counts[1]] = root
    out.ends[out.counts[1]] = end
    out.counts[1] += 1


@kernel
def fresh_slots(p: Partition) -> Any:
    """Give the slots in no canonical group, by left end."""
    count = 0
    for group in range(p.counts[TOP]):
        if p.sizes[group] > 0 and p.table[group].canon < 0:
            count += p.sizes[group]
    fresh = np.empty(count, dtype=np.int32)
    count = 0
    for group in range(p.counts[TOP]):
        if p.sizes[group] > 0 and p.table[group].canon < 0:
            slot = p.table[group].head
            while slot >= 0:
                fresh[count] = slot
                count += 1
                slot = p.slots[slot].right
    fresh.sort()
    lows = np.empty(count, dtype=np.int64)
    for k in range(count):
        lows[k] = p.slots[fresh[k]].low
    return fresh[entries_order(np.zeros(count, dtype=np.int32), lows)]


@kernel
def groups_sweep(p: Partition, fresh: Rows) -> Pieces:
    """Make the canonical groups from the old trees and the new ranges."""
    tree = slot_tree(p)
    old = np.empty(p.counts[FIXED], dtype=np.int32)
    for k in range(len(old)):
        old[k] = p.table[k].fixed_group
    room = 2 * (len(old) + len(fresh)) + 2
    out = Pieces(
        np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32),
        np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32),
        np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32),
        np.empty(room, dtype=np.int64), np.zeros(3, dtype=np.int64),
    )  # fmt: skip
    i, j, waiting = 0, 0, 0
    root = NONE
    reach: Any = np.int64(HIGHEST)
    rest = p.table[old[0]].head if len(old) > 0 and old[0] >= 0 else NONE
    while True:
        while i < len(old) and rest < 0:
            i += 1
            rest = p.table[old[i]].head if i < len(old) and old[i] >= 0 else NONE
        if i >= len(old) and j >= len(fresh):
            break
        is_old = False
        start = np.int64(0)
        if i < len(old):
            start = p.slots[tree_last(tree, rest)].low
            is_old = j >= len(fresh) or start <= p.slots[fresh[j]].low
        if not is_old:
            start = p.slots[fresh[j]].low
        if start > reach:
            # Nothing further fits: close the group, with the part of the next tree that fits.
            if i < len(old):
                fits, rest = tree_cut(tree, rest, reach)
                out.counts[2] += 1
                if fits >= 0:
                    piece_add(p, out, old[i], fits, tree_first(tree, fits), tree_last(tree, fits))
                    root = tree_join(tree, root, fits, START)
            group_emit(p, out, root, fresh[waiting:j], reach)
            waiting = j
            root = NONE
            reach = np.int64(HIGHEST)
        if is_old:
            piece_add(p, out, old[i], rest, tree_first(tree, rest), tree_last(tree, rest))
            reach = min(reach, p.slots[rest].least)
            root = tree_join(tree, root, rest, START)
            rest = NONE
        else:
            reach = min(reach, p.slots[fresh[j]].high)
            j += 1
    if root >= 0 or waiting < j:
        group_emit(p, out, root, fresh[waiting:j], reach)
    return out


@kernel
def ids_assign(p: Partition, out: Pieces) -> Any:
    """Give each new group the id of the old group that gave it most; largest pieces first."""
    made = out.counts[1]
    ids = np.full(made, NONE, dtype=np.int32)
    taken = np.zeros(max(p.counts[TOP], made), dtype=np.bool_)
    order = np.argsort(-out.sizes[: out.counts[0]], kind="mergesort")
    for k in order:
        if ids[out.news[k]] < 0 and not taken[out.olds[k]]:
            ids[out.news[k]] = out.olds[k]
            taken[out.olds[k]] = True
    following = 0
    for new in range(made):
        if ids[new] < 0:
            while taken[following]:
                following += 1
            ids[new] = following
            taken[following] = True
    return ids, taken


@kernel
def refined_rebuild(p: Partition) -> None:
    """Replace the partition by the canonical one; only groups that differ are touched."""
    tree = slot_tree(p)
    for k in range(p.counts[FIXED]):
        p.slots[p.table[k].witness].mark &= ~WITNESSING
    fresh = fresh_slots(p)
    out = groups_sweep(p, fresh)
    ids, taken = ids_assign(p, out)
    made = out.counts[1]
    pieces = np.zeros(made, dtype=np.int32)
    for k in range(out.counts[0]):
        new = out.news[k]
        group = ids[new]
        pieces[new] += 1
        if out.olds[k] != group:
            pieces[new] += 1
            scratch = np.empty(p.slots[out.roots[new]].count, dtype=np.int32)
            end = tree_items(tree, out.roots[new], out.firsts[k], out.lasts[k], scratch, START)
            for slot in scratch[:end]:
                p.groups[slot] = group
    top = max(p.counts[TOP], made)
    p.counts[SPARES] = 0
    for group in range(top - 1, -1, -1):
        if not taken[group]:
            if group < p.counts[TOP] and p.sizes[group] > 0:
                group_touch(p, group)
            p.sizes[group] = 0
            p.table[group].head = NONE
            p.table[group].canon = NONE
            p.table[p.counts[SPARES]].spare = group
            p.counts[SPARES] += 1
    for slot in fresh:
        p.slots[slot].mark = ORIGINAL
    largest = 0
    for new in range(made):
        group, root = ids[new], out.roots[new]
        if (
            pieces[new] > 1
            or p.sizes[group] != p.slots[root].count
            or p.points[group] != out.ends[new]
        ):
            group_touch(p, group)
        p.points[group] = out.ends[new]
        p.sizes[group] = p.slots[root].count
        p.table[group].head = root
        canon_set(p, new, group)
        largest = max(largest, p.sizes[group])
    p.counts[TOP] = top
    p.counts[LIVE] = made
    p.counts[LARGEST] = largest
    p.counts[SPLITS] = out.counts[2]
    p.counts[REBUILDS] += 1
    rebuild_note(p, made)
