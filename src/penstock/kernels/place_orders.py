"""Orders of places: numbers of rows, brought in the order of a key that each row has."""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Ints
from penstock.kernels.compilation import tight

RUN = 16
"""So many places are put in order one by one, before runs of them are merged."""
DIGIT_BITS = 11
DIGITS = 1 << DIGIT_BITS
"""Of at least so many places keys are read digit by digit instead."""


@tight
def digits_sort(keys: Ints, order: Ints, spare: Ints, ends: Ints, count: int) -> None:
    """Do what `places_sort` does, digit by digit from the last: no two keys are compared."""
    least = most = keys[order[0]]
    for at in range(1, count):
        least, most = min(least, keys[order[at]]), max(most, keys[order[at]])
    base, left = np.uint64(least), np.uint64(most) - np.uint64(least)
    shift = np.uint64(0)
    while left > np.uint64(0):
        for digit in range(DIGITS):
            ends[digit] = 0
        for at in range(count):
            ends[((np.uint64(keys[order[at]]) - base) >> shift) & np.uint64(DIGITS - 1)] += 1
        before = 0
        for digit in range(DIGITS):
            before, ends[digit] = before + ends[digit], before
        for at in range(count):
            own = order[at]
            digit = int(((np.uint64(keys[own]) - base) >> shift) & np.uint64(DIGITS - 1))
            spare[ends[digit]] = own
            ends[digit] += 1
        for at in range(count):
            order[at] = spare[at]
        left >>= np.uint64(DIGIT_BITS)
        shift += np.uint64(DIGIT_BITS)


@tight
def places_sort(keys: Ints, order: Ints, spare: Ints, desk: Ints, count: int) -> None:
    """Bring places in the order of their keys; those with equal keys stay as they stand.

    `spare` and `desk` are room for as many numbers.
    """
    if count >= DIGITS:
        digits_sort(keys, order, spare, desk, count)
        return
    for first in range(0, count, RUN):
        for i in range(first + 1, min(first + RUN, count)):
            own = order[i]
            at = i
            while at > first and keys[order[at - 1]] > keys[own]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = own
    run = RUN
    while run < count:
        for first in range(0, count, 2 * run):
            middle = min(first + run, count)
            last = min(first + 2 * run, count)
            left, right = first, middle
            for at in range(first, last):
                if left < middle and (right >= last or keys[order[left]] <= keys[order[right]]):
                    spare[at] = order[left]
                    left += 1
                else:
                    spare[at] = order[right]
                    right += 1
        for at in range(count):
            order[at] = spare[at]
        run *= 2
