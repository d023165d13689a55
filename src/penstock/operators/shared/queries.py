"""Queries: the standing joins of a group, by slot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.operators.shared.chunks import Contents
from penstock.operators.shared.keys import whole
from penstock.operators.shared.residuals import nan_to_null
from penstock.operators.shared.slots import Slots, grown
from penstock.vocabulary.batches import Ints, Rows


class Queries:
    """Query numbers and entries by slot.

    Numbers are arrays; texts and the parameters of residuals stay Arrow columns: `residuals` names
    the latter.
    """

    def __init__(self, schema: pa.Schema, residuals: Iterable[tuple[str, ...]]) -> None:
        residual = {name for names in residuals for name in names}
        self._kept = [f for f in schema if f.name in residual or pa.types.is_string(f.type)]
        kept = {field.name for field in self._kept}
        self.columns: dict[str, npt.NDArray[Any]] = {
            field.name: np.empty(0, dtype=field.type.to_pandas_dtype())
            for field in schema
            if field.name not in kept
        }
        self.contents = Contents(pa.schema(self._kept))
        self._slots = Slots()
        # In the order of their numbers; the slot of a query that went is -1.
        self._numbers: Ints = np.empty(0, dtype=np.int64)
        self._slot_of: Rows = np.empty(0, dtype=np.int32)
        self._known = 0
        self._dead = 0

    def __len__(self) -> int:
        return self._slots.size

    @property
    def numbers(self) -> Ints:
        """The query number of every slot."""
        return self.columns["query"]

    def add(self, table: pa.Table) -> Rows:
        """Take entries; their numbers are above all earlier ones."""
        slots = self._slots.take(table.num_rows)
        for name in self.columns:
            own = grown(self.columns[name], self._slots.room)
            own[slots] = whole(table.column(name)).to_numpy(zero_copy_only=False)
            self.columns[name] = own
        if self._kept:
            kept = {f.name: nan_to_null(table.column(f.name).cast(f.type)) for f in self._kept}
            self.contents.add(slots, pa.table(kept))
        numbers = self.columns["query"][slots]
        begin, self._known = self._known, self._known + len(slots)
        assert begin == 0 or len(slots) == 0 or numbers[0] > self._numbers[begin - 1]
        self._numbers = grown(self._numbers, self._known)
        self._slot_of = grown(self._slot_of, self._known)
        self._numbers[begin : self._known] = numbers
        self._slot_of[begin : self._known] = slots
        return slots

    def drop(self, numbers: Ints) -> Rows:
        """Forget queries; give the slots of those that were there."""
        known, slot_of = self._numbers[: self._known], self._slot_of[: self._known]
        at = np.searchsorted(known, numbers)
        found = at < len(known)
        found[found] = known[at[found]] == numbers[found]
        at = np.unique(at[found])
        at = at[slot_of[at] >= 0]
        slots: Rows = slot_of[at]
        if len(slots) == 0:
            return slots
        slot_of[at] = -1
        self._dead += len(slots)
        if 2 * self._dead > self._known:
            here = slot_of >= 0
            self._numbers, self._slot_of = known[here], slot_of[here]
            self._known, self._dead = len(self._numbers), 0
        if self._kept:
            self.contents.remove(slots)
        self._slots.give_back(slots)
        return slots

    def live(self) -> Rows:
        """Give the slots of all queries, in the order of their numbers."""
        known = self._slot_of[: self._known]
        return known[known >= 0]
