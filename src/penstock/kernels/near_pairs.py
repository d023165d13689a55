"""Pairs that come near each other: of all others nothing is made.

Two things that move on straight lines are nearest once. A pair is near from when to when its
distance is below a limit; its *reach* is that time and some before and behind it. Reaches are
stored as segments without attributes, by the pair's key; those of one pair do not overlap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.kernels.compilation import inlined, tight
from penstock.kernels.segment_stores import (
    INSTANT,
    LIVE,
    MICRO,
    USED,
    Came,
    Stored,
    key_mix,
    keys_agree,
    keys_clash,
    ranges_meet,
    serials_mix,
    slot_link,
)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Nearby(NamedTuple):
    """When a pair counts as near: the distance along some axes, and its limit."""

    left: Ints
    """The attributes of the left side, one for each axis."""
    right: Ints
    limit: float


class Meeting(NamedTuple):
    """How pairs of what is stored and what comes agree: columns of the store, and of the other."""

    equal: Ints
    equal_came: Ints
    unequal: Ints
    unequal_came: Ints


class PairSpans(NamedTuple):
    """Stretches of time of pairs, as arrays."""

    key: Ints
    reference: Ints
    low: Floats
    high: Floats


@inlined
def slot_meets(stored: Stored, slot: int, came: Came, i: int, meeting: Meeting) -> bool:
    """Say whether what is in a slot makes a pair with what comes."""
    if not stored.alive[slot]:
        return False
    later = (stored.reference[slot] - came.reference[i]) * MICRO
    return bool(
        ranges_meet(came.low[i], came.high[i], stored.low[slot] + later, stored.high[slot] + later)
        and keys_agree(stored.key[slot], meeting.equal, came.key[i], meeting.equal_came)
        and not keys_clash(stored.key[slot], meeting.unequal, came.key[i], meeting.unequal_came)
    )


@inlined
def near_find(
    one: Floats, own: float, other: Floats, others: float, axes: Ints, other_axes: Ints,
    limit: float, low: float, high: float,
) -> tuple[float, float]:  # fmt: skip
    """Give from when to when in [low, high] two lines are nearer than a limit; high < low: never.

    The lines count their seconds from `own` and `others` before the instant 0.
    """
    apart, meets, moves = -limit * limit, 0.0, 0.0
    for axis in range(len(axes)):
        a, b = one[axes[axis]], other[other_axes[axis]]
        speed = a[1] - b[1]
        offset = a[0] + a[1] * (own + low) - (b[0] + b[1] * (others + low))
        apart += offset * offset
        meets += offset * speed
        moves += speed * speed
    # That is where apart + 2 meets s + moves s² is not above 0, s seconds after low.
    span = high - low
    last = apart + (2.0 * meets + moves * span) * span
    rest = meets * meets - apart * moves
    if apart > 0.0 and (meets >= 0.0 or (last > 0.0 and (-meets >= moves * span or rest < 0.0))):
        return high + 1.0, high
    # Nothing is subtracted from what is nearly equal.
    spread = np.sqrt(max(rest, 0.0))
    begin = apart / (spread - meets) if apart > 0.0 else 0.0
    end = span
    if last > 0.0 and meets < 0.0:
        end = (spread - meets) / moves
    elif last > 0.0:
        end = -apart / (meets + spread) if meets + spread > 0.0 else 0.0
    return low + min(begin, span), low + min(end, span)


@inlined
def reach_first(reaches: Stored, left: Ints, right: Ints) -> int:
    """Give the first slot of a pair's chain of reaches, or -1."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for column in range(len(left)):
        mixed = serials_mix(mixed, np.uint64(left[column]))
    for column in range(len(right)):
        mixed = serials_mix(mixed, np.uint64(right[column]))
    return int(reaches.first[mixed & np.uint64(len(reaches.first) - 1)])


@inlined
def pair_is(key: Ints, left: Ints, right: Ints) -> bool:
    """Say whether a key is that of a pair."""
    for column in range(len(left)):
        if key[column] != left[column]:
            return False
    for column in range(len(right)):
        if key[len(left) + column] != right[column]:
            return False
    return True


