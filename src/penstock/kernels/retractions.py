"""Retracting: which stored row a deletion takes away.

A multiset of rows: open addressing by fingerprint, at most half full. A cell holds the oldest of
equal rows, and equal rows are a chain from the oldest to the newest. So a deletion costs the same
however many equal rows there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.kernels.arrays import Ints, Rows, Signs
from penstock.kernels.compilation import kernel
from penstock.kernels.hash_tables import EMPTY, word_hash


@kernel
def heads_place(cells: Rows, old: Rows, prints: Ints) -> None:
    """Fill an empty table with the chains of another."""
    mask = np.uint64(len(cells) - 1)
    for i in range(len(old)):
        if old[i] != EMPTY:
            cell = word_hash(np.uint64(prints[old[i]])) & mask
            while cells[cell] != EMPTY:
                cell = (cell + np.uint64(1)) & mask
            cells[cell] = old[i]


@kernel
def cell_clear(cells: Rows, prints: Ints, cell: np.uint64) -> None:
    """Empty a cell and move those behind it that would not be found any more."""
    mask = np.uint64(len(cells) - 1)
    gap, here = cell, cell
    while True:
        here = (here + np.uint64(1)) & mask
        if cells[here] == EMPTY:
            break
        home = word_hash(np.uint64(prints[cells[here]])) & mask
        if ((here - home) & mask) >= ((here - gap) & mask):
            cells[gap] = cells[here]
            gap = here
    cells[gap] = EMPTY


@kernel
def rows_change(
    cells: Rows, heads: Any, signs: Signs, fresh: Rows,
    new_prints: Ints, new_codes: Rows, new_values: Ints, slots: Rows,
) -> int:  # fmt: skip
    """Take insertions and deletions in order; write the slot of each, -1 for unknown deletions.

    `heads` holds arrays by slot: prints, codes, values, next, last (of a chain, at its head).
    Insertions take the slots `fresh` in order. The table must have room for all insertions.

    Returns
    -------
    int
        By how much the number of chains has grown.
    """
    prints, codes, values, following, last = heads
    mask = np.uint64(len(cells) - 1)
    taken = 0
    grown = 0
    for i in range(len(signs)):
        cell = word_hash(np.uint64(new_prints[i])) & mask
        head = cells[cell]
        while head != EMPTY and (
            prints[head] != new_prints[i]
            or codes[head] != new_codes[i]
            or values[head] != new_values[i]
        ):
            cell = (cell + np.uint64(1)) & mask
            head = cells[cell]
        if signs[i] > 0:
            slot = fresh[taken]
            taken += 1
            prints[slot], codes[slot], values[slot] = new_prints[i], new_codes[i], new_values[i]
            following[slot] = EMPTY
            if head == EMPTY:
                cells[cell] = slot
                last[slot] = slot
                grown += 1
            else:
                following[last[head]] = slot
                last[head] = slot
            slots[i] = slot
        else:
            slots[i] = head
            if head != EMPTY and following[head] == EMPTY:
                cell_clear(cells, prints, cell)
                grown -= 1
            elif head != EMPTY:
                cells[cell] = following[head]
                last[following[head]] = last[head]
    return grown
