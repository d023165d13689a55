"""Keys that come, and go at either end: a heap whose nodes are intervals.

A node has a low and a high key; the intervals of its children lie within its own. So the root has
the smallest key of all and the largest. The last node may have one key, which is both. Keys may be
there more than once. Nothing is known of where a key stands: those in the middle can't leave.

At the high end stands `~key`, whose order is the reverse: at both ends the least goes first.
"""

from __future__ import annotations

from penstock.kernels.arrays import Ints
from penstock.kernels.bounded_heaps import BRANCHES, least_child
from penstock.kernels.compilation import inlined, tight

LOW = 0
HIGH = 1


@inlined
def end_key(nodes: Ints, at: int, end: int) -> int:
    """Give the key at an end of a node."""
    return int(nodes[at, end] if end == LOW else ~nodes[at, end])


@inlined
def word_raise(nodes: Ints, at: int, end: int, word: int, alone: bool) -> None:
    """Put a word that is low enough at an end of a node, or of one above; `alone`, at both."""
    while at > 0:
        parent = (at - 1) // BRANCHES
        if nodes[parent, end] <= word:
            break
        nodes[at, end] = nodes[parent, end]
        if alone:
            nodes[at, 1 - end] = ~nodes[parent, end]
            alone = False
        at = parent
    nodes[at, end] = word
    if alone:
        nodes[at, 1 - end] = ~word


@tight
def extremes_push(nodes: Ints, size: int, key: int) -> None:
    """Add a key to `size` keys."""
    at, alone = size >> 1, not size & 1
    if alone:
        end = HIGH if at > 0 and ~key < nodes[(at - 1) // BRANCHES, HIGH] else LOW
    else:
        end = LOW if key < nodes[at, LOW] else HIGH
    word_raise(nodes, at, end, key if end == LOW else ~key, alone)


@tight
def extremes_pop(nodes: Ints, size: int, end: int, until: int) -> int:
    """Take the smallest of `size` keys out, or the largest.

    Gives the last node, of those up to `until`, to which another key rose.
    """
    last, other = (size - 1) >> 1, 1 - end
    word = ~nodes[last, other]
    if not size & 1:
        nodes[last, other] = ~nodes[last, end]
    size -= 1
    count, at, risen = (size + 1) >> 1, 0, 0
    if count == 0:
        return risen
    while True:
        first = BRANCHES * at + 1
        if first >= count:
            break
        least, lowest = least_child(nodes, end, first, count)
        if word <= lowest:
            break
        nodes[at, end] = lowest
        risen = at if at <= until else risen
        at = least
        if at == count - 1 and size & 1:
            break
        if word > ~nodes[at, other]:
            word, nodes[at, other] = ~nodes[at, other], ~word
    nodes[at, end] = word
    if at == count - 1 and size & 1:
        nodes[at, other] = ~word
    return risen
