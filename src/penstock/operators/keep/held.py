"""Held: rows by slot, found again by a fingerprint."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.kernels.fingerprint_index import slots_clear, slots_find, slots_place
from penstock.kernels.hash_tables import EMPTY
from penstock.operators.shared.chunks import Contents
from penstock.operators.shared.slots import Slots, grown
from penstock.vocabulary.batches import Ints, Rows

CELLS_MIN = 64


class Held:
    """Fingerprints by slot, the age of each (its number), and the rows of those that have one."""

    def __init__(self, schema: pa.Schema) -> None:
        self.contents = Contents(schema)
        self.slots = Slots()
        self.prints: Ints = np.empty(0, dtype=np.int64)
        self.numbers: Ints = np.empty(0, dtype=np.int64)
        self.next = 0
        self._cells: Rows = np.full(CELLS_MIN, EMPTY, dtype=np.int32)

    def __len__(self) -> int:
        return self.slots.size

    def find(self, prints: Ints) -> Rows:
        """Give the slots of fingerprints, -1 where there is none."""
        found = np.empty(len(prints), dtype=np.int32)
        slots_find(self._cells, self.prints, np.ascontiguousarray(prints), found)
        return found

    def add(self, prints: Ints) -> Rows:
        """Give slots to fingerprints that have none."""
        if len(prints) == 0:
            return np.empty(0, dtype=np.int32)
        slots = self.slots.take(len(prints))
        self.prints = grown(self.prints, self.slots.room)
        self.numbers = grown(self.numbers, self.slots.room)
        self.prints[slots] = prints
        if 2 * len(self) > len(self._cells):
            standing = self._cells[self._cells != EMPTY]
            self._cells = np.full(1 << (4 * len(self)).bit_length(), EMPTY, dtype=np.int32)
            slots_place(self._cells, self.prints, standing)
        slots_place(self._cells, self.prints, slots)
        return slots

    def remove(self, slots: Rows) -> None:
        """Forget slots; their rows must be gone."""
        slots_clear(self._cells, self.prints, slots)
        self.slots.give_back(slots)

    def number(self, slots: Rows) -> None:
        """Give slots the next numbers."""
        self.numbers[slots] = self.next + np.arange(len(slots))
        self.next += len(slots)

    def in_order(self) -> Rows:
        """Give all slots in the order of their numbers."""
        slots = self._cells[self._cells != EMPTY]
        ordered: Rows = slots[np.argsort(self.numbers[slots])]
        return ordered
