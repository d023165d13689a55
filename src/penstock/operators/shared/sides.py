"""Sides: the rows of one side of a join that are there now."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.kernels.hash_tables import EMPTY
from penstock.kernels.retractions import heads_place, rows_change
from penstock.operators.shared.chunks import Contents
from penstock.operators.shared.readers import Reader, SideArrivals
from penstock.operators.shared.slots import Slots, grown
from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import Flags, Ints, Rows

NO_SLOTS: Rows = np.empty(0, dtype=np.int32)
CELLS_MIN = 64


class Side:
    """Rows by slot: the code of the key, values, times, arrival numbers, contents.

    `clock` is the newest event time that the side has seen.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.contents = Contents(reader.schema)
        self.slots = Slots()
        self.clock = LOWEST_TIME
        self.live: Flags = np.empty(0, dtype=np.bool_)
        self.codes: Rows = np.empty(0, dtype=np.int32)
        self.values: Ints = np.empty(0, dtype=np.int64)
        self.times: Ints = np.empty(0, dtype=np.int64)
        self.numbers: Ints = np.empty(0, dtype=np.int64)
        self.prints: Ints = np.empty(0, dtype=np.int64)
        self.terms: list[Ints] = [np.empty(0, dtype=np.int64) for _ in reader.terms.further]
        self._following: Rows = np.empty(0, dtype=np.int32)
        self._last: Rows = np.empty(0, dtype=np.int32)
        self._chains = 0
        self._cells: Rows = np.full(CELLS_MIN, EMPTY, dtype=np.int32)

    def __len__(self) -> int:
        return self.slots.size

    @property
    def is_table(self) -> bool:
        """Whether rows may be deleted."""
        return self.reader.shape.change_column is not None

    def resolve(self, arrivals: SideArrivals) -> tuple[SideArrivals, int]:
        """Give every insertion a slot and every deletion the slot of the oldest equal row.

        Deletions of rows that are not there are left out, and counted.
        """
        inserts = arrivals.signs > 0
        fresh = self.slots.take(int(np.count_nonzero(inserts)))
        self._make_room()
        if not self.is_table:
            assert inserts.all(), "rows without a change column are never deleted"
            arrivals.slots = fresh
            self.codes[fresh], self.values[fresh] = arrivals.codes, arrivals.values
            return arrivals, 0
        if 2 * (self._chains + len(fresh)) > len(self._cells):
            size = 1 << (4 * (self._chains + len(fresh))).bit_length()
            cells: Rows = np.full(size, EMPTY, dtype=np.int32)
            heads_place(cells, self._cells, self.prints)
            self._cells = cells
        heads = (self.prints, self.codes, self.values, self._following, self._last)
        self._chains += rows_change(
            self._cells, heads, arrivals.signs, fresh,
            arrivals.prints, arrivals.codes, arrivals.values, arrivals.slots,
        )  # fmt: skip
        known = arrivals.slots >= 0
        return arrivals.filter(known), int(len(known) - np.count_nonzero(known))

    def take(self, arrivals: SideArrivals, numbers: Ints) -> tuple[Rows, Rows]:
        """Take resolved changes; insertions get these arrival numbers.

        Gives the slots of rows that are new and of rows that went. A row that came and went in the
        same batch is neither.
        """
        inserts = arrivals.signs > 0
        came, went = arrivals.slots[inserts], arrivals.slots[~inserts]
        self.numbers[came] = numbers
        for own, keys in zip(self.terms, arrivals.terms, strict=True):
            own[came] = keys[inserts]
        if len(arrivals.times):
            self.times[came] = arrivals.times[inserts]
        transient = NO_SLOTS
        if len(went):
            self.live[came] = True
            self.live[went] = False
            transient = came[~self.live[came]]
            stay = self.live[came]
        else:
            stay = np.ones(len(came), dtype=np.bool_)
        self.live[came] = stay
        table = arrivals.table.select(list(self.reader.kept))
        if not inserts.all():
            table = table.filter(pa.array(inserts))
        if not stay.all():
            table = table.filter(pa.array(stay))
        self.contents.add(came[stay], table)
        gone = went[~np.isin(went, transient)] if len(transient) else went
        self.slots.give_back(transient)
        return came[stay], gone

    def forget(self, slots: Rows) -> None:
        """Free the slots of rows that went; the index must know already."""
        if len(slots):
            self.live[slots] = False
            self.contents.remove(slots)
            self.slots.give_back(slots)

    def outdated(self, until: int) -> Rows:
        """Give the rows whose event time is at most this."""
        room = self.slots.room
        return np.flatnonzero(self.live[:room] & (self.times[:room] <= until)).astype(np.int32)

    def oldest(self) -> int | None:
        """Give the arrival number of the oldest row, if there is any."""
        room = self.slots.room
        numbers = self.numbers[:room][self.live[:room]]
        return int(numbers.min()) if len(numbers) else None

    def in_order(self) -> Rows:
        """Give the slots of all rows in the order of their arrival."""
        slots = np.flatnonzero(self.live[: self.slots.room])
        return slots[np.argsort(self.numbers[slots])].astype(np.int32)

    def recode(self, renamed: Rows) -> None:
        """Take new codes for old ones."""
        live = np.flatnonzero(self.live[: self.slots.room])
        self.codes[live] = renamed[self.codes[live]]

    def _make_room(self) -> None:
        room = self.slots.room
        if room <= len(self.live):
            return
        for name in (
            "live", "codes", "values", "numbers", "prints", "times", "_following", "_last"
        ):  # fmt: skip
            setattr(self, name, grown(getattr(self, name), room))
        self.terms = [grown(own, room) for own in self.terms]
