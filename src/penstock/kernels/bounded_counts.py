"""How often keys have come, per stream, in a table of fixed size.

When the table is full all counts are halved and what falls to zero is forgotten, so that memory
stays bounded and old habits fade. A table with room for every key counts perfectly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Ints
from penstock.kernels.compilation import inlined, kernel
from penstock.kernels.hash_tables import word_hash

# Words of a cell: the sum of its counts (0: empty), its key, then one count per stream.
TOTAL = 0
KEY = 1
COUNT = 2

# Words of `meta`.
USED = 0
LIMIT = 1
HALVINGS = 2


class Counts(NamedTuple):
    """Cells of keys and counts; `meta`: cells used, cells allowed, how often all were halved."""

    cells: Ints
    meta: Ints


def counts_make(keys_max: int, streams: int) -> Counts:
    """Make an empty table that counts up to `keys_max` keys."""
    size = 8
    while size < 2 * keys_max:
        size *= 2
    return Counts(
        cells=np.zeros((size, COUNT + streams), dtype=np.int64),
        meta=np.array([0, keys_max, 0], dtype=np.int64),
    )


@inlined
def cell_find(cells: Ints, key: int) -> int:
    """Give the cell of a key, or the empty cell where it would stand."""
    mask = np.uint64(len(cells) - 1)
    cell = int(np.int64(word_hash(np.uint64(key)) & mask))
    while cells[cell, TOTAL] > 0 and cells[cell, KEY] != key:
        cell = int(np.int64(np.uint64(cell + 1) & mask))
    return cell


@kernel
def counts_halve(counts: Counts) -> None:
    """Halve every count; forget keys that are left with none."""
    cells = counts.cells
    before = cells.copy()
    cells[:, TOTAL] = 0
    used = 0
    for old in range(len(before)):
        total = 0
        for word in range(COUNT, cells.shape[1]):
            before[old, word] //= 2
            total += before[old, word] if before[old, TOTAL] > 0 else 0
        if total > 0:
            cell = cell_find(cells, before[old, KEY])
            cells[cell] = before[old]
            cells[cell, TOTAL] = total
            used += 1
    counts.meta[USED] = used
    counts.meta[HALVINGS] += 1


@kernel
def counts_fill(counts: Counts, lines: Ints) -> None:
    """Take cells of another table into an empty one."""
    for line in range(len(lines)):
        cell = cell_find(counts.cells, lines[line, KEY])
        counts.cells[cell] = lines[line]


@inlined
def count_of(counts: Counts, stream: int, key: int) -> int:
    """Give how often a key came in a stream."""
    cell = cell_find(counts.cells, key)
    return int(counts.cells[cell, COUNT + stream]) if counts.cells[cell, TOTAL] > 0 else 0


@inlined
def count_add(counts: Counts, stream: int, key: int) -> int:
    """Count a key of a stream; give its new count."""
    cell = cell_find(counts.cells, key)
    if counts.cells[cell, TOTAL] == 0:
        while counts.meta[USED] >= counts.meta[LIMIT]:
            counts_halve(counts)
        cell = cell_find(counts.cells, key)
        counts.cells[cell] = 0
        counts.cells[cell, KEY] = key
        counts.meta[USED] += 1
    counts.cells[cell, TOTAL] += 1
    counts.cells[cell, COUNT + stream] += 1
    return int(counts.cells[cell, COUNT + stream])
