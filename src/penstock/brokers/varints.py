"""Varints: numbers in as few bytes as they need, seven bits each, the lowest first.

The highest bit of a byte says that another follows. All of an array is written or read at once.
"""

from __future__ import annotations

import numpy as np

from penstock.vocabulary.batches import Ints

BYTES_MAX = 10
Words = np.ndarray[tuple[int], np.dtype[np.uint64]]
Octets = np.ndarray[tuple[int], np.dtype[np.uint8]]


def written(words: Words) -> bytes:
    """Write numbers without a sign.

    >>> written(np.array([5, 300], np.uint64)).hex()
    '05ac02'
    """
    sizes = np.ones(len(words), dtype=np.int64)
    for size in range(1, BYTES_MAX):
        sizes += words >> np.uint64(7 * size) != 0
    starts = np.cumsum(sizes) - sizes
    found = np.zeros(int(sizes.sum()), dtype=np.uint8)
    for at in range(int(sizes.max(initial=0))):
        own = sizes > at
        octets = (words[own] >> np.uint64(7 * at)) & np.uint64(127)
        found[starts[own] + at] = octets | ((sizes[own] > at + 1).astype(np.uint64) << np.uint64(7))
    return found.tobytes()


def read(data: Octets, start: int, count: int) -> tuple[Words, int]:
    """Read so many numbers from a place on; give also where the next one begins.

    >>> read(np.frombuffer(bytes.fromhex("05ac02"), np.uint8), 0, 2)
    (array([  5, 300], dtype=uint64), 3)
    """
    if count == 0:
        return np.empty(0, dtype=np.uint64), start
    octets = data[start : start + BYTES_MAX * count]
    ends = np.flatnonzero(octets < 128)[:count]
    assert len(ends) == count, "the message is cut"
    octets = octets[: ends[-1] + 1].astype(np.uint64)
    starts = np.concatenate([[0], ends[:-1] + 1])
    places = np.arange(len(octets)) - np.repeat(starts, ends - starts + 1)
    shifted = (octets & np.uint64(127)) << (7 * places).astype(np.uint64)
    return np.add.reduceat(shifted, starts), start + int(ends[-1]) + 1


def folded(numbers: Ints) -> Words:
    """Give numbers with a sign as ones without: 0, -1, 1, -2, … become 0, 1, 2, 3, ….

    >>> folded(np.array([0, -1, 1, -2])).tolist()
    [0, 1, 2, 3]
    """
    found: Words = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    return found


def unfolded(words: Words) -> Ints:
    """Give back what was folded."""
    found: Ints = (words >> np.uint64(1)).view(np.int64) ^ -(words & np.uint64(1)).view(np.int64)
    return found