@tight
def pairs_approach(
    stored: Stored, came: Came, came_left: bool, meeting: Meeting, near: Nearby, reach: float,
    state: Ints, out: PairSpans,
) -> int:  # fmt: skip
    """Write when pairs with what is said now are near, widened by a reach; count them.

    `state` is the segment and the slot to go on with, when there was no room.
    """
    count = 0
    slot = state[1]
    for i in range(state[0], len(came.sign)):
        if came.sign[i] < 0:
            continue
        key = came.key[i]
        if slot < 0:
            mixed = key_mix(key, meeting.equal_came)
            slot = stored.first[mixed & np.uint64(len(stored.first) - 1)]
        while slot >= 0:
            if slot_meets(stored, slot, came, i, meeting):
                reference = max(came.reference[i], stored.reference[slot])
                own = (reference - came.reference[i]) * MICRO
                other = (reference - stored.reference[slot]) * MICRO
                low = max(came.low[i] - own, stored.low[slot] - other)
                high = min(came.high[i] - own, stored.high[slot] - other)
                axes, other_axes = near.left, near.right
                if not came_left:
                    axes, other_axes = other_axes, axes
                begin, end = near_find(
                    came.models[i], own, stored.models[slot], other, axes, other_axes,
                    near.limit, low, max(low, high),
                )  # fmt: skip
                if begin <= end:
                    if count == len(out.reference):
                        state[0], state[1] = i, slot
                        return count
                    left, right = key, stored.key[slot]
                    if not came_left:
                        left, right = right, left
                    for column in range(len(left)):
                        out.key[count, column] = left[column]
                    for column in range(len(right)):
                        out.key[count, len(left) + column] = right[column]
                    out.reference[count] = reference
                    out.low[count], out.high[count] = begin - reach, end + reach
                    count += 1
            slot = stored.follower[slot]
    state[0], state[1] = len(came.sign), -1
    return count


@tight
def reaches_grow(
    reaches: Stored, columns: Ints, asked: PairSpans, count: int, state: Ints, out: PairSpans
) -> int:
    """Add ranges to the reaches of pairs; write what is new of them, and count that.

    The store has a free slot for each of the ranges. `state[0]` is the range to go on with, when
    there was no room.
    """
    made = 0
    for n in range(state[0], count):
        key, reference = asked.key[n], asked.reference[n]
        low, high = asked.low[n], asked.high[n]
        begin, end = low, high
        bucket = key_mix(key, columns) & np.uint64(len(reaches.first) - 1)
        at, before = low, made
        while at < high:
            # Go to the end of what covers this instant, or to where something next begins.
            there, covered = high, False
            slot = reaches.first[bucket]
            while slot >= 0:
                if reaches.alive[slot] and keys_agree(reaches.key[slot], columns, key, columns):
                    later = (reaches.reference[slot] - reference) * MICRO
                    own, other = reaches.low[slot] + later, reaches.high[slot] + later
                    if own <= high and other >= low:
                        begin, end = min(begin, own), max(end, other)
                    if own <= at + INSTANT and other > at + INSTANT:
                        at, covered = other, True
                    elif own > at and own < there:
                        there = own
                slot = reaches.follower[slot]
            if covered:
                continue
            if made == len(out.reference):
                state[0] = n
                return before
            for column in range(len(key)):
                out.key[made, column] = key[column]
            out.reference[made], out.low[made], out.high[made] = reference, at, there
            made += 1
            at = there
        if made > before:
            reach_put(reaches, columns, key, reference, begin, end)
    state[0] = count
    return made


@inlined
def reach_put(
    reaches: Stored, columns: Ints, key: Ints, reference: int, low: float, high: float
) -> None:
    """Put one reach in the place of all of its pair that it covers."""
    slot = reaches.first[key_mix(key, columns) & np.uint64(len(reaches.first) - 1)]
    while slot >= 0:
        if reaches.alive[slot] and keys_agree(reaches.key[slot], columns, key, columns):
            later = (reaches.reference[slot] - reference) * MICRO
            own, other = reaches.low[slot] + later, reaches.high[slot] + later
            if own >= low - INSTANT and other <= high + INSTANT:
                reaches.alive[slot] = False
                reaches.sizes[LIVE] -= 1
        slot = reaches.follower[slot]
    new = reaches.sizes[USED]
    reaches.sizes[USED] += 1
    reaches.sizes[LIVE] += 1
    for column in range(len(key)):
        reaches.key[new, column] = key[column]
    reaches.reference[new], reaches.serial[new] = reference, 0
    reaches.low[new], reaches.high[new], reaches.alive[new] = low, high, True
    slot_link(reaches, columns, new)


