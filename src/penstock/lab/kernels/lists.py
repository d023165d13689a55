"""Sorted lists with slack, many in one pool: insert and delete in place.

List k is `keys[start : start + length]` and `slots[start : start + length]` with start, length and
room from `lists[k]`; it is sorted by (key, slot). An insertion shifts what follows within the list.
A list without room moves to the end of the pool, with half as much room again.

How to use it::

    pool = lists_fill(numbers, count, keys, slots, 0.1)   # items sorted by (key, slot)
    done = lists_change(pool, numbers, new_keys, new_slots, added, 0)
    while done < len(numbers):                            # the pool runs short of room
        pool = lists_pack(pool, 0.1)
        done = lists_change(pool, numbers, new_keys, new_slots, added, done)

A list that must read from the greatest key down holds ~key.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Flags, Ints, Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.partition_trees import Tree, tree_delete, tree_insert
from penstock.kernels.partition_updates import partition_add, partition_remove
from penstock.kernels.partitions import REBUILDS, Partition

START, LENGTH, ROOM = 0, 1, 2
ROOM_MIN = 8


class ListPool(NamedTuple):
    """Lists: (start, length, room) each; keys and slots of all; counts: (end, longest list)."""

    lists: Ints
    keys: Ints
    slots: Rows
    counts: Ints


@kernel
def list_place(pool: ListPool, number: int, key: int, slot: int) -> int:
    """Find where (key, slot) is or would be in a list, counted in the pool."""
    low = pool.lists[number, START]
    high = low + pool.lists[number, LENGTH]
    while low < high:
        middle = (low + high) >> 1
        here = pool.keys[middle]
        if here < key or (here == key and pool.slots[middle] < slot):
            low = middle + 1
        else:
            high = middle
    return int(low)


@kernel
def pool_is_short(pool: ListPool) -> bool:
    """Say whether the longest list might not find room at the end of the pool."""
    longest = pool.counts[1]
    return bool(pool.counts[0] + longest + (longest >> 1) + ROOM_MIN > len(pool.keys))


@kernel
def list_insert(pool: ListPool, number: int, key: int, slot: int) -> None:
    """Put (key, slot) into a list of a pool that is not short of room."""
    length = pool.lists[number, LENGTH]
    if length == pool.lists[number, ROOM]:
        start, top = pool.lists[number, START], pool.counts[0]
        for k in range(length):
            pool.keys[top + k] = pool.keys[start + k]
            pool.slots[top + k] = pool.slots[start + k]
        pool.lists[number, START] = top
        pool.lists[number, ROOM] = max(length + (length >> 1), ROOM_MIN)
        pool.counts[0] += pool.lists[number, ROOM]
    place = list_place(pool, number, key, slot)
    base = np.uint64(place)
    after = np.uint64(1)
    for k in range(pool.lists[number, START] + length - place - 1, -1, -1):
        # Unsigned places need no look whether they count from the end.
        here = base + np.uint64(k)
        pool.keys[here + after] = pool.keys[here]
        pool.slots[here + after] = pool.slots[here]
    pool.keys[place] = key
    pool.slots[place] = slot
    pool.lists[number, LENGTH] = length + 1
    pool.counts[1] = max(pool.counts[1], length + 1)


@kernel
def list_delete(pool: ListPool, number: int, key: int, slot: int) -> None:
    """Take (key, slot) out of the list that has it."""
    place = list_place(pool, number, key, slot)
    base = np.uint64(place)
    after = np.uint64(1)
    for k in range(pool.lists[number, START] + pool.lists[number, LENGTH] - place - 1):
        here = base + np.uint64(k)
        pool.keys[here] = pool.keys[here + after]
        pool.slots[here] = pool.slots[here + after]
    pool.lists[number, LENGTH] -= 1


@kernel
def lists_change(
    pool: ListPool, numbers: Rows, keys: Ints, slots: Rows, added: Flags, first: int
) -> int:
    """Insert (added) or delete items, from the `first` on; give how many are done."""
    for i in range(first, len(numbers)):
        if pool_is_short(pool):
            return i
        if added[i]:
            list_insert(pool, numbers[i], keys[i], slots[i])
        else:
            list_delete(pool, numbers[i], keys[i], slots[i])
    return len(numbers)


@kernel
def pool_make(lengths: Ints, slack: float) -> ListPool:
    """Make empty lists with room for so many items and a share of slack, in a pool with as much."""
    lists = np.zeros((len(lengths), 3), dtype=np.int64)
    top = 0
    longest = 0
    for number in range(len(lengths)):
        lists[number, START] = top
        lists[number, ROOM] = lengths[number] + int(lengths[number] * slack)
        top += lists[number, ROOM]
        longest = max(longest, lengths[number])
    size = top + (top >> 1) + 2 * longest + 2 * ROOM_MIN
    counts = np.zeros(2, dtype=np.int64)
    counts[0] = top
    counts[1] = longest
    return ListPool(lists, np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int32), counts)


@kernel
def lists_pack(pool: ListPool, slack: float) -> ListPool:
    """Copy the lists into a new pool, each with a share of slack."""
    packed = pool_make(pool.lists[:, LENGTH].copy(), slack)
    for number in range(len(pool.lists)):
        start, length = pool.lists[number, START], pool.lists[number, LENGTH]
        to = packed.lists[number, START]
        for k in range(length):
            packed.keys[to + k] = pool.keys[start + k]
            packed.slots[to + k] = pool.slots[start + k]
        packed.lists[number, LENGTH] = length
    return packed


@kernel
def lists_fill(numbers: Rows, count: int, keys: Ints, slots: Rows, slack: float) -> ListPool:
    """Make lists of items that come sorted by (key, slot); numbers[i] is the list of item i."""
    lengths = np.zeros(count, dtype=np.int64)
    for number in numbers:
        lengths[number] += 1
    pool = pool_make(lengths, slack)
    for i in range(len(numbers)):
        number = numbers[i]
        place = pool.lists[number, START] + pool.lists[number, LENGTH]
        pool.keys[place] = keys[i]
        pool.slots[place] = slots[i]
        pool.lists[number, LENGTH] += 1
    return pool


@kernel
def grouped_change(
    p: Partition, lefts: ListPool, rights: ListPool,
    slots: Rows, lows: Ints, highs: Ints, added: Flags, first: int,
) -> int:  # fmt: skip
    """Update a partition with, per group, its left ends ascending and its right ends descending.

    One update after the other, from the `first` on; left ends are in `lefts`, ~right ends in
    `rights`. It stops early, and says how many updates are done, when the partition was rebuilt
    (the lists are of the groups before it: fill them anew) or a pool runs short (pack it).
    """
    rebuilds = p.counts[REBUILDS]
    for i in range(first, len(slots)):
        if pool_is_short(lefts) or pool_is_short(rights):
            return i
        slot = slots[i]
        if added[i]:
            p.slots[slot].low = lows[i]
            p.slots[slot].high = highs[i]
            p.slots[slot].mark = 0
            partition_add(p, slot)
            if p.counts[REBUILDS] == rebuilds:
                list_insert(lefts, p.groups[slot], lows[i], slot)
                list_insert(rights, p.groups[slot], ~highs[i], slot)
        else:
            list_delete(lefts, p.groups[slot], p.slots[slot].low, slot)
            list_delete(rights, p.groups[slot], ~p.slots[slot].high, slot)
            partition_remove(p, slot)
        if p.counts[REBUILDS] != rebuilds:
            return i + 1
    return len(slots)


@kernel
def tree_change(tree: Tree, root: int, items: Rows, added: Flags) -> int:
    """Insert (added) or delete items, whose ranges are in place, one by one; give the root."""
    for i in range(len(items)):
        item = items[i]
        root = tree_insert(tree, root, item) if added[i] else tree_delete(tree, root, item)
    return root
