"""Banding: which standing ranges hold the difference between an arriving value and a stored one.

A difference is always stored value minus arriving value. Values are int64 or float64: every kernel
is compiled for both. A float difference is rounded as SQL rounds it; it never falls as the stored
value grows and never grows with the arriving value, so searching by the difference is exact.

`values` are the stored values, ascending. `given` are the arriving values, `rows` their places in
the batch. Every query is written at most once per tuple, so a kernel that has room for all queries
finishes a tuple; `state` says where to continue, and counts: see the constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import overload

from penstock.kernels.arrays import Ints, Rows
from penstock.kernels.compilation import kernel

Values = npt.NDArray[Any]

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
OUTER, INNER, AT, SEARCHES, VISITED = 0, 1, 2, 3, 4
"""In `state`: where to continue, then searches among the values and queries looked at."""
STATE = 5
BLOCK_BITS = 5
BLOCK = 1 << BLOCK_BITS


def difference(value: Any, given: Any) -> Any:
    """Subtract without wrapping: whole numbers stop at the open ends, -HIGHEST and HIGHEST.

    >>> difference(1.5, 1.0), difference(HIGHEST, -1) == HIGHEST, difference(LOWEST, 1) == -HIGHEST
    (0.5, True, True)
    """
    if isinstance(value, float):
        return value - given
    return max(min(int(value) - int(given), HIGHEST), -HIGHEST)


@overload(difference)
def _difference(value: Any, given: Any) -> Any:  # noqa: ARG001
    """Choose the compiled form by the type of the values."""

    def rounded(value: Any, given: Any) -> Any:
        return value - given

    def whole(value: Any, given: Any) -> Any:
        # Unsigned numbers wrap; the compiler takes for granted that signed ones never do.
        found = np.int64(np.uint64(value) - np.uint64(given))
        if value < given:
            return found if LOWEST < found < 0 else np.int64(-HIGHEST)
        return found if found >= 0 else np.int64(HIGHEST)

    return rounded if isinstance(value, types.Float) else whole


@kernel
def above_search(values: Values, given: Any, bound: Any, low: int, high: int) -> int:
    """Find the first value in [low, high) whose difference is above a bound."""
    while low < high:
        middle = (low + high) >> 1
        if difference(values[middle], given) <= bound:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def above_gallop(values: Values, given: Any, bound: Any, start: int) -> int:
    """Find the first value at or after `start` whose difference is above a bound."""
    end = len(values)
    low = start
    step = 1
    high = low
    while high < end and difference(values[high], given) <= bound:
        low = high + 1
        high = low + step
        step += step
    return above_search(values, given, bound, low, min(high, end))


@kernel
def reaching_gallop(values: Values, given: Any, bound: Any, start: int) -> int:
    """Find the first value at or after `start` whose difference is not below a bound."""
    end = len(values)
    low = start
    step = 1
    high = low
    while high < end and difference(values[high], given) < bound:
        low = high + 1
        high = low + step
        step += step
    high = min(high, end)
    while low < high:
        middle = (low + high) >> 1
        if difference(values[middle], given) < bound:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def ranges_merge(
    state: Ints, given: Values, rows: Rows, values: Values,
    lows: Values, highs: Values, slots: Rows, out_rows: Rows, out_slots: Rows,
) -> int:  # fmt: skip
    """Merge the ranges, ascending by low, with the values: each range meets one value.

    The first difference that is not below a range's low decides. Ranges whose lows lie between two
    neighbouring differences share that search.
    """
    count = 0
    ranges, end = len(lows), len(values)
    tuple_ = state[OUTER]
    while tuple_ < len(given) and count + ranges <= len(out_slots):
        b, row = given[tuple_], rows[tuple_]
        at = 0
        i = 0
        while i < ranges:
            at = reaching_gallop(values, b, lows[i], at)
            state[SEARCHES] += 1
            if at == end:
                break
            d = difference(values[at], b)
            stop = i + 1
            while stop < ranges and lows[stop] <= d:
                stop += 1
            place = np.uint64(count)  # Unsigned places spare numba's check for negative ones.
            for k in range(np.uint64(i), np.uint64(stop)):
                out_rows[place] = row
                out_slots[place] = slots[k]
                place += np.uint64(highs[k] >= d)
            count = int(np.int64(place))
            i = stop
        state[VISITED] += i
        tuple_ += 1
    state[OUTER] = tuple_
    return count


@kernel
def ranges_probe(
    state: Ints, given: Values, rows: Rows, values: Values,
    lows: Values, highs: Values, slots: Rows, blocks: Values, out_rows: Rows, out_slots: Rows,
) -> int:  # fmt: skip
    """Look up every difference among the ranges, ascending by low.

    A range is written at the first difference that it holds: one whose low lies above the previous
    difference. `blocks` holds the largest high of every 32 ranges.
    """
    count = 0
    ranges = len(lows)
    tuple_ = state[OUTER]
    while tuple_ < len(given) and count + ranges <= len(out_slots):
        b, row = given[tuple_], rows[tuple_]
        done = 0
        for at in range(len(values)):
            d = difference(values[at], b)
            low, high = 0, ranges
            while low < high:
                middle = (low + high) >> 1
                if lows[middle] <= d:
                    low = middle + 1
                else:
                    high = middle
            while done < low:
                if blocks[done >> BLOCK_BITS] < d:
                    done = min(low, (done | (BLOCK - 1)) + 1)
                    continue
                state[VISITED] += 1
                out_rows[count] = row
                out_slots[count] = slots[done]
                count += int(highs[done] >= d)
                done += 1
        state[SEARCHES] += len(values)
        tuple_ += 1
    state[OUTER] = tuple_
    return count


@kernel
def ranges_scan(
    state: Ints, given: Values, rows: Rows, values: Values,
    lows: Values, highs: Values, slots: Rows, out_rows: Rows, out_slots: Rows,
) -> int:  # fmt: skip
    """Look up every range among the values; `given` ascends, so a range's lookups move forward."""
    count = 0
    end = len(values)
    i = state[OUTER]
    while i < len(lows) and count + len(given) <= len(out_slots):
        at = 0
        for tuple_ in range(len(given)):
            at = reaching_gallop(values, given[tuple_], lows[i], at)
            if at == end:
                break
            out_rows[count] = rows[tuple_]
            out_slots[count] = slots[i]
            count += int(difference(values[at], given[tuple_]) <= highs[i])
        state[SEARCHES] += len(given)
        state[VISITED] += len(given)
        i += 1
    state[OUTER] = i
    return count


@kernel
def values_distinct(values: Values, out: Values) -> int:
    """Write the distinct ones of ascending values; give how many they are."""
    count = 0
    for i in range(len(values)):
        if i == 0 or values[i] != values[i - 1]:
            out[count] = values[i]
            count += 1
    return count


@kernel
def pairs_spread(
    found: Rows, slots: Rows, spans: Ints, rows: Rows, out_rows: Rows, out_slots: Rows
) -> None:
    """Write each pair (distinct arriving value, slot) once per tuple that has the value."""
    count = 0
    for i in range(len(found)):
        for k in range(spans[found[i]], spans[found[i] + 1]):
            out_rows[count] = rows[k]
            out_slots[count] = slots[i]
            count += 1
