"""Distinct values over ranges: which subscriptions gain or lose a value when tuples change."""

from __future__ import annotations

import numpy as np

from penstock.kernels.range_messages import (
    DONE,
    MISSING,
    NODES,
    PROGRESS,
    WRITTEN,
    RangeMessages,
    RangeTuples,
    RangeUpdates,
)
from penstock.kernels.range_points import RangeRectangles
from penstock.kernels.range_searches import HIGHEST, LOWEST
from penstock.kernels.range_sets import sets_process
from penstock.operators.range_aggregate.trees import (
    batch_updates,
    counted,
    messages_room,
    tree_entries,
    tree_of,
    tree_wider,
)
from penstock.operators.shared.subscription_points import SubscriptionPoints
from penstock.vocabulary.batches import Ints


class DistinctValues:
    """All that is kept for sets of distinct values over ranges: a bag of tuples, by value and x.

    A message says that all subscriptions in its rectangle gain its value, or, if it is `empty`,
    lose it. A batch tells a subscription of a value at most once, and only if it had the value
    before or has it afterwards, but not both: whatever the order, as long as all come before any
    goes.
    """

    def __init__(self, tuples: RangeTuples | None = None) -> None:
        none = np.empty(0, np.int64)
        (partitions, xs, ys), counts = counted(_turned(tuples or RangeTuples(none, none, none)))
        self._tree = tree_of(partitions, xs, ys, np.zeros_like(xs), counts)
        self.missing = 0
        """Deletions of tuples that were not there; they changed nothing."""

    @property
    def nbytes(self) -> int:
        """Bytes of the tree."""
        return sum(array.nbytes for array in self._tree)

    def net(self, deletions: RangeTuples, insertions: RangeTuples) -> RangeMessages:
        """Make a batch of changes; tell every subscription whose set changes, once per value.

        What is deleted was there before the batch: a row that comes and goes in it is left out.
        """
        return self.process(batch_updates(deletions, insertions))

    def process(self, updates: RangeUpdates) -> RangeMessages:
        """Make updates one after the other; tell of each what changes from the one before."""
        progress = np.zeros(PROGRESS, np.int64)
        messages = messages_room(2 * len(updates.goes) + 2)
        while lack := sets_process(self._tree, updates, messages, progress):
            assert lack == NODES, "an update has two messages at most"
            self._tree = tree_wider(self._tree)
        assert lack == DONE
        self.missing += int(progress[MISSING])
        return RangeMessages._make(column[: progress[WRITTEN]].copy() for column in messages)

    def answers(self, partitions: Ints, x1s: Ints, x2s: Ints) -> tuple[Ints, Ints]:
        """Give the values of every range: its number, and a value; in this order."""
        held, values, xs, *_ = tree_entries(self._tree)
        same = (held[1:] == held[:-1]) & (values[1:] == values[:-1])
        before = np.full(len(xs), LOWEST)
        before[1:][same] = xs[:-1][same] + 1
        points = SubscriptionPoints()
        points.add(np.arange(len(x1s)), partitions, x1s, x2s)
        # A range has a value by the first tuple in it that has the value.
        asked = RangeRectangles(held, before, xs, xs, np.full(len(xs), HIGHEST))
        where, rows = points.find(asked)
        found = values[where]
        order = np.lexsort((found, rows))
        return rows[order].astype(np.int64), found[order]

    def tuples(self) -> RangeTuples:
        """Give all tuples, sorted by partition, y and x; the same make an equal one."""
        partitions, ys, xs, _, counts = tree_entries(self._tree)
        return RangeTuples(*(np.repeat(column, counts) for column in (partitions, xs, ys)))


def _turned(tuples: RangeTuples) -> RangeTuples:
    """Exchange x and y."""
    return RangeTuples(tuples.partitions, tuples.ys, tuples.xs)
