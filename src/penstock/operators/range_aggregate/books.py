"""Books: what is kept of the rows for one kind of measure, and the value of every query by slot.

A book takes the changes of a batch in two steps, so that old and new values can be told: `take`
says which queries may have another value, `settle` gives it to them.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from penstock.algebra.range_aggregates import RangeMeasure
from penstock.operators.range_aggregate.row_changes import RowChanges
from penstock.operators.shared.slots import grown
from penstock.operators.shared.subscription_points import SubscriptionPoints
from penstock.vocabulary.batches import Flags, Ints, Rows

NO_SLOTS: Rows = np.empty(0, dtype=np.int32)


class StandingRanges(NamedTuple):
    """The ranges of queries, by slot, and an index of those that stand here.

    `further` has the ends of a second attribute's ranges, if queries have such.
    """

    partitions: Ints
    lows: Ints
    highs: Ints
    points: SubscriptionPoints
    further: tuple[Ints, ...] = ()

    def at(self, slots: Rows) -> tuple[Ints, Ints, Ints]:
        """Give the ranges of some slots."""
        return self.partitions[slots], self.lows[slots], self.highs[slots]

    def across(self, slots: Rows) -> tuple[Ints, ...]:
        """Give the ranges of the second attribute of some slots."""
        return tuple(own[slots] for own in self.further)


class MeasureWords(NamedTuple):
    """Values of a measure as numbers: equal words are equal values."""

    words: list[Ints]
    absent: Flags


class HeldValues:
    """A value of every query, by slot, or that there is none."""

    def __init__(self) -> None:
        self.values: Ints = np.empty(0, dtype=np.int64)
        self.absent: Flags = np.empty(0, dtype=np.bool_)

    def grow(self, room: int) -> None:
        """Have room for so many slots."""
        self.values, self.absent = grown(self.values, room), grown(self.absent, room)

    def put(self, slots: Rows, values: Ints, absent: Flags) -> None:
        """Let queries have other values."""
        self.values[slots], self.absent[slots] = values, absent

    def words(self, slots: Rows) -> MeasureWords:
        """Give the values of queries."""
        absent = self.absent[slots]
        return MeasureWords([np.where(absent, 0, self.values[slots])], absent)


class MeasureBook(Protocol):
    """What is kept for one or several measures of a column."""

    def take(self, rows: RowChanges, ranges: StandingRanges, live: Rows) -> Rows:
        """Take rows that come and go; give the slots of queries that may notice it."""

    def settle(self) -> None:
        """Give the queries their new values."""

    def refresh(self, slots: Rows, ranges: StandingRanges) -> None:
        """Compute the values of queries from what is kept."""

    def words(self, measure: RangeMeasure, slots: Rows) -> MeasureWords:
        """Give the values of a measure of the book."""

    def array(self, measure: RangeMeasure, told: MeasureWords) -> pa.Array:
        """Give the values that words stand for."""

    def table(self) -> PlaceTable:
        """Give all that is kept."""

    def fresh(self) -> PlaceTable | None:
        """Give what changed since this was asked last; None: nothing."""

    def merge(self, table: PlaceTable) -> None:
        """Take what another book of this kind gave, and nothing to tell of it."""


class PlaceTable(NamedTuple):
    """Columns by (partition, x), in their order: what books write into state."""

    partitions: Ints
    xs: Ints
    columns: dict[str, Ints]
