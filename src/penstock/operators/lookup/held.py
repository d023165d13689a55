"""Held: the looked-up rows that the cache holds, by slot.

A key without a row, and one whose row is broken, take a slot too: they need not be asked for again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.operators.shared.chunks import Contents
from penstock.operators.shared.codes import NumberCodes
from penstock.operators.shared.slots import Slots, grown
from penstock.vocabulary.batches import Flags, Ints, Rows

FOUND, ABSENT, BROKEN = 1, 2, 3
NOWHERE = -1
KNOWN_MIN = 64
States = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a source said of some keys, which ascend: how each stands, and its row.

    A row that was not found, or is broken, has at most its key.
    """

    keys: Ints
    states: States
    table: pa.Table

    def __len__(self) -> int:
        return len(self.keys)

    def count(self, state: int) -> int:
        """Count the keys of a state."""
        return int(np.count_nonzero(self.states == state))


class FetchedRows:
    """Rows by slot: their keys, when they were fetched, and the reference that brought each.

    Rows that came since the last `settle` are in hand beside those that the cache holds.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.contents = Contents(schema)
        self.keys: Ints = np.empty(0, dtype=np.int64)
        self.states: States = np.empty(0, dtype=np.int8)
        self.stamps: Ints = np.empty(0, dtype=np.int64)
        self._came: Ints = np.empty(0, dtype=np.int64)
        self._slots = Slots()
        self._codes = NumberCodes()
        self._slot_of: Rows = np.empty(0, dtype=np.int32)
        # The references that brought rows, in order, also of some that went.
        self._numbers: Ints = np.empty(0, dtype=np.int64)
        self._number_slots: Rows = np.empty(0, dtype=np.int32)
        self._fresh: list[Rows] = []

    def __len__(self) -> int:
        return self._slots.size

    def find(self, keys: Ints) -> Rows:
        """Give the slots of keys, -1 for those that are not held."""
        codes = self._codes.find(keys)
        slots: Rows = np.full(len(keys), NOWHERE, dtype=np.int32)
        known = codes >= 0
        slots[known] = self._slot_of[codes[known]]
        return slots

    def put(self, fetched: Fetched, stamp: int) -> None:
        """Take rows in hand; one that is held already is replaced."""
        slots = self.find(fetched.keys)
        again, new = slots >= 0, slots < 0
        if again.any():
            self.contents.remove(slots[again])
        slots[new] = self._slots.take(int(np.count_nonzero(new)))
        room = self._slots.room
        for name in ("keys", "states", "stamps", "_came"):
            setattr(self, name, grown(getattr(self, name), room))
        self.keys[slots], self.states[slots] = fetched.keys, fetched.states
        self.stamps[slots] = stamp
        self._came[slots[new]] = NOWHERE
        codes = self._codes.code(fetched.keys)
        self._slot_of = grown(self._slot_of, self._codes.size)
        self._slot_of[codes] = slots
        self.contents.add(slots, fetched.table)
        self._fresh.append(slots[new])

    def settle(self, first: int, keys: Ints, came: Flags, left: Ints) -> None:
        """Keep what the cache holds after the references `first`, `first + 1`, ….

        `came` says which of them brought a row, `left` names the references whose rows went.
        """
        numbers = first + np.arange(len(keys))
        gone = left[left != NOWHERE]
        old = self._brought(gone[gone < first])
        self._came[old] = NOWHERE
        brought = numbers[came]
        stays = brought[~np.isin(brought, gone)]
        slots = self.find(keys[stays - first])
        self._came[slots] = stays
        self._numbers = np.concatenate([self._numbers, stays])
        self._number_slots = np.concatenate([self._number_slots, slots])
        doubtful = np.unique(np.concatenate([*self._fresh, old]))
        self._fresh = []
        self._release(doubtful[self._came[doubtful] == NOWHERE])

    def _brought(self, numbers: Ints) -> Rows:
        """Give the slots of rows by the references that brought them."""
        at = np.searchsorted(self._numbers, numbers)
        slots: Rows = self._number_slots[at]
        assert (self._came[slots] == numbers).all()
        return slots

    def _release(self, slots: Rows) -> None:
        if len(slots):
            codes = self._codes.find(self.keys[slots])
            self._slot_of[codes] = NOWHERE
            self.contents.remove(slots)
            self._slots.give_back(slots)
        if self._codes.size > 2 * len(self) + KNOWN_MIN:
            live = np.flatnonzero(self._slot_of[: self._codes.size] != NOWHERE)
            self._codes, self._slot_of = self._codes.keep(live), self._slot_of[live]
        if len(self._numbers) > 2 * len(self) + KNOWN_MIN:
            stands = self._came[self._number_slots] == self._numbers
            self._numbers = self._numbers[stands]
            self._number_slots = self._number_slots[stands]

    # State.

    def rows(self) -> tuple[pa.Table, pa.Table]:
        """Give all rows by key, and what is known of each."""
        live = np.flatnonzero(self._slot_of[: self._codes.size] != NOWHERE)
        slots = self._slot_of[live]
        slots = slots[np.argsort(self.keys[slots])]
        known = {
            "key": self.keys[slots], "state": self.states[slots], "stamp": self.stamps[slots],
            "came": self._came[slots],
        }  # fmt: skip
        return self.contents.take(slots), pa.table(known)

    def restore(self, table: pa.Table, known: pa.Table) -> None:
        """Take what `rows` gave."""
        columns = {name: np.array(known.column(name).to_numpy()) for name in known.column_names}
        states = columns["state"].astype(np.int8)
        self.put(Fetched(keys=columns["key"], states=states, table=table), 0)
        slots = self.find(columns["key"])
        self.stamps[slots], self._came[slots] = columns["stamp"], columns["came"]
        order = np.argsort(columns["came"])
        self._numbers, self._number_slots = columns["came"][order], slots[order]
        self._fresh = []
