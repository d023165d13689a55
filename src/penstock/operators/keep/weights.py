"""Netting: a table without a key, whose changes are weights.

Equal rows have one weight: how often the row came, less how often it went. As many of a row stand
as its weight says, none if it is below zero: then the row went before it came, and is owed. What
the table's readers are told is how the standing rows change, so the order in which changes come
makes no difference to where they end, and nobody is told of a row that goes and was not there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.algebra.physical import KeepStep
from penstock.operators.keep.held import Held
from penstock.operators.shared.codec import Part, from_bytes, numbers_of, to_bytes
from penstock.operators.shared.common_keys import fingerprints
from penstock.operators.shared.slots import grown
from penstock.vocabulary.batches import Ints, Rows
from penstock.vocabulary.changes import Meaning, Meanings
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import FORGOTTEN_DELETES, UNKNOWN_DELETES, UPDATES_WITHOUT_KEY

OWED_MAX = 1 << 20
"""Of so many rows that are owed the fingerprints are remembered; of more, those of the newest."""
WEIGHT, PRINT, NUMBER = "weight", "print", "number"


@dataclass(frozen=True, slots=True)
class Net:
    """Distinct rows with their fingerprints, and by how much the weight of each changes."""

    table: pa.Table
    prints: Ints
    weights: Ints


class NettedTable:
    """Weights by row; rows in full where the weight is above zero."""

    def __init__(self, step: KeepStep, snapshot: bytes | None) -> None:
        self.schema = pa.schema(list(step.columns))
        self._types = [type_ for _, type_ in step.columns]
        self._held = Held(self.schema)
        self._weights: Ints = np.empty(0, dtype=np.int64)
        self._owed = 0
        self._fresh: Net | None = None
        if snapshot is not None:
            self._restore(snapshot)

    def resolve(
        self, table: pa.Table, conformed: pa.Table, meanings: Meanings, counts: Tally
    ) -> pa.Table:
        """Take changes that mean something; give how the standing rows change, none twice.

        Each row given is the last change of its row with its sign.
        """
        alone = meanings == Meaning.REPLACES
        if alone.any():
            counts[UPDATES_WITHOUT_KEY] += int(np.count_nonzero(alone))
            chosen = pa.array(~alone)
            table, conformed = table.filter(chosen), conformed.filter(chosen)
            meanings = meanings[~alone]
        if len(meanings) == 0:
            return table
        columns = [conformed.column(name) for name in self.schema.names]
        prints, of = np.unique(fingerprints(columns, self._types), return_inverse=True)
        signs = np.sign(meanings).astype(np.int64)
        weights = np.bincount(of, signs, len(prints)).astype(np.int64)
        last = np.zeros((2, len(prints)), dtype=np.int64)
        places = np.arange(len(of))
        for side, mine in enumerate((signs > 0, signs < 0)):
            last[side, of[mine]] = places[mine]
        shown = np.where(weights < 0, last[1], last[0])
        changes = np.flatnonzero(weights)
        net = Net(conformed.take(pa.array(shown[changes])), prints[changes], weights[changes])
        owed = self._owed
        visible = np.zeros(len(prints), dtype=np.int64)
        visible[changes], forgotten = self._take(net)
        self._fresh = net if len(changes) else None
        counts[UNKNOWN_DELETES] += self._owed - owed + forgotten
        counts[FORGOTTEN_DELETES] += forgotten
        rows = np.repeat(np.where(visible < 0, last[1], last[0]), np.abs(visible))
        return table.take(pa.array(np.sort(rows)))

    def _take(self, net: Net) -> tuple[Ints, int]:
        """Change weights; give how many of each row come to stand, and how many are forgotten."""
        held = self._held
        slots = held.find(net.prints)
        fresh = slots < 0
        slots[fresh] = held.add(net.prints[fresh])
        self._weights = grown(self._weights, held.slots.room)
        self._weights[slots[fresh]] = 0
        before = self._weights[slots]
        after = before + net.weights
        self._weights[slots] = after
        self._owed += int(np.maximum(-after, 0).sum() - np.maximum(-before, 0).sum())
        went, came = (before > 0) & (after <= 0), (before <= 0) & (after > 0)
        held.contents.remove(slots[went])
        held.contents.add(slots[came], net.table.filter(pa.array(came)))
        held.number(slots[came | ((before >= 0) & (after < 0))])
        held.remove(slots[after == 0])
        visible: Ints = np.maximum(after, 0) - np.maximum(before, 0)
        return visible, self._forget()

    def _forget(self) -> int:
        """Forget the oldest of too many rows that are owed."""
        if self._owed <= OWED_MAX:
            return 0
        slots = self._held.in_order()
        slots = slots[self._weights[slots] < 0]
        owed = -self._weights[slots]
        gone = slots[np.cumsum(owed[::-1])[::-1] > OWED_MAX]
        forgotten = int(-self._weights[gone].sum())
        self._owed -= forgotten
        self._held.remove(gone)
        return forgotten

    def rows(self) -> pa.Table:
        """Give the rows that stand."""
        slots = self._held.in_order()
        slots = slots[self._weights[slots] > 0]
        return self._held.contents.take(np.repeat(slots, self._weights[slots]))

    # State.

    def delta(self) -> bytes | None:
        """Give the last net changes."""
        fresh, self._fresh = self._fresh, None
        if fresh is None:
            return None
        return to_bytes([(fresh.table, pa.table({WEIGHT: fresh.weights, PRINT: fresh.prints}))], {})

    def catch_up(self, delta: bytes) -> None:
        """Take net changes that another copy took."""
        ((table, own),), _ = from_bytes(delta)
        self._take(Net(table, numbers_of(own, PRINT), numbers_of(own, WEIGHT)))

    def snapshot(self) -> bytes:
        """Give the rows that stand, once each, and the fingerprints of those that are owed."""
        slots = self._held.in_order()
        stand = self._weights[slots] > 0
        standing: Part = self._held.contents.take(slots[stand]), self._numbers(slots[stand])
        owed: Part = self.schema.empty_table(), self._numbers(slots[~stand])
        return to_bytes([standing, owed], {"next": self._held.next})

    def _numbers(self, slots: Rows) -> pa.Table:
        held = self._held
        return pa.table(
            {WEIGHT: self._weights[slots], PRINT: held.prints[slots], NUMBER: held.numbers[slots]}
        )

    def _restore(self, snapshot: bytes) -> None:
        parts, facts = from_bytes(snapshot)
        for table, own in parts:
            slots = self._held.add(numbers_of(own, PRINT))
            self._weights = grown(self._weights, self._held.slots.room)
            self._weights[slots] = numbers_of(own, WEIGHT)
            self._held.numbers[slots] = numbers_of(own, NUMBER)
            self._held.contents.add(slots[: table.num_rows], table)
            self._owed += int(np.maximum(-self._weights[slots], 0).sum())
        self._held.next = facts["next"]
