"""Row changes: a batch as the rows of a group that come and go, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.algebra.range_aggregates import RangeAggregateStep, RangeMeasure
from penstock.expressions.conditions import Predicate
from penstock.operators.range_aggregate.partitions import Partitions
from penstock.operators.shared.keys import ordered_keys, validity
from penstock.operators.shared.residuals import CANDIDATES_MAX, nan_to_null
from penstock.operators.shared.totals import added_up
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.changes import signs_of
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import FAILED_CONDITIONS
from penstock.vocabulary.shared_figures import NULL_VALUES


class PointWeights(NamedTuple):
    """Distinct (partition, x, y) in their order, and how many of each come, or go."""

    partitions: Ints
    xs: Ints
    ys: Ints
    weights: Ints


def no_points() -> PointWeights:
    """Give no points."""
    none: Ints = np.empty(0, dtype=np.int64)
    return PointWeights(none, none, none, none)


@dataclass(frozen=True, slots=True)
class RowChanges:
    """Rows by partition and x: each comes (+1) or goes (-1). `table` has their other columns.

    `zs` are of the second attribute that has ranges, if there is one.
    """

    partitions: Ints
    xs: Ints
    signs: Ints
    table: pa.Table
    zs: Ints | None = None

    def __len__(self) -> int:
        return len(self.xs)

    def values(self, column: str, type_: pa.DataType) -> tuple[Ints, Flags]:
        """Give the keys of a column's values, and which rows have one: not NULL, not NaN."""
        return ordered_keys(self.table[column], type_)

    def present(self, column: str) -> Flags:
        """Say which rows have a value in a column of any type: not NULL, not NaN."""
        return validity(nan_to_null(self.table[column]))


class RowReader:
    """Reads the rows of batches that any query of a group may have in its range."""

    def __init__(self, step: RangeAggregateStep, partitions: Partitions) -> None:
        self._step, self._partitions = step, partitions
        self._test = Predicate(step.condition) if step.condition is not None else None
        columns = [each.column for each in step.measures if each.column is not None]
        self._columns = list(dict.fromkeys(columns))

    def read(self, table: pa.Table, counts: Tally, *, signed: bool = True) -> RowChanges:
        """Read a batch; without its change column (`signed` is False) all its rows come."""
        step = self._step
        xs, there = ordered_keys(table[step.attribute], step.attribute_type)
        zs = None
        for name, type_ in step.further:
            zs, known = ordered_keys(table[name], type_)
            there = there & known
        keys, present = self._partitions.keys([table[name] for name, _ in step.partition])
        there = there if present is None else there & present
        counts[NULL_VALUES] += int(len(there) - np.count_nonzero(there))
        if self._test is not None:
            there = there & self._holds(table, there, counts)
        signs = np.ones(len(xs), dtype=np.int64)
        if signed and step.change_column is not None:
            signs = signs_of(table[step.change_column]).to_numpy().astype(np.int64)
            there = there & (signs != 0)
        chosen = pa.array(there)
        codes = np.zeros(int(np.count_nonzero(there)), dtype=np.int64)
        if keys:
            codes = self._partitions.code([key.filter(chosen) for key in keys])
        rest = table.select(self._columns).filter(chosen)
        return RowChanges(codes, xs[there], signs[there], rest, None if zs is None else zs[there])

    def _holds(self, table: pa.Table, asked: Flags, counts: Tally) -> Flags:
        """Ask the condition that all queries share."""
        assert self._test is not None
        columns = {
            f"c{i}": nan_to_null(table[name]) for i, name in enumerate(self._step.condition_columns)
        }
        rows = pa.table(columns) if columns else pa.table({"n": pa.nulls(len(asked), pa.int8())})
        found = [np.empty(0, dtype=np.bool_)]
        for start in range(0, len(asked), CANDIDATES_MAX):
            held = self._test.ask(rows.slice(start, CANDIDATES_MAX))
            found.append(held.holds)
            if held.failed is not None:
                failed = held.failed & asked[start : start + CANDIDATES_MAX]
                counts[FAILED_CONDITIONS] += int(np.count_nonzero(failed))
        return np.concatenate(found)


def point_keys(measure: RangeMeasure, rows: RowChanges) -> tuple[Ints, Flags]:
    """Give the keys of what a measure takes of rows, and which rows it takes."""
    nothing = np.zeros(len(rows), dtype=np.int64)
    if measure.column is None:
        return nothing, np.ones(len(rows), dtype=np.bool_)
    if measure.function == "count":
        return nothing, rows.present(measure.column)
    assert measure.column_type is not None
    return rows.values(measure.column, measure.column_type)


def netted(partitions: Ints, xs: Ints, ys: Ints, signs: Ints) -> PointWeights:
    """Add up how often each point comes and goes; what does both as often is left out.

    >>> ints = lambda *own: np.array(own, dtype=np.int64)
    >>> netted(ints(0, 0, 0), ints(5, 4, 5), ints(1, 1, 1), ints(1, 1, -1)).xs.tolist()
    [4]
    """
    keys, sums = added_up((partitions, xs, ys), {0: signs})
    return PointWeights._make([*keys, sums[0]])
