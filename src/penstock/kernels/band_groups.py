"""Stabbing groups of bands: whose answers are prefixes of sorted lists.

All ranges of a group hold its point p. Of the stored values only two matter to a group: the last
one whose difference is not above p, and the first one above. Members reach the first if their lows
do, and the second if their highs do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt

from penstock.kernels.arrays import Flags, Ints, Rows
from penstock.kernels.bands import (
    AT,
    INNER,
    OUTER,
    SEARCHES,
    VISITED,
    above_gallop,
    above_search,
    difference,
)
from penstock.kernels.compilation import kernel

Values = npt.NDArray[Any]


@kernel
def lows_prefix(lows: Values, start: int, size: int, bound: Any, hint: int) -> int:
    """Count the lows of a group, ascending, that are not above a bound; search from `hint`."""
    low, high, step = 0, size, 1
    if hint < size and lows[start + hint] <= bound:
        low = hint + 1
        while low + step <= size and lows[start + low + step - 1] <= bound:
            low += step
            step += step
        high = min(low + step - 1, size)
    else:
        high = hint
        while high >= step and lows[start + high - step] > bound:
            high -= step
            step += step
        low = max(high - step, 0)
    while low < high:
        middle = (low + high) >> 1
        if lows[start + middle] <= bound:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def highs_prefix(highs: Values, start: int, size: int, bound: Any, hint: int) -> int:
    """Count the highs of a group, descending, that are not below a bound; search from `hint`."""
    low, high, step = 0, size, 1
    if hint < size and highs[start + hint] >= bound:
        low = hint + 1
        while low + step <= size and highs[start + low + step - 1] >= bound:
            low += step
            step += step
        high = min(low + step - 1, size)
    else:
        high = hint
        while high >= step and highs[start + high - step] < bound:
            high -= step
            step += step
        low = max(high - step, 0)
    while low < high:
        middle = (low + high) >> 1
        if highs[start + middle] >= bound:
            low = middle + 1
        else:
            high = middle
    return low


class Groups(NamedTuple):
    """Stabbing groups and their members.

    Group j has the stabbing point `points[j]` and the members [starts[j], starts[j + 1]): in
    `low_slots` ascending by low, in `high_slots` descending by high. Equal ends are one step:
    its steps [low_starts[j], low_starts[j + 1]) have the ends `lows`, ascending, and `low_counts`
    says how many members there are up to the end of each; so have the highs, descending.
    `high_lows` holds the lows of the members in `high_slots`.
    """

    points: Values
    starts: Ints
    low_starts: Ints
    lows: Values
    low_counts: Rows
    low_slots: Rows
    high_starts: Ints
    highs: Values
    high_counts: Rows
    high_slots: Rows
    high_lows: Values


@kernel
def groups_find(
    state: Ints, given: Values, values: Values, groups: Groups, reached: Ints
) -> None:  # fmt: skip
    """Add, per tuple, how many members the answer's slices hold; write no pairs.

    `given` ascends, so all searches move little.
    """
    end = len(values)
    for j in range(len(groups.points)):
        point = groups.points[j]
        size = groups.starts[j + 1] - groups.starts[j]
        low_start, high_start = groups.low_starts[j], groups.high_starts[j]
        lows = groups.low_starts[j + 1] - low_start
        highs = groups.high_starts[j + 1] - high_start
        at = 0
        low, high = lows, highs
        for tuple_ in range(len(given)):
            b = given[tuple_]
            at = above_gallop(values, b, point, at)
            if at > 0:
                d = difference(values[at - 1], b)
                if d == point:
                    reached[tuple_] += size
                    continue
                low = lows_prefix(groups.lows, low_start, lows, d, low)
                if low > 0:
                    reached[tuple_] += groups.low_counts[low_start + low - 1]
            if at < end:
                d = difference(values[at], b)
                high = highs_prefix(groups.highs, high_start, highs, d, high)
                if high > 0:
                    reached[tuple_] += groups.high_counts[high_start + high - 1]
    state[SEARCHES] += len(groups.points) * len(given)


@kernel
def groups_fill(
    state: Ints, given: Values, rows: Rows, values: Values, groups: Groups,
    out_rows: Rows, out_slots: Rows,
) -> int:  # fmt: skip
    """Write the pairs of all groups: the members up to the neighbours of point + arriving value."""
    end = len(values)
    count = 0
    j, tuple_, at = state[OUTER], state[INNER], state[AT]
    while j < len(groups.points):
        point, start = groups.points[j], groups.starts[j]
        size = groups.starts[j + 1] - start
        low_start, high_start = groups.low_starts[j], groups.high_starts[j]
        lows = groups.low_starts[j + 1] - low_start
        highs = groups.high_starts[j + 1] - high_start
        low, high = lows, highs
        while tuple_ < len(given):
            if count + size >= len(out_slots):  # One place is written in vain.
                state[OUTER], state[INNER], state[AT] = j, tuple_, at
                return count
            b, row = given[tuple_], rows[tuple_]
            at = above_gallop(values, b, point, at)
            d = point
            taken = 0
            if at > 0:
                d = difference(values[at - 1], b)
                taken = size
                if d != point:
                    low = lows_prefix(groups.lows, low_start, lows, d, low)
                    taken = int(groups.low_counts[low_start + low - 1]) if low > 0 else 0
                for i in range(taken):
                    out_rows[count + i] = row
                    out_slots[count + i] = groups.low_slots[start + i]
                count += taken
            if at < end and taken < size:
                beyond = difference(values[at], b)
                high = highs_prefix(groups.highs, high_start, highs, beyond, high)
                more = groups.high_counts[high_start + high - 1] if high > 0 else 0
                for i in range(start, start + more):
                    out_rows[count] = row
                    out_slots[count] = groups.high_slots[i]
                    # Those that the nearer neighbour below reaches are written already.
                    count += int(at == 0 or groups.high_lows[i] > d)
                state[VISITED] += more
            state[VISITED] += taken
            state[SEARCHES] += 1
            tuple_ += 1
        j += 1
        tuple_ = 0
        at = 0
    state[OUTER], state[INNER], state[AT] = j, 0, 0
    return count


@kernel
def tuples_find(
    state: Ints, given: Values, values: Values, groups: Groups, reached: Ints
) -> None:  # fmt: skip
    """Do as `groups_find`, one tuple after the other in any order: the published algorithm.

    Every group descends into the values from the top, and into its own ends.
    """
    end = len(values)
    for tuple_ in range(len(given)):
        b = given[tuple_]
        for j in range(len(groups.points)):
            at = above_search(values, b, groups.points[j], 0, end)
            if at > 0:
                d = difference(values[at - 1], b)
                if d == groups.points[j]:
                    reached[tuple_] += groups.starts[j + 1] - groups.starts[j]
                    continue
                start = groups.low_starts[j]
                low = lows_prefix(groups.lows, start, groups.low_starts[j + 1] - start, d, 0)
                reached[tuple_] += groups.low_counts[start + low - 1] if low > 0 else 0
            if at < end:
                d = difference(values[at], b)
                start = groups.high_starts[j]
                high = highs_prefix(groups.highs, start, groups.high_starts[j + 1] - start, d, 0)
                reached[tuple_] += groups.high_counts[start + high - 1] if high > 0 else 0
    state[SEARCHES] += len(groups.points) * len(given)


@kernel
def lists_step(
    starts: Ints, values: Values, step_starts: Ints, steps: Values, counts: Rows
) -> int:  # fmt: skip
    """Write the distinct ends of each group, and how many members there are up to each."""
    at = 0
    for j in range(len(starts) - 1):
        step_starts[j] = at
        for i in range(starts[j], starts[j + 1]):
            if i > starts[j] and values[i] == values[i - 1]:
                counts[at - 1] += 1
            else:
                steps[at] = values[i]
                counts[at] = i - starts[j] + 1
                at += 1
    step_starts[len(starts) - 1] = at
    return at


@kernel
def lists_count(
    touched: Rows, starts: Ints, sizes: Ints, slots: Rows, dirty: Flags, group_of: Rows,
    kept: Ints,
) -> None:  # fmt: skip
    """Count, by group id, the members of old lists that are in the group still, unchanged."""
    for k in range(len(touched)):
        group = touched[k]
        begin = starts[group]
        for i in range(begin, begin + sizes[group]):
            kept[group] += int(not dirty[slots[i]] and group_of[slots[i]] == group)


@kernel
def lists_merge(
    ids: Rows, fresh: Flags, old_starts: Ints, old_sizes: Ints, new_starts: Ints, new_sizes: Ints,
    old_slots: Rows, new_slots: Rows, dirty: Flags, group_of: Rows, ends: Values, descends: bool,
    starts: Ints, slots: Rows,
) -> None:  # fmt: skip
    """Write the members of groups `ids`, one list after the other, by their ends.

    Starts and sizes of the old and the new lists are by group id. A fresh group's list is what is
    left of the old one, merged with the new one; the others stay as they were.
    """
    at = 0
    for j in range(len(ids)):
        group = ids[j]
        starts[j] = at
        i, stop = old_starts[group], old_starts[group] + old_sizes[group]
        if not fresh[group]:
            for k in range(i, stop):
                slots[at] = old_slots[k]
                at += 1
            continue
        new, last = new_starts[group], new_starts[group] + new_sizes[group]
        while i < stop or new < last:
            if i < stop and (dirty[old_slots[i]] or group_of[old_slots[i]] != group):
                i += 1
                continue
            older = new == last
            if not older and i < stop:
                left, right = ends[old_slots[i]], ends[new_slots[new]]
                older = left >= right if descends else left <= right
            if older:
                slots[at] = old_slots[i]
                i += 1
            else:
                slots[at] = new_slots[new]
                new += 1
            at += 1
    starts[len(ids)] = at
