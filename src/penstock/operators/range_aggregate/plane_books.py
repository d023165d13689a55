"""Plane books: minima and maxima over boxes, which have ranges of two attributes.

What a change does to all boxes there may be is bounded by stairs, not by rectangles. So the queries
are asked: a batch concerns those whose range of the first attribute holds something that changed.
What came to a box can only lower its minimum, and what went can only raise it if it was the
minimum; then the tuples that are left are asked.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.algebra.range_aggregates import RangeMeasure
from penstock.kernels.range_points import RangeRectangles
from penstock.operators.range_aggregate.books import (
    NO_SLOTS,
    HeldValues,
    MeasureWords,
    PlaceTable,
    StandingRanges,
)
from penstock.operators.range_aggregate.planes import PlaneBag, PlaneWeights, least_of
from penstock.operators.range_aggregate.row_changes import RowChanges, point_keys
from penstock.operators.shared.key_values import values_of
from penstock.operators.shared.totals import added_up, stabs, summed_up
from penstock.vocabulary.batches import Flags, Ints, Rows


class PlaneBook:
    """The minimum, or the maximum, of a column over boxes."""

    def __init__(self, measure: RangeMeasure) -> None:
        self._measure = measure
        self._flip = -1 if measure.function == "max" else 0
        """Of maxima the codes are turned round, so that they are minima."""
        self._tuples = PlaneBag()
        self._held = HeldValues()
        self._staged: tuple[Rows, Ints, Flags] | None = None
        self._changes: list[PlaneWeights] = []

    def take(self, rows: RowChanges, ranges: StandingRanges, live: Rows) -> Rows:
        """Take rows that come and go; give the slots of queries that have another value."""
        ys, valid = point_keys(self._measure, rows)
        assert rows.zs is not None
        keys = (rows.partitions, rows.xs, rows.zs, ys ^ self._flip)
        net = _netted([own[valid] for own in keys], rows.signs[valid])
        self._changes += [net] if len(net.xs) else []
        self._tuples.change(net)
        slots = NO_SLOTS
        if len(live):
            moved = summed_up(net.partitions, net.xs, {0: np.ones(len(net.xs), dtype=np.int64)})
            slots = ranges.points.find(stabs(moved))[1]
        return self._stage(slots, net, ranges)

    def _stage(self, slots: Rows, net: PlaneWeights, ranges: StandingRanges) -> Rows:
        """Remember the values of queries that have another one; give these."""
        boxes = _boxes(slots, ranges)
        came, comes = least_of(net.chosen(net.weights > 0), boxes)
        gone, goes = least_of(net.chosen(net.weights < 0), boxes)
        old, absent = self._held.values[slots] ^ self._flip, self._held.absent[slots]
        lowered = comes & (absent | (came < old))
        exposed = goes & ~absent & (gone == old) & ~lowered
        at = np.flatnonzero(exposed)
        left, has = self._tuples.least(RangeRectangles(*(own[at] for own in boxes)))
        values, empty = np.where(lowered, came, old), absent & ~lowered
        values[at], empty[at] = left, ~has
        noticed = lowered | exposed
        slots = slots[noticed]
        self._staged = slots, values[noticed] ^ self._flip, empty[noticed]
        return slots

    def settle(self) -> None:
        """Give the queries their new values."""
        assert self._staged is not None
        self._held.put(*self._staged)
        self._staged = None

    def refresh(self, slots: Rows, ranges: StandingRanges) -> None:
        """Compute the values of queries from what is kept."""
        self._held.grow(len(ranges.lows))
        values, has = self._tuples.least(_boxes(slots, ranges))
        self._held.put(slots, values ^ self._flip, ~has)

    def words(self, measure: RangeMeasure, slots: Rows) -> MeasureWords:
        """Give the values of the measure."""
        del measure
        return self._held.words(slots)

    def array(self, measure: RangeMeasure, told: MeasureWords) -> pa.Array:
        """Give the values that words stand for."""
        return values_of(told.words[0], told.absent, measure.type)

    def table(self) -> PlaceTable:
        """Give all tuples, for state."""
        return self._table(self._tuples.tuples())

    def fresh(self) -> PlaceTable | None:
        """Give the tuples that came and went since this was asked last."""
        changes, self._changes = self._changes, []
        if not changes:
            return None
        *keys, weights = (np.concatenate(own) for own in zip(*changes, strict=True))
        return self._table(_netted(keys, weights))

    def merge(self, table: PlaceTable) -> None:
        """Take tuples that came and went elsewhere."""
        own = table.columns
        ys = own["y"] ^ self._flip
        self._tuples.change(PlaneWeights(table.partitions, table.xs, own["z"], ys, own["n"]))

    def _table(self, net: PlaneWeights) -> PlaceTable:
        columns = {"z": net.zs, "y": net.ys ^ self._flip, "n": net.weights}
        return PlaceTable(net.partitions, net.xs, columns)


def _netted(keys: list[Ints], signs: Ints) -> PlaneWeights:
    """Add up how often each tuple comes and goes."""
    found, sums = added_up(keys, {0: signs})
    return PlaneWeights._make([*found, sums[0]])


def _boxes(slots: Rows, ranges: StandingRanges) -> RangeRectangles:
    """Give the boxes of queries; one without rows is empty in x as well as in z."""
    return RangeRectangles(*ranges.at(slots), *ranges.across(slots))
