"""Pieces: functions of time of groups of segments, as lists of models and their ranges.

The times of a group are seconds after its own base. A piece is written with a reference near its
start, so that its powers stay small. Neighbours with the same model become one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Floats, Ints, Signs
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomials import polynomial_degree, polynomial_shift
from penstock.kernels.segment_stores import (
    INSTANT,
    MICRO,
    Stored,
    key_mix,
    keys_agree,
)

SAME = 1e-10
"""The share of a model by which equal ones may differ."""


class Zones(NamedTuple):
    """Groups whose function is asked for, and where."""

    key: Ints
    """(groups, key columns)."""
    base: Ints
    begin: Floats
    end: Floats


class Parts(NamedTuple):
    """Parts as arrays, those of a group side by side, in the order of time."""

    group: Ints
    reference: Ints
    low: Floats
    high: Floats
    models: Floats
    """(pieces, width)."""


class Course(NamedTuple):
    """The function of one group between two instants: models with ranges, that follow each other.

    Behind a gap a new run begins.
    """

    begin: Floats
    end: Floats
    origin: Floats
    """The instant that a model counts its seconds from."""
    models: Floats
    run: Ints


@inlined
def models_equal(
    one: Floats, later: float, other: Floats, span: float, share: float, room: Floats
) -> bool:
    """Say whether a model, shifted, is another one: up to a share, for `span` seconds."""
    width = len(other)
    degree = polynomial_degree(one, width - 1)
    polynomial_shift(one, degree, later, room)
    size, worst, power = 0.0, 0.0, 1.0
    for k in range(width):
        shifted = room[k] if k <= degree else 0.0
        size = max(size, abs(other[k]) * power, abs(shifted) * power)
        worst = max(worst, abs(shifted - other[k]) * power)
        power *= span
    return bool(worst <= share * size)


@inlined
def piece_append(
    pieces: Parts, count: int, group: int, base: int, begin: float, end: float, model: Floats,
    origin: float, room: Floats,
) -> int:  # fmt: skip
    """Write [begin, end) of a model behind the pieces, or lengthen the last one by it.

    Give how many pieces there are, or -1 if there is no room.
    """
    width = pieces.models.shape[1]
    later = np.floor(begin / MICRO)
    reference = base + np.int64(later)
    at = later * MICRO
    if count > 0 and pieces.group[count - 1] == group and begin < end:
        last = count - 1
        offset = (pieces.reference[last] - base) * MICRO
        apart = abs(pieces.high[last] + offset - begin)
        if pieces.low[last] < pieces.high[last] and apart <= INSTANT:
            span = max(end - begin, begin - pieces.low[last] - offset)
            if models_equal(model, offset - origin, pieces.models[last], span, SAME, room):
                pieces.high[last] = end - offset
                return count
    if count == len(pieces.group):
        return -1
    pieces.group[count] = group
    pieces.reference[count] = reference
    pieces.low[count] = begin - at
    pieces.high[count] = end - at
    degree = polynomial_degree(model, width - 1)
    polynomial_shift(model, degree, at - origin, pieces.models[count])
    for k in range(degree + 1, width):
        pieces.models[count, k] = 0.0
    return count + 1


@inlined
def starts_sort(slots: Ints, starts: Floats, count: int) -> None:
    """Sort slots by their starts, those that came first first; nearly sorted ones in no time."""
    gap = 1
    while gap * 3 + 1 < count:
        gap = gap * 3 + 1
    while gap > 0:
        for i in range(gap, count):
            slot, start = slots[i], starts[i]
            at = i
            while at >= gap and (
                starts[at - gap] > start or (starts[at - gap] == start and slots[at - gap] > slot)
            ):
                slots[at], starts[at] = slots[at - gap], starts[at - gap]
                at -= gap
            slots[at], starts[at] = slot, start
        gap //= 3


@tight
def group_collect(
    stored: Stored, columns: Ints, key: Ints, own: Ints, base: int, begin: float, end: float,
    slots: Ints, starts: Floats,
) -> int:  # fmt: skip
    """Write the slots of a group that hold somewhere from `begin` to `end`, by their starts."""
    count = 0
    slot = stored.first[key_mix(key, own) & np.uint64(len(stored.first) - 1)]
    while slot >= 0:
        if stored.alive[slot]:
            later = (stored.reference[slot] - base) * MICRO
            low, high = stored.low[slot] + later, stored.high[slot] + later
            if low <= end and high >= begin and keys_agree(stored.key[slot], columns, key, own):
                slots[count], starts[count] = slot, low
                count += 1
        slot = stored.follower[slot]
    starts_sort(slots, starts, count)
    return count


@inlined
def part_write(
    out: Parts, sign: Signs, count: int, one: int, group: int, begin: float, end: float,
    base: int, reference: int, model: Floats,
) -> int:  # fmt: skip
    """Write a part of a piece with a sign, or lengthen the last of its sign; -1 without room."""
    offset = (reference - base) * MICRO
    for last in range(count - 1, max(count - 3, -1), -1):
        if sign[last] != one or out.group[last] != group or begin == end:
            continue
        is_it = out.reference[last] == reference and out.low[last] < out.high[last]
        for k in range(len(model)):
            is_it = is_it and out.models[last, k] == model[k]
        if is_it and abs(out.high[last] + offset - begin) <= INSTANT:
            out.high[last] = end - offset
            return count
        break
    if count == len(out.group):
        return -1
    out.group[count], out.reference[count], sign[count] = group, reference, one
    out.low[count], out.high[count] = begin - offset, end - offset
    for k in range(len(model)):
        out.models[count, k] = model[k]
    return count + 1


@inlined
def points_compare(
    stored: Stored, slots: Ints, held: int, pieces: Parts, first: int, last: int, group: int,
    base: int, out: Parts, sign: Signs, count: int, room: Floats,
) -> int:  # fmt: skip
    """Write the instants that came and went; -1 without room."""
    for s in range(held):
        slot = slots[s]
        if stored.low[slot] != stored.high[slot]:
            continue
        stays = False
        for p in range(first, last):
            apart = (pieces.reference[p] - stored.reference[slot]) * MICRO
            apart += pieces.low[p] - stored.low[slot]
            if pieces.low[p] == pieces.high[p] and abs(apart) <= INSTANT:
                later = (pieces.reference[p] - stored.reference[slot]) * MICRO
                stays = stays or models_equal(
                    stored.models[slot, 0], later, pieces.models[p], 0.0, SAME, room
                )
        if not stays and count >= 0:
            at = (stored.reference[slot] - base) * MICRO + stored.low[slot]
            count = part_write(
                out, sign, count, -1, group, at, at, base, stored.reference[slot],
                stored.models[slot, 0],
            )  # fmt: skip
    for p in range(first, last):
        if pieces.low[p] != pieces.high[p]:
            continue
        stays = False
        for s in range(held):
            slot = slots[s]
            apart = (pieces.reference[p] - stored.reference[slot]) * MICRO
            apart += pieces.low[p] - stored.low[slot]
            if stored.low[slot] == stored.high[slot] and abs(apart) <= INSTANT:
                later = (pieces.reference[p] - stored.reference[slot]) * MICRO
                stays = stays or models_equal(
                    stored.models[slot, 0], later, pieces.models[p], 0.0, SAME, room
                )
        if not stays and count >= 0:
            at = (pieces.reference[p] - base) * MICRO + pieces.low[p]
            count = part_write(
                out, sign, count, 1, group, at, at, base, pieces.reference[p], pieces.models[p]
            )
    return count


@tight
def pieces_compare(
    stored: Stored, asked: Zones, own: Ints, pieces: Parts, piece_count: int, slots: Ints,
    starts: Floats, room: Floats, out: Parts, sign: Signs,
) -> int:  # fmt: skip
    """Write what of the pieces is new, and what of the stored ones is no more; -1 without room.

    Only [begin, end) of each group is looked at. Models that are equal but for rounding stay as
    they were said.
    """
    count = 0
    first = 0
    for g in range(len(asked.base)):
        base, begin, end = asked.base[g], asked.begin[g], asked.end[g]
        last = first
        while last < piece_count and pieces.group[last] == g:
            last += 1
        held = group_collect(
            stored, own, asked.key[g], own, base, begin - INSTANT, end + INSTANT, slots, starts
        )
        count = points_compare(
            stored, slots, held, pieces, first, last, g, base, out, sign, count, room
        )
        s, p = 0, first
        at = begin
        while end - at > INSTANT and count >= 0:
            # The stored piece and the new one that hold from here on, and how long.
            there = end
            while s < held and (
                stored.low[slots[s]] == stored.high[slots[s]]
                or (stored.reference[slots[s]] - base) * MICRO + stored.high[slots[s]]
                <= at + INSTANT
            ):
                s += 1
            while p < last and (
                pieces.low[p] == pieces.high[p]
                or (pieces.reference[p] - base) * MICRO + pieces.high[p] <= at + INSTANT
            ):
                p += 1
            is_held, is_new = False, False
            if s < held:
                later = (stored.reference[slots[s]] - base) * MICRO
                is_held = stored.low[slots[s]] + later <= at + INSTANT
                there = min(there, (stored.high if is_held else stored.low)[slots[s]] + later)
            if p < last:
                later = (pieces.reference[p] - base) * MICRO
                is_new = pieces.low[p] + later <= at + INSTANT
                edge = (pieces.high if is_new else pieces.low)[p] + later
                # What ends at the same instant but for rounding ends where the stored one does.
                there = min(there, edge) if abs(there - edge) > INSTANT else there
            if is_held or is_new:
                stays = False
                if is_held and is_new:
                    later = (pieces.reference[p] - stored.reference[slots[s]]) * MICRO
                    span = pieces.high[p] - pieces.low[p]
                    stays = models_equal(
                        stored.models[slots[s], 0], later, pieces.models[p], span, SAME, room
                    )
                if is_held and not stays:
                    count = part_write(
                        out, sign, count, -1, g, at, there, base, stored.reference[slots[s]],
                        stored.models[slots[s], 0],
                    )  # fmt: skip
                if is_new and not stays and count >= 0:
                    count = part_write(
                        out, sign, count, 1, g, at, there, base, pieces.reference[p],
                        pieces.models[p],
                    )  # fmt: skip
            at = there
        if count < 0:
            return -1
        first = last
    return count
