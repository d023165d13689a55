"""Keys that come, and go at either end: a heap whose nodes are intervals.

A node has a low and a high key; the intervals of its children lie within its own. So the root has
the smallest key of all and the largest. The last node may have one key, which is both. Keys may be
there more than once. Nothing is known of where a key stands: those in the middle can't leave.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.compilation import inlined, tight

Ints = npt.NDArray[np.int64]

LOW = 0
HIGH = 1
BRANCHES = 4
"""Children of a node: four pairs of keys are one line of memory."""


@inlined
def low_raise(nodes: Ints, at: int, key: int, alone: bool) -> None:
    """Put a key that is low enough at the low end of a node, or of one above; `alone`, at both."""
    while at > 0:
        parent = (at - 1) // BRANCHES
        if nodes[parent, LOW] <= key:
            break
        nodes[at, LOW] = nodes[parent, LOW]
        if alone:
            nodes[at, HIGH] = nodes[parent, LOW]
            alone = False
        at = parent
    nodes[at, LOW] = key
    if alone:
        nodes[at, HIGH] = key


@inlined
def high_raise(nodes: Ints, at: int, key: int, alone: bool) -> None:
    """Put a key that is high enough at the high end of a node, or of one above."""
    while at > 0:
        parent = (at - 1) // BRANCHES
        if nodes[parent, HIGH] >= key:
            break
        nodes[at, HIGH] = nodes[parent, HIGH]
        if alone:
            nodes[at, LOW] = nodes[parent, HIGH]
            alone = False
        at = parent
    nodes[at, HIGH] = key
    if alone:
        nodes[at, LOW] = key


@tight
def extremes_push(nodes: Ints, size: int, key: int) -> None:
    """Add a key to `size` keys."""
    at = size >> 1
    if size & 1:
        if key < nodes[at, LOW]:
            low_raise(nodes, at, key, False)
        else:
            high_raise(nodes, at, key, False)
    elif at > 0 and key > nodes[(at - 1) // BRANCHES, HIGH]:
        high_raise(nodes, at, key, True)
    else:
        low_raise(nodes, at, key, True)


@inlined
def last_take(nodes: Ints, size: int, end: int) -> int:
    """Take a key out of the last node of `size` keys; of two, that at an end."""
    at = (size - 1) >> 1
    key = nodes[at, end]
    if not size & 1:
        nodes[at, end] = nodes[at, 1 - end]
    return int(key)


@tight
def lowest_pop(nodes: Ints, size: int) -> None:
    """Take the smallest of `size` keys out."""
    key = last_take(nodes, size, HIGH)
    size -= 1
    count, at = (size + 1) >> 1, 0
    if count == 0:
        return
    while True:
        first = BRANCHES * at + 1
        if first >= count:
            break
        least, lowest = first, nodes[first, LOW]
        for child in range(first + 1, min(first + BRANCHES, count)):
            if nodes[child, LOW] < lowest:
                least, lowest = child, nodes[child, LOW]
        if key <= lowest:
            break
        nodes[at, LOW] = lowest
        at = least
        if at == count - 1 and size & 1:
            break
        if key > nodes[at, HIGH]:
            key, nodes[at, HIGH] = nodes[at, HIGH], key
    nodes[at, LOW] = key
    if at == count - 1 and size & 1:
        nodes[at, HIGH] = key


@tight
def highest_pop(nodes: Ints, size: int) -> None:
    """Take the largest of `size` keys out."""
    key = last_take(nodes, size, LOW)
    size -= 1
    count, at = (size + 1) >> 1, 0
    if count == 0:
        return
    while True:
        first = BRANCHES * at + 1
        if first >= count:
            break
        most, highest = first, nodes[first, HIGH]
        for child in range(first + 1, min(first + BRANCHES, count)):
            if nodes[child, HIGH] > highest:
                most, highest = child, nodes[child, HIGH]
        if key >= highest:
            break
        nodes[at, HIGH] = highest
        at = most
        if at == count - 1 and size & 1:
            break
        if key < nodes[at, LOW]:
            key, nodes[at, LOW] = nodes[at, LOW], key
    nodes[at, HIGH] = key
    if at == count - 1 and size & 1:
        nodes[at, LOW] = key
