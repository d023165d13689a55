"""Skylines: of a key's rows, those that can decide a query that contains a stabbing point.

Around a point p, a row dominates another one on the same side if it is as near to p and as recent,
and not the same in both. A query whose range contains p and that meets some row up to a horizon
meets, for a tuple at or after the horizon, a row that none dominates. The points cut the values
into cells: a row can matter to the point at the left end of its cell and to the one at the right.

A key's picks are places in its run: first its skyline rows up to a horizon, then all rows after it,
which every tuple probes one by one. So tuples may come in any order after the horizon; one before
it probes the whole run.
"""

from __future__ import annotations

from penstock.kernels.arrays import Bytes, Ints, Rows
from penstock.kernels.boxes import boxes_stab
from penstock.kernels.compilation import kernel

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
TUPLE, PICK, PROBES, HITS = 0, 1, 2, 3
"""In `state`: where to continue, then the probes and the boxes that they found."""


@kernel
def cell_of(points: Ints, value: int, low: int) -> int:
    """Count the points that are not above a value, at least `low` of them."""
    step = 1
    high = low
    while high < len(points) and points[high] <= value:
        low = high + 1
        high = low + step
        step += step
    high = min(high, len(points))
    while low < high:
        middle = (low + high) >> 1
        if points[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def skyline_mark(
    values: Ints, times: Ints, begin: int, end: int, points: Ints, floor: int, horizon: int,
    marks: Bytes,
) -> None:  # fmt: skip
    """Mark the skyline rows of one run, with times from `floor` to `horizon`, of all its cells.

    Rows of one value are one place: only the most recent of them counts, once.
    """
    tau = len(points)
    cell = 0
    inside = -1
    newest = LOWEST
    fresh = True
    i = begin
    while i < end:
        # The most recent row of this value.
        best, stop = -1, i
        while stop < end and values[stop] == values[i]:
            marks[stop - begin] = 0
            if floor <= times[stop] <= horizon and (best < 0 or times[stop] > times[best]):
                best = stop
            stop += 1
        cell = cell_of(points, values[i], cell)
        if cell != inside:
            inside = cell
            fresh = True
        if best >= 0:
            # Bit 1: the most recent of its value. Bit 2: in the skyline right of a point.
            marks[best - begin] = 1
            if cell > 0 and (fresh or times[best] > newest):
                marks[best - begin] = 3
                newest = times[best]
                fresh = False
        i = stop
    inside = -1
    for k in range(end - begin - 1, -1, -1):
        if marks[k] == 0:
            continue
        i = begin + k
        if inside < 0 or (inside > 0 and values[i] < points[inside - 1]):
            inside = cell_of(points, values[i], 0)
            fresh = True
        if inside < tau and (fresh or times[i] > newest):
            marks[k] |= 2
            newest = times[i]
            fresh = False


@kernel
def skylines_pick(
    codes: Rows, horizons: Ints, floors: Ints, start: Ints, length: Rows, values: Ints,
    times: Ints, points: Ints, marks: Bytes, used: int,
    picks: Rows, firsts: Ints, middles: Ints, lasts: Ints,
) -> int:  # fmt: skip
    """Write the picks of some codes behind the `used` ones; give how many are used then.

    `firsts`, `middles`, `lasts` say, by code, where its skyline, its later rows and its end are.
    `marks` has room for the longest run, `picks` for all rows of the codes and one more.
    """
    for k in range(len(codes)):
        code = codes[k]
        begin = start[code]
        end = begin + length[code]
        skyline_mark(values, times, begin, end, points, floors[k], horizons[k], marks)
        firsts[code] = used
        for i in range(end - begin):
            picks[used] = i
            used += int(marks[i] >= 2)
        middles[code] = used
        for i in range(end - begin):
            picks[used] = i
            used += int(times[begin + i] > horizons[k])
        lasts[code] = used
    return used


@kernel
def picks_pack(firsts: Ints, middles: Ints, lasts: Ints, picks: Rows, packed: Rows) -> int:
    """Copy all picks into a fresh array, without gaps; give how many they are."""
    used = 0
    for code in range(len(firsts)):
        first, size, skyline = firsts[code], lasts[code] - firsts[code], middles[code]
        for i in range(size):
            packed[used + i] = picks[first + i]
        firsts[code] = used
        middles[code] = used + skyline - first
        lasts[code] = used + size
        used += size
    return used


@kernel
def age_of(time: int, other: int) -> int:
    """Give the distance of two times; beyond int64 it stops."""
    near, far = min(time, other), max(time, other)
    if near < 0 and far > HIGHEST + near:
        return HIGHEST
    return far - near


@kernel
def picks_probe(
    state: Ints, last: int, rows: Rows, keys: Ints, moments: Ints, reach: int,
    bases: Ints, firsts: Ints, lasts: Ints, picks: Rows,
    values: Ints, times: Ints, row_slots: Rows, arrived: Ints, asks: Ints,
    boxes: Ints, starts: Ints, slots: Rows, tail: Ints, tail_slots: Rows,
    point: Ints, stack: Ints, found: Rows, stamps: Rows, out_rows: Rows, out_slots: Rows,
) -> int:  # fmt: skip
    """Write (tuple, query) of all boxes (a, c, age) that hold a tuple with one of its picks.

    Tuple k has the picks [firsts[k], lasts[k]): places from bases[k] on. `stamps[query]` is the
    last tuple that met the query, plus one. All is done when state[TUPLE] is `last`. Buffers have
    room for all boxes at least; without buffers, pairs are only counted.
    """
    writes = len(out_slots) > 0
    count = 0
    at = state[PICK]
    for k in range(state[TUPLE], last):
        point[0] = keys[k]
        for j in range(firsts[k] + at, lasts[k]):
            i = bases[k] + picks[j]
            age = age_of(moments[k], times[i])
            if age >= reach:
                continue
            point[1], point[2] = values[i], age
            hits = boxes_stab(boxes, starts, slots, tail, tail_slots, point, stack, found)
            if writes and count + hits > len(out_slots):
                state[TUPLE], state[PICK] = k, j - firsts[k]
                return count
            state[PROBES] += 1
            state[HITS] += hits
            number = arrived[row_slots[i]]
            for h in range(hits):
                query = found[h]
                if stamps[query] != k + 1 and number >= asks[query, 3]:
                    stamps[query] = k + 1
                    if writes:
                        out_rows[count] = rows[k]
                        out_slots[count] = query
                    count += 1
        at = 0
    state[TUPLE], state[PICK] = last, 0
    return count
