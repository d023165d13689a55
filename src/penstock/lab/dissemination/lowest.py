"""The k lowest values over ranges: whom changes may concern, and what those have then."""

from __future__ import annotations

from typing import NamedTuple

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
from penstock.lab.kernels.range_lowest import lowest_process, ranges_lowest
from penstock.operators.range_aggregate.trees import (
    batch_updates,
    counted,
    messages_room,
    tree_entries,
    tree_of,
    tree_wider,
)
from penstock.operators.shared.slots import grown
from penstock.operators.shared.subscription_points import SubscriptionPoints, rectangles
from penstock.vocabulary.batches import Ints, Rows


class LowestValues:
    """All that is kept for the k lowest values over ranges: a bag of tuples by x and value.

    A message says that its value came to the lowest of all subscriptions in its rectangle, and
    pushes out the greatest if there are k; or, if it is `empty`, that it went. What then takes its
    place is asked for: it differs among them.
    """

    def __init__(self, k: int, tuples: RangeTuples | None = None) -> None:
        none = np.empty(0, np.int64)
        (partitions, xs, ys), counts = counted(tuples or RangeTuples(none, none, none))
        self.k = k
        self._tree = tree_of(partitions, xs, ys, ys, counts)
        self.missing = 0
        """Deletions of tuples that were not there; they changed nothing."""

    @property
    def nbytes(self) -> int:
        """Bytes of the tree."""
        return sum(array.nbytes for array in self._tree)

    def process(self, updates: RangeUpdates) -> RangeMessages:
        """Make updates one after the other; tell whom each insertion and deletion concerns."""
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
        return self.process(batch_updates(deletions, insertions))

    def answers(self, partitions: Ints, x1s: Ints, x2s: Ints) -> tuple[Ints, Ints]:
        """Give the lowest values of every range, a row each, zeros behind them; and how many."""
        values, counts = np.empty((len(x1s), self.k), np.int64), np.empty(len(x1s), np.int64)
        ranges_lowest(self._tree, partitions, x1s, x2s, values, counts)
        return values, counts

    def tuples(self) -> RangeTuples:
        """Give all tuples, sorted by partition, x and y; the same make an equal one."""
        partitions, xs, ys, _, counts = tree_entries(self._tree)
        return RangeTuples(*(np.repeat(column, counts) for column in (partitions, xs, ys)))


class LowestChanges(NamedTuple):
    """Subscriptions in the order of their slots, each once, with rows of values."""

    slots: Rows
    old: Ints
    old_counts: Ints
    new: Ints
    new_counts: Ints


class LowestAnswers:
    """What every subscription to the k lowest values was told last."""

    def __init__(self, k: int) -> None:
        self.points = SubscriptionPoints()
        none: Ints = np.empty(0, np.int64)
        self._ranges = (none, none, none)
        self._values: Ints = np.empty((0, k), np.int64)
        self._counts = none

    def add(
        self, slots: Rows | Ints, partitions: Ints, x1s: Ints, x2s: Ints, values: Ints, counts: Ints
    ) -> None:
        """Add subscriptions with their answers."""
        self.points.add(slots, partitions, x1s, x2s)
        room = int(slots.max(initial=-1)) + 1
        a, b, c = self._ranges
        self._ranges, self._counts = (
            (grown(a, room), grown(b, room), grown(c, room)), grown(self._counts, room),
        )  # fmt: skip
        if len(self._values) < len(self._counts):
            rows = np.zeros((len(self._counts), self._values.shape[1]), np.int64)
            rows[: len(self._values)] = self._values
            self._values = rows
        for column, known in zip(self._ranges, (partitions, x1s, x2s), strict=True):
            column[slots] = known
        self._values[slots], self._counts[slots] = values, counts

    def drop(self, slots: Rows | Ints) -> None:
        """Take subscriptions out."""
        self.points.drop(slots)

    def tell(self, messages: RangeMessages, lowest: LowestValues) -> LowestChanges:
        """Ask for those that the messages of a batch concern; give those whose answer changed."""
        slots = np.unique(self.points.find(rectangles(messages))[1])
        a, b, c = (column[slots] for column in self._ranges)
        values, counts = lowest.answers(a, b, c)
        old, old_counts = self._values[slots], self._counts[slots]
        changed = (old_counts != counts) | (old != values).any(axis=1)
        self._values[slots], self._counts[slots] = values, counts
        return LowestChanges(
            slots[changed], old[changed], old_counts[changed], values[changed], counts[changed]
        )
