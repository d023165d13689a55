"""Point books: minima, maxima and distinct values, which changes of tuples tell by rectangles."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pyarrow as pa

from penstock.algebra.range_aggregates import RangeMeasure
from penstock.kernels.range_messages import RangeMessages, RangeTuples
from penstock.operators.range_aggregate.books import (
    NO_SLOTS,
    HeldValues,
    MeasureWords,
    PlaceTable,
    StandingRanges,
)
from penstock.operators.range_aggregate.distinct import DistinctValues
from penstock.operators.range_aggregate.extremes import Extremes
from penstock.operators.range_aggregate.lowest import LowestValues
from penstock.operators.range_aggregate.row_changes import (
    PointWeights,
    RowChanges,
    netted,
    no_points,
    point_keys,
)
from penstock.operators.shared.key_values import values_of
from penstock.operators.shared.slots import grown
from penstock.operators.shared.subscription_points import rectangles
from penstock.operators.shared.totals import summed_up
from penstock.vocabulary.batches import Flags, Ints, Rows

PointCore = Extremes | DistinctValues | LowestValues
_NOTHING: tuple[Ints, Rows] = (np.empty(0, dtype=np.int64), NO_SLOTS)


class PointBook(ABC):
    """The tuples that a measure takes of rows, and what their changes tell.

    Attributes
    ----------
    net
        The tuples that came and went in the last batch.
    messages
        What they told, if anything.
    updates
        How many tuples came in it, and how many changed: one that goes and one that comes at the
        same x are one that changed.
    """

    def __init__(self, measure: RangeMeasure, core: PointCore) -> None:
        self._measure, self.core = measure, core
        self.net = no_points()
        self.messages = core.net(*_sides(self.net))
        self.updates = (0, 0)
        self._changes: list[PointWeights] = []

    def take(self, rows: RowChanges, ranges: StandingRanges, live: Rows) -> Rows:
        """Take rows that come and go; give the slots of queries that may notice it."""
        ys, valid = point_keys(self._measure, rows)
        self.net = netted(rows.partitions[valid], rows.xs[valid], ys[valid], rows.signs[valid])
        self._changes += [self.net] if len(self.net.xs) else []
        self._change(self.net)
        found = ranges.points.find(rectangles(self.messages)) if len(live) else _NOTHING
        return self._stage(*found)

    @abstractmethod
    def _stage(self, at: Ints, slots: Rows) -> Rows:
        """Remember what messages say to queries until it is settled; give these."""

    def _change(self, net: PointWeights) -> None:
        self.updates = int(net.weights[net.weights > 0].sum()), _changed(net)
        self.messages = self.core.net(*_sides(net))

    def all_messages(self) -> RangeMessages:
        """Give messages that say all there is, to somebody who knows nothing."""
        none: Ints = np.empty(0, dtype=np.int64)
        return self._empty().net(RangeTuples(none, none, none), self.core.tuples())

    @abstractmethod
    def _empty(self) -> PointCore:
        """Give a core that has no tuples."""

    @abstractmethod
    def settle(self) -> None:
        """Give the queries their new values."""

    @abstractmethod
    def refresh(self, slots: Rows, ranges: StandingRanges) -> None:
        """Compute the values of queries from what is kept."""

    @abstractmethod
    def words(self, measure: RangeMeasure, slots: Rows) -> MeasureWords:
        """Give the values of the measure."""

    def array(self, measure: RangeMeasure, told: MeasureWords) -> pa.Array:
        """Give the values that words stand for."""
        return values_of(told.words[0], told.absent, measure.type)

    def points(self) -> PointWeights:
        """Give all tuples, and how often each is there."""
        tuples = self.core.tuples()
        return netted(*tuples, np.ones(len(tuples.xs), dtype=np.int64))

    def table(self) -> PlaceTable:
        """Give all tuples, for state."""
        return _points_table(self.points())

    def fresh(self) -> PlaceTable | None:
        """Give the tuples that came and went since this was asked last."""
        changes, self._changes = self._changes, []
        if not changes:
            return None
        columns = [np.concatenate(own) for own in zip(*changes, strict=True)]
        return _points_table(netted(*columns))

    def merge(self, table: PlaceTable) -> None:
        """Take tuples that came and went elsewhere."""
        columns = table.columns
        self._change(PointWeights(table.partitions, table.xs, columns["y"], columns["n"]))


class ExtremeBook(PointBook):
    """The minimum, or the maximum, of a column over ranges; of other measures, the tuples.

    Every tuple is kept, since what goes exposes others.
    """

    def __init__(self, measure: RangeMeasure) -> None:
        self._largest = measure.function == "max"
        self._extremes = self._empty()
        super().__init__(measure, self._extremes)
        self._held = HeldValues()
        self._staged: tuple[Rows, Ints, Flags] | None = None

    def _empty(self) -> Extremes:
        return Extremes(largest=self._largest)

    def _stage(self, at: Ints, slots: Rows) -> Rows:
        self._staged = slots, self.messages.values[at], self.messages.empty[at]
        return slots

    def settle(self) -> None:
        """Give the queries their new values."""
        assert self._staged is not None
        self._held.put(*self._staged)
        self._staged = None

    def refresh(self, slots: Rows, ranges: StandingRanges) -> None:
        """Compute the values of queries from what is kept."""
        self._held.grow(len(ranges.lows))
        partitions, lows, highs = ranges.at(slots)
        never = lows > highs
        values, absent = self._extremes.answers(partitions, np.where(never, highs, lows), highs)
        self._held.put(slots, values, absent | never)

    def words(self, measure: RangeMeasure, slots: Rows) -> MeasureWords:
        """Give the values of the measure."""
        del measure
        return self._held.words(slots)


class DistinctBook(PointBook):
    """How many distinct values of a column ranges have."""

    def __init__(self, measure: RangeMeasure) -> None:
        self._sets = self._empty()
        super().__init__(measure, self._sets)
        self._counts: Ints = np.empty(0, dtype=np.int64)
        self._staged: tuple[Rows, Ints] | None = None

    def _empty(self) -> DistinctValues:
        return DistinctValues()

    def _stage(self, at: Ints, slots: Rows) -> Rows:
        told, of = np.unique(slots, return_inverse=True)
        gains = np.where(self.messages.empty[at], -1, 1)
        self._staged = told, np.bincount(of, gains, len(told)).astype(np.int64)
        return told

    def settle(self) -> None:
        """Give the queries their new values."""
        assert self._staged is not None
        slots, gains = self._staged
        self._counts[slots] += gains
        self._staged = None

    def refresh(self, slots: Rows, ranges: StandingRanges) -> None:
        """Compute the values of queries from what is kept."""
        self._counts = grown(self._counts, len(ranges.lows))
        at, _ = self._sets.answers(*ranges.at(slots))
        self._counts[slots] = np.bincount(at, minlength=len(slots))

    def words(self, measure: RangeMeasure, slots: Rows) -> MeasureWords:
        """Give the values of the measure."""
        del measure
        return MeasureWords([self._counts[slots]], np.zeros(len(slots), dtype=np.bool_))


class LowestBook(PointBook):
    """The lowest values of a column over ranges, or the highest: up to `most` of them.

    Messages say who may have others now; these are asked of the tuples.
    """

    def __init__(self, measure: RangeMeasure) -> None:
        assert measure.most is not None
        self._most, self._largest = measure.most, measure.function == "max"
        self._lowest = self._empty()
        super().__init__(measure, self._lowest)
        self._columns: list[Ints] = [np.empty(0, dtype=np.int64) for _ in range(self._most + 1)]
        """By slot, how many values a query has, and these."""
        self._staged: Rows = NO_SLOTS
        self._ranges: StandingRanges | None = None

    def _empty(self) -> LowestValues:
        return LowestValues(self._most, largest=self._largest)

    def take(self, rows: RowChanges, ranges: StandingRanges, live: Rows) -> Rows:
        """Take rows that come and go; give the slots of queries that may notice it."""
        self._ranges = ranges
        return super().take(rows, ranges, live)

    def _stage(self, at: Ints, slots: Rows) -> Rows:
        del at
        self._staged = np.unique(slots)
        return self._staged

    def settle(self) -> None:
        """Give the queries their new values."""
        assert self._ranges is not None
        self.refresh(self._staged, self._ranges)
        self._staged = NO_SLOTS

    def refresh(self, slots: Rows, ranges: StandingRanges) -> None:
        """Compute the values of queries from what is kept."""
        self._columns = [grown(own, len(ranges.lows)) for own in self._columns]
        values, counts = self._lowest.answers(*ranges.at(slots))
        for column, own in zip(self._columns, (counts, *values.T), strict=True):
            column[slots] = own

    def words(self, measure: RangeMeasure, slots: Rows) -> MeasureWords:
        """Give the values of the measure."""
        del measure
        words = [own[slots] for own in self._columns]
        return MeasureWords(words, words[0] == 0)

    def array(self, measure: RangeMeasure, told: MeasureWords) -> pa.Array:
        """Give the lists that words stand for."""
        counts, *columns = told.words
        assert measure.column_type is not None
        there = np.arange(self._most) < counts[:, None]
        keys = np.stack(columns, axis=1)[there]
        values = values_of(keys, np.zeros(len(keys), dtype=np.bool_), measure.column_type)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        absent = pa.array(told.absent)
        return pa.ListArray.from_arrays(offsets, values, type=measure.type, mask=absent)


def point_book(measure: RangeMeasure) -> PointBook:
    """Give a book that knows the tuples of a measure."""
    if measure.most is not None:
        return LowestBook(measure)
    return DistinctBook(measure) if measure.is_set else ExtremeBook(measure)


def _changed(net: PointWeights) -> int:
    """Count tuples that changed."""
    both = {0: np.maximum(net.weights, 0), 1: np.maximum(-net.weights, 0)}
    at = summed_up(net.partitions, net.xs, both)
    return int(np.maximum(at.own(0), at.own(1)).sum())


def _sides(net: PointWeights) -> tuple[RangeTuples, RangeTuples]:
    """Give the points that go, and those that come."""
    return _repeated(net, net.weights < 0), _repeated(net, net.weights > 0)


def _repeated(net: PointWeights, which: Flags) -> RangeTuples:
    """Give points as often as they come, or go."""
    times = np.abs(net.weights[which])
    return RangeTuples(*(np.repeat(own[which], times) for own in net[:3]))


def _points_table(net: PointWeights) -> PlaceTable:
    return PlaceTable(net.partitions, net.xs, {"y": net.ys, "n": net.weights})
