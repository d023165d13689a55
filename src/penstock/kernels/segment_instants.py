"""Instants: what the segments of a group are together at every instant.

The least and the greatest of them are envelopes, made by putting in one segment after the other:
where it beats what is there, it takes its place. Sums and means are swept from end to end.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.kernels.arrays import Floats, Ints, Signs
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomial_roots import roots_find
from penstock.kernels.polynomials import (
    polynomial_degree,
    polynomial_evaluate,
    polynomial_shift,
    polynomial_strip,
)
from penstock.kernels.segment_pieces import Parts, Zones, group_collect, piece_append
from penstock.kernels.segment_stores import INSTANT, MICRO, Stored

SUM, MEAN, LEAST, GREATEST = 0, 1, 2, 3


class Solving(NamedTuple):
    """What finding roots writes into."""

    one: Floats
    other: Floats
    roots: Floats
    signs: Signs
    chain: Floats
    turns: Floats


class Layers(NamedTuple):
    """An envelope while it is made: ranges and their owners, twice, to be written in turns."""

    low: Floats
    high: Floats
    owner: Ints
    slots: Ints
    starts: Floats


@inlined
def range_push(layers: Layers, side: int, count: int, low: float, high: float, owner: int) -> int:
    """Write a range behind the others, or lengthen the last one."""
    if high <= low:
        return count
    if count > 0 and layers.owner[side, count - 1] == owner and layers.high[side, count - 1] == low:
        layers.high[side, count - 1] = high
        return count
    layers.low[side, count], layers.high[side, count] = low, high
    layers.owner[side, count] = owner
    return count + 1


@inlined
def ranges_contest(
    stored: Stored, base: int, new: int, old: int, low: float, high: float, better: float,
    solving: Solving, layers: Layers, side: int, count: int,
) -> int:  # fmt: skip
    """Divide a range between two slots: the new one where it is better, else the old one."""
    width = stored.models.shape[2]
    one, other = solving.one, solving.other
    later = (stored.reference[new] - base) * MICRO
    degree = polynomial_degree(stored.models[new, 0], width - 1)
    polynomial_shift(stored.models[new, 0], degree, low - later, one)
    later = (stored.reference[old] - base) * MICRO
    other_degree = polynomial_degree(stored.models[old, 0], width - 1)
    polynomial_shift(stored.models[old, 0], other_degree, low - later, other)
    for k in range(max(degree, other_degree) + 1):
        new_term = one[k] if k <= degree else 0.0
        old_term = other[k] if k <= other_degree else 0.0
        one[k] = better * (new_term - old_term)
    degree = polynomial_strip(one, max(degree, other_degree), 0.0, high - low)
    if degree <= 0:
        owner = new if degree == 0 and one[0] > 0.0 else old
        return range_push(layers, side, count, low, high, owner)
    found = roots_find(
        one, degree, 0.0, high - low, solving.roots, solving.signs, solving.chain, solving.turns
    )
    at = 0.0
    for k in range(found + 1):
        until = solving.roots[k] if k < found else high - low
        wins = polynomial_evaluate(one, degree, 0.5 * (at + until)) > 0.0
        begin = low + at
        end = low + until if k < found else high
        count = range_push(layers, side, count, begin, end, new if wins else old)
        at = until
    return count


@inlined
def envelope_insert(
    stored: Stored, base: int, new: int, low: float, high: float, better: float,
    solving: Solving, layers: Layers, side: int, count: int,
) -> int:  # fmt: skip
    """Put a slot into an envelope, and write that to the other side; count its ranges, or -1."""
    width = stored.models.shape[2]
    if (count + 2) * (width + 1) > layers.low.shape[1]:
        return -1
    to = 1 - side
    made = 0
    at = low
    for e in range(count):
        begin, end, owner = layers.low[side, e], layers.high[side, e], layers.owner[side, e]
        if begin >= high:
            if high - at > INSTANT:
                made = range_push(layers, to, made, at, high, new)
            at = high
        if end <= low or begin >= high:
            made = range_push(layers, to, made, begin, end, owner)
            continue
        made = range_push(layers, to, made, begin, low, owner)
        here, there = max(begin, low), min(end, high)
        if here - at > INSTANT:
            made = range_push(layers, to, made, at, here, new)
        made = ranges_contest(
            stored, base, new, owner, here, there, better, solving, layers, to, made
        )
        at = there
        if end > high:
            made = range_push(layers, to, made, high, end, owner)
    if high - at > INSTANT:
        made = range_push(layers, to, made, at, high, new)
    return made


@inlined
def points_write(
    stored: Stored, base: int, found: int, better: float, layers: Layers, side: int, ranges: int,
    group: int, pieces: Parts, count: int, room: Floats,
) -> int:  # fmt: skip
    """Write instants that beat the ranges and the other instants there; -1 without room."""
    width = stored.models.shape[2]
    for s in range(found):
        slot = layers.slots[s]
        if stored.low[slot] != stored.high[slot]:
            continue
        at = layers.starts[s]
        own = better * polynomial_evaluate(stored.models[slot, 0], width - 1, stored.low[slot])
        wins = True
        for e in range(ranges):
            if layers.low[side, e] <= at < layers.high[side, e]:
                other = layers.owner[side, e]
                later = (stored.reference[other] - base) * MICRO
                value = polynomial_evaluate(stored.models[other, 0], width - 1, at - later)
                wins = wins and own > better * value
        for other_place in range(found):
            other = layers.slots[other_place]
            is_point = stored.low[other] == stored.high[other] and other != slot
            if is_point and abs(layers.starts[other_place] - at) <= INSTANT:
                value = better * polynomial_evaluate(
                    stored.models[other, 0], width - 1, stored.low[other]
                )
                wins = wins and (own > value or (own == value and slot < other))
        if wins and count >= 0:
            later = (stored.reference[slot] - base) * MICRO
            count = piece_append(
                pieces, count, group, base, at, at, stored.models[slot, 0], later, room
            )
    return count


@tight
def envelopes_write(
    better: float, stored: Stored, columns: Ints, asked: Zones, own: Ints, layers: Layers,
    solving: Solving, room: Floats, pieces: Parts,
) -> int:  # fmt: skip
    """Write the envelopes of groups; `better` is 1 for the greatest, -1 for the least.

    Give how many pieces there are, or -1 without room.
    """
    total = 0
    for g in range(len(asked.base)):
        base, begin, end = asked.base[g], asked.begin[g], asked.end[g]
        found = group_collect(
            stored, columns, asked.key[g], own, base, begin - INSTANT, end + INSTANT,
            layers.slots, layers.starts,
        )  # fmt: skip
        side, count = 0, 0
        for s in range(found):
            slot = layers.slots[s]
            low = max(begin, layers.starts[s])
            later = (stored.reference[slot] - base) * MICRO
            high = min(end, stored.high[slot] + later)
            if high - low <= INSTANT or stored.low[slot] == stored.high[slot]:
                continue
            count = envelope_insert(
                stored, base, slot, low, high, better, solving, layers, side, count
            )
            if count < 0:
                return -1
            side = 1 - side
        for e in range(count):
            slot = layers.owner[side, e]
            later = (stored.reference[slot] - base) * MICRO
            total = piece_append(
                pieces, total, g, base, layers.low[side, e], layers.high[side, e],
                stored.models[slot, 0], later, room,
            )  # fmt: skip
            if total < 0:
                return -1
        total = points_write(
            stored, base, found, better, layers, side, count, g, pieces, total, room
        )
        if total < 0:
            return -1
    return total


@tight
def sums_write(
    is_mean: bool, stored: Stored, columns: Ints, asked: Zones, own: Ints, layers: Layers,
    solving: Solving, room: Floats, pieces: Parts,
) -> int:  # fmt: skip
    """Write the sums or means of groups; instants have none. -1 without room."""
    total = 0
    width = stored.models.shape[2]
    model, shifted = solving.one, solving.other
    for g in range(len(asked.base)):
        base, end = asked.base[g], asked.end[g]
        found = group_collect(
            stored, columns, asked.key[g], own, base, asked.begin[g], end, layers.slots,
            layers.starts,
        )  # fmt: skip
        active = layers.owner[0]
        count, behind = 0, 0
        at = asked.begin[g]
        while end - at > INSTANT:
            there = end
            while behind < found and layers.starts[behind] <= at + INSTANT:
                slot = layers.slots[behind]
                behind += 1
                if stored.low[slot] < stored.high[slot]:
                    active[count] = slot
                    count += 1
            if behind < found:
                there = min(there, layers.starts[behind])
            kept = 0
            for k in range(width):
                model[k] = 0.0
            for n in range(count):
                slot = active[n]
                later = (stored.reference[slot] - base) * MICRO
                until = stored.high[slot] + later
                if until <= at + INSTANT:
                    continue
                active[kept] = slot
                kept += 1
                there = min(there, until)
                degree = polynomial_degree(stored.models[slot, 0], width - 1)
                polynomial_shift(stored.models[slot, 0], degree, at - later, shifted)
                for k in range(degree + 1):
                    model[k] += shifted[k]
            count = kept
            if count > 0:
                if is_mean:
                    for k in range(width):
                        model[k] /= count
                total = piece_append(pieces, total, g, base, at, there, model[:width], at, room)
                if total < 0:
                    return -1
            at = there
    return total
