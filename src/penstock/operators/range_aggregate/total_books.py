"""Total books: counts, sums and averages, which changes of rows tell by differences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.algebra.range_aggregates import RangeMeasure
from penstock.operators.range_aggregate.books import (
    NO_SLOTS,
    MeasureBook,
    MeasureWords,
    PlaceTable,
    StandingRanges,
)
from penstock.operators.range_aggregate.plane_books import PlaneBook
from penstock.operators.range_aggregate.point_books import point_book
from penstock.operators.range_aggregate.row_changes import RowChanges
from penstock.operators.shared.slots import grown
from penstock.operators.shared.summands import Digits, Summands, sums_of
from penstock.operators.shared.totals import (
    COUNT,
    PlaceSums,
    PlaneTotals,
    Totals,
    joined_sums,
    range_sums,
    stabs,
    summed_up,
)
from penstock.vocabulary.batches import Ints, Rows


class TotalBook:
    """How many values of a column, or rows, are in ranges, and what they add up to.

    If `planes`, ranges are boxes of two attributes.
    """

    def __init__(
        self, column: str | None, measures: Sequence[RangeMeasure], planes: bool = False
    ) -> None:
        self._column, self._planes = column, planes
        adds = [each for each in measures if each.function != "count"]
        types = [each.column_type for each in adds if each.column_type is not None]
        self._summands = Summands(types[0]) if types else None
        self.totals: Totals | PlaneTotals = PlaneTotals() if planes else Totals()
        self._sums: dict[int, Ints] = {}
        """By slot, what is in the range of each query."""
        self._room = 0
        self._staged: tuple[Rows, dict[int, Ints]] | None = None
        self._changes: list[PlaceSums] = []

    def take(self, rows: RowChanges, ranges: StandingRanges, live: Rows) -> Rows:
        """Take rows that come and go; give the slots of queries that may notice it."""
        changes = self._read(rows)
        self.totals.change(changes)
        self._changes += [changes] if len(changes) else []
        slots = NO_SLOTS
        if len(live):
            slots = ranges.points.find(stabs(changes))[1]
        found = range_sums(changes, *ranges.at(slots), ranges.across(slots))
        if self._planes:
            # A box need not hold what its range of the first attribute holds.
            noticed = np.zeros(len(slots), dtype=np.bool_)
            for own in found.values():
                noticed |= own != 0
            slots, found = slots[noticed], {name: own[noticed] for name, own in found.items()}
        self._staged = slots, found
        return slots

    def _read(self, rows: RowChanges) -> PlaceSums:
        there = np.ones(len(rows), dtype=np.bool_)
        digits: Digits = {}
        if self._summands is not None:
            assert self._column is not None
            keys, there = rows.values(self._column, self._summands.type)
            digits = self._summands.digits(keys[there])
        elif self._column is not None:
            there = rows.present(self._column)
        signs = rows.signs[there]
        sums = {COUNT: signs, **{place: own * signs for place, own in digits.items()}}
        zs = rows.zs[there] if self._planes and rows.zs is not None else None
        return summed_up(rows.partitions[there], rows.xs[there], sums, zs)

    def settle(self) -> None:
        """Give the queries their new values."""
        assert self._staged is not None
        slots, found = self._staged
        for name, own in found.items():
            self._column_of(name)[slots] += own
        self._staged = None

    def _column_of(self, name: int) -> Ints:
        self._sums[name] = grown(self._sums.get(name, np.empty(0, dtype=np.int64)), self._room)
        return self._sums[name]

    def refresh(self, slots: Rows, ranges: StandingRanges) -> None:
        """Compute the values of queries from what is kept."""
        self._room = len(ranges.lows)
        found = range_sums(self.totals.places, *ranges.at(slots), ranges.across(slots))
        for name in {COUNT, *self._sums, *found}:
            self._column_of(name)[slots] = found.get(name, 0)

    def words(self, measure: RangeMeasure, slots: Rows) -> MeasureWords:
        """Give the values of a measure: a count, a sum, or an average."""
        counts = self._column_of(COUNT)[slots]
        if measure.function == "count":
            return MeasureWords([counts], np.zeros(len(slots), dtype=np.bool_))
        assert self._summands is not None
        digits: Digits = {place: own[slots] for place, own in self._sums.items() if place != COUNT}
        absent = counts == 0
        if measure.function == "sum":
            words, absent = self._summands.array(digits, absent, measure.type)
        else:
            means = self._summands.floats(digits, len(slots)) / np.where(absent, 1, counts)
            words, absent = [means.view(np.int64)], absent | np.isnan(means)
        return MeasureWords([np.where(absent, 0, own) for own in words], absent)

    def array(self, measure: RangeMeasure, told: MeasureWords) -> pa.Array:
        """Give the values that words stand for."""
        return sums_of(told.words, told.absent, measure.type)

    def table(self) -> PlaceTable:
        """Give all places."""
        return _sums_table(self.totals.places)

    def fresh(self) -> PlaceTable | None:
        """Give how places changed since this was asked last."""
        changes, self._changes = self._changes, []
        if not changes:
            return None
        return _sums_table(joined_sums(changes))

    def merge(self, table: PlaceTable) -> None:
        """Take changes of places from elsewhere."""
        columns = dict(table.columns)
        zs = columns.pop("z", None)
        sums = {_place(name): own for name, own in columns.items()}
        self.totals.change(PlaceSums(table.partitions, table.xs, sums, zs))


def books_of(measures: Sequence[RangeMeasure], planes: bool) -> dict[str, MeasureBook]:
    """Give the book of every measure, by its name; counts and sums of a column share one."""
    found: dict[str, MeasureBook] = {}
    shared: dict[str | None, TotalBook] = {}
    for measure in measures:
        if not measure.is_total:
            found[measure.name] = PlaneBook(measure) if planes else point_book(measure)
            continue
        if measure.column not in shared:
            own = [m for m in measures if m.is_total and m.column == measure.column]
            shared[measure.column] = TotalBook(measure.column, own, planes)
        found[measure.name] = shared[measure.column]
    return found


def _sums_table(places: PlaceSums) -> PlaceTable:
    """Give sums as columns; those that are zero everywhere say nothing."""
    told = {f"s{name}": own for name, own in sorted(places.sums.items()) if own.any()}
    across = {} if places.zs is None else {"z": places.zs}
    return PlaceTable(places.partitions, places.xs, across | told)


def _place(name: str) -> int:
    return int(name.removeprefix("s"))
