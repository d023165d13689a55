"""How often keys have come, per stream, in a table of fixed size.

When the table is full all counts are halved and what falls to zero is forgotten, so that memory
stays bounded and old habits fade. A table with room for every key counts perfectly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.bounding import Ints
from penstock.kernels.compilation import kernel
from penstock.kernels.hashing import word_hash


class Counts(NamedTuple):
    """Keys with one count per stream; a cell without a count is empty. `used[0]` cells are not."""

    keys: Ints
    counts: Ints
    spare_keys: Ints
    spare_counts: Ints
    used: Ints


def counts_make(keys_max: int, streams: int) -> Counts:
    """Make an empty table that counts up to `keys_max` keys."""
    size = 8
    while size < 2 * keys_max:
        size *= 2
    return Counts(
        keys=np.zeros(size, dtype=np.int64),
        counts=np.zeros((size, streams), dtype=np.int64),
        spare_keys=np.zeros(size, dtype=np.int64),
        spare_counts=np.zeros((size, streams), dtype=np.int64),
        used=np.array([0, keys_max], dtype=np.int64),
    )


@kernel
def cell_find(keys: Ints, counts: Ints, key: int) -> int:
    """Give the cell of a key, or the empty cell where it would stand."""
    mask = np.uint64(len(keys) - 1)
    cell = np.int64(word_hash(np.uint64(key)) & mask)
    while keys[cell] != key:
        empty = True
        for stream in range(counts.shape[1]):
            empty = empty and counts[cell, stream] == 0
        if empty:
            break
        cell = np.int64(np.uint64(cell + 1) & mask)
    return cell


@kernel
def counts_halve(counts: Counts) -> None:
    """Halve every count; forget keys that are left with none."""
    counts.spare_keys[:] = counts.keys
    counts.spare_counts[:] = counts.counts
    counts.counts[:] = 0
    used = 0
    for old in range(len(counts.spare_keys)):
        kept = False
        for stream in range(counts.counts.shape[1]):
            kept = kept or counts.spare_counts[old, stream] > 1
        if not kept:
            continue
        cell = cell_find(counts.keys, counts.counts, counts.spare_keys[old])
        counts.keys[cell] = counts.spare_keys[old]
        for stream in range(counts.counts.shape[1]):
            counts.counts[cell, stream] = counts.spare_counts[old, stream] // 2
        used += 1
    counts.used[0] = used


@kernel
def count_of(counts: Counts, stream: int, key: int) -> int:
    """Give how often a key came in a stream."""
    return counts.counts[cell_find(counts.keys, counts.counts, key), stream]


@kernel
def count_add(counts: Counts, stream: int, key: int) -> int:
    """Count a key of a stream; give its new count."""
    cell = cell_find(counts.keys, counts.counts, key)
    fresh = True
    for other in range(counts.counts.shape[1]):
        fresh = fresh and counts.counts[cell, other] == 0
    if fresh:
        while counts.used[0] >= counts.used[1]:
            counts_halve(counts)
        cell = cell_find(counts.keys, counts.counts, key)
        counts.keys[cell] = key
        counts.used[0] += 1
    counts.counts[cell, stream] += 1
    return counts.counts[cell, stream]
