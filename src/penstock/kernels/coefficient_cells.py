"""Cells of a grid over coefficients: how many models of segments fall into each.

A lattice of cells is laid over each coefficient: cell k holds what lies in [origin + k·width,
origin + (k + 1)·width). A grid keeps `bins` neighbouring cells of each lattice, wherever these are;
a coefficient that would need more makes the cells of its lattice twice as wide, which joins
neighbours and loses nobody. So widths depend on the least and the greatest coefficient alone, not
on the order in which segments come.

A segment's place is one number: its key, the power of two below its length, and its cells, each
modulo `bins`, which tells cells that are kept at a time apart. The numbers are counted in a table
with open addressing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomials import polynomial_shift

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]

LENGTH_BITS = 6
"""Bits of a place that say the power of two below the length, in microseconds."""
KEY_SHIFT = 40
"""The bit of a place from which on it says the key."""
KEYS_MAX = 64
"""Keys with a higher code are counted together, under the last one."""
LENGTH_US_MAX = 1 << 51
"""Longer segments count as of this length."""

# What a grid has counted.
USED = 0
"""Places in the table."""
COUNTED = 1
UNPLACED = 2
"""Segments with a coefficient that is no number, or one beyond all cells."""
SIZE_WORDS = 3

# Why counting stopped, below the number of a coefficient.
DONE = -1
FULL = -2

CELL_MAX = 2.0**52
"""Cells of a lattice have numbers below this: each is a whole number exactly."""
COEFFICIENT_MAX = 2.0**960
"""Coefficients below this have cells whose ends, and what is between two of them, are numbers."""
MULTIPLIER = 0x9E3779B97F4A7C15


class CoefficientGrid(NamedTuple):
    """A grid over the coefficients of one attribute, and what is counted in it."""

    places: Ints
    """(slots): the places in the table; slots are a power of two."""
    counts: Ints
    """(slots): how many segments; 0: the slot is free."""
    origin: Floats
    """(coefficients): where cell 0 of a lattice begins."""
    per_cell: Floats
    """(coefficients): one over the width of a cell."""
    first: Ints
    """(coefficients): the lowest cell that is kept, and the highest; no cell if it is lower."""
    last: Ints
    least: Floats
    """(coefficients): the least coefficient, and the greatest."""
    greatest: Floats
    length_us: Ints
    """(powers): the sum of the lengths of the segments of each power."""
    sizes: Ints
    model: Floats
    """(coefficients): room for a model."""


@inlined
def place_slot(places: Ints, counts: Ints, place: np.int64) -> np.int64:
    """Give the slot of a place, or the free one that it would take."""
    mask = len(places) - 1
    slot = np.int64((np.uint64(place) * np.uint64(MULTIPLIER)) >> np.uint64(40)) & mask
    while counts[slot] != 0 and places[slot] != place:
        slot = (slot + 1) & mask
    return slot


@inlined
def length_power(length_us: np.int64) -> np.int64:
    """Give the power of two at or below a length; 0 of an instant."""
    bits = np.float64(max(length_us, np.int64(1))).view(np.int64)
    return np.int64(bits >> 52) - 1023


@tight
def segments_draw(
    codes: Ints, reference: Ints, sign: Signs, mask: int, begin: int, end: int, drawn: Ints
) -> int:
    """Write which of the segments [begin, end) are of a sample; give how many.

    Of those that say something new it is one in `mask` + 1, by key and reference alone.
    """
    count = 0
    for i in range(begin, end):
        identity = np.uint64(reference[i])
        for column in range(codes.shape[1]):
            identity = identity * np.uint64(31) + np.uint64(codes[i, column])
        mixed = (identity * np.uint64(MULTIPLIER)) >> np.uint64(40)
        drawn[count] = i
        count += int((mixed & np.uint64(mask)) == np.uint64(0)) & int(sign[i] > 0)
    return count


@inlined
def cells_widest(first: Ints, last: Ints) -> bool:
    """Say whether wider cells would hold nothing more: what is below an origin stays apart."""
    found = True
    for k in range(len(first)):
        found = found and first[k] >= -1 and last[k] <= 0
    return found


@tight
def coefficients_count(
    models: Floats, attribute: int, low: Floats, high: Floats, keys: Ints, grid: CoefficientGrid,
    bits: int, room: int, places_max: int, drawn: Ints, begin: int, weight: int, why: Ints,
) -> int:  # fmt: skip
    """Count the segments `drawn`, from the one at `begin` on; give the first that has no place yet.

    Time is counted from the beginning of each segment, and each counts for `weight`. `why[0]` is
    DONE; or FULL: one more place is needed, and there are `room` of them, or `places_max` which
    wider cells would make fewer; or the coefficient whose cells must be wider.
    """
    width = len(grid.origin)
    bins = np.int64(1) << bits
    known_us, known_power = np.int64(-1), np.int64(0)
    for at in range(begin, len(drawn)):
        i = drawn[at]
        for k in range(width):
            grid.model[k] = models[i, attribute, k]
        if low[i] != 0.0:
            polynomial_shift(grid.model, width - 1, low[i], grid.model)
        placed = True
        for k in range(width):
            placed = placed and abs(grid.model[k]) < COEFFICIENT_MAX
        if not placed:
            grid.sizes[UNPLACED] += weight
            continue
        place, is_edge = np.int64(0), False
        for k in range(width):
            cell = np.floor((grid.model[k] - grid.origin[k]) * grid.per_cell[k])
            if abs(cell) >= CELL_MAX:
                why[0] = k
                return at
            number = np.int64(cell)
            if number <= grid.first[k] or number >= grid.last[k]:
                is_edge = True
                if grid.first[k] > grid.last[k]:
                    grid.first[k] = grid.last[k] = number
                elif max(number, grid.last[k]) - min(number, grid.first[k]) >= bins:
                    why[0] = k
                    return at
                grid.first[k] = min(number, grid.first[k])
                grid.last[k] = max(number, grid.last[k])
            place = (place << bits) | (number & (bins - 1))
        length = np.int64(min((high[i] - low[i]) * 1e6 + 0.5, float(LENGTH_US_MAX)))
        if length != known_us:
            known_us, known_power = length, length_power(length)
        key = min(keys[i], np.int64(KEYS_MAX - 1)) if len(keys) else np.int64(0)
        place |= (known_power << (KEY_SHIFT - LENGTH_BITS)) | (key << KEY_SHIFT)
        slot = place_slot(grid.places, grid.counts, place)
        if grid.counts[slot] == 0:
            used = grid.sizes[USED]
            if used >= room or (used >= places_max and not cells_widest(grid.first, grid.last)):
                why[0] = FULL
                return at
            grid.places[slot] = place
            grid.sizes[USED] += 1
        grid.counts[slot] += weight
        grid.length_us[known_power] += weight * length
        grid.sizes[COUNTED] += weight
        # The least and the greatest lie in the outer cells.
        if is_edge:
            for k in range(width):
                grid.least[k] = min(grid.least[k], grid.model[k])
                grid.greatest[k] = max(grid.greatest[k], grid.model[k])
    why[0] = DONE
    return len(drawn)


@inlined
def place_cell(place: np.int64, shift: int, bits: int, first: np.int64) -> np.int64:
    """Give the number of a cell in its lattice, from its place and the lowest that is kept."""
    mask = (np.int64(1) << bits) - 1
    return first + (((place >> shift) - first) & mask)


@tight
def cells_move(
    places: Ints, counts: Ints, first: Ints, bits: int, halvings: Ints, grid: CoefficientGrid
) -> None:  # fmt: skip
    """Add what was counted in one table to another whose cells are 2^halvings times as wide.

    `first` are the lowest cells of the first table; the second must have room.
    """
    width = len(first)
    mask = (np.int64(1) << bits) - 1
    above = ~((np.int64(1) << (width * bits)) - 1)
    for slot in range(len(places)):
        if counts[slot] == 0:
            continue
        place = places[slot] & above
        for k in range(width):
            shift = (width - 1 - k) * bits
            cell = place_cell(places[slot], shift, bits, first[k]) >> min(halvings[k], 63)
            place |= (cell & mask) << shift
        there = place_slot(grid.places, grid.counts, place)
        if grid.counts[there] == 0:
            grid.places[there] = place
            grid.sizes[USED] += 1
        grid.counts[there] += counts[slot]


@inlined
def place_widened(
    grid: CoefficientGrid, slot: int, bits: int, power: Ints, into: Ints, coarse: int
) -> np.int64:
    """Give the place of a slot where cells are of the powers `into` wide, not of `power`.

    2^`coarse` powers of the lengths count as one; where that is more than there are, so do keys.
    """
    width = len(power)
    mask = (np.int64(1) << bits) - 1
    place = (grid.places[slot] >> (KEY_SHIFT - LENGTH_BITS + coarse)) << coarse
    place = np.int64(0) if coarse > LENGTH_BITS else place << (KEY_SHIFT - LENGTH_BITS)
    for k in range(width):
        shift = (width - 1 - k) * bits
        cell = place_cell(grid.places[slot], shift, bits, grid.first[k])
        place |= ((cell >> min(into[k] - power[k], 63)) & mask) << shift
    return np.int64(place)


@inlined
def grid_add(
    grid: CoefficientGrid, power: Ints, bits: int, into: Ints, coarse: int, places: Ints,
    counts: Ints, used: int, room: int,
) -> int:  # fmt: skip
    """Add what a grid counted to a table of wider cells; give its places, or -1: too many."""
    if grid.sizes[COUNTED] == 0:
        return used
    for slot in range(len(grid.places)):
        if grid.counts[slot] == 0:
            continue
        place = place_widened(grid, slot, bits, power, into, coarse)
        there = place_slot(places, counts, place)
        if counts[there] == 0:
            if used == room:
                return -1
            places[there] = place
            used += 1
        counts[there] += grid.counts[slot]
    return used


@inlined
def cells_common(
    one: CoefficientGrid, other: CoefficientGrid, one_power: int, other_power: int, k: int,
    bits: int,
) -> tuple[int, np.int64, np.int64]:  # fmt: skip
    """Give the power of the narrowest cells that hold a coefficient of two grids, and the ends."""
    if one.sizes[COUNTED] == 0:
        return other_power, other.first[k], other.last[k]
    if other.sizes[COUNTED] == 0:
        return one_power, one.first[k], one.last[k]
    power = max(one_power, other_power)
    while True:
        mine, theirs = min(power - one_power, 63), min(power - other_power, 63)
        first = min(one.first[k] >> mine, other.first[k] >> theirs)
        last = max(one.last[k] >> mine, other.last[k] >> theirs)
        if last - first < np.int64(1) << bits:
            return power, first, last
        power += 1


@inlined
def table_sort(places: Ints, counts: Ints) -> int:
    """Move what a table has to its front, in the order of the places; say how much it is."""
    used = 0
    for slot in range(len(places)):
        place, count = places[slot], counts[slot]
        if count == 0:
            continue
        at = used
        while at > 0 and places[at - 1] > place:
            places[at], counts[at] = places[at - 1], counts[at - 1]
            at -= 1
        places[at], counts[at] = place, count
        used += 1
    return used


@inlined
def place_power(place: np.int64) -> np.int64:
    """Give the power of two below the length, of a place."""
    return (place >> (KEY_SHIFT - LENGTH_BITS)) & ((1 << LENGTH_BITS) - 1)


@tight
def grids_summarise(
    one: CoefficientGrid, other: CoefficientGrid, one_power: Ints, other_power: Ints, step: Floats,
    bits: int, power: Ints, first: Ints, last: Ints, places: Ints, counts: Ints, low: Floats,
    high: Floats, frequency: Floats, ends: Floats, keys: Ints,
) -> int:  # fmt: skip
    """Write the bins of what two grids of one lattice counted, in the order of their places.

    Cells are as narrow as leaves no more bins than there is room for; where that does not help,
    lengths are told apart less. `places` and `counts` are room for a table, larger than bins are
    many; `power`, `first` and `last` for each coefficient.
    """
    width, coarse, most = len(step), 0, len(frequency)
    for k in range(width):
        power[k], first[k], last[k] = cells_common(
            one, other, one_power[k], other_power[k], k, bits
        )
    while True:
        counts[:] = 0
        used = grid_add(one, one_power, bits, power, coarse, places, counts, 0, most)
        if used >= 0:
            used = grid_add(other, other_power, bits, power, coarse, places, counts, used, most)
        if used >= 0:
            break
        coarse += int(cells_widest(first, last))
        for k in range(width):
            power[k] += 1
            first[k], last[k] = first[k] >> 1, last[k] >> 1
    used = table_sort(places, counts)
    for i in range(used):
        for k in range(width):
            cell = place_cell(places[i], (width - 1 - k) * bits, bits, first[k])
            wide = step[k] * 2.0 ** float(power[k])
            least = min(one.least[k], other.least[k])
            greatest = max(one.greatest[k], other.greatest[k])
            low[i, k] = max(one.origin[k] + cell * wide, least)
            high[i, k] = max(low[i, k], min(one.origin[k] + (cell + 1) * wide, greatest))
        own, like, length_us = place_power(places[i]), 0, 0
        for j in range(used):
            like += counts[j] if place_power(places[j]) == own else 0
        for each in range(1 << LENGTH_BITS):
            if coarse > LENGTH_BITS or each >> coarse == own >> coarse:
                length_us += one.length_us[each] + other.length_us[each]
        ends[i] = length_us / like * 1e-6
        frequency[i], keys[i] = counts[i], places[i] >> KEY_SHIFT
    return used


@tight
def places_read(
    places: Ints, first: Ints, bits: int, cells: Ints, powers: Ints, keys: Ints
) -> None:
    """Write the cells (n, coefficients), the powers of the lengths and the keys of places."""
    width = len(first)
    for i in range(len(places)):
        for k in range(width):
            shift = (width - 1 - k) * bits
            cells[i, k] = place_cell(places[i], shift, bits, first[k])
        powers[i] = place_power(places[i])
        keys[i] = places[i] >> KEY_SHIFT
