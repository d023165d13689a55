"""Message rows: what a batch tells all ranges at once, as rows with real values.

Of a minimum or maximum: rectangles of ranges and their new `value`. A range from l to r has it if
outer_l < l <= inner_l and inner_r <= r < outer_r; an outer end that is NULL bounds nothing, a value
that is NULL says that the range has no rows any more. Rectangles of one batch have no range in
common. Of distinct values: rectangles that gain a value, or lose it; those of one value have no
range in common. Of counts, sums and averages: the rows that changed, as they were and as they are.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.algebra.range_aggregates import RangeAggregateStep
from penstock.kernels.range_messages import RangeMessages
from penstock.operators.range_aggregate.partitions import Partitions
from penstock.operators.range_aggregate.row_changes import PointWeights
from penstock.operators.shared.key_values import values_of
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.types import is_ordered

INSERT, DELETE, UPDATE = "insert", "delete", "update"
GAIN, LOSE = "gain", "lose"


class MessageRows:
    """Makes rows of the messages of a group."""

    def __init__(self, step: RangeAggregateStep, partitions: Partitions) -> None:
        self._step, self._partitions = step, partitions
        self._schema = pa.schema(list(step.made))

    def of_rectangles(self, told: RangeMessages) -> pa.Table:
        """Give rows of rectangles, in the order of their partitions and corners."""
        ranks = self._partitions.ranks(told.partitions)
        order = np.lexsort((told.values, told.inner_r, told.inner_l, ranks))
        told = told._replace(**{name: own[order] for name, own in told._asdict().items()})
        x, measure = self._step.attribute_type, self._step.measures[0]
        never = np.zeros(len(order), dtype=np.bool_)
        said = values_of(told.values, told.empty, measure.type)
        words = []
        if measure.is_set:
            said = self._ys(told.values, never)
            words = [pa.array(np.where(told.empty, LOSE, GAIN).astype(object), pa.string())]
        columns = [
            *self._parts(told.partitions),
            said,
            values_of(told.inner_l, never, x),
            values_of(told.inner_r, never, x),
            values_of(told.outer_l - 1, told.outer_l == LOWEST, x),
            values_of(told.outer_r + 1, told.outer_r == HIGHEST, x),
            *words,
        ]
        return pa.table(columns, schema=self._schema)

    def of_changes(self, net: PointWeights) -> pa.Table:
        """Give rows of changes: in a partition, one that goes and one that comes are an update.

        Which two become one makes no difference to a count or a sum.
        """
        times = np.abs(net.weights)
        partitions, xs, ys = (np.repeat(own, times) for own in net[:3])
        comes = np.repeat(net.weights > 0, times)
        ranks = self._partitions.ranks(partitions)
        order = np.lexsort((ys, xs, comes, ranks))
        partitions, xs, ys, comes = partitions[order], xs[order], ys[order], comes[order]
        nth = _number_in_run(partitions, comes)
        lines, at = np.unique(np.stack([ranks[order], nth]), axis=1, return_inverse=True)
        count = lines.shape[1]
        old, new = (np.full(count, -1, dtype=np.int64) for _ in range(2))
        places = np.arange(len(xs))
        old[at[~comes]], new[at[comes]] = places[~comes], places[comes]
        words = np.where(old < 0, INSERT, np.where(new < 0, DELETE, UPDATE))
        of = partitions[np.where(old < 0, new, old)]
        columns = [*self._parts(of), pa.array(words.astype(object), pa.string())]
        for side in (old, new):
            columns.append(values_of(xs[side], side < 0, self._step.attribute_type))
            columns.append(self._ys(ys[side], side < 0))
        return pa.table(columns, schema=self._schema)

    def _ys(self, keys: Ints, absent: Flags) -> pa.Array:
        measure = self._step.measures[0]
        if measure.function == "count" or measure.column_type is None:
            return pa.nulls(len(keys), pa.int64())
        return values_of(keys, absent, measure.column_type)

    def _parts(self, partitions: Ints) -> list[pa.Array]:
        """Give the values of partitions."""
        found = []
        for own, type_ in zip(self._partitions.values(partitions), self._partitions.types,
                              strict=True):  # fmt: skip
            if is_ordered(type_):
                there = np.zeros(len(partitions), dtype=np.bool_)
                found.append(values_of(own.to_numpy(zero_copy_only=False), there, type_))
            else:
                found.append(own.cast(type_))
        return found


def _number_in_run(partitions: Ints, comes: Flags) -> Ints:
    """Number the items of every run of equal pairs."""
    starts = np.ones(len(partitions), dtype=np.bool_)
    starts[1:] = (partitions[1:] != partitions[:-1]) | (comes[1:] != comes[:-1])
    places = np.arange(len(partitions))
    return places - np.maximum.accumulate(np.where(starts, places, 0))
