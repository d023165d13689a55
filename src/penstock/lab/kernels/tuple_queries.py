"""Queries over tuples: ordinary stream operators, compiled, as peers of those over models.

Every tuple is looked at by every operator: a filter compares it, an aggregate updates all windows
that are open, a join meets all tuples that its window holds.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Floats, Ints, Rows
from penstock.kernels.compilation import tight


@tight
def tuples_filter(values: Floats, bound: float, places: Rows) -> int:
    """Write the places of values below a bound; gives how many."""
    found = 0
    for i in range(len(values)):
        if values[i] < bound:
            places[found] = i
            found += 1
    return found


@tight
def tuples_lowest(
    key: Ints,
    at: Ints,
    values: Floats,
    size: int,
    slide: int,
    open_: Floats,
    told: Ints,
    out: Floats,
) -> int:
    """Keep the minimum of every open window of a key; write those that close.

    Windows end at multiples of `slide`. `open_` is (keys, windows that may be open), `told` the
    number of the next window of a key that closes, -1 before its first tuple.

    Returns
    -------
    int
        How many windows closed.
    """
    windows = open_.shape[1]
    found = 0
    for i in range(len(at)):
        who, first = key[i], at[i] // slide + 1
        if told[who] < 0:
            told[who] = first
        while told[who] < first:
            place = told[who] % windows
            out[found % len(out)] = open_[who, place]
            open_[who, place] = np.inf
            found += 1
            told[who] += 1
        value = values[i]
        for number in range(first, first + size // slide):
            place = number % windows
            open_[who, place] = min(open_[who, place], value)
    return found


@tight
def tuples_average(
    key: Ints,
    at: Ints,
    values: Floats,
    size: int,
    slide: int,
    sums: Floats,
    counts: Ints,
    told: Ints,
    out_key: Ints,
    out_end: Ints,
    out: Floats,
) -> int:
    """Add every tuple to all open windows of its key; write the averages of those that close."""
    windows = sums.shape[1]
    found = 0
    for i in range(len(at)):
        who, first = key[i], at[i] // slide + 1
        if told[who] < 0:
            told[who] = first
        while told[who] < first:
            place = told[who] % windows
            if counts[who, place]:
                out_key[found] = who
                out_end[found] = told[who]
                out[found] = sums[who, place] / counts[who, place]
                found += 1
            sums[who, place] = 0.0
            counts[who, place] = 0
            told[who] += 1
        value = values[i]
        for number in range(first, first + size // slide):
            place = number % windows
            sums[who, place] += value
            counts[who, place] += 1
    return found


@tight
def tuples_join(at: Ints, side: Ints, values: Floats, window: int, kept: Floats, ends: Ints) -> int:
    """Join two streams by nested loops: a tuple meets all of the other side in the window.

    `kept` is (2, places, time and value); gives how many pairs have left < right.
    """
    starts_0, starts_1, ends_0, ends_1 = ends[0], ends[1], ends[2], ends[3]
    places = kept.shape[1]
    found = 0
    for i in range(len(at)):
        now = float(at[i])
        while starts_0 < ends_0 and kept[0, starts_0 % places, 0] <= now - window:
            starts_0 += 1
        while starts_1 < ends_1 and kept[1, starts_1 % places, 0] <= now - window:
            starts_1 += 1
        if side[i] == 0:
            for j in range(starts_1, ends_1):
                found += int(values[i] < kept[1, j % places, 1])
            kept[0, ends_0 % places, 0] = now
            kept[0, ends_0 % places, 1] = values[i]
            ends_0 += 1
        else:
            for j in range(starts_0, ends_0):
                found += int(kept[0, j % places, 1] < values[i])
            kept[1, ends_1 % places, 0] = now
            kept[1, ends_1 % places, 1] = values[i]
            ends_1 += 1
    ends[0], ends[1], ends[2], ends[3] = starts_0, starts_1, ends_0, ends_1
    return found


@tight
def tuples_near(
    key: Ints,
    at: Ints,
    x: Floats,
    y: Floats,
    window: int,
    size: int,
    slide: int,
    kept: Floats,
    ends: Ints,
    sums: Floats,
    counts: Ints,
    told: Ints,
    limit: float,
) -> int:
    """Follow ships: average the distance of pairs over windows, and count averages below a limit.

    A tuple meets the tuples of all others in the last `window`; each distance goes into all open
    windows of its pair. `kept` is (places, key, time, x, y); `sums`, `counts` are (pairs, windows).
    """
    windows, places = sums.shape[1], kept.shape[0]
    ships = int(np.sqrt(len(told)))
    start, end = ends[0], ends[1]
    found = 0
    for i in range(len(at)):
        now = float(at[i])
        while start < end and kept[start % places, 1] <= now - window:
            start += 1
        for j in range(start, end):
            other = kept[j % places]
            if other[0] == key[i]:
                continue
            dx, dy = x[i] - other[2], y[i] - other[3]
            distance = np.sqrt(dx * dx + dy * dy)
            who = key[i] * ships + int(other[0])
            first = at[i] // slide + 1
            if told[who] < 0:
                told[who] = first
            while told[who] < first:
                place = told[who] % windows
                if counts[who, place] and sums[who, place] < limit * counts[who, place]:
                    found += 1
                sums[who, place] = 0.0
                counts[who, place] = 0
                told[who] += 1
            for number in range(first, first + size // slide):
                place = number % windows
                sums[who, place] += distance
                counts[who, place] += 1
        row = kept[end % places]
        row[0], row[1], row[2], row[3] = key[i], now, x[i], y[i]
        end += 1
    ends[0], ends[1] = start, end
    return found
