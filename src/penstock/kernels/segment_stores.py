"""Stores of segments: what holds, bucket by bucket, in the order in which it came.

A bucket is a chain of slots, for the values of some key columns. A segment that is taken back cuts
what has its key and its serial; what is left shorter than an instant goes with it. Stored are never
used again before the store is packed, so their order is that of arrival.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Flags, Floats, Ints, Signs
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomials import polynomial_degree, polynomial_shift

INSTANT = 2.5e-7
"""Seconds below which two instants are one; event times are counted in microseconds."""
MICRO = 1e-6
USED, LIVE = 0, 1
"""In `sizes`: how many slots were given, how many hold something."""


class Stored(NamedTuple):
    """A store as arrays."""

    key: Ints
    reference: Ints
    low: Floats
    high: Floats
    models: Floats
    serial: Ints
    alive: Flags
    follower: Ints
    first: Ints
    last: Ints
    sizes: Ints


class Came(NamedTuple):
    """Segments that come, as arrays."""

    key: Ints
    reference: Ints
    low: Floats
    high: Floats
    models: Floats
    sign: Signs
    serial: Ints


@inlined
def key_mix(key: Ints, columns: Ints) -> np.uint64:
    """Give a number for the values of some key columns."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for column in columns:
        mixed = serials_mix(mixed, np.uint64(key[column]))
    return mixed


@inlined
def serials_mix(left: np.uint64, right: np.uint64) -> np.uint64:
    """Mix two numbers into one that no other two are likely to give."""
    mixed = (left ^ (right >> np.uint64(32))) * np.uint64(0xFF51AFD7ED558CCD)
    mixed = (mixed ^ (mixed >> np.uint64(29))) + right * np.uint64(0xC4CEB9FE1A85EC53)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x9FB21C651E98DF25)
    return mixed ^ (mixed >> np.uint64(28))


@inlined
def keys_agree(one: Ints, columns: Ints, other: Ints, others: Ints) -> bool:
    """Say whether two keys are equal in pairs of columns."""
    for c in range(len(columns)):
        if one[columns[c]] != other[others[c]]:
            return False
    return True


@inlined
def keys_clash(one: Ints, columns: Ints, other: Ints, others: Ints) -> bool:
    """Say whether two keys are equal in one of some pairs of columns."""
    for c in range(len(columns)):
        if one[columns[c]] == other[others[c]]:
            return True
    return False


@inlined
def ranges_meet(low: float, high: float, other_low: float, other_high: float) -> bool:
    """Say whether two ranges, or instants, have an instant in common that is more than rounding."""
    begin, end = max(low, other_low), min(high, other_high)
    if low == high:
        if other_low == other_high:
            return bool(abs(low - other_low) <= INSTANT)
        return bool(other_low <= low < other_high)
    if other_low == other_high:
        return bool(low <= other_low < high)
    return bool(end - begin > INSTANT)


@inlined
def slot_link(stored: Stored, columns: Ints, slot: int) -> None:
    """Put a slot at the end of its chain."""
    bucket = key_mix(stored.key[slot], columns) & np.uint64(len(stored.first) - 1)
    stored.follower[slot] = -1
    if stored.first[bucket] < 0:
        stored.first[bucket] = slot
    else:
        stored.follower[stored.last[bucket]] = slot
    stored.last[bucket] = slot


@tight
def store_link(stored: Stored, columns: Ints) -> None:
    """Make all chains anew."""
    for bucket in range(len(stored.first)):
        stored.first[bucket] = stored.last[bucket] = -1
    for slot in range(stored.sizes[USED]):
        slot_link(stored, columns, slot)


@inlined
def slot_cut(stored: Stored, columns: Ints, slot: int, low: float, high: float) -> bool:
    """Take [low, high) of a slot's range away; say whether it was a whole instant."""
    own_low, own_high = stored.low[slot], stored.high[slot]
    if own_low == own_high or low == high:
        is_it = own_low == own_high and low == high and abs(own_low - low) <= INSTANT
        if is_it:
            stored.alive[slot] = False
            stored.sizes[LIVE] -= 1
        return is_it
    if min(own_high, high) <= max(own_low, low):
        return False
    stays_before = low - own_low > INSTANT
    stays_behind = own_high - high > INSTANT
    if stays_before:
        stored.high[slot] = low
    elif stays_behind:
        stored.low[slot] = high
    else:
        stored.alive[slot] = False
        stored.sizes[LIVE] -= 1
    if stays_before and stays_behind:
        new = stored.sizes[USED]
        stored.sizes[USED] += 1
        stored.sizes[LIVE] += 1
        for c in range(stored.key.shape[1]):
            stored.key[new, c] = stored.key[slot, c]
        stored.reference[new], stored.serial[new] = stored.reference[slot], stored.serial[slot]
        stored.low[new], stored.high[new], stored.alive[new] = high, own_high, True
        for a in range(stored.models.shape[1]):
            for k in range(stored.models.shape[2]):
                stored.models[new, a, k] = stored.models[slot, a, k]
        slot_link(stored, columns, new)
    return False


