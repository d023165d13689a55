"""Hash tables: values of equality columns become small codes, exactly.

Open addressing with linear probing over a power of two of cells, at most half full. A cell holds
a code or -1; values are compared in full, so a collision costs time and never an answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.kernels.arrays import Bytes, Flags, Ints, Rows
from penstock.kernels.compilation import kernel

EMPTY = -1
MULTIPLIER = 0x9E3779B97F4A7C15
FINISHER = 0xD6E8FEB86659FD93


@kernel
def word_hash(word: np.uint64) -> np.uint64:
    """Mix a word so that its low bits depend on all bits."""
    mixed = word ^ (word >> np.uint64(32))
    mixed *= np.uint64(FINISHER)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(MULTIPLIER)
    return mixed ^ (mixed >> np.uint64(32))


@kernel
def text_hash(data: Bytes, start: int, end: int) -> np.uint64:
    """Hash the bytes [start, end), eight at a time."""
    state = np.uint64(end - start) * np.uint64(MULTIPLIER)
    word = np.uint64(0)
    filled = 0
    for i in range(np.uint64(start), np.uint64(end)):
        word = (word << np.uint64(8)) | np.uint64(data[i])
        filled += 1
        if filled == 8:
            state = (state ^ word) * np.uint64(FINISHER)
            state ^= state >> np.uint64(31)
            word = np.uint64(0)
            filled = 0
    return word_hash(state ^ word)


@kernel
def numbers_place(cells: Rows, values: Ints, known: int) -> None:
    """Fill an empty table with the codes 0 … known - 1 of distinct values."""
    mask = np.uint64(len(cells) - 1)
    for code in range(known):
        cell = word_hash(np.uint64(values[code])) & mask
        while cells[cell] != EMPTY:
            cell = (cell + np.uint64(1)) & mask
        cells[cell] = code


@kernel
def numbers_code(cells: Rows, values: Ints, known: int, keys: Ints, codes: Rows) -> int:
    """Code every key, giving new keys the next codes; `values` and `cells` must have room.

    Returns
    -------
    int
        How many values are known now.
    """
    mask = np.uint64(len(cells) - 1)
    for i in range(len(keys)):
        key = keys[i]
        cell = word_hash(np.uint64(key)) & mask
        while cells[cell] != EMPTY and values[cells[cell]] != key:
            cell = (cell + np.uint64(1)) & mask
        if cells[cell] == EMPTY:
            values[known] = key
            cells[cell] = known
            known += 1
        codes[i] = cells[cell]
    return known


@kernel
def numbers_find(cells: Rows, values: Ints, keys: Ints, valid: Flags, codes: Rows) -> None:
    """Write the code of every key, -1 where it is unknown or not valid (empty: all valid)."""
    mask = np.uint64(len(cells) - 1)
    checked = len(valid) > 0
    for i in range(len(keys)):
        code = np.int32(EMPTY)
        if not checked or valid[i]:
            key = keys[i]
            cell = word_hash(np.uint64(key)) & mask
            code = cells[cell]
            while code != EMPTY and values[np.uint64(code)] != key:
                cell = (cell + np.uint64(1)) & mask
                code = cells[cell]
        codes[i] = code


@kernel
def codes_join(left: Rows, right: Rows, keys: Ints, valid: Flags) -> None:
    """Make one number of two codes; not valid where either is negative."""
    for i in range(len(left)):
        valid[i] = left[i] >= 0 and right[i] >= 0
        keys[i] = (np.int64(left[i]) << 32) | np.int64(max(right[i], 0))


@kernel
def texts_equal(
    data: Bytes, start: int, end: int, other: Bytes, other_start: int, other_end: int
) -> bool:
    """Say whether two pieces of bytes are the same."""
    if end - start != other_end - other_start:
        return False
    a, b = np.uint64(start), np.uint64(other_start)
    for i in range(np.uint64(end - start)):
        if data[a + i] != other[b + i]:
            return False
    return True


@kernel
def texts_place(cells: Rows, heap: Bytes, ends: Ints, known: int, weak: np.uint64) -> None:
    """Fill an empty table with the codes 0 … known - 1 of distinct texts.

    Text c is `heap[ends[c]:ends[c + 1]]`. `weak` masks the hashes: all ones but in tests, which
    force collisions with fewer.
    """
    mask = np.uint64(len(cells) - 1)
    for code in range(known):
        cell = (text_hash(heap, ends[code], ends[code + 1]) & weak) & mask
        while cells[cell] != EMPTY:
            cell = (cell + np.uint64(1)) & mask
        cells[cell] = code


@kernel
def texts_code(
    cells: Rows, heap: Bytes, ends: Ints, known: int, weak: np.uint64,
    data: Bytes, offsets: Ints, codes: Rows,
) -> int:  # fmt: skip
    """Code every text, giving new texts the next codes; heap, ends and cells must have room.

    Returns
    -------
    int
        How many texts are known now.
    """
    mask = np.uint64(len(cells) - 1)
    for i in range(len(codes)):
        start, end = offsets[i], offsets[i + 1]
        cell = (text_hash(data, start, end) & weak) & mask
        code = cells[cell]
        while code != EMPTY and not texts_equal(data, start, end, heap, ends[code], ends[code + 1]):
            cell = (cell + np.uint64(1)) & mask
            code = cells[cell]
        if code == EMPTY:
            code = np.int32(known)
            base = ends[known]
            for j in range(end - start):
                heap[base + j] = data[start + j]
            ends[known + 1] = base + end - start
            cells[cell] = code
            known += 1
        codes[i] = code
    return known


@kernel
def texts_find(
    cells: Rows, heap: Bytes, ends: Ints, weak: np.uint64,
    data: Bytes, offsets: Ints, valid: Flags, codes: Rows,
) -> None:  # fmt: skip
    """Write the code of every text, -1 where it is unknown or not valid (empty: all valid)."""
    mask = np.uint64(len(cells) - 1)
    checked = len(valid) > 0
    for i in range(len(codes)):
        code = np.int32(EMPTY)
        if not checked or valid[i]:
            start, end = offsets[i], offsets[i + 1]
            cell = (text_hash(data, start, end) & weak) & mask
            code = cells[cell]
            while code != EMPTY and not texts_equal(
                data, start, end, heap, ends[code], ends[code + 1]
            ):
                cell = (cell + np.uint64(1)) & mask
                code = cells[cell]
        codes[i] = code


@kernel
def pairs_deduplicate(events: Rows, queries: Ints, cells: Rows) -> Any:
    """Mark the first of equal (event, query) pairs; `cells` is an empty table for all of them."""
    mask = np.uint64(len(cells) - 1)
    first = np.empty(len(events), dtype=np.bool_)
    for i in range(len(events)):
        word = np.uint64(queries[i]) ^ (np.uint64(events[i]) * np.uint64(MULTIPLIER))
        cell = word_hash(word) & mask
        known = cells[cell]
        while known != EMPTY and (events[known] != events[i] or queries[known] != queries[i]):
            cell = (cell + np.uint64(1)) & mask
            known = cells[cell]
        first[i] = known == EMPTY
        if known == EMPTY:
            cells[cell] = i
    return first