@tight
def pairs_recall(
    left: Stored, lefts: Ints, right: Stored, rights: Ints, grown: PairSpans, count: int,
    state: Ints, rows: Ints, slots: Ints, places: Ints,
) -> int:  # fmt: skip
    """Write the pairs that are stored of ranges: slots of both sides and the range's number.

    `lefts` and `rights` are the key columns of the sides, by which they are stored. `state[0]` is
    the range to go on with, when there was no room.
    """
    found = 0
    for g in range(state[0], count):
        key, before = grown.key[g], found
        other = key[len(lefts) :]
        one = left.first[key_mix(key, lefts) & np.uint64(len(left.first) - 1)]
        while one >= 0:
            later = (left.reference[one] - grown.reference[g]) * MICRO
            low = max(left.low[one] + later, grown.low[g])
            high = min(left.high[one] + later, grown.high[g])
            if left.alive[one] and low <= high and keys_agree(left.key[one], lefts, key, lefts):
                two = right.first[key_mix(other, rights) & np.uint64(len(right.first) - 1)]
                while two >= 0:
                    later = (right.reference[two] - grown.reference[g]) * MICRO
                    if (
                        right.alive[two]
                        and keys_agree(right.key[two], rights, other, rights)
                        and ranges_meet(low, high, right.low[two] + later, right.high[two] + later)
                    ):
                        if found == len(rows):
                            state[0] = g
                            return before
                        rows[found], slots[found], places[found] = one, two, g
                        found += 1
                    two = right.follower[two]
            one = left.follower[one]
    state[0] = count
    return found


@tight
def pairs_follow(
    stored: Stored, came: Came, came_left: bool, meeting: Meeting, reaches: Stored, state: Ints,
    rows: Ints, slots: Ints,
) -> int:  # fmt: skip
    """Write the pairs of what comes and what is stored that have a reach; count them.

    `state` is the segment and the slot to go on with, when there was no room.
    """
    count = 0
    slot = state[1]
    for i in range(state[0], len(came.sign)):
        key = came.key[i]
        if slot < 0:
            mixed = key_mix(key, meeting.equal_came)
            slot = stored.first[mixed & np.uint64(len(stored.first) - 1)]
        while slot >= 0:
            left, right = key, stored.key[slot]
            if not came_left:
                left, right = right, left
            reach = reach_first(reaches, left, right)
            while reach >= 0 and not (
                reaches.alive[reach] and pair_is(reaches.key[reach], left, right)
            ):
                reach = reaches.follower[reach]
            if reach >= 0 and slot_meets(stored, slot, came, i, meeting):
                if count == len(rows):
                    state[0], state[1] = i, slot
                    return count
                rows[count], slots[count] = i, slot
                count += 1
            slot = stored.follower[slot]
    state[0], state[1] = len(came.sign), -1
    return count


@tight
def reaches_restrict(
    reaches: Stored, columns: Ints, pairs: Came, first: int, index: Ints, low: Floats,
    high: Floats, state: Ints,
) -> int:  # fmt: skip
    """Write the parts of pairs that lie in their reaches, from `first` on; count them.

    `state[0]` is the pair to go on with, when there was no room.
    """
    count = 0
    for i in range(first, len(pairs.sign)):
        before = count
        slot = reaches.first[key_mix(pairs.key[i], columns) & np.uint64(len(reaches.first) - 1)]
        while slot >= 0:
            if reaches.alive[slot] and keys_agree(
                reaches.key[slot], columns, pairs.key[i], columns
            ):
                later = (reaches.reference[slot] - pairs.reference[i]) * MICRO
                own, other = reaches.low[slot] + later, reaches.high[slot] + later
                if ranges_meet(pairs.low[i], pairs.high[i], own, other):
                    if count == len(index):
                        state[0] = i
                        return before
                    index[count] = i
                    low[count] = max(pairs.low[i], own)
                    high[count] = max(low[count], min(pairs.high[i], other))
                    count += 1
            slot = reaches.follower[slot]
    state[0] = len(pairs.sign)
    return count
