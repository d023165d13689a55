"""Unions of segments: which are parts of one origin, and the ranges that they cover together.

An origin is a key, a reference, models, a sign and a serial. Segments of one origin whose ranges
overlap are members of one hull: the range that they cover together. Hulls of one origin have no
instant in common.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Floats, Ints, Signs, Words
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.segment_stores import Came, serials_mix

NONE = -1
"""In a table: a place that is free."""

# Why segments could not be added.
MERGING = -1
"""A segment overlaps two hulls of its origin: they would have to become one."""
FULL = -2
"""The table has no room for another hull."""


class Hulls(NamedTuple):
    """Hulls that are being found, as arrays with room for all segments."""

    key: Ints
    reference: Ints
    low: Floats
    high: Floats
    bits: Ints
    """The models, as integers."""
    sign: Signs
    serial: Ints
    marks: Words
    """(hulls, words): which consumers have a member."""
    table: Ints
    """Numbers of hulls by their origins; a power of two of places, at least twice as many."""
    follower: Ints
    """By hull: another one of its origin."""


@inlined
def origin_mix(i: int, came: Came) -> np.uint64:
    """Give a number for the origin of a segment: serials tell most of them apart."""
    return serials_mix(np.uint64(came.reference[i]), np.uint64(came.serial[i]) << np.uint64(1))


@inlined
def origin_is(hulls: Hulls, hull: int, came: Came, bits: Ints, powers: int, i: int) -> bool:
    """Say whether a segment has the origin of a hull."""
    if hulls.reference[hull] != came.reference[i] or hulls.serial[hull] != came.serial[i]:
        return False
    if hulls.sign[hull] != came.sign[i]:
        return False
    for c in range(came.key.shape[1]):
        if hulls.key[hull, c] != came.key[i, c]:
            return False
    for a in range(bits.shape[1]):
        for k in range(powers):
            if hulls.bits[hull, a, k] != bits[i, a, k]:
                return False
    return True


@inlined
def ranges_overlap(low: float, high: float, begin: float, end: float) -> bool:
    """Say whether two ranges, or instants, have an instant in common."""
    if low == high:
        return bool(begin == low if begin == end else begin <= low < end)
    if begin == end:
        return bool(low <= begin < high)
    return bool(max(low, begin) < min(high, end))


@inlined
def hull_add(hulls: Hulls, hull: int, came: Came, bits: Ints, i: int, follower: int) -> None:
    """Begin a hull with a segment."""
    for c in range(came.key.shape[1]):
        hulls.key[hull, c] = came.key[i, c]
    for a in range(bits.shape[1]):
        for k in range(bits.shape[2]):
            hulls.bits[hull, a, k] = bits[i, a, k]
    hulls.reference[hull], hulls.serial[hull] = came.reference[i], came.serial[i]
    hulls.sign[hull], hulls.follower[hull] = came.sign[i], follower
    hulls.low[hull], hulls.high[hull] = came.low[i], came.high[i]


@tight
def hulls_add(
    hulls: Hulls, count: int, came: Came, bits: Ints, powers: int, consumer: int, own: Ints
) -> int:
    """Add the segments of a consumer, and write the hull of each; give how many hulls there are.

    Models have so many powers at most; the others are 0. MERGING or FULL: it could not.
    """
    last = np.uint64(len(hulls.table) - 1)
    word, bit = consumer >> 6, np.uint64(1) << np.uint64(consumer & 63)
    for i in range(len(came.sign)):
        place = origin_mix(i, came) & last
        while hulls.table[place] != NONE and not origin_is(
            hulls, hulls.table[place], came, bits, powers, i
        ):
            place = (place + np.uint64(1)) & last
        first = hulls.table[place]
        found = NONE
        hull = first
        while hull != NONE:
            if ranges_overlap(came.low[i], came.high[i], hulls.low[hull], hulls.high[hull]):
                if found != NONE:
                    return MERGING
                found = hull
            hull = hulls.follower[hull]
        if found == NONE:
            if 2 * count >= len(hulls.table):
                return FULL
            found = count
            count += 1
            hull_add(hulls, found, came, bits, i, first)
            hulls.table[place] = found
        else:
            hulls.low[found] = min(hulls.low[found], came.low[i])
            hulls.high[found] = max(hulls.high[found], came.high[i])
        hulls.marks[found, word] |= bit
        own[i] = found
    return count


@tight
def ranges_merge(
    order: Ints, origin: Ints, low: Floats, high: Floats, out_low: Floats, out_high: Floats
) -> None:
    """Write for every segment the range that it covers together with those that it overlaps.

    `order` sorts segments by origin and low, long ones first.
    """
    first = 0
    for place in range(len(order) + 1):
        if place < len(order) and place > first:
            i, head = order[place], order[first]
            begin, end = out_low[head], out_high[head]
            is_point = begin == end and low[i] == begin and high[i] == begin
            if origin[i] == origin[head] and (low[i] < end or is_point):
                out_high[head] = max(end, high[i])
                continue
        if place > first:
            for member in range(first + 1, place):
                out_low[order[member]] = out_low[order[first]]
                out_high[order[member]] = out_high[order[first]]
        if place < len(order):
            first = place
            out_low[order[first]], out_high[order[first]] = low[order[first]], high[order[first]]
