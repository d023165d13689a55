"""The k lowest values over ranges, or highest: whom changes may concern, and what those have."""

from __future__ import annotations

import numpy as np

from penstock.kernels.range_lowest import lowest_process, ranges_lowest
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
from penstock.operators.range_aggregate.trees import (
    batch_updates,
    counted,
    messages_room,
    tree_entries,
    tree_of,
    tree_wider,
)
from penstock.vocabulary.batches import Ints


class LowestValues:
    """All that is kept for the k lowest values over ranges: a bag of tuples by x and value.

    A message says that its value came to the lowest of all subscriptions in its rectangle, and
    pushes out the greatest if there are k; or, if it is `empty`, that it went. What then takes its
    place is asked for: it differs among them.
    """

    def __init__(self, k: int, tuples: RangeTuples | None = None, largest: bool = False) -> None:
        self.k, self._flip = k, -1 if largest else 0
        none = np.empty(0, np.int64)
        (partitions, xs, ys), counts = counted(self._codes(tuples or RangeTuples(none, none, none)))
        self._tree = tree_of(partitions, xs, ys, ys, counts)
        self.missing = 0
        """Deletions of tuples that were not there; they changed nothing."""

    @property
    def nbytes(self) -> int:
        """Bytes of the tree."""
        return sum(array.nbytes for array in self._tree)

    def process(self, updates: RangeUpdates) -> RangeMessages:
        """Make updates, of codes, one by one; tell whom each insertion and deletion concerns."""
        progress = np.zeros(PROGRESS, np.int64)
        messages = messages_room(2 * self.k * (len(updates.goes) + 1))
        lefts, rights = np.empty(self.k, np.int64), np.empty(self.k, np.int64)
        while lack := lowest_process(self._tree, updates, messages, lefts, rights, progress):
            assert lack == NODES, "an update has 2 k messages at most"
            self._tree = tree_wider(self._tree)
        assert lack == DONE
        self.missing += int(progress[MISSING])
        return RangeMessages._make(column[: progress[WRITTEN]].copy() for column in messages)

    def net(self, deletions: RangeTuples, insertions: RangeTuples) -> RangeMessages:
        """Make a batch of changes; tell whom they may concern: all who change, or more."""
        return self.process(batch_updates(self._codes(deletions), self._codes(insertions)))

    def _codes(self, tuples: RangeTuples) -> RangeTuples:
        return tuples._replace(ys=tuples.ys ^ self._flip)

    def answers(self, partitions: Ints, x1s: Ints, x2s: Ints) -> tuple[Ints, Ints]:
        """Give the values of every range, the lowest first, zeros behind them; and how many."""
        values, counts = np.empty((len(x1s), self.k), np.int64), np.empty(len(x1s), np.int64)
        ranges_lowest(self._tree, partitions, x1s, x2s, values, counts)
        there = np.arange(self.k) < counts[:, None]
        return np.where(there, values ^ self._flip, 0), counts

    def tuples(self) -> RangeTuples:
        """Give all tuples, sorted by partition, x and y; the same make an equal one."""
        partitions, xs, ys, _, counts = tree_entries(self._tree)
        tuples = RangeTuples(*(np.repeat(column, counts) for column in (partitions, xs, ys)))
        return self._codes(tuples)