@tight
def store_apply(stored: Stored, columns: Ints, came: Came) -> None:
    """Keep what is said, and cut what is taken back; the store has a free slot for every one."""
    attributes, width = stored.models.shape[1], stored.models.shape[2]
    for i in range(len(came.sign)):
        key = came.key[i]
        if came.sign[i] > 0:
            slot = stored.sizes[USED]
            stored.sizes[USED] += 1
            stored.sizes[LIVE] += 1
            for c in range(len(key)):
                stored.key[slot, c] = key[c]
            stored.reference[slot], stored.serial[slot] = came.reference[i], came.serial[i]
            stored.low[slot], stored.high[slot] = came.low[i], came.high[i]
            stored.alive[slot] = True
            for a in range(attributes):
                for k in range(width):
                    stored.models[slot, a, k] = came.models[i, a, k]
            slot_link(stored, columns, slot)
            continue
        bucket = key_mix(key, columns) & np.uint64(len(stored.first) - 1)
        slot = stored.first[bucket]
        end = stored.sizes[USED]
        while 0 <= slot < end:
            if stored.alive[slot] and stored.serial[slot] == came.serial[i]:
                is_own = True
                for c in range(len(key)):
                    is_own = is_own and stored.key[slot, c] == key[c]
                later = (came.reference[i] - stored.reference[slot]) * MICRO
                low, high = came.low[i] + later, came.high[i] + later
                if is_own and slot_cut(stored, columns, slot, low, high):
                    break
            slot = stored.follower[slot]


@tight
def store_meet(
    stored: Stored, columns: Ints, came: Came, others: Ints, unequal: Ints, unequal_others: Ints,
    state: Ints, rows: Ints, slots: Ints,
) -> int:  # fmt: skip
    """Write the pairs of what comes and what is stored, until there is no room; count them.

    Pairs agree in `columns` of the store and `others` of what comes, clash in no pair of unequal
    columns, and have time in common. `state` is the segment and the slot to go on with.
    """
    count = 0
    slot = state[1]
    for i in range(state[0], len(came.sign)):
        key = came.key[i]
        if slot < 0:
            slot = stored.first[key_mix(key, others) & np.uint64(len(stored.first) - 1)]
        while slot >= 0:
            if stored.alive[slot]:
                later = (stored.reference[slot] - came.reference[i]) * MICRO
                if (
                    ranges_meet(
                        came.low[i], came.high[i], stored.low[slot] + later,
                        stored.high[slot] + later,
                    )
                    and keys_agree(stored.key[slot], columns, key, others)
                    and not keys_clash(stored.key[slot], unequal, key, unequal_others)
                ):  # fmt: skip
                    if count == len(rows):
                        state[0], state[1] = i, slot
                        return count
                    rows[count], slots[count] = i, slot
                    count += 1
            slot = stored.follower[slot]
    state[0], state[1] = len(came.sign), -1
    return count


@inlined
def models_place(models: Floats, later: float, out: Floats, first: int) -> None:
    """Write the models of one segment, shifted, among those of a pair."""
    width = out.shape[1]
    for a in range(models.shape[0]):
        degree = polynomial_degree(models[a], width - 1)
        target = out[first + a]
        if later == 0.0:
            for k in range(degree + 1):
                target[k] = models[a, k]
        else:
            polynomial_shift(models[a], degree, later, target)
        for k in range(degree + 1, width):
            target[k] = 0.0


@tight
def pairs_build(
    stored: Stored,
    came: Came,
    came_left: bool,
    rows: Ints,
    slots: Ints,
    count: int,
    out: Came,
) -> None:
    """Write pairs as segments: while both hold, by the later reference, the left one first."""
    for p in range(count):
        i, slot = rows[p], slots[p]
        reference = max(came.reference[i], stored.reference[slot])
        own = (reference - came.reference[i]) * MICRO
        other = (reference - stored.reference[slot]) * MICRO
        out.reference[p] = reference
        low = max(came.low[i] - own, stored.low[slot] - other)
        high = min(came.high[i] - own, stored.high[slot] - other)
        out.low[p] = low
        # An instant stays one, whatever rounding does to its ends.
        is_point = came.low[i] == came.high[i] or stored.low[slot] == stored.high[slot]
        out.high[p] = low if is_point else high
        out.sign[p] = came.sign[i]
        one, two = np.uint64(came.serial[i]), np.uint64(stored.serial[slot])
        if came_left:
            out.serial[p] = np.int64(serials_mix(one, two))
            models_place(came.models[i], own, out.models[p], 0)
            models_place(stored.models[slot], other, out.models[p], came.models.shape[1])
        else:
            out.serial[p] = np.int64(serials_mix(two, one))
            models_place(stored.models[slot], other, out.models[p], 0)
            models_place(came.models[i], own, out.models[p], stored.models.shape[1])
        came_first = 0 if came_left else stored.key.shape[1]
        stored_first = came.key.shape[1] if came_left else 0
        for c in range(came.key.shape[1]):
            out.key[p, came_first + c] = came.key[i, c]
        for c in range(stored.key.shape[1]):
            out.key[p, stored_first + c] = stored.key[slot, c]
