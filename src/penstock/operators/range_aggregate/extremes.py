"""Extremes: the tuples of a table, and what their changes tell all subscriptions to a minimum."""

from __future__ import annotations

import numpy as np

from penstock.kernels.range_messages import (
    DONE,
    MESSAGES,
    MISSING,
    NODES,
    PROGRESS,
    WRITTEN,
    RangeHull,
    RangeMessages,
    RangeTuples,
    RangeUpdates,
    updates_process,
)
from penstock.kernels.range_searches import ranges_min
from penstock.kernels.range_trees import RangeTree
from penstock.operators.range_aggregate.trees import (
    batch_updates,
    counted,
    messages_room,
    starts,
    tree_entries,
    tree_of,
    tree_wider,
)
from penstock.operators.shared.slots import grown
from penstock.vocabulary.batches import Flags, Ints

ROOM_MIN = 256
"""Messages and points of a hull for which there is room at first."""


class Extremes:
    """All that is kept for minima over ranges, or maxima: a bag of tuples in two tiers of trees.

    It is a function of the tuples, whatever the way there, but for the shape of its trees.

    Parameters
    ----------
    tuples
        What it holds at first, in any order.
    largest
        Whether subscriptions ask for the greatest value instead of the least.

    Examples
    --------
    >>> points = np.array([(20, 3), (30, 8), (40, 12), (50, 5), (70, 6), (100, 2)]).T
    >>> extremes = Extremes(RangeTuples(np.zeros(6, np.int64), *np.ascontiguousarray(points)))
    >>> one = lambda x, y: RangeTuples(*(np.array([code]) for code in (0, x, y)))
    >>> told = extremes.net(one(50, 5), one(50, 9))
    >>> np.array([told.values, told.inner_l, told.inner_r, told.outer_l - 1, told.outer_r + 1]).T
    array([[  9,  50,  50,  30,  70],
           [  8,  30,  50,  20,  70],
           [  6,  50,  70,  20, 100]])
    """

    def __init__(self, tuples: RangeTuples | None = None, largest: bool = False) -> None:
        self._flip = -1 if largest else 0
        none = np.empty(0, np.int64)
        self._upper, self._lower = _tiers(self._codes(tuples or RangeTuples(none, none, none)))
        self._hull = RangeHull(*(np.empty(ROOM_MIN, np.int64) for _ in RangeHull._fields))
        self._room = messages_room(ROOM_MIN)
        self._size = 0 if tuples is None else len(tuples.xs)
        self.missing = 0
        """Deletions of tuples that were not there; they changed nothing."""

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """Bytes of the trees."""
        return sum(array.nbytes for tree in (self._upper, self._lower) for array in tree)

    def net(self, deletions: RangeTuples, insertions: RangeTuples) -> RangeMessages:
        """Make a batch of changes; tell every subscription whose answer it changes, once.

        What is deleted was there before the batch: a row that comes and goes in it is left out.
        The number of the update is that of the insertion, or of the deletion behind them all.
        """
        return self.net_updates(batch_updates(deletions, insertions))

    def net_updates(self, updates: RangeUpdates) -> RangeMessages:
        """Do the same with rows before and after the batch side by side, which is faster.

        A value that changes where it is is replaced in one step: when it comes, if it falls, and
        when the old one goes, if it rises, as the greater is hidden by the other meanwhile.
        """
        updates = self._flipped(updates)
        goes, comes = updates.goes, updates.comes
        both = goes & comes & (updates.old_xs == updates.new_xs)
        both &= updates.old_partitions == updates.new_partitions
        rises = both & (updates.new_ys > updates.old_ys)
        up, down = np.flatnonzero(comes & ~rises), np.flatnonzero((goes & ~both) | rises)
        up = up[np.argsort(updates.new_ys[up], kind="stable")]
        down = down[np.argsort(updates.old_ys[down], kind="stable")[::-1]]
        order = np.concatenate([up, down])
        made = RangeUpdates._make(column[order] for column in updates)
        first = np.arange(len(order)) < len(up)
        made = made._replace(
            goes=made.goes & (both[order] | ~first), comes=made.comes & (both[order] | first)
        )
        told = self._process(made)
        return told._replace(ordinals=order[told.ordinals])

    def process(self, updates: RangeUpdates) -> RangeMessages:
        """Make updates one after the other; tell of each what changes from the one before.

        A subscription is told at most once by an update, but maybe by several of them.
        """
        return self._process(self._flipped(updates))

    def answers(self, partitions: Ints, firsts: Ints, lasts: Ints) -> tuple[Ints, Flags]:
        """Give the value of every range, and whether there is none."""
        values, empty = np.empty(len(partitions), np.int64), np.empty(len(partitions), np.bool_)
        ranges_min(self._upper, partitions, firsts, lasts, values, empty)
        return np.where(empty, 0, values ^ self._flip), empty

    def tuples(self) -> RangeTuples:
        """Give all tuples, sorted by partition, x and y; the same make an equal one."""
        parts = []
        for tree in (self._upper, self._lower):
            partitions, xs, _, lows, counts = tree_entries(tree)
            columns = (partitions, xs, lows ^ self._flip)
            parts.append([np.repeat(column, counts) for column in columns])
        partitions, xs, ys = (np.concatenate(pair) for pair in zip(*parts, strict=True))
        order = np.lexsort((ys, xs, partitions))
        return RangeTuples(partitions[order], xs[order], ys[order])

    def _codes(self, tuples: RangeTuples) -> RangeTuples:
        return tuples._replace(ys=tuples.ys ^ self._flip)

    def _flipped(self, updates: RangeUpdates) -> RangeUpdates:
        old, new = updates.old_ys ^ self._flip, updates.new_ys ^ self._flip
        return updates._replace(old_ys=old, new_ys=new)

    def _process(self, updates: RangeUpdates) -> RangeMessages:
        progress = np.zeros(PROGRESS, np.int64)
        while lack := updates_process(
            self._upper, self._lower, updates, self._room, self._hull, progress
        ):
            if lack == NODES:
                self._upper, self._lower = tree_wider(self._upper), tree_wider(self._lower)
            elif lack == MESSAGES:
                self._room = messages_room(2 * len(self._room.values), self._room)
            else:
                self._hull = RangeHull(*(grown(column, 2 * len(column)) for column in self._hull))
        assert lack == DONE
        missing = int(progress[MISSING])
        self._size += int(updates.comes.sum()) - int(updates.goes.sum()) + missing
        self.missing += missing
        told = RangeMessages._make(column[: progress[WRITTEN]].copy() for column in self._room)
        return told._replace(values=np.where(told.empty, 0, told.values ^ self._flip))


def _tiers(tuples: RangeTuples) -> tuple[RangeTree, RangeTree]:
    """Give the two tiers of tuples in any order."""
    (partitions, xs, ys), counts = counted(tuples)
    least = starts(partitions, xs)
    upper, lower = np.flatnonzero(least), np.flatnonzero(~least)
    return (
        tree_of(partitions[upper], xs[upper], np.zeros_like(upper), ys[upper], counts[upper]),
        tree_of(partitions[lower], xs[lower], ys[lower], ys[lower], counts[lower]),
    )
