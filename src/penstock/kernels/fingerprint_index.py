"""Indexing: which slot holds a fingerprint. Open addressing, at most half full."""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Ints, Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.hash_tables import EMPTY, word_hash
from penstock.kernels.retractions import cell_clear


@kernel
def slots_find(cells: Rows, prints: Ints, wanted: Ints, found: Rows) -> None:
    """Write the slot of every fingerprint wanted, EMPTY for those that are not there."""
    mask = np.uint64(len(cells) - 1)
    for i in range(len(wanted)):
        cell = word_hash(np.uint64(wanted[i])) & mask
        while cells[cell] != EMPTY and prints[cells[cell]] != wanted[i]:
            cell = (cell + np.uint64(1)) & mask
        found[i] = cells[cell]


@kernel
def slots_place(cells: Rows, prints: Ints, slots: Rows) -> None:
    """Put slots in whose fingerprints are not there."""
    mask = np.uint64(len(cells) - 1)
    for i in range(len(slots)):
        cell = word_hash(np.uint64(prints[slots[i]])) & mask
        while cells[cell] != EMPTY:
            cell = (cell + np.uint64(1)) & mask
        cells[cell] = slots[i]


@kernel
def slots_clear(cells: Rows, prints: Ints, slots: Rows) -> None:
    """Take slots out that are there."""
    mask = np.uint64(len(cells) - 1)
    for i in range(len(slots)):
        cell = word_hash(np.uint64(prints[slots[i]])) & mask
        while cells[cell] != slots[i]:
            cell = (cell + np.uint64(1)) & mask
        cell_clear(cells, prints, cell)
