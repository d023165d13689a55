"""Heaps that know where their items are, so that any item can leave or change its rank.

A node is a rank and an item; `items[item, word]` is the item's place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.kernels.arrays import Ints
from penstock.kernels.compilation import inlined, tight

Places = npt.NDArray[np.signedinteger[Any]]

BRANCHES = 4
"""Children of a node: four pairs of words are one line of memory."""

RANK = 0
ITEM = 1


def heaps_make(count: int, capacity: int) -> Ints:
    """Make heaps whose nodes' children each begin a line of memory."""
    size = -(-capacity // BRANCHES) * BRANCHES
    line = 16 * BRANCHES
    words = np.zeros(2 * count * size + line // 4, dtype=np.int64)
    skip = (-(words.ctypes.data + 16) % line) // 8
    return words[skip : skip + 2 * count * size].reshape(count, size, 2)


@inlined
def least_child(heap: Ints, word: int, first: int, size: int) -> Any:
    """Give the node with the least word among children, and that word; the first is there."""
    least, lowest = first, heap[first, word]
    for child in range(first + 1, min(first + BRANCHES, size)):
        if heap[child, word] < lowest:
            least, lowest = child, heap[child, word]
    return least, lowest


@inlined
def heap_up(heap: Ints, items: Places, word: int, at: int) -> int:
    """Let the node at a place rise to where it belongs; give its place.

    `items[item, word]` holds an item's place.
    """
    rank, item = heap[at, RANK], heap[at, ITEM]
    while at > 0:
        parent = (at - 1) // BRANCHES
        if heap[parent, RANK] <= rank:
            break
        heap[at, RANK] = heap[parent, RANK]
        heap[at, ITEM] = heap[parent, ITEM]
        items[heap[at, ITEM], word] = at
        at = parent
    heap[at, RANK] = rank
    heap[at, ITEM] = item
    items[item, word] = at
    return at


@inlined
def heap_down(heap: Ints, items: Places, word: int, size: int, at: int) -> None:
    """Let the node at a place sink to where it belongs."""
    rank, item = heap[at, RANK], heap[at, ITEM]
    while True:
        first = BRANCHES * at + 1
        if first >= size:
            break
        least, lowest = least_child(heap, RANK, first, size)
        if rank <= lowest:
            break
        heap[at, RANK] = lowest
        heap[at, ITEM] = heap[least, ITEM]
        items[heap[at, ITEM], word] = at
        at = least
    heap[at, RANK] = rank
    heap[at, ITEM] = item
    items[item, word] = at


@inlined
def heap_push(heap: Ints, items: Places, word: int, size: int, rank: int, item: int) -> None:
    """Add an item to a heap of `size` items."""
    heap[size, RANK] = rank
    heap[size, ITEM] = item
    heap_up(heap, items, word, size)


@inlined
def heap_remove(heap: Ints, items: Places, word: int, size: int, item: int) -> None:
    """Take an item out of a heap of `size` items."""
    at = items[item, word]
    if at != size - 1:
        heap[at, RANK] = heap[size - 1, RANK]
        heap[at, ITEM] = heap[size - 1, ITEM]
        at = heap_up(heap, items, word, at)
        heap_down(heap, items, word, size - 1, at)


@inlined
def heap_fix(heap: Ints, items: Places, word: int, size: int, rank: int, item: int) -> None:
    """Give an item of a heap another rank."""
    at = items[item, word]
    heap[at, RANK] = rank
    at = heap_up(heap, items, word, at)
    heap_down(heap, items, word, size, at)


@inlined
def heap_put(heap: Ints, size: int, rank: int, item: int) -> None:
    """Add an item to a heap of `size` items that do not know their places."""
    at = size
    while at > 0:
        parent = (at - 1) // BRANCHES
        if heap[parent, RANK] <= rank:
            break
        heap[at, RANK] = heap[parent, RANK]
        heap[at, ITEM] = heap[parent, ITEM]
        at = parent
    heap[at, RANK] = rank
    heap[at, ITEM] = item


@tight
def heap_pop(heap: Ints, size: int, until: int) -> int:
    """Take the first out of a heap of `size` items that do not know their places.

    Gives the last node, of those up to `until`, to which another item rose.
    """
    size -= 1
    rank, item = heap[size, RANK], heap[size, ITEM]
    at = risen = 0
    while True:
        first = BRANCHES * at + 1
        if first >= size:
            break
        least, lowest = least_child(heap, RANK, first, size)
        if rank <= lowest:
            break
        heap[at, RANK] = lowest
        heap[at, ITEM] = heap[least, ITEM]
        risen = at if at <= until else risen
        at = least
    heap[at, RANK] = rank
    heap[at, ITEM] = item
    return risen
