"""Answers of subscriptions to extremes: each with its value, and how messages change them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.range_messages import RangeMessages
from penstock.operators.shared.slots import grown
from penstock.operators.shared.subscription_points import SubscriptionPoints, rectangles
from penstock.vocabulary.batches import Flags, Ints, Rows


class AnswerChanges(NamedTuple):
    """Subscriptions in the order of their slots, each once, and what they are told."""

    slots: Rows
    old: Ints
    new: Ints
    new_empty: Flags


class RangeAnswers:
    """What every subscription was told last: the expanded form of messages.

    It needs neither the tuples nor anybody who has them, once it knows the first answers.
    """

    def __init__(self) -> None:
        self.points = SubscriptionPoints()
        self.values: Ints = np.empty(0, np.int64)
        """Of every slot; 0 if there is none."""
        self.empty: Flags = np.empty(0, np.bool_)

    def add(
        self, slots: Rows | Ints, partitions: Ints, x1s: Ints, x2s: Ints, values: Ints, empty: Flags
    ) -> None:
        """Add subscriptions with their answers."""
        self.points.add(slots, partitions, x1s, x2s)
        room = int(slots.max(initial=-1)) + 1
        self.values, self.empty = grown(self.values, room), grown(self.empty, room)
        self.values[slots], self.empty[slots] = values, empty

    def drop(self, slots: Rows | Ints) -> None:
        """Take subscriptions out."""
        self.points.drop(slots)

    def tell(self, messages: RangeMessages) -> AnswerChanges:
        """Change the answers as the messages of one batch say; give those that changed.

        The rectangles of a net batch are disjoint: a subscription is in one at most.
        """
        where, slots = self.points.find(rectangles(messages))
        order = np.argsort(slots, kind="stable")
        where, slots = where[order], slots[order]
        assert np.all(slots[1:] != slots[:-1]), "a subscription is told twice"
        changes = AnswerChanges(
            slots, self.values[slots], messages.values[where], messages.empty[where]
        )
        self.values[slots], self.empty[slots] = changes.new, changes.new_empty
        return changes
