"""Values of which each subscriber has one: what is told of him is that it is another one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.brokers.message_format import MessageForm
from penstock.edges.notifications import Notifications
from penstock.edges.subscribers import Subscribers
from penstock.vocabulary.batches import Rows


class ScalarValues(ABC):
    """One value for each subscriber; what is told of some is told by their slots."""

    form: MessageForm
    subscribers: Subscribers

    @abstractmethod
    def begin(self, points: pa.Table) -> None:
        """Take the values that follow from a state."""

    @abstractmethod
    def take(self, rows: pa.RecordBatch) -> Rows:
        """Take the messages of a batch in order; give whose value is another one, each once."""

    @abstractmethod
    def different(self, before: Any) -> Rows:
        """Give whose value is another one than in values of the same kind and subscribers."""

    @abstractmethod
    def notifications(self, told: Rows, batch: int, is_first: bool = False) -> Notifications:
        """Give the values of some subscribers."""

    def standing(self, slots: Rows) -> Rows:
        """Give what is told of subscribers of whom nothing was told."""
        return slots

    def changed(self, before: Any, slots: Rows, old_slots: Rows) -> Rows:
        """Give what is told of subscribers who were others in values of the same kind before."""
        if self.subscribers.ids.equals(before.subscribers.ids):
            return self.different(before)
        old = before.notifications(old_slots, 0).values
        new = self.notifications(slots, 0).values
        same = pc.fill_null(pc.equal(old, new), False)
        same = pc.or_(same, pc.and_(old.is_null(), new.is_null()))
        found: Rows = slots[~np.asarray(same)]
        return found
