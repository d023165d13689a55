"""Range minima by scans: the plain B-tree as a sorted column, and brute force."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.compilation import tight
from penstock.kernels.range_messages import RangeMessages

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

ENTRIES, RECORDS = 0, 1
"""Places of `counts`: entries that scans read, and points of hulls that they met."""


@tight
def updates_scan(ys: Ints, places: Ints, old: Ints, new: Ints, counts: Ints) -> None:
    """Do for each update what a server must, by scanning leaves from the tuple to both sides.

    `ys` are the values in the order of x. A scan ends at the first value up to the lower one of the
    update, the affected range; on its way it meets the points of the hull, if the value rises.
    """
    for k in range(len(places)):
        place = places[k]
        bound, top = min(old[k], new[k]), new[k]
        ys[place] = new[k]
        at = place - 1
        while at >= 0 and ys[at] > bound:
            if ys[at] < top:
                top = ys[at]
                counts[RECORDS] += 1
            at -= 1
        counts[ENTRIES] += place - at
        at, top = place + 1, new[k]
        while at < len(ys) and ys[at] > bound:
            if ys[at] < top:
                top = ys[at]
                counts[RECORDS] += 1
            at += 1
        counts[ENTRIES] += at - place


@tight
def scans_mar(xs: Ints, ys: Ints, places: Ints, bounds: Ints, lefts: Ints, rights: Ints) -> int:
    """Write the first x on both sides with a value up to the bound, or the ends of the integers.

    Returns
    -------
    int
        How many entries were read.
    """
    read = 0
    for k in range(len(places)):
        at = places[k] - 1
        while at >= 0 and ys[at] > bounds[k]:
            at -= 1
        read += places[k] - at
        lefts[k] = -(1 << 63) if at < 0 else xs[at] + 1
        at = places[k] + 1
        while at < len(xs) and ys[at] > bounds[k]:
            at += 1
        read += at - places[k]
        rights[k] = (1 << 63) - 1 if at == len(xs) else xs[at] - 1
    return read


@tight
def table_least(table: Ints, tuples: int, partition: int, x1: int, x2: int) -> tuple[bool, int]:
    """Say whether any of the first rows (partition, x, y) is in a range; give the least y."""
    found, least = False, 0
    for k in range(tuples):
        inside = table[k, 0] == partition and x1 <= table[k, 1] <= x2
        if inside and (not found or table[k, 2] < least):
            found, least = True, table[k, 2]
    return found, least


@tight
def messages_judge(
    before: Ints, tuples_before: int, after: Ints, tuples_after: int, messages: RangeMessages,
    partitions: int, low: int, high: int,
) -> int:  # fmt: skip
    """Count subscriptions, of all with ends in [low, high], that are told anything but the truth.

    One whose minimum changed must be in one rectangle, with the new minimum; others in none.
    """
    wrong = 0
    for p in range(partitions):
        for x1 in range(low, high + 1):
            for x2 in range(x1, high + 1):
                had, was = table_least(before, tuples_before, p, x1, x2)
                has, now = table_least(after, tuples_after, p, x1, x2)
                changed = had != has or (has and was != now)
                times, right = 0, True
                for m in range(len(messages.values)):
                    inside = messages.partitions[m] == p
                    inside = inside and messages.outer_l[m] <= x1 <= messages.inner_l[m]
                    if inside and messages.inner_r[m] <= x2 <= messages.outer_r[m]:
                        times += 1
                        right = messages.empty[m] != has
                        right = right and (not has or messages.values[m] == now)
                wrong += times != changed or not right
    return wrong
