"""Radix sorts: of events before they probe an index, of entries before they become one.

Events are sorted only approximately, on the leading bits of their keys: probing is right for any
order and fast for a nearly sorted one, so two passes over the batch are enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.kernels.arrays import Flags, Ints, Rows, Words
from penstock.kernels.compilation import kernel

DIGIT_BITS = 11
DIGITS = 1 << DIGIT_BITS
LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
WORD_BITS = 32
"""An event travels as one word: its sort key in the upper half, its row in the lower."""


@kernel
def events_pack(
    codes: Rows, keys: Ints, valid: Flags, first: int, low: int, high: int, shift: int, bits: int,
    words: Words, counts: Ints,
) -> int:  # fmt: skip
    """Make a word of every event that can match, and count the digits of all words.

    The sort key is the event's code (if `codes` is not empty; negative: cannot match) above
    `bits` bits of its key, which is clamped to [low, high] and shifted down by `shift`.

    Returns
    -------
    int
        How many words were written; `counts[d]` counts the values of digit d.
    """
    coded = len(codes) > 0
    checked = len(valid) > 0
    base = np.uint64(low)
    down = np.uint64(shift)
    up = np.uint64(bits)
    half = np.uint64(WORD_BITS)
    mask = np.uint64(DIGITS - 1)
    second = np.uint64(WORD_BITS + DIGIT_BITS)
    third = np.uint64(WORD_BITS + 2 * DIGIT_BITS)
    count = 0
    for i in range(len(keys)):
        if checked and not valid[i]:
            continue
        if coded and codes[i] < 0:
            continue
        sort_key = np.uint64(0)
        if bits > 0:
            key = keys[i]
            key = min(max(key, low), high)
            sort_key = (np.uint64(key) - base) >> down
        if coded:
            sort_key |= np.uint64(codes[i]) << up
        word = (sort_key << half) | np.uint64(first + i)
        words[count] = word
        counts[0, (word >> half) & mask] += 1
        counts[1, (word >> second) & mask] += 1
        counts[2, (word >> third) & mask] += 1
        count += 1
    return count


@kernel
def words_sort(words: Words, spare: Words, counts: Ints, count: int, passes: int) -> None:
    """Sort the first `count` words by the lowest `passes` digits of their sort keys, stably.

    The sorted words are in `words` when `passes` is even, else in `spare`.
    """
    mask = np.uint64(DIGITS - 1)
    for digit in range(passes):
        shift = np.uint64(WORD_BITS + digit * DIGIT_BITS)
        total = 0
        for value in range(DIGITS):
            here = counts[digit, value]
            counts[digit, value] = total
            total += here
        source, target = (words, spare) if digit % 2 == 0 else (spare, words)
        for i in range(count):
            word = source[i]
            value = (word >> shift) & mask
            target[counts[digit, value]] = word
            counts[digit, value] += 1


@kernel
def words_unpack(
    words: Words, count: int, keys: Ints, first: int, bits: int,
    rows: Rows, codes: Rows, sorted_keys: Ints,
) -> None:  # fmt: skip
    """Give rows, codes and keys of sorted words; `codes` may be empty when there are none."""
    half = np.uint64(WORD_BITS)
    up = np.uint64(bits)
    low = np.uint64((1 << WORD_BITS) - 1)
    for i in range(count):
        row = np.int64(words[i] & low)
        rows[i] = row
        sorted_keys[i] = keys[row - first]
    if len(codes) > 0:
        for i in range(count):
            codes[i] = np.int32((words[i] >> half) >> up)


@kernel
def entries_order(codes: Rows, lows: Ints) -> Any:
    """Give the permutation that sorts entries by (code, low), stably.

    The digits travel with the entries, so that every pass reads memory in order.
    """
    n = len(lows)
    order = np.arange(n).astype(np.int32)
    smallest = np.int64(HIGHEST)
    largest = np.int64(LOWEST)
    top = np.int64(0)
    for i in range(n):
        smallest = min(smallest, lows[i])
        largest = max(largest, lows[i])
        top = max(top, np.int64(codes[i]))
    base = np.uint64(smallest)
    words = np.empty(n, dtype=np.uint64)
    if largest > smallest:
        for i in range(n):
            words[i] = np.uint64(lows[i]) - base
        order = words_order(words, order, np.uint64(largest) - base)
    if top > 0:
        for i in range(n):
            words[i] = np.uint64(codes[order[i]])
        order = words_order(words, order, np.uint64(top))
    return order


@kernel
def words_order(words: Words, order: Rows, largest: np.uint64) -> Any:
    """Sort (word, item) pairs by word, stably, and give the items; `words` is used up."""
    n = len(words)
    other_words = np.empty(n, dtype=np.uint64)
    other_order = np.empty(n, dtype=np.int32)
    counts = np.empty(DIGITS, dtype=np.int64)
    mask = np.uint64(DIGITS - 1)
    shift = np.uint64(0)
    while (largest >> shift) > np.uint64(0):
        counts[:] = 0
        for i in range(n):
            counts[(words[i] >> shift) & mask] += 1
        total = 0
        for value in range(DIGITS):
            here = counts[value]
            counts[value] = total
            total += here
        for i in range(n):
            value = (words[i] >> shift) & mask
            target = np.uint64(counts[value])
            other_words[target] = words[i]
            other_order[target] = order[i]
            counts[value] += 1
        words, other_words = other_words, words
        order, other_order = other_order, order
        shift += np.uint64(DIGIT_BITS)
        if shift > np.uint64(63):
            break
    return order
