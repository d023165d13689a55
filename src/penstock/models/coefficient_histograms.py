"""Histograms over the coefficients of models: how often which models come.

They are kept up while segments arrive, one increment each, and tell what a condition will let
through that no query has asked yet. Their state is a function of the segments and not of batches;
that of two shards can be added, and is then what one would have counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, frexp, ldexp
from typing import Self

import numpy as np
import numpy.typing as npt

from penstock.kernels.coefficient_cells import (
    CELL_MAX,
    COUNTED,
    DONE,
    FULL,
    LENGTH_BITS,
    SIZE_WORDS,
    UNPLACED,
    USED,
    CoefficientGrid,
    cells_move,
    coefficients_count,
    grids_summarise,
    places_read,
)
from penstock.models.coefficient_bins import CoefficientBins
from penstock.models.segments import Segments
from penstock.models.stores import Arrays
from penstock.vocabulary.batches import Floats, Ints

BITS = {1: 8, 2: 6, 3: 4, 4: 3}
"""By the number of coefficients: the power of two of the bins of each, at most 4,096 in all."""
WIDTH_MAX = max(BITS)
"""How many coefficients a grid is laid over at most."""
GRID_BITS_MAX = 24
FINEST = -60
"""Cells are at least 2^-60 wide where no width is given."""
SLOTS_MIN = 1024
PLACES_MAX = 1 << 16
"""How many bins are kept at most; one more makes all cells twice as wide, if that helps."""
NO_KEYS: Ints = np.empty(0, np.int64)


class CoefficientHistogram:
    """How often which coefficients came, of one attribute.

    Cells are powers of two wide, as narrow as leaves all that came within 2^`bits` cells of each
    coefficient, and no narrower than the powers `finest`. With `low` and `high` they are the
    range's 2^`bits`th parts instead, and wider by powers of two when a coefficient lies beyond.

    >>> histogram = CoefficientHistogram(2)
    >>> segments = Segments.none(1, 1)
    >>> histogram.count(segments, 0)
    >>> len(histogram), histogram.counted
    (0, 0)
    """

    def __init__(
        self, width: int, bits: int | None = None, *,
        low: npt.ArrayLike | None = None, high: npt.ArrayLike | None = None,
        places_max: int = PLACES_MAX, finest: Ints | None = None, slots: int = SLOTS_MIN,
    ) -> None:  # fmt: skip
        assert 1 <= width <= WIDTH_MAX, f"models of {width} coefficients"
        self.width = width
        self.bits = BITS[width] if bits is None else bits
        assert self.bits * width <= GRID_BITS_MAX, "a grid of that many bins"
        self._places_max = places_max
        if low is None or high is None:
            self._origin, self._step = np.zeros(width), np.ones(width)
            power = np.full(width, FINEST, np.int64) if finest is None else finest.copy()
        else:
            self._origin = np.array(low, np.float64)
            span = np.array(high, np.float64) - self._origin
            # The highest value itself must lie inside the last cell.
            self._step = np.where(span > 0, span, 1.0) * (1 + 2.0**-40) / (1 << self.bits)
            power = np.zeros(width, np.int64)
        self._power: Ints = power
        self._grid = self._empty(slots)

    def __len__(self) -> int:
        return int(self._grid.sizes[USED])

    @property
    def counted(self) -> int:
        """How many segments were counted."""
        return int(self._grid.sizes[COUNTED])

    @property
    def power_needed(self) -> Ints:
        """The powers of two of the widths of cells that would hold as many cells as are used."""
        used = np.maximum(self._grid.last - self._grid.first + 1, 1)
        spare = self.bits - np.ceil(np.log2(used)).astype(np.int64)
        found: Ints = np.maximum(self._power - spare, FINEST)
        return found

    @property
    def unplaced(self) -> int:
        """How many segments had a coefficient that is no number, or one beyond all cells."""
        return int(self._grid.sizes[UNPLACED])

    def count(self, segments: Segments, attribute: int, keys: Ints = NO_KEYS) -> None:
        """Count the segments with sign 1 by an attribute.

        `keys` tell them apart by a code; codes of 63 and more count as one.
        """
        self.count_drawn(segments, attribute, np.flatnonzero(segments.sign > 0), 1, keys)

    def count_drawn(
        self, segments: Segments, attribute: int, drawn: Ints, weight: int, keys: Ints = NO_KEYS
    ) -> None:
        """Count the segments at some places; each counts for `weight`."""
        why, begin = np.empty(1, np.int64), 0
        models = np.ascontiguousarray(segments.coefficients)
        while True:
            slots = len(self._grid.counts)
            begin = coefficients_count(
                models, attribute, segments.low, segments.high, keys, self._grid, self.bits,
                slots // 2, self._places_max, drawn, begin, weight, why,
            )  # fmt: skip
            reason = int(why[0])
            if reason == DONE:
                return
            wider = np.zeros(self.width, np.int64)
            if reason != FULL:
                wider[reason] = self._halvings(reason)
            elif len(self) < self._places_max or self._is_widest:
                slots *= 2
            else:
                wider[:] = 1
            self._rebuild(wider, slots)

    def merge(self, other: Self) -> None:
        """Count what another histogram counted, too; both were made alike."""
        assert self.width == other.width and self.bits == other.bits
        assert np.array_equal(self._origin, other._origin), "grids of one lattice"
        if not other.counted and not other.unplaced:
            return
        theirs = other._grid
        power = self._common_power(other)
        slots = len(self._grid.counts)
        while slots < 2 * (len(self) + len(other)):
            slots *= 2
        mine_first = halved(self._grid.first, power - self._power)
        mine_last = halved(self._grid.last, power - self._power)
        had = self.counted > 0
        self._rebuild(power - self._power, slots)
        halvings = power - other._power
        if other.counted:
            cells_move(theirs.places, theirs.counts, theirs.first, self.bits, halvings, self._grid)
            first, last = halved(theirs.first, halvings), halved(theirs.last, halvings)
            self._grid.first[:] = np.minimum(mine_first, first) if had else first
            self._grid.last[:] = np.maximum(mine_last, last) if had else last
        np.minimum(self._grid.least, theirs.least, out=self._grid.least)
        np.maximum(self._grid.greatest, theirs.greatest, out=self._grid.greatest)
        self._grid.length_us[:] += theirs.length_us
        self._grid.sizes[COUNTED] += other.counted
        self._grid.sizes[UNPLACED] += other.unplaced
        while len(self) > self._places_max and not self._is_widest:
            self._rebuild(np.ones(self.width, np.int64), slots)

    def bins(self) -> CoefficientBins:
        """Give what was counted; boxes end at the least and the greatest coefficient that came."""
        grid = self._grid
        places, counts = self._sorted()
        cells = np.empty((len(places), self.width), np.int64)
        powers, keys = np.empty(len(places), np.int64), np.empty(len(places), np.int64)
        places_read(places, grid.first, self.bits, cells, powers, keys)
        step = self._step * np.ldexp(1.0, self._power)
        low = np.maximum(self._origin + cells * step, grid.least)
        high = np.minimum(self._origin + (cells + 1) * step, grid.greatest)
        by_power = np.zeros(1 << LENGTH_BITS)
        np.add.at(by_power, powers, counts)
        mean_s = grid.length_us / np.maximum(by_power, 1) * 1e-6
        return CoefficientBins.of(low, np.maximum(low, high), counts, mean_s[powers], key=keys)

    @classmethod
    def summary(cls, one: Self, other: Self, places_max: int) -> CoefficientBins:
        """Give what two that were made alike counted together, in so many bins at most.

        >>> histogram = CoefficientHistogram(2)
        >>> len(CoefficientHistogram.summary(histogram, histogram, 64))
        0
        """
        assert one.width == other.width and one.bits == other.bits
        assert places_max >= 1 << one.width, "what is below an origin stays apart"
        shape = places_max, one.width
        low, high, frequency = np.empty(shape), np.empty(shape), np.empty(places_max)
        ends, keys = np.empty(places_max), np.empty(places_max, np.int64)
        power, first, last = np.empty((3, one.width), np.int64)
        places, counts = np.empty((2, 1 << (4 * places_max - 1).bit_length()), np.int64)
        count = grids_summarise(
            one._grid, other._grid, one._power, other._power, one._step, one.bits,
            power, first, last, places, counts, low, high, frequency, ends, keys,
        )  # fmt: skip
        return CoefficientBins(
            low[:count], high[:count], frequency[:count], np.zeros(count), ends[:count],
            keys[:count], np.ones(count), np.full(count, np.nan),
        )  # fmt: skip

    def arrays(self) -> Arrays:
        """Give the state."""
        grid = self._grid
        places, counts = self._sorted()
        return {
            "places": places, "counts": counts, "power": self._power.copy(),
            "first": grid.first.copy(), "last": grid.last.copy(), "least": grid.least.copy(),
            "greatest": grid.greatest.copy(), "length_us": grid.length_us.copy(),
            "sizes": grid.sizes.copy(),
        }  # fmt: skip

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Take up a state."""
        self._power = np.array(arrays["power"], np.int64)
        places = np.ascontiguousarray(arrays["places"], np.int64)
        counts = np.ascontiguousarray(arrays["counts"], np.int64)
        slots = SLOTS_MIN
        while slots < 2 * len(places):
            slots *= 2
        self._grid = self._empty(slots)
        for name in ("first", "last", "least", "greatest", "length_us"):
            getattr(self._grid, name)[:] = arrays[name]
        same = np.zeros(self.width, np.int64)
        cells_move(places, counts, self._grid.first, self.bits, same, self._grid)
        self._grid.sizes[:] = arrays["sizes"]

    @property
    def _per_cell(self) -> Floats:
        """One over the width of a cell, of each coefficient."""
        found: Floats = np.ldexp(1.0 / self._step, -self._power)
        return found

    @property
    def _is_widest(self) -> bool:
        """Whether wider cells would hold nothing more: keys, lengths and signs stay apart."""
        return bool((self._grid.first >= -1).all() and (self._grid.last <= 0).all())

    def _sorted(self) -> tuple[Ints, Ints]:
        used = np.flatnonzero(self._grid.counts)
        used = used[np.argsort(self._grid.places[used])]
        return self._grid.places[used], self._grid.counts[used]

    def _common_power(self, other: Self) -> Ints:
        """Give the narrowest cells that hold what both have."""
        power = np.maximum(self._power, other._power)
        if not (self.counted and other.counted):
            return power
        for k in range(self.width):
            while True:
                ends = [
                    int(end[k]) >> int(power[k] - each._power[k])
                    for each in (self, other)
                    for end in (each._grid.first, each._grid.last)
                ]
                if max(ends) - min(ends) < 1 << self.bits:
                    break
                power[k] += 1
        return power

    def _halvings(self, k: int) -> int:
        """Give how often cells must double until they hold the model that found no place."""
        value = (float(self._grid.model[k]) - float(self._origin[k])) / float(self._step[k])
        first, last = int(self._grid.first[k]), int(self._grid.last[k])
        power = int(self._power[k])
        reach = [value] if first > last else [value, ldexp(first, power), ldexp(last + 1, power)]
        # No narrower cells can hold what there is; cells have numbers that are whole exactly.
        span = max(max(reach) - min(reach), max(map(abs, reach)) * 2.0 ** (self.bits - 52))
        doubled = max(frexp(span)[1] - 2 - self.bits - power, 0)
        while True:
            doubled += 1
            cell = floor(ldexp(value, -(power + doubled)))
            if abs(cell) >= CELL_MAX:
                continue
            ends = [cell] if first > last else [cell, first >> doubled, last >> doubled]
            if max(ends) - min(ends) < 1 << self.bits:
                return doubled

    def _rebuild(self, halvings: Ints, slots: int) -> None:
        """Make cells 2^halvings times as wide, or the table larger."""
        old = self._grid
        self._power = self._power + halvings
        known = old.first <= old.last
        if not len(self) and slots == len(old.counts) and not halvings[known].any():
            old.per_cell[:] = self._per_cell
            return
        new = self._empty(slots)
        cells_move(old.places, old.counts, old.first, self.bits, halvings, new)
        new.first[:] = np.where(known, halved(old.first, halvings), old.first)
        new.last[:] = np.where(known, halved(old.last, halvings), old.last)
        for name in ("least", "greatest", "length_us"):
            getattr(new, name)[:] = getattr(old, name)
        new.sizes[COUNTED], new.sizes[UNPLACED] = old.sizes[COUNTED], old.sizes[UNPLACED]
        self._grid = new

    def _empty(self, slots: int) -> CoefficientGrid:
        width = self.width
        return CoefficientGrid(
            np.zeros(slots, np.int64), np.zeros(slots, np.int64), self._origin, self._per_cell,
            np.zeros(width, np.int64), np.full(width, -1, np.int64), np.full(width, np.inf),
            np.full(width, -np.inf), np.zeros(1 << LENGTH_BITS, np.int64),
            np.zeros(SIZE_WORDS, np.int64), np.zeros(width),
        )  # fmt: skip


def halved(cells: Ints, halvings: Ints) -> Ints:
    """Give the cells that hold others after their width has doubled so often.

    >>> halved(np.array([5, -1]), np.array([1, 80])).tolist()
    [2, -1]
    """
    # Machines shift by no more bits than a word has.
    found: Ints = cells >> np.minimum(halvings, 63)
    return found
